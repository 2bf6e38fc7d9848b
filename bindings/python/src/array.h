/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - warpway.Array inside the extension
 *
 * An Array is a struct ww_array over a Memory. It may have a point at which its bytes are ready.
 */
#ifndef CORE_ARRAY_H
#define CORE_ARRAY_H

#include "core.h"
#include "ready_point.h"

struct array_instance {
	PyObject_HEAD
	PyObject *weakrefs;
	PyObject *memory; /* an instance of CORE_MEMORY; views of one array share it */
	bool is_view;     /* of another Array: see array_close() */
	PyObject *
		former; /* of a view that ended: its memory, which calls of other threads may use */
	PyObject *numpy_type; /* of opaque elements: (name, descr of numpy.lib.format); or NULL */
	PyObject *asked; /* an exporter that the Array keeps until it is freed; or NULL: buffer.c */
	struct ready_point ready;
	struct ww_array array;
};

/* array.c */

/* Sets the ready point. Takes over @timeline, which may be NULL with an exception: then false. */
bool array_set_ready(PyObject *self, PyObject *timeline, uint64_t value);
/* Another view of the same memory, with the same ready point. */
PyObject *array_view(PyObject *self, const struct ww_array *array);

/*
 * Elements of a type that NumPy alone knows travel by pickle, and by nothing else.
 * @error:  "Unsupported", "BufferError" or "AttributeError": the class of what is raised
 * Return: false with an exception: they are of such a type
 */
bool array_check_plain(PyObject *self, const char *error);

/* array_view.c: views */
PyObject *array_subscript(PyObject *self, PyObject *key);
PyObject *array_reshape(PyObject *self, PyObject *arguments);
PyObject *array_transpose(PyObject *self, PyObject *arguments);
PyObject *array_broadcast_to(PyObject *self, PyObject *shape);
PyObject *array_as_dtype(PyObject *self, PyObject *dtype);
/*
 * Its method close(). A view ends alone: its memory becomes a closed one. But if nothing else has
 * the memory, that is released.
 */
PyObject *array_close(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names);

/*
 * array_elements.c: whether a copy between an array and another one makes sense.
 * Return: false with an exception.
 */
bool array_check_same(PyObject *self, PyObject *other);
/* Of an object of another library: a masked array of NumPy would lose its mask. */
bool array_check_unmasked(PyObject *value);
/*
 * A memoryview of what is copied into an array, or from it, if that makes sense. NumPy's arrays of
 * a type that the buffer protocol cannot name, such as bfloat16, are seen as ones of integers.
 * Return: NULL with an exception.
 */
PyObject *array_view_buffer(PyObject *self, PyObject *buffer);

/* array_scalar.c: as a number, and in operators */
PyObject *array_float(PyObject *self);
PyObject *array_int(PyObject *self);
PyObject *array_index(PyObject *self);
PyObject *array_complex(PyObject *self, PyObject *unused);
PyObject *array_format(PyObject *self, PyObject *spec);
PyObject *array_bytes(PyObject *self, PyObject *unused);
int array_bool(PyObject *self);
int array_contains(PyObject *self, PyObject *value);
PyObject *array_compare(PyObject *self, PyObject *other, int operation);
Py_hash_t array_hash(PyObject *self);

/* array_exchange.c: with other libraries of this process */
PyObject *array_dlpack(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names);
PyObject *array_dlpack_device(PyObject *self, PyObject *unused);
PyObject *array_interface(PyObject *self, void *unused);
PyObject *array_cuda_interface(PyObject *self, void *unused);

/* buffer.c */
int array_getbuffer(PyObject *self, Py_buffer *view, int flags);

/* array_import.c, array_handle.c: functions of the module */
PyObject *array_from_dlpack(PyObject *module, PyObject *arguments, PyObject *keywords);
PyObject *array_open_handle(PyObject *module, PyObject *arguments, PyObject *keywords);

/* array_share.c: with other processes, and in the order of streams */
PyObject *array_token(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *array_reduce(PyObject *self, PyObject *unused);
PyObject *array_ready(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *array_wait(PyObject *self, PyObject *arguments, PyObject *keywords);
/* Waits by @stream, or on the CPU if that is NULL. Return: as wait_run(). */
ww_status array_wait_ready(PyObject *self, ww_stream *stream, uint64_t timeout_ns,
	PyObject *cancel);

#endif
