/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_exchange.c - an Array for other libraries of this process, and theirs as an Array
 *
 * Nothing is copied. What another library gets has a reference of the memory of its own, so it
 * stays valid when the Array is closed. Before anything is handed out, the array's ready point is
 * waited for: by the stream that the consumer names, else by the CPU.
 */
#include "array.h"

#include <warpway/dlpack.h>

#include "dlpack.h"
#include "memory.h"

static const struct ww_array *array_of(PyObject *self)
{
	return &((struct array_instance *)self)->array;
}

static PyObject *memory_of(PyObject *self)
{
	return ((struct array_instance *)self)->memory;
}

/* --- DLPack, from here --- */

bool dlpack_place(PyObject *memory, int *out_type, int *out_id)
{
	struct ww_device_info shown = WW_INIT(struct ww_device_info);
	struct ww_memory_info info;
	ww_device *device = memory_device(memory, &info);
	ww_status status;

	if (!device)
		return false;
	status = ww_device_info_get(device, &shown);
	handle_return(&device_class, device);
	if (status != WW_OK) {
		error_raise(core_of(memory), status);
		return false;
	}
	*out_id = 0;
	*out_type = DL_CPU;
	if (shown.backend == WW_BACKEND_CUDA && info.kind == WW_MEMORY_HOST)
		*out_type = DL_CUDA_HOST;
	if (shown.backend == WW_BACKEND_CUDA && info.kind != WW_MEMORY_HOST) {
		*out_type = DL_CUDA;
		*out_id = (int)shown.index;
	}
	return true;
}

static bool dl_device(PyObject *self, int *out_type, int *out_id)
{
	return dlpack_place(memory_of(self), out_type, out_id);
}

PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
	int type, id;

	(void)unused;
	return dl_device(self, &type, &id) ? Py_BuildValue("(ii)", type, id) : NULL;
}

/* What a consumer asks for. */
struct dlpack_request {
	bool must_copy;
	bool may_copy;
	int type, id; /* the device, if it is not the array's own or bytes are copied */
};

static bool read_copy(PyObject *copy, struct dlpack_request *request)
{
	int is_true = copy == Py_None ? 0 : PyObject_IsTrue(copy);

	if (is_true < 0)
		return false;
	request->must_copy = is_true;
	request->may_copy = is_true || copy == Py_None;
	return true;
}

/* Bytes are copied to another device, if that is allowed. The CPU reaches pinned ones in place. */
static bool read_place(PyObject *self, PyObject *wanted, struct dlpack_request *request)
{
	int own_type, own_id;

	if (wanted == Py_None && !request->must_copy)
		return true;
	if (!dl_device(self, &own_type, &own_id))
		return false;
	request->type = own_type;
	request->id = own_id;
	if (wanted == Py_None)
		return true;
	if (!PyTuple_Check(wanted)) {
		PyErr_Format(PyExc_TypeError, "dl_device is a tuple of two ints, not %R", wanted);
		return false;
	}
	if (!PyArg_ParseTuple(wanted, "ii;dl_device is a tuple of two ints", &request->type,
		    &request->id))
		return false;
	if (request->type == own_type && request->id == own_id)
		return true;
	if (request->type == DL_CPU && own_type == DL_CUDA_HOST)
		return true;
	if (!request->may_copy || (request->type != DL_CPU && request->type != DL_CUDA)) {
		PyErr_Format(PyExc_BufferError,
			"this array is on DLPack's device (%d, %d), and %s to (%d, %d)", own_type,
			own_id,
			request->may_copy ? "cannot be copied" : "copy=False forbids the copy",
			request->type, request->id);
		return false;
	}
	request->must_copy = true;
	return true;
}

