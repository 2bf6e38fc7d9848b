/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c - devices and streams
 */
#include "native.h"

NATIVE(jint, deviceCount)(THREAD, jint backend, jlongArray out)
{
	uint32_t count = 0;
	ww_status status = ww_device_count((uint32_t)backend, &count);
	jlong value = count;

	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &value);
	return status;
}

NATIVE(jint, deviceOpen)(THREAD, jbyteArray name, jlongArray out)
{
	char text[TEXT_BYTES];
	ww_device *device = NULL;
	ww_status status = ww_device_open(text_load(env, name, text), &device);

	return object_store(env, status, device, out);
}

INFO(deviceInfo, ww_device_info, ww_device_info_get)

NATIVE(jint, deviceFreeBytes)(THREAD, jlong device, jlongArray out)
{
	uint64_t bytes = 0;
	ww_status status = ww_device_free_bytes(object_of(device), &bytes);
	jlong value = (jlong)bytes;

	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &value);
	return status;
}

NATIVE(jint, streamCreate)(THREAD, jlong device, jlongArray out)
{
	ww_stream *stream = NULL;
	ww_status status = ww_stream_create(object_of(device), &stream);

	return object_store(env, status, stream, out);
}

NATIVE(jint, streamSynchronize)(THREAD, jlong stream, jlong timeout_ns, jlong cancel)
{
	return ww_stream_synchronize(object_of(stream), (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, streamQuery)(THREAD, jlong stream)
{
	return ww_stream_query(object_of(stream));
}

NATIVE(jint, streamRecover)(THREAD, jlong stream)
{
	return ww_stream_recover(object_of(stream));
}

/* Java has checked that both spans lie inside their memories. */
NATIVE(jint, streamCopy)
(THREAD, jlong stream, jlong to, jlong to_offset, jlong from, jlong from_offset, jlong bytes)
{
	char *destination = ww_memory_pointer(object_of(to));
	const char *source = ww_memory_pointer(object_of(from));

	return ww_stream_copy(object_of(stream), destination + to_offset, source + from_offset,
		(uint64_t)bytes);
}

NATIVE(jint, streamFill)
(THREAD, jlong stream, jlong to, jlong offset, jint value, jint value_bytes, jlong count)
{
	char *destination = ww_memory_pointer(object_of(to));

	return ww_stream_fill(object_of(stream), destination + offset, (uint32_t)value,
		(uint32_t)value_bytes, (uint64_t)count);
}
