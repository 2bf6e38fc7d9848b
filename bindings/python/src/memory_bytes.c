/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_bytes.c - copies into and out of a Memory
 */
#include "memory.h"

struct copy_call {
	ww_memory *memory;
	uint64_t offset;
	void *buffer;
	uint64_t bytes;
};

static ww_status run_write(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct copy_call *args = call;

	return ww_memory_write(args->memory, args->offset, args->buffer, args->bytes, timeout_ns,
		cancel);
}

static ww_status run_read(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct copy_call *args = call;

	return ww_memory_read(args->memory, args->offset, args->buffer, args->bytes, timeout_ns,
		cancel);
}

/* Copies between the memory and a buffer, which is released. Return: 0; -1 with an exception. */
static int copy_buffer(PyObject *self, wait_fn fn, Py_buffer *buffer, uint64_t offset,
	uint64_t timeout_ns, PyObject *cancel)
{
	struct copy_call call = {
		.memory = memory_borrow_briefly(self),
		.offset = offset,
		.buffer = buffer->buf,
		.bytes = (uint64_t)buffer->len,
	};
	ww_status status = STATUS_RAISED;

	if (call.memory)
		status = wait_timed(core_of(self), fn, &call, timeout_ns, cancel);
	memory_return(call.memory);
	PyBuffer_Release(buffer);
	if (status == WW_OK)
		return 0;
	error_raise(core_of(self), status);
	return -1;
}

PyObject *memory_write(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"data", "offset", "timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER, offset = 0;
	PyObject *cancel = NULL;
	Py_buffer buffer;
	int status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*|O&$O&O:write", names, &buffer,
		    convert_bytes, &offset, convert_timeout, &timeout_ns, &cancel))
		return NULL;
	if (!memory_begin_write(self)) {
		PyBuffer_Release(&buffer);
		return NULL;
	}
	status = copy_buffer(self, run_write, &buffer, offset, timeout_ns, cancel);
	memory_end_write(self);
	if (status < 0)
		return NULL;
	Py_RETURN_NONE;
}

PyObject *memory_readinto(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"buffer", "offset", "timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER, offset = 0;
	PyObject *cancel = NULL;
	Py_buffer buffer;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "w*|O&$O&O:readinto", names, &buffer,
		    convert_bytes, &offset, convert_timeout, &timeout_ns, &cancel))
		return NULL;
	if (copy_buffer(self, run_read, &buffer, offset, timeout_ns, cancel) < 0)
		return NULL;
	Py_RETURN_NONE;
}

PyObject *memory_read(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"offset", "nbytes", "timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER, offset = 0, bytes = UINT64_MAX;
	struct ww_memory_info info;
	PyObject *cancel = NULL, *made;
	Py_buffer buffer = {0};

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&O&$O&O:read", names,
		    convert_bytes, &offset, convert_bytes, &bytes, convert_timeout, &timeout_ns,
		    &cancel) ||
		!memory_info(self, &info))
		return NULL;
	if (bytes == UINT64_MAX)
		bytes = offset < info.bytes ? info.bytes - offset : 0;
	if (bytes > info.bytes) /* before as many are allocated */
		return error_raise_text(core_of(self), WW_ERR_INVALID,
			"cannot read %llu bytes of a memory of %llu bytes",
			(unsigned long long)bytes, (unsigned long long)info.bytes);
	made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
	if (!made)
		return NULL;
	buffer.buf = PyBytes_AsString(made);
	buffer.len = (Py_ssize_t)bytes;
	if (copy_buffer(self, run_read, &buffer, offset, timeout_ns, cancel) < 0)
		Py_CLEAR(made);
	return made;
}