/* Has the consumer's stream wait for the ready point; where it names none, the CPU waits. */
static bool order_consumer(PyObject *self, PyObject *stream)
{
	ww_stream *waiter = NULL;
	ww_status status;
	int type, id;

	if (stream == Py_None && !((struct array_instance *)self)->ready.timeline)
		return true;
	if (!dl_device(self, &type, &id))
		return false;
	if (type != DL_CUDA && stream != Py_None && type == DL_CPU) {
		PyErr_SetString(PyExc_BufferError, "stream must be None for an array of the CPU");
		return false;
	}
	if (PyLong_Check(stream) && PyLong_AsLong(stream) == -1 && !PyErr_Occurred())
		return true;
	/* Of a number of more than 64 bits. It is refused as a pointer, if it is used. */
	PyErr_Clear();
	if (!((struct array_instance *)self)->ready.timeline)
		return true;
	if (type == DL_CUDA) {
		PyObject *legacy = stream == Py_None ? PyLong_FromLong(1) : Py_NewRef(stream);

		if (legacy)
			waiter = memory_stream(memory_of(self), legacy);
		Py_XDECREF(legacy);
		if (!waiter)
			return false;
	}
	status = array_wait_ready(self, waiter, WW_FOREVER, NULL);
	handle_return(&stream_class, waiter);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

/* It may be the last reference of the memory, whose release may block. */
static void capsule_free(PyObject *capsule)
{
	struct DLManagedTensorVersioned *versioned = NULL;
	struct DLManagedTensor *plain = NULL;

	if (callback_is_stuck())
		return;
	if (PyCapsule_IsValid(capsule, CAPSULE_VERSIONED))
		versioned = PyCapsule_GetPointer(capsule, CAPSULE_VERSIONED);
	else if (PyCapsule_IsValid(capsule, CAPSULE_PLAIN))
		plain = PyCapsule_GetPointer(capsule, CAPSULE_PLAIN);
	Py_BEGIN_ALLOW_THREADS
	if (versioned)
		versioned->deleter(versioned);
	if (plain)
		plain->deleter(plain);
	Py_END_ALLOW_THREADS
}

/* --- deleters ---
 *
 * The consumer's streams may still use the memory when its tensor ends. So of a GPU's memory the
 * tensor has a second reference, in its field for the producer, which is retired. Both functions
 * may be called from any thread, also after Python has ended.
 */

static void (*delete_plain)(struct DLManagedTensor *self);
static void (*delete_versioned)(struct DLManagedTensorVersioned *self);

static void delete_streamed_plain(struct DLManagedTensor *self)
{
	ww_memory_retire(self->context);
	delete_plain(self);
}

static void delete_streamed_versioned(struct DLManagedTensorVersioned *self)
{
	ww_memory_retire(self->context);
	delete_versioned(self);
}

/* A frame of a channel is given back in the order of its stream, if it has one. */
static bool needs_retire(PyObject *self, const struct dl_tensor *tensor)
{
	return tensor->device_type != DL_CPU &&
		!((struct memory_handle *)memory_of(self))->is_ordered;
}

/* The library has one deleter for all tensors of a form. */
static void tensor_stream_plain(PyObject *self, struct DLManagedTensor *tensor, ww_memory *memory)
{
	if (!needs_retire(self, &tensor->tensor))
		return;
	delete_plain = tensor->deleter;
	tensor->context = ww_memory_ref(memory);
	tensor->deleter = delete_streamed_plain;
}

static void tensor_stream_versioned(PyObject *self, struct DLManagedTensorVersioned *tensor,
	ww_memory *memory)
{
	if (!needs_retire(self, &tensor->tensor))
		return;
	delete_versioned = tensor->deleter;
	tensor->context = ww_memory_ref(memory);
	tensor->deleter = delete_streamed_versioned;
}

static PyObject *raise_buffer_error(void)
{
	char text[ERROR_TEXT_BYTES];

	error_text(ww_error_last()->message, text);
	PyErr_SetString(PyExc_BufferError, text);
	return NULL;
}

static PyObject *capsule_versioned(PyObject *self, ww_memory *memory, uint64_t flags)
{
	struct DLManagedTensorVersioned *tensor;
	ww_status status = ww_dlpack_export(memory, array_of(self), &tensor);
	PyObject *capsule;

	if (status != WW_OK)
		return raise_buffer_error();
	tensor->flags |= flags;
	tensor_stream_versioned(self, tensor, memory);
	capsule = PyCapsule_New(tensor, CAPSULE_VERSIONED, capsule_free);
	if (!capsule)
		tensor->deleter(tensor);
	return capsule;
}

static PyObject *capsule_plain(PyObject *self, ww_memory *memory)
{
	struct DLManagedTensor *tensor;
	ww_status status = ww_dlpack_export_unversioned(memory, array_of(self), &tensor);
	PyObject *capsule;

	if (status != WW_OK)
		return raise_buffer_error();
	tensor_stream_plain(self, tensor, memory);
	capsule = PyCapsule_New(tensor, CAPSULE_PLAIN, capsule_free);
	if (!capsule)
		tensor->deleter(tensor);
	return capsule;
}

static PyObject *capsule_make(PyObject *self, bool is_versioned, bool is_copied)
{
	ww_memory *memory = memory_borrow(memory_of(self));
	PyObject *capsule;

	if (!memory)
		return NULL;
	if (!memory_expose(memory_of(self))) {
		memory_return(memory);
		return NULL;
	}
	capsule = is_versioned ? capsule_versioned(self, memory, is_copied ? DL_IS_COPIED : 0)
			       : capsule_plain(self, memory);
	handle_give_back(memory_of(self), &memory_class, memory);
	return capsule;
}

static PyObject *capsule_of_copy(PyObject *self, const struct dlpack_request *request,
	PyObject *stream, bool is_versioned)
{
	PyObject *copy = array_copy_for(self, request->type, request->id, stream);
	PyObject *capsule = copy ? capsule_make(copy, is_versioned, true) : NULL;

	Py_XDECREF(copy);
	return capsule;
}

/* Which form of tensor the consumer knows. */
static bool read_version(PyObject *version, bool *out_is_versioned)
{
	long major, minor;

	*out_is_versioned = false;
	if (version == Py_None)
		return true;
	if (!PyTuple_Check(version) || PyTuple_Size(version) != 2) {
		PyErr_Format(PyExc_TypeError, "max_version is a tuple of two ints, not %R",
			version);
		return false;
	}
	major = PyLong_AsLong(PyTuple_GetItem(version, 0));
	if (major == -1 && PyErr_Occurred())
		return false;
	minor = PyLong_AsLong(PyTuple_GetItem(version, 1));
	*out_is_versioned = major >= 1;
	return minor != -1 || !PyErr_Occurred();
}

PyObject *array_dlpack(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
	static const char *const all[] = {"stream", "max_version", "dl_device", "copy", NULL};
	PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
	PyObject **const out[] = {&stream, &version, &device, &copy};
	const struct fast_call call = {values, count, names};
	struct dlpack_request request;
	bool is_versioned;

	if (!convert_arguments("__dlpack__", all, 0, &call, out) ||
		!array_check_plain(self, "BufferError") || !read_version(version, &is_versioned) ||
		!read_copy(copy, &request) || !read_place(self, device, &request))
		return NULL;
	if (request.must_copy)
		return capsule_of_copy(self, &request, stream, is_versioned);
	return order_consumer(self, stream) ? capsule_make(self, is_versioned, false) : NULL;
}

/* A Memory is its bytes. */
PyObject *memory_dlpack(PyObject *self, PyObject *const *values, Py_ssize_t count, PyObject *names)
{
	const struct ww_dtype byte = {WW_DTYPE_UINT, 8, 1};
	struct ww_memory_info info;
	struct ww_array array;
	PyObject *bytes, *capsule;
	int64_t length;

	if (!memory_info(self, &info))
		return NULL;
	length = (int64_t)info.bytes;
	ww_array_set(&array, &byte, 1, &length, NULL, 0);
	bytes = array_object(core_of(self), self, &array);
	capsule = bytes ? array_dlpack(bytes, values, count, names) : NULL;
	Py_XDECREF(bytes);
	return capsule;
}

PyObject *memory_dlpack_device(PyObject *self, PyObject *unused)
{
	int type, id;

	(void)unused;
	return dlpack_place(self, &type, &id) ? Py_BuildValue("(ii)", type, id) : NULL;
}

/* --- the array interfaces, of CUDA and of NumPy --- */

static const char *typestr_kind(const struct ww_dtype *dtype)
{
	static const char *const kinds[] = {"i", "u", "f", "V", NULL, "c", "b"};

	return dtype->lanes == 1 && dtype->code < 7 ? kinds[dtype->code] : NULL;
}

/* What both have. @pointer: of the memory */
static PyObject *interface_make(PyObject *self, const struct ww_memory_info *info,
	const void *pointer)
{
	const struct ww_array *array = array_of(self);
	const char *kind = typestr_kind(&array->dtype);
	char typestr[16];

	if (!kind)
		return PyErr_Format(PyExc_AttributeError,
			"the array interfaces have no name for this type of elements; use DLPack");
	snprintf(typestr, sizeof(typestr), "%s%s%d", array->dtype.bits == 8 ? "|" : "<", kind,
		array->dtype.bits / 8);
	return Py_BuildValue("{s:N,s:s,s:(NO),s:N,s:i}", "shape",
		info_numbers(array->shape, array->ndim), "typestr", typestr, "data",
		PyLong_FromVoidPtr((char *)(uintptr_t)pointer + array->offset),
		info->access == WW_ACCESS_READ ? Py_True : Py_False, "strides",
		info_numbers(array->strides, array->ndim), "version", 3);
}

/* CUDA's legacy default stream, where there is a ready point: it waits for that. */
static PyObject *cuda_interface(PyObject *self, const struct ww_memory_info *info)
{
	PyObject *made = interface_make(self, info, info->pointer);
	PyObject *stream = ((struct array_instance *)self)->ready.timeline ? PyLong_FromLong(1)
									   : Py_NewRef(Py_None);

	if (made && (!stream || PyDict_SetItemString(made, "stream", stream) < 0))
		Py_CLEAR(made);
	Py_XDECREF(stream);
	return made;
}

PyObject *array_interface(PyObject *self, void *unused)
{
	struct ww_memory_info info;
	ww_status status;

	(void)unused;
	if (!array_check_plain(self, "AttributeError") || !memory_info(memory_of(self), &info))
		return NULL;
	if (!info.host_pointer)
		return PyErr_Format(PyExc_AttributeError,
			"the CPU cannot reach this array of a GPU, so it has no array interface; use DLPack");
	if (!memory_expose(memory_of(self)))
		return NULL;
	status = array_wait_ready(self, NULL, WW_FOREVER, NULL);
	return status == WW_OK ? interface_make(self, &info, info.host_pointer)
			       : error_raise(core_of(self), status);
}

PyObject *array_cuda_interface(PyObject *self, void *unused)
{
	struct ww_memory_info info;
	int type, id;

	(void)unused;
	if (!array_check_plain(self, "AttributeError") || !dl_device(self, &type, &id) ||
		!memory_info(memory_of(self), &info))
		return NULL;
	if (type == DL_CPU)
		return PyErr_Format(PyExc_AttributeError,
			"an array of the host device has no CUDA array interface");
	if (!memory_expose(memory_of(self)))
		return NULL;
	memory_mark_streamed(memory_of(self));
	/* Where there is a ready point, CUDA's legacy default stream waits for it. */
	return order_consumer(self, Py_None) ? cuda_interface(self, &info) : NULL;
}
