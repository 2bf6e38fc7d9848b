/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_exchange.c - an Array for other libraries of this process, and theirs as an Array
 *
 * Nothing is copied. What another library gets has a reference of the memory of its own, so it
 * stays valid when the Array is closed. Before anything is handed out, the array's ready point is
 * waited for: by the stream that the consumer names, else by the CPU.
 */
#include "array.h"

#include <stdlib.h>

#include <warpway/dlpack.h>

#include "memory.h"

/* Device types of DLPack. */
#define DL_CPU       1
#define DL_CUDA      2
#define DL_CUDA_HOST 3

/* Of DLPack 1.1: the parts that a capsule's destructor needs. */
struct DLManagedTensor {
	uint64_t tensor[6];
	void *context;
	void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
	uint32_t major, minor;
	void *context;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	uint64_t tensor[6];
};

#define CAPSULE_PLAIN     "dltensor"
#define CAPSULE_VERSIONED "dltensor_versioned"

static const struct ww_array *array_of(PyObject *self)
{
	return &((struct array_instance *)self)->array;
}

static PyObject *memory_of(PyObject *self)
{
	return ((struct array_instance *)self)->memory;
}

/* --- DLPack, from here --- */

static bool dl_device(PyObject *self, int *out_type, int *out_id)
{
	struct ww_device_info shown = WW_INIT(struct ww_device_info);
	struct ww_memory_info info;
	ww_device *device = memory_device(memory_of(self), &info);
	ww_status status;

	if (!device)
		return false;
	status = ww_device_info_get(device, &shown);
	handle_return(&device_class, device);
	if (status != WW_OK) {
		error_raise(core_of(self), status);
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

PyObject *array_dlpack_device(PyObject *self, PyObject *unused)
{
	int type, id;

	(void)unused;
	return dl_device(self, &type, &id) ? Py_BuildValue("(ii)", type, id) : NULL;
}

/* A consumer that asks for another device gets an error, or for the CPU what the CPU can reach. */
static bool check_device(PyObject *self, PyObject *wanted)
{
	int type, id, own_type, own_id;

	if (wanted == Py_None)
		return true;
	if (!PyTuple_Check(wanted)) {
		PyErr_Format(PyExc_TypeError, "dl_device is a tuple of two ints, not %R", wanted);
		return false;
	}
	if (!PyArg_ParseTuple(wanted, "ii;dl_device is a tuple of two ints", &type, &id) ||
		!dl_device(self, &own_type, &own_id))
		return false;
	if ((type == own_type && id == own_id) || (type == DL_CPU && own_type == DL_CUDA_HOST))
		return true;
	PyErr_Format(PyExc_BufferError,
		"this array is on DLPack's device (%d, %d), and is not copied to (%d, %d)",
		own_type, own_id, type, id);
	return false;
}

/* Has the consumer's stream wait for the ready point; where it names none, the CPU waits. */
static bool order_consumer(PyObject *self, PyObject *stream)
{
	ww_stream *waiter = NULL;
	ww_status status;
	int type, id;

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
	if (!((struct array_instance *)self)->timeline)
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

static PyObject *capsule_versioned(PyObject *self, ww_memory *memory)
{
	struct DLManagedTensorVersioned *tensor;
	ww_status status = ww_dlpack_export(memory, array_of(self), &tensor);
	PyObject *capsule;

	if (status != WW_OK)
		return PyErr_Format(PyExc_BufferError, "%s", ww_error_last()->message);
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
		return PyErr_Format(PyExc_BufferError, "%s", ww_error_last()->message);
	capsule = PyCapsule_New(tensor, CAPSULE_PLAIN, capsule_free);
	if (!capsule)
		tensor->deleter(tensor);
	return capsule;
}

PyObject *array_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
	PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
	PyObject *capsule;
	ww_memory *memory;
	int major = 0, minor;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__", names, &stream,
		    &version, &device, &copy))
		return NULL;
	if (version != Py_None && !PyTuple_Check(version))
		return PyErr_Format(PyExc_TypeError, "max_version is a tuple of two ints, not %R",
			version);
	if (version != Py_None &&
		!PyArg_ParseTuple(version, "ii;max_version is a tuple of two ints", &major, &minor))
		return NULL;
	if (copy != Py_None && PyObject_IsTrue(copy))
		return PyErr_Format(PyExc_BufferError,
			"an Array makes no copies for DLPack: take it without copy=True, and copy it then");
	if (!check_device(self, device) || !order_consumer(self, stream))
		return NULL;
	memory = memory_borrow(memory_of(self));
	if (!memory)
		return NULL;
	capsule = major >= 1 ? capsule_versioned(self, memory) : capsule_plain(self, memory);
	memory_return(memory);
	return capsule;
}

/* --- the CUDA array interface --- */

static const char *typestr_kind(const struct ww_dtype *dtype)
{
	static const char *const kinds[] = {"i", "u", "f", "V", NULL, "c", "b"};

	return dtype->lanes == 1 && dtype->code < 7 ? kinds[dtype->code] : NULL;
}

