/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hand_over.c - what a slice of a pool costs in C, for warpway.bench, to compare with Python
 */
#include "core.h"

#include <time.h>

#include <warpway/dlpack.h>

#include "dlpack.h"

struct hand_over {
	ww_pool *pool;
	uint64_t bytes;
};

/* A token of an array, opened in this process and given to a consumer of DLPack. */
static ww_status pass_on(ww_memory *slice, const struct ww_array *array)
{
	const struct ww_export_params sent = {
		.struct_size = sizeof(sent),
		.access = WW_ACCESS_WRITE,
		.flags = WW_EXPORT_DELIVERY,
		.uses = 1,
		.array = array,
	};
	const struct ww_import_params wanted = {
		.struct_size = sizeof(wanted),
		.access = WW_ACCESS_WRITE,
	};
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct DLManagedTensorVersioned *tensor;
	ww_memory *opened = NULL;
	struct ww_token token;
	ww_status status = ww_memory_info_get(slice, &info);

	if (status == WW_OK)
		status = ww_memory_export(slice, NULL, &sent, NULL, &token);
	if (status == WW_OK)
		status = ww_memory_import(info.device, NULL, &token, &wanted, NULL, &opened, NULL);
	if (status == WW_OK)
		status = ww_dlpack_export(opened, array, &tensor);
	if (status == WW_OK)
		tensor->deleter(tensor);
	ww_memory_unref(opened);
	return status;
}

static ww_status hand_over_once(const struct hand_over *call)
{
	const int64_t shape = (int64_t)call->bytes;
	struct ww_array array;
	ww_memory *slice = NULL;
	ww_status status = ww_array_set(&array, WW_DTYPE(WW_DTYPE_UINT, 8), 1, &shape, NULL, 0);

	if (status == WW_OK)
		status = ww_pool_alloc(call->pool, call->bytes, 0, 0, NULL, &slice);
	if (status == WW_OK)
		status = pass_on(slice, &array);
	ww_memory_unref(slice);
	return status;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

PyObject *hand_over(PyObject *module, PyObject *arguments)
{
	struct core *core = core_of_module(module);
	struct hand_over call;
	PyObject *pool;
	ww_status status;
	uint64_t ns;

	if (!core ||
		!PyArg_ParseTuple(arguments, "OO&:hand_over", &pool, convert_bytes, &call.bytes))
		return NULL;
	call.pool = convert_handle(core, CORE_POOL, &pool_class, pool);
	if (!call.pool)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	ns = now_ns();
	status = hand_over_once(&call);
	ns = now_ns() - ns;
	Py_END_ALLOW_THREADS
	handle_return(&pool_class, call.pool);
	return status == WW_OK ? PyLong_FromUnsignedLongLong(ns) : error_raise(core, status);
}
