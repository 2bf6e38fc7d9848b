/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_import.c - an Array of an array of another library, by DLPack
 *
 * Without a copy the tensor is the new memory's, which has its deleter called when it is no longer
 * used. With a copy the tensor is released at once.
 *
 * A tensor in a slice of a pool, as warpway.torch allocates it, needs no new memory: the array is
 * one of the slice, and keeps the capsule until it is released here.
 */
#include "array.h"

#include <warpway/dlpack.h>

#include "dlpack.h"
#include "memory.h"

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

/* Takes over the item. */
static bool dict_set(PyObject *dict, const char *key, PyObject *item)
{
	bool is_set = item && PyDict_SetItemString(dict, key, item) == 0;

	Py_XDECREF(item);
	return is_set;
}

/*
 * The capsule of an object that has __dlpack__; older libraries do not know max_version.
 * @stream: a CUstream that is to wait for the bytes; NULL: it is not said
 */
static PyObject *capsule_of(PyObject *value, void *stream)
{
	PyObject *method = PyObject_GetAttrString(value, "__dlpack__"), *none, *keywords, *capsule;

	if (!method)
		return NULL;
	none = PyTuple_New(0);
	keywords = stream ? Py_BuildValue("{s:N}", "stream", PyLong_FromVoidPtr(stream))
			  : PyDict_New();
	capsule = NULL;
	if (none && keywords && dict_set(keywords, "max_version", Py_BuildValue("(ii)", 1, 1)))
		capsule = PyObject_Call(method, none, keywords);
	if (!capsule && none && keywords && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear();
		if (PyDict_DelItemString(keywords, "max_version") == 0)
			capsule = PyObject_Call(method, none, keywords);
	}
	Py_XDECREF(keywords);
	Py_XDECREF(none);
	Py_DECREF(method);
	return capsule;
}

/* What an object says with __dlpack_device__. */
struct place {
	int type, id;
	ww_device *device; /* a reference */
};

/* Return: false with an exception. */
static bool place_of(struct core *core, PyObject *value, struct place *place)
{
	PyObject *pair = PyObject_CallMethod(value, "__dlpack_device__", NULL);

	if (!pair)
		return false;
	/* The type may be an IntEnum. */
	if (!PyTuple_Check(pair) ||
		!PyArg_ParseTuple(pair, "ii;__dlpack_device__ returns two ints", &place->type,
			&place->id)) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_TypeError, "__dlpack_device__ returned %R, no tuple",
				pair);
		Py_DECREF(pair);
		return false;
	}
	Py_DECREF(pair);
	place->device = dlpack_open_place(core, place->type, place->id);
	return place->device;
}

/*
 * CuPy divides the bytes of a negative stride as an unsigned number, so that the quotient is too
 * large. Its product with the bytes of an element is right modulo 2^64.
 * No other stride is changed: a product of more than 64 bits is an error.
 */
static void mend_strides(struct dl_tensor *tensor)
{
	uint64_t element_bytes = (uint64_t)tensor->dtype.bits * tensor->dtype.lanes / 8;

	for (int32_t i = 0; tensor->strides && element_bytes > 1 && i < tensor->ndim; i++) {
		uint64_t stride = (uint64_t)tensor->strides[i], bytes = stride * element_bytes;

		if ((int64_t)bytes < 0 && bytes / element_bytes == stride)
			tensor->strides[i] = (int64_t)bytes / (int64_t)element_bytes;
	}
}

static struct dl_tensor *tensor_of(PyObject *capsule)
{
	struct DLManagedTensorVersioned *versioned;
	struct DLManagedTensor *plain;

	if (!PyCapsule_IsValid(capsule, CAPSULE_VERSIONED)) {
		plain = PyCapsule_GetPointer(capsule, CAPSULE_PLAIN);
		return plain ? &plain->tensor : NULL;
	}
	versioned = PyCapsule_GetPointer(capsule, CAPSULE_VERSIONED);
	if (versioned->major == 1)
		return &versioned->tensor;
	PyErr_Format(PyExc_BufferError, "the tensor is of version %u.%u of DLPack; known is 1",
		(unsigned)versioned->major, (unsigned)versioned->minor);
	return NULL;
}

