/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - clients of services: functions, calls and their tickets
 *
 * One thread at a time uses a client and its tickets: the Java side has one lock for all of them.
 */
#include "value.h"

#include <stdlib.h>

NATIVE(jint, clientOpen)
(THREAD, jlong broker, jbyteArray name, jint flags, jint gid, jlong timeout_ns, jlong cancel,
	jlongArray out)
{
	char text[TEXT_BYTES];
	ww_client *client = NULL;
	ww_status status = ww_client_open(object_of(broker), text_load(env, name, text),
		WW_PARAMS(struct ww_client_params, .flags = (uint32_t)flags, .gid = (uint32_t)gid),
		(uint64_t)timeout_ns, object_of(cancel), &client);

	return object_store(env, status, client, out);
}

NATIVE(jint, clientImport)
(THREAD, jlong broker, jbyteArray token_bytes, jint flags, jint gid, jlongArray out)
{
	struct ww_token token;
	ww_client *client = NULL;

	if (!struct_load(env, token_bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_client_import(object_of(broker), &token,
		WW_PARAMS(struct ww_client_params, .flags = (uint32_t)flags, .gid = (uint32_t)gid),
		NULL, &client);
	return object_store(env, status, client, out);
}

INFO(clientServiceInfo, ww_service_info, ww_client_service_info_get)
INDEXED_INFO(clientFunction, ww_function_info, ww_client_function_info_get)

NATIVE(jint, clientWaitReady)(THREAD, jlong client, jlong timeout_ns, jlong cancel)
{
	return ww_client_wait_ready(object_of(client), (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, clientFind)
(THREAD, jlong client, jbyteArray name, jbyteArray signature, jlong timeout_ns, jlong cancel,
	jlongArray out)
{
	char text[TEXT_BYTES], signature_text[TEXT_BYTES];
	uint32_t function = 0;
	ww_status status = ww_client_find(object_of(client), text_load(env, name, text),
		text_load(env, signature, signature_text), (uint64_t)timeout_ns, object_of(cancel),
		&function);
	jlong index = function;

	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &index);
	return status;
}

/*
 * @params: a struct ww_submit_params without its pointers; @depends_on: the numbers of calls;
 * @after: a timeline, or 0.
 * @call: make the call and wait for its results.
 */
NATIVE(jint, clientSubmit)
(THREAD, jlong client, jint function, jlongArray numbers, jobjectArray pieces, jbyteArray params,
	jlongArray depends_on, jlong after, jboolean call, jlong timeout_ns, jlong cancel,
	jlongArray out)
{
	struct ww_submit_params submit;
	struct values *values;
	ww_ticket *ticket = NULL;

	if (!struct_load(env, params, &submit, sizeof(submit)))
		return WW_ERR_VERSION;
	submit.after = object_of(after);
	ww_status status = values_create(env, numbers, pieces, &values);
	if (status != WW_OK)
		return status;
	jlong *calls = (*env)->GetLongArrayElements(env, depends_on, NULL);
	if (!calls) {
		free(values);
		return WW_ERR_NO_MEMORY;
	}
	submit.depends_more = (const uint64_t *)calls;
	submit.depends_more_count = (uint32_t)(*env)->GetArrayLength(env, depends_on);
	status = (call ? ww_client_call : ww_client_submit)(object_of(client), (uint32_t)function,
		values->values, values->count, &submit, (uint64_t)timeout_ns, object_of(cancel),
		&ticket);
	(*env)->ReleaseLongArrayElements(env, depends_on, calls, JNI_ABORT);
	free(values);
	return object_store(env, status, ticket, out);
}

NATIVE(jint, clientLaneTimeline)
(THREAD, jlong client, jint lane, jlong timeout_ns, jlong cancel, jlongArray out)
{
	ww_timeline *timeline = NULL;
	ww_status status = ww_client_lane_timeline(object_of(client), (uint32_t)lane,
		(uint64_t)timeout_ns, object_of(cancel), &timeline);

	return object_store(env, status, timeline, out);
}

NATIVE(jint, ticketWait)(THREAD, jlong ticket, jlong timeout_ns, jlong cancel)
{
	return ww_ticket_wait(object_of(ticket), (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, ticketResult)
(THREAD, jlong ticket, jint index, jlongArray numbers, jobjectArray pieces)
{
	struct ww_value value;
	ww_status status = ww_ticket_result(object_of(ticket), (uint32_t)index, &value);

	return value_store(env, status, &value, numbers, pieces);
}

NATIVE(void, ticketCancel)(THREAD, jlong ticket)
{
	ww_ticket_cancel(object_of(ticket));
}

INFO(ticketInfo, ww_ticket_info, ww_ticket_info_get)
