/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - services whose functions are methods of Java
 *
 * A function runs in a thread of Java, the one that serves. It calls Offer.run(call), which returns
 * a status and throws nothing.
 */
#include "value.h"

#include <stdlib.h>

NATIVE(jint, serviceCreate)
(THREAD, jlong device, jlong broker, jbyteArray name, jbyteArray params, jlongArray out)
{
	char text[TEXT_BYTES];
	struct ww_service_params service_params;
	ww_service *service = NULL;

	if (!struct_load(env, params, &service_params, sizeof(service_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_service_create(object_of(device), object_of(broker),
		text_load(env, name, text), &service_params, NULL, &service);
	return object_store(env, status, service, out);
}

/* The method of an Offer that runs calls; NULL: the JVM has no memory. */
static jmethodID find_run(JNIEnv *env, jobject offer, const char *name, const char *type)
{
	jclass class = (*env)->GetObjectClass(env, offer);
	jmethodID run = (*env)->GetMethodID(env, class, name, type);

	(*env)->DeleteLocalRef(env, class);
	return run;
}

/*
 * The status of a method that has returned. The method catches all that a function throws: what is
 * left is a stack that is full.
 */
static ww_status take_status(JNIEnv *env, ww_status status)
{
	if (!(*env)->ExceptionCheck(env))
		return status;
	(*env)->ExceptionClear(env);
	return WW_ERR_STATE;
}

/* @context: a global reference of an Offer. */
static ww_status service_run(void *context, ww_call *call)
{
	JNIEnv *env = java_env();
	jmethodID run = find_run(env, context, "run", "(J)I");
	ww_status status = WW_ERR_STATE;

	if (run)
		status = (*env)->CallIntMethod(env, context, run, (jlong)(uintptr_t)call);
	return take_status(env, status);
}

/* @context: a global reference of a BatchOffer. */
static ww_status service_run_batch(void *context, ww_call *const *calls, uint32_t count)
{
	JNIEnv *env = java_env();
	jmethodID run = find_run(env, context, "run", "([J)I");
	jlongArray addresses = run ? (*env)->NewLongArray(env, (jsize)count) : NULL;
	ww_status status = WW_ERR_STATE;

	for (uint32_t i = 0; addresses && i < count; i++)
		(*env)->SetLongArrayRegion(env, addresses, (jsize)i, 1,
			&(jlong){(jlong)(uintptr_t)calls[i]});
	if (addresses) {
		status = (*env)->CallIntMethod(env, context, run, addresses);
		(*env)->DeleteLocalRef(env, addresses);
	}
	return take_status(env, status);
}

/* @out: the global reference of @offer, which ends by offerFree() after the service. */
NATIVE(jint, serviceOffer)
(THREAD, jlong service, jbyteArray name, jbyteArray signature, jobject offer, jint flags,
	jlongArray out)
{
	char text[TEXT_BYTES], signature_text[TEXT_BYTES];
	jobject reference = (*env)->NewGlobalRef(env, offer);

	if (!reference)
		return WW_ERR_NO_MEMORY;
	ww_status status = ww_service_offer(object_of(service), text_load(env, name, text),
		text_load(env, signature, signature_text), service_run, reference,
		WW_PARAMS(struct ww_function_params, .flags = (uint32_t)flags));
	if (status != WW_OK)
		(*env)->DeleteGlobalRef(env, reference);
	return object_store(env, status, reference, out);
}

/* The same for a BatchOffer. */
NATIVE(jint, serviceOfferBatch)
(THREAD, jlong service, jbyteArray name, jbyteArray signature, jobject offer, jint flags,
	jlong wait_ns, jint calls_max, jlongArray out)
{
	char text[TEXT_BYTES], signature_text[TEXT_BYTES];
	jobject reference = (*env)->NewGlobalRef(env, offer);

	if (!reference)
		return WW_ERR_NO_MEMORY;
	ww_status status = ww_service_offer_batch(object_of(service), text_load(env, name, text),
		text_load(env, signature, signature_text), service_run_batch, reference,
		WW_PARAMS(struct ww_function_params, .flags = (uint32_t)flags,
			.batch_wait_ns = (uint64_t)wait_ns,
			.batch_calls_max = (uint32_t)calls_max));
	if (status != WW_OK)
		(*env)->DeleteGlobalRef(env, reference);
	return object_store(env, status, reference, out);
}

NATIVE(void, offerFree)(THREAD, jlong reference)
{
	(*env)->DeleteGlobalRef(env, object_of(reference));
}

NATIVE(jint, serviceStart)(THREAD, jlong service)
{
	return ww_service_start(object_of(service));
}

NATIVE(jint, serviceServe)(THREAD, jlong service, jlong timeout_ns, jlong cancel)
{
	return ww_service_serve(object_of(service), (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, serviceDrain)(THREAD, jlong service)
{
	return ww_service_drain(object_of(service));
}

NATIVE(jint, serviceExport)(THREAD, jlong service, jint access, jbyteArray params, jbyteArray out)
{
	struct ww_token_params token_params;
	struct ww_token token;

	if (!struct_load(env, params, &token_params, sizeof(token_params)))
		return WW_ERR_VERSION;
	ww_status status = ww_service_export(object_of(service), (uint32_t)access, &token_params,
		NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

INFO(serviceInfo, ww_service_info, ww_service_info_get)
INDEXED_INFO(serviceFunction, ww_function_info, ww_service_function_info_get)

/* --- in a function --- */

/* A memory or a timeline that the value has gets one more reference, which is Java's. */
NATIVE(jint, callArgument)(THREAD, jlong call, jint index, jlongArray numbers, jobjectArray pieces)
{
	struct ww_value value;
	ww_status status = ww_call_argument(object_of(call), (uint32_t)index, &value);

	if (status == WW_OK && value.memory)
		ww_memory_ref(value.memory);
	if (status == WW_OK && value.timeline)
		ww_timeline_ref(value.timeline);
	return value_store(env, status, &value, numbers, pieces);
}

NATIVE(jint, callResult)(THREAD, jlong call, jint index, jlongArray numbers, jobjectArray pieces)
{
	struct values *values;
	ww_status status = values_create(env, numbers, pieces, &values);

	if (status != WW_OK)
		return status;
	status = ww_call_result(object_of(call), (uint32_t)index, &values->values[0]);
	free(values);
	return status;
}

/* @out: the stream, with a reference that is Java's. */
NATIVE(jint, callStream)(THREAD, jlong call, jlongArray out)
{
	ww_stream *stream = NULL;
	ww_status status = ww_call_stream(object_of(call), &stream);

	return object_store(env, status, status == WW_OK ? ww_stream_ref(stream) : NULL, out);
}

NATIVE(jint, callFail)(THREAD, jlong call, jint status, jbyteArray message)
{
	char text[TEXT_BYTES];

	return ww_call_fail(object_of(call), status, text_load(env, message, text));
}

NATIVE(jboolean, callIsCancelled)(THREAD, jlong call)
{
	return ww_call_is_cancelled(object_of(call)) != 0;
}

INFO(callInfo, ww_call_info, ww_call_info_get)