/* Whether the tensor is in a slice. If so, @out_memory is a reference. */
static bool find_slice(const struct array_source *source, struct ww_array *out_array,
	ww_memory **out_memory)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	uint64_t first, end, offset;

	*out_array = source->array;
	if (ww_array_span(out_array, &first, &end) != WW_OK ||
		ww_memory_find(source->start + first, out_memory, &offset) != WW_OK)
		return false;
	out_array->offset += offset - first;
	if (ww_memory_info_get(*out_memory, &info) == WW_OK && info.flags & WW_MEMORY_IS_SLICE &&
		offset <= info.bytes && end - first <= info.bytes - offset)
		return true;
	*out_memory = ww_memory_unref(*out_memory);
	return false;
}

/* @record: why the tensor cannot be wrapped */
static PyObject *import_slice(struct core *core, const struct ww_error *record, PyObject *capsule)
{
	const struct dl_tensor *tensor = tensor_of(capsule);
	struct array_source source = {NULL};
	PyObject *memory, *made;
	struct ww_array array;
	ww_memory *slice;

	if (!tensor || !array_source_read(core, tensor, &source))
		return NULL;
	if (!find_slice(&source, &array, &slice))
		return error_raise_record(core, record);
	memory = memory_object(core, slice);
	if (!memory)
		return NULL;
	memory_own(memory, capsule);
	made = array_object(core, memory, &array);
	Py_DECREF(memory);
	return made;
}

/* A slice is for writing, and a tensor that is not must not become one that is. */
static bool may_be_slice(PyObject *capsule, ww_status status)
{
	struct DLManagedTensorVersioned *tensor;

	if (status != WW_ERR_UNSUPPORTED)
		return false;
	if (!PyCapsule_IsValid(capsule, CAPSULE_VERSIONED))
		return true;
	tensor = PyCapsule_GetPointer(capsule, CAPSULE_VERSIONED);
	return !(tensor->flags & DL_READ_ONLY);
}

static PyObject *import_capsule(struct core *core, ww_device *device, PyObject *capsule)
{
	bool is_versioned = PyCapsule_IsValid(capsule, CAPSULE_VERSIONED);
	const char *name = is_versioned ? CAPSULE_VERSIONED : CAPSULE_PLAIN;
	struct dlpack_call call = {.device = device, .is_versioned = is_versioned};
	PyObject *memory, *array;
	struct ww_error record;
	ww_status status;

	call.tensor = PyCapsule_GetPointer(capsule, name);
	if (!call.tensor)
		return NULL;
	/* The tensor is to be the memory's: no other thread may take it meanwhile. */
	PyCapsule_SetName(capsule, is_versioned ? "used_dltensor_versioned" : "used_dltensor");
	status = wait_direct(run_import, &call);
	if (status != WW_OK) {
		PyCapsule_SetName(capsule, name);
		record = *ww_error_last();
		return may_be_slice(capsule, status) ? import_slice(core, &record, capsule)
						     : error_raise(core, status);
	}
	memory = memory_object(core, call.memory);
	array = memory ? array_object(core, memory, &call.array) : NULL;
	Py_XDECREF(memory);
	return array;
}

/*
 * The CPU and a GPU both reach pinned memory. Torch says that the device has it, but its tensor is
 * one of the CPU: so is the array then.
 */
static ww_device *importing_device(struct core *core, const struct place *place,
	const struct dl_tensor *tensor)
{
	if (place->type != DL_CUDA_HOST || tensor->device_type != DL_CPU)
		return ww_device_ref(place->device);
	return dlpack_open_place(core, DL_CPU, 0);
}

static PyObject *import_without_copy(struct core *core, const struct place *place, PyObject *value)
{
	PyObject *capsule = capsule_of(value, NULL), *array = NULL;
	struct dl_tensor *tensor = capsule ? tensor_of(capsule) : NULL;
	ww_device *device = NULL;

	/* Before a device is opened, while another thread may take the tensor. */
	if (tensor) {
		mend_strides(tensor);
		device = importing_device(core, place, tensor);
	}
	if (device)
		array = import_capsule(core, device, capsule);
	handle_return(&device_class, device);
	Py_XDECREF(capsule);
	return array;
}

/* --- ... with a copy --- */

static bool is_of_cpu(int type)
{
	return type == DL_CPU || type == DL_CUDA_HOST;
}