static PyObject *cuda_interface(PyObject *self, const struct ww_memory_info *info)
{
	const struct array_instance *array = (struct array_instance *)self;
	const char *kind = typestr_kind(&array->array.dtype);
	char typestr[16];

	if (!kind)
		return PyErr_Format(PyExc_AttributeError,
			"the CUDA array interface has no name for this type of elements; use DLPack");
	snprintf(typestr, sizeof(typestr), "%s%s%d", array->array.dtype.bits == 8 ? "|" : "<", kind,
		array->array.dtype.bits / 8);
	return Py_BuildValue("{s:N,s:s,s:(NO),s:N,s:i,s:N}", "shape",
		info_numbers(array->array.shape, array->array.ndim), "typestr", typestr, "data",
		PyLong_FromVoidPtr((char *)info->pointer + array->array.offset),
		info->access == WW_ACCESS_READ ? Py_True : Py_False, "strides",
		info_numbers(array->array.strides, array->array.ndim), "version", 3, "stream",
		array->timeline ? PyLong_FromLong(1) : Py_NewRef(Py_None));
}

PyObject *array_cuda_interface(PyObject *self, void *unused)
{
	struct ww_memory_info info;
	int type, id;

	(void)unused;
	if (!dl_device(self, &type, &id) || !memory_info(memory_of(self), &info))
		return NULL;
	if (type == DL_CPU)
		return PyErr_Format(PyExc_AttributeError,
			"an array of the host device has no CUDA array interface");
	/* Where there is a ready point, CUDA's legacy default stream waits for it. */
	return order_consumer(self, Py_None) ? cuda_interface(self, &info) : NULL;
}

/* --- the buffer protocol --- */

struct exported_buffer {
	ww_memory *memory; /* a reference */
	Py_ssize_t shape[WW_ARRAY_DIMS];
	Py_ssize_t strides[WW_ARRAY_DIMS];
};

/* NULL: the buffer protocol has no name for the type. */
static char *buffer_format(const struct ww_dtype *dtype)
{
	static const struct {
		uint8_t code, bits;
		char format[3];
	} formats[] = {{WW_DTYPE_INT, 8, "b"}, {WW_DTYPE_INT, 16, "h"}, {WW_DTYPE_INT, 32, "i"},
		{WW_DTYPE_INT, 64, "l"}, {WW_DTYPE_UINT, 8, "B"}, {WW_DTYPE_UINT, 16, "H"},
		{WW_DTYPE_UINT, 32, "I"}, {WW_DTYPE_UINT, 64, "L"}, {WW_DTYPE_FLOAT, 16, "e"},
		{WW_DTYPE_FLOAT, 32, "f"}, {WW_DTYPE_FLOAT, 64, "d"}, {WW_DTYPE_COMPLEX, 64, "Zf"},
		{WW_DTYPE_COMPLEX, 128, "Zd"}, {WW_DTYPE_BOOL, 8, "?"}};

	for (size_t i = 0; dtype->lanes == 1 && i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (formats[i].code == dtype->code && formats[i].bits == dtype->bits)
			return (char *)(uintptr_t)formats[i].format;
	}
	return NULL;
}

static bool asks(int flags, int wanted)
{
	return (flags & wanted) == wanted;
}

/* What the consumer can do with the array; NULL: it can use it. */
static const char *buffer_obstacle(const struct ww_array *array, const struct ww_memory_info *info,
	int flags)
{
	bool is_c = ww_array_is_contiguous(array), is_fortran = ww_array_is_fortran(array);

	if (!info->host_pointer)
		return "the CPU cannot reach this array of a GPU; use DLPack, or copy_to()";
	if (!buffer_format(&array->dtype))
		return "the buffer protocol has no name for this type of elements; use numpy.asarray() with "
		       "ml_dtypes, or view() it as another type";
	if (asks(flags, PyBUF_WRITABLE) && info->access == WW_ACCESS_READ)
		return "the array is mapped for reading only";
	if (asks(flags, PyBUF_F_CONTIGUOUS) && !is_fortran)
		return "the array is not contiguous in Fortran's order";
	if (asks(flags, PyBUF_ANY_CONTIGUOUS) && !is_c && !is_fortran)
		return "the array is not contiguous";
	if ((asks(flags, PyBUF_C_CONTIGUOUS) || !asks(flags, PyBUF_STRIDES)) && !is_c)
		return "the array is not contiguous in C's order";
	return NULL;
}

static void buffer_fill(Py_buffer *view, PyObject *self, struct exported_buffer *ours,
	const struct ww_memory_info *info, int flags)
{
	const struct ww_array *array = array_of(self);
	Py_ssize_t count = 1;

	for (uint32_t i = 0; i < array->ndim; i++) {
		ours->shape[i] = (Py_ssize_t)array->shape[i];
		ours->strides[i] = (Py_ssize_t)array->strides[i];
		count *= ours->shape[i];
	}
	view->obj = Py_NewRef(self);
	view->buf = (char *)info->host_pointer + array->offset;
	view->itemsize = array->dtype.bits / 8;
	view->len = count * view->itemsize;
	view->readonly = info->access == WW_ACCESS_READ;
	view->ndim = (int)array->ndim;
	view->format = asks(flags, PyBUF_FORMAT) ? buffer_format(&array->dtype) : NULL;
	view->shape = asks(flags, PyBUF_ND) ? ours->shape : NULL;
	view->strides = asks(flags, PyBUF_STRIDES) ? ours->strides : NULL;
	view->suboffsets = NULL;
	view->internal = ours;
}

