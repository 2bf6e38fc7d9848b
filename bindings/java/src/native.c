/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.c - loading, versions, errors, cancelling, releasing; structs and texts to and from Java
 */
#include "native.h"

#include <string.h>

static JavaVM *java_vm;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	(void)reserved;
	java_vm = vm;
	return JNI_VERSION_1_8;
}

JNIEnv *java_env(void)
{
	void *env = NULL;

	if ((*java_vm)->GetEnv(java_vm, &env, JNI_VERSION_1_8) != JNI_OK)
		return NULL;
	return env;
}

bool struct_load(JNIEnv *env, jbyteArray bytes, void *out_struct, size_t size)
{
	if (!bytes || (size_t)(*env)->GetArrayLength(env, bytes) != size)
		return false;
	(*env)->GetByteArrayRegion(env, bytes, 0, (jsize)size, out_struct);
	return true;
}

void *params_load(JNIEnv *env, jbyteArray bytes, void *params, size_t size, bool *ok)
{
	*ok = !bytes || struct_load(env, bytes, params, size);
	return bytes && *ok ? params : NULL;
}

jint struct_store(JNIEnv *env, ww_status status, const void *from, size_t size, jbyteArray bytes)
{
	if (status != WW_OK || !bytes)
		return status;
	if ((size_t)(*env)->GetArrayLength(env, bytes) != size)
		return WW_ERR_VERSION;
	(*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, from);
	return status;
}

jint object_store(JNIEnv *env, ww_status status, const void *object, jlongArray out)
{
	jlong address = (jlong)(uintptr_t)object;

	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &address);
	return status;
}

const char *text_load(JNIEnv *env, jbyteArray bytes, char out_text[TEXT_BYTES])
{
	if (!bytes)
		return NULL;
	jsize length = (*env)->GetArrayLength(env, bytes);
	if (length > TEXT_BYTES)
		length = TEXT_BYTES;
	(*env)->GetByteArrayRegion(env, bytes, 0, length, (jbyte *)out_text);
	out_text[length > 0 ? length - 1 : 0] = 0;
	return out_text;
}

jbyteArray bytes_create(JNIEnv *env, const void *from, size_t size)
{
	jbyteArray bytes = (*env)->NewByteArray(env, (jsize)size);

	if (bytes)
		(*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, from);
	return bytes;
}

NATIVE(jbyteArray, version)(THREAD)
{
	return bytes_create(env, WW_VERSION, strlen(WW_VERSION));
}

NATIVE(jbyteArray, libraryVersion)(THREAD)
{
	const char *version = ww_version();

	return bytes_create(env, version, strlen(version));
}

NATIVE(jint, errorLast)(THREAD, jbyteArray out)
{
	return struct_store(env, WW_OK, ww_error_last(), sizeof(struct ww_error), out);
}

NATIVE(jbyteArray, statusText)(THREAD, jint status)
{
	const char *text = ww_status_text(status);

	return bytes_create(env, text, strlen(text));
}

NATIVE(jlong, cancelNowait)(THREAD)
{
	return (jlong)(uintptr_t)ww_cancel_nowait();
}

NATIVE(jint, cancelCreate)(THREAD, jlongArray out)
{
	ww_cancel *cancel = NULL;
	ww_status status = ww_cancel_create(&cancel);

	return object_store(env, status, cancel, out);
}

NATIVE(void, cancelSet)(THREAD, jlong cancel)
{
	ww_cancel_set(object_of(cancel));
}

NATIVE(jboolean, cancelIsSet)(THREAD, jlong cancel)
{
	return ww_cancel_is_set(object_of(cancel)) != 0;
}

typedef void (*release_fn)(void *object);

static void memory_retire(void *memory)
{
	ww_memory_retire(memory);
}

#define RELEASE(name, unref)           \
	static void name(void *object) \
	{                              \
		unref(object);         \
	}

RELEASE(device_release, ww_device_unref)
RELEASE(stream_release, ww_stream_unref)
RELEASE(memory_release, ww_memory_unref)
RELEASE(pool_release, ww_pool_unref)
RELEASE(broker_release, ww_broker_unref)
RELEASE(hold_release, ww_object_unref)
RELEASE(watch_release, ww_watch_free)
RELEASE(timeline_release, ww_timeline_unref)
RELEASE(event_release, ww_event_unref)
RELEASE(barrier_release, ww_barrier_unref)
RELEASE(channel_release, ww_channel_unref)
RELEASE(service_release, ww_service_unref)
RELEASE(client_release, ww_client_unref)
RELEASE(ticket_release, ww_ticket_unref)
RELEASE(cancel_release, ww_cancel_unref)
RELEASE(work_queue_release, ww_work_queue_unref)

static const release_fn releases[] = {
	[KIND_DEVICE] = device_release,
	[KIND_STREAM] = stream_release,
	[KIND_MEMORY] = memory_release,
	[KIND_POOL] = pool_release,
	[KIND_BROKER] = broker_release,
	[KIND_HOLD] = hold_release,
	[KIND_WATCH] = watch_release,
	[KIND_TIMELINE] = timeline_release,
	[KIND_EVENT] = event_release,
	[KIND_BARRIER] = barrier_release,
	[KIND_CHANNEL] = channel_release,
	[KIND_SERVICE] = service_release,
	[KIND_CLIENT] = client_release,
	[KIND_TICKET] = ticket_release,
	[KIND_CANCEL] = cancel_release,
	[KIND_WORK_QUEUE] = work_queue_release,
	[KIND_MEMORY_OF_STREAM] = memory_retire,
};

NATIVE(void, release)(THREAD, jint kind, jlong object)
{
	releases[kind](object_of(object));
}