/*
 * The copy reads the address of the tensor by the device that the object said. Both the CPU and a
 * GPU can read pinned memory, which torch calls pinned in one place and the CPU's in the other.
 */
static bool is_at(const struct dl_tensor *tensor, const struct place *place)
{
	if (is_of_cpu(tensor->device_type)
			? is_of_cpu(place->type)
			: tensor->device_type == place->type && tensor->device_id == place->id)
		return true;
	PyErr_Format(PyExc_BufferError,
		"__dlpack_device__ says (%d, %d), but the tensor of __dlpack__ is on (%d, %d)",
		place->type, place->id, (int)tensor->device_type, (int)tensor->device_id);
	return false;
}

/* An Array has packed elements only, as ww_dlpack_import() says. */
static bool is_packed(PyObject *capsule, const struct dl_tensor *tensor)
{
	struct DLManagedTensorVersioned *versioned = NULL;

	if (tensor->dtype.bits < 8 && PyCapsule_IsValid(capsule, CAPSULE_VERSIONED))
		versioned = PyCapsule_GetPointer(capsule, CAPSULE_VERSIONED);
	if (!versioned || !(versioned->flags & DL_IS_PADDED))
		return true;
	PyErr_Format(PyExc_BufferError,
		"the tensor's elements of %u bits have a byte each; only packed ones are taken",
		(unsigned)tensor->dtype.bits);
	return false;
}

static PyObject *copy_capsule(struct core *core, const struct place *place, ww_device *target,
	PyObject *capsule, ww_stream *stream)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	struct dl_tensor *tensor = tensor_of(capsule);
	struct array_source source = {.device = place->device};
	ww_status status = ww_device_info_get(target, &info);

	if (status != WW_OK)
		return error_raise(core, status);
	if (tensor)
		mend_strides(tensor);
	if (!tensor || !is_at(tensor, place) || !is_packed(capsule, tensor) ||
		!array_source_read(core, tensor, &source))
		return NULL;
	return array_copied(core, &source, target,
		info.backend == WW_BACKEND_CUDA ? WW_MEMORY_VMM : WW_MEMORY_HOST, stream, true);
}

/* The producer has a stream of ours wait for what its own stream writes. */
static PyObject *import_copy(struct core *core, const struct place *place, PyObject *value,
	ww_device *target)
{
	PyObject *capsule, *array = NULL;
	ww_stream *stream = NULL;
	ww_status status = WW_OK;

	Py_BEGIN_ALLOW_THREADS
	if (place->type == DL_CUDA)
		status = ww_stream_create(place->device, &stream);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		return error_raise(core, status);
	capsule = capsule_of(value, stream ? ww_stream_native(stream) : NULL);
	if (capsule)
		array = copy_capsule(core, place, target, capsule, stream);
	Py_XDECREF(capsule);
	handle_return(&stream_class, stream);
	return array;
}

/*
 * @which: a device, or None: that of the object
 * Return: as array_from_dlpack()
 */
static PyObject *import_for(struct core *core, const struct place *place, PyObject *value,
	PyObject *which, PyObject *copy)
{
	ww_device *device = place->device;
	ww_device *target = which == Py_None ? ww_device_ref(device) : convert_device(core, which);
	int must_copy = copy == Py_None ? target != device : PyObject_IsTrue(copy);
	PyObject *array = NULL;

	if (!target || must_copy < 0) {
		handle_return(&device_class, target);
		return NULL;
	}
	if (must_copy)
		array = import_copy(core, place, value, target);
	else if (target != device)
		PyErr_SetString(PyExc_BufferError,
			"the array is on another device, and copy=False forbids the copy");
	else
		array = import_without_copy(core, place, value);
	handle_return(&device_class, target);
	return array;
}

PyObject *array_from_dlpack(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"", "device", "copy", NULL};
	PyObject *value, *which = Py_None, *copy = Py_None, *array;
	struct core *core = core_of_module(module);
	struct place place;

	if (!core ||
		!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$OO:from_dlpack", names,
			&value, &which, &copy) ||
		!array_check_unmasked(value) || !place_of(core, value, &place))
		return NULL;
	array = import_for(core, &place, value, which, copy);
	handle_return(&device_class, place.device);
	return array;
}