int array_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct exported_buffer *ours;
	struct ww_memory_info info;
	const char *obstacle;
	ww_status status;

	view->obj = NULL;
	if (!memory_info(memory_of(self), &info))
		return -1;
	obstacle = buffer_obstacle(array_of(self), &info, flags);
	if (obstacle) {
		PyErr_SetString(PyExc_BufferError, obstacle);
		return -1;
	}
	status = array_wait_ready(self, NULL, WW_FOREVER, NULL);
	if (status != WW_OK) {
		error_raise(core_of(self), status);
		return -1;
	}
	ours = malloc(sizeof(*ours));
	if (!ours) {
		PyErr_NoMemory();
		return -1;
	}
	ours->memory = memory_borrow(memory_of(self));
	if (!ours->memory) {
		free(ours);
		return -1;
	}
	buffer_fill(view, self, ours, &info, flags);
	return 0;
}

void array_releasebuffer(PyObject *self, Py_buffer *view)
{
	struct exported_buffer *ours = view->internal;

	(void)self;
	memory_return(ours->memory);
	free(ours);
}

/* --- DLPack, from other libraries --- */

struct dlpack_call {
	ww_device *device;
	void *tensor;
	bool is_versioned;
	ww_memory *memory;
	struct ww_array array;
};

static ww_status run_import(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct dlpack_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	if (args->is_versioned)
		return ww_dlpack_import(args->device, args->tensor, &args->memory, &args->array);
	return ww_dlpack_import_unversioned(args->device, args->tensor, &args->memory,
		&args->array);
}

/* The capsule of an object that has __dlpack__; older libraries do not know max_version. */
static PyObject *capsule_of(PyObject *value)
{
	PyObject *method = PyObject_GetAttrString(value, "__dlpack__"), *none, *keywords, *capsule;

	if (!method)
		return NULL;
	none = PyTuple_New(0);
	keywords = Py_BuildValue("{s:(ii)}", "max_version", 1, 1);
	capsule = none && keywords ? PyObject_Call(method, none, keywords) : NULL;
	if (!capsule && none && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear();
		capsule = PyObject_Call(method, none, NULL);
	}
	Py_XDECREF(keywords);
	Py_XDECREF(none);
	Py_DECREF(method);
	return capsule;
}

static ww_device *device_of_tensor(struct core *core, PyObject *value)
{
	PyObject *pair = PyObject_CallMethod(value, "__dlpack_device__", NULL), *name;
	ww_device *device;
	int type, id;

	if (!pair)
		return NULL;
	/* The type may be an IntEnum. */
	if (!PyTuple_Check(pair) ||
		!PyArg_ParseTuple(pair, "ii;__dlpack_device__ returns two ints", &type, &id)) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_TypeError, "__dlpack_device__ returned %R, no tuple",
				pair);
		Py_DECREF(pair);
		return NULL;
	}
	Py_DECREF(pair);
	name = type == DL_CPU ? PyUnicode_FromString("host") : PyLong_FromLong(id);
	device = name ? convert_device(core, name) : NULL;
	Py_XDECREF(name);
	return device;
}

static PyObject *import_capsule(struct core *core, ww_device *device, PyObject *capsule)
{
	bool is_versioned = PyCapsule_IsValid(capsule, CAPSULE_VERSIONED);
	const char *name = is_versioned ? CAPSULE_VERSIONED : CAPSULE_PLAIN;
	struct dlpack_call call = {.device = device, .is_versioned = is_versioned};
	PyObject *memory, *array;
	ww_status status;

	call.tensor = PyCapsule_GetPointer(capsule, name);
	if (!call.tensor)
		return NULL;
	/* The tensor is to be the memory's: no other thread may take it meanwhile. */
	PyCapsule_SetName(capsule, is_versioned ? "used_dltensor_versioned" : "used_dltensor");
	status = wait_run(core, run_import, &call, 0, NULL);
	if (status != WW_OK) {
		PyCapsule_SetName(capsule, name);
		return error_raise(core, status);
	}
	memory = memory_object(core, call.memory);
	array = memory ? array_object(core, memory, &call.array) : NULL;
	Py_XDECREF(memory);
	return array;
}

PyObject *array_from_dlpack(PyObject *module, PyObject *value)
{
	struct core *core = core_of_module(module);
	ww_device *device = core ? device_of_tensor(core, value) : NULL;
	PyObject *capsule, *array = NULL;

	if (!device)
		return NULL;
	capsule = capsule_of(value);
	if (capsule)
		array = import_capsule(core, device, capsule);
	Py_XDECREF(capsule);
	handle_return(&device_class, device);
	return array;
}
