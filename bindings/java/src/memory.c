/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memories and pools: made, copied from and to Java's buffers, viewed
 */
#include "native.h"

NATIVE(jint, memoryCreate)(THREAD, jlong device, jint kind, jlong bytes, jlongArray out)
{
	ww_memory *memory = NULL;
	ww_status status = ww_memory_create(object_of(device),
		WW_PARAMS(struct ww_memory_params, .kind = (uint32_t)kind,
			.bytes = (uint64_t)bytes),
		&memory);

	return object_store(env, status, memory, out);
}

INFO(memoryInfo, ww_memory_info, ww_memory_info_get)

/* A buffer over the bytes, which has a reference of the memory; NULL without memory of the JVM. */
NATIVE(jobject, memoryView)(THREAD, jlong memory, jlong offset, jlong bytes)
{
	char *pointer = ww_memory_host_pointer(object_of(memory));

	jobject buffer = (*env)->NewDirectByteBuffer(env, pointer + offset, bytes);
	if (buffer)
		ww_memory_ref(object_of(memory));
	return buffer;
}

/* Copies between a memory and a direct buffer of Java, from its position on. */
NATIVE(jint, memoryWrite)
(THREAD, jlong memory, jlong offset, jobject buffer, jint position, jint bytes, jlong timeout_ns,
	jlong cancel)
{
	const char *source = (*env)->GetDirectBufferAddress(env, buffer);

	return ww_memory_write(object_of(memory), (uint64_t)offset, source + position,
		(uint64_t)bytes, (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, memoryRead)
(THREAD, jlong memory, jlong offset, jobject buffer, jint position, jint bytes, jlong timeout_ns,
	jlong cancel)
{
	char *destination = (*env)->GetDirectBufferAddress(env, buffer);

	return ww_memory_read(object_of(memory), (uint64_t)offset, destination + position,
		(uint64_t)bytes, (uint64_t)timeout_ns, object_of(cancel));
}

NATIVE(jint, memoryHandleOpen)
(THREAD, jlong device, jbyteArray bytes, jbyteArray params, jlongArray out)
{
	struct ww_memory_handle handle;
	struct ww_import_params import;
	ww_memory *memory = NULL;
	bool ok;
	void *given = params_load(env, params, &import, sizeof(import), &ok);

	if (!ok || !struct_load(env, bytes, &handle, sizeof(handle)))
		return WW_ERR_VERSION;
	ww_status status = ww_memory_handle_open(object_of(device), &handle, given, &memory);
	return object_store(env, status, memory, out);
}

NATIVE(jint, poolCreate)(THREAD, jlong device, jbyteArray params, jlongArray out)
{
	struct ww_pool_params pool_params;
	ww_pool *pool = NULL;
	bool ok;
	void *given = params_load(env, params, &pool_params, sizeof(pool_params), &ok);

	if (!ok)
		return WW_ERR_VERSION;
	ww_status status = ww_pool_create(object_of(device), given, &pool);
	return object_store(env, status, pool, out);
}

NATIVE(jint, poolAlloc)
(THREAD, jlong pool, jlong bytes, jlong alignment, jlong timeout_ns, jlong cancel, jlongArray out)
{
	ww_memory *memory = NULL;
	ww_status status = ww_pool_alloc(object_of(pool), (uint64_t)bytes, (uint64_t)alignment,
		(uint64_t)timeout_ns, object_of(cancel), &memory);

	return object_store(env, status, memory, out);
}

/* Takes a reference of its own, which ends when the stream has done its work. */
NATIVE(jint, poolRelease)(THREAD, jlong slice, jlong stream)
{
	ww_memory *reference = ww_memory_ref(object_of(slice));

	ww_status status = ww_pool_release(reference, object_of(stream));
	if (status != WW_OK)
		ww_memory_unref(reference);
	return status;
}

NATIVE(jint, poolExport)(THREAD, jlong pool, jlong broker, jbyteArray params, jbyteArray out)
{
	struct ww_export_params export;
	struct ww_token token;
	bool ok;
	void *given = params_load(env, params, &export, sizeof(export), &ok);

	if (!ok)
		return WW_ERR_VERSION;
	ww_status status = ww_pool_export(object_of(pool), object_of(broker), given, NULL, &token);
	return struct_store(env, status, &token, sizeof(token), out);
}

NATIVE(jint, poolImport)(THREAD, jlong device, jlong broker, jbyteArray bytes, jlongArray out)
{
	struct ww_token token;
	ww_pool *pool = NULL;

	if (!struct_load(env, bytes, &token, sizeof(token)))
		return WW_ERR_VERSION;
	ww_status status = ww_pool_import(object_of(device), object_of(broker), &token, NULL,
		&pool);
	return object_store(env, status, pool, out);
}

NATIVE(jint, poolTrim)(THREAD, jlong pool, jlong keep_bytes, jlongArray out)
{
	uint64_t bytes = 0;
	ww_status status = ww_pool_trim(object_of(pool), (uint64_t)keep_bytes, &bytes);
	jlong value = (jlong)bytes;

	if (status == WW_OK)
		(*env)->SetLongArrayRegion(env, out, 0, 1, &value);
	return status;
}

INFO(poolInfo, ww_pool_info, ww_pool_info_get)
INDEXED_INFO(poolHolder, ww_pool_holder_info, ww_pool_holder_get)
