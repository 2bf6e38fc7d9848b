/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_handle.c - an Array in memory that a program without this library shares by its handle
 */
#include "array.h"

#include "memory.h"

struct open_call {
	ww_device *device;
	struct ww_memory_handle handle;
	struct ww_array array;
	struct ww_import_params params;
	ww_memory *memory;
};

static ww_status run_open(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct open_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_array_handle_open(args->device, &args->handle, &args->array, &args->params,
		&args->memory);
}

static bool describe(struct core *core, struct ww_array *array, PyObject *shape, PyObject *dtype,
	PyObject *strides, uint64_t offset)
{
	int64_t dims[WW_ARRAY_DIMS], steps[WW_ARRAY_DIMS];
	int ndim = convert_shape(core, shape, "shape", dims);
	int count = strides == Py_None ? ndim : convert_shape(core, strides, "strides", steps);
	struct ww_dtype type;
	ww_status status;

	if (ndim < 0 || count < 0 || !convert_dtype(core, dtype, &type))
		return false;
	if (count != ndim) {
		error_raise_text(core, WW_ERR_INVALID, "there are %d strides for %d dimensions",
			count, ndim);
		return false;
	}
	status = ww_array_set(array, &type, (uint32_t)ndim, dims, strides == Py_None ? NULL : steps,
		offset);
	if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

PyObject *array_open_handle(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"handle", "shape", "dtype", "strides", "offset", "access", "device",
		NULL};
	struct open_call call = {
		.params = {.struct_size = sizeof(call.params), .access = WW_ACCESS_WRITE}};
	PyObject *shape, *dtype, *strides = Py_None, *which = Py_None, *memory, *array;
	struct core *core = PyModule_GetState(module);
	uint64_t offset = 0;
	Py_ssize_t length;
	ww_status status;
	char *handle;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y#OO|OO&O&O:open_handle", names,
		    &handle, &length, &shape, &dtype, &strides, convert_bytes, &offset,
		    convert_access, &call.params.access, &which))
		return NULL;
	if (length != WW_MEMORY_HANDLE_BYTES)
		return PyErr_Format(PyExc_ValueError, "a handle has %d bytes, not %zd",
			WW_MEMORY_HANDLE_BYTES, length);
	memcpy(call.handle.bytes, handle, WW_MEMORY_HANDLE_BYTES);
	if (!describe(core, &call.array, shape, dtype, strides, offset))
		return NULL;
	call.device = convert_device(core, which);
	if (!call.device)
		return NULL;
	status = wait_direct(run_open, &call);
	handle_return(&device_class, call.device);
	if (status != WW_OK)
		return error_raise(core, status);
	memory = memory_object_imported(core, call.memory);
	array = memory ? array_object(core, memory, &call.array) : NULL;
	Py_XDECREF(memory);
	return array;
}
