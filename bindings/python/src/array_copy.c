/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_copy.c - arrays copied into new memory
 *
 * A copy has the strides of its source: it is made of the bytes from the lowest to the highest one
 * of any element, gaps included. So it is one copy of the driver, in the order of a stream.
 */
#include "array.h"

#include "dlpack.h"
#include "memory.h"

struct copy_call {
	ww_device *device; /* of the new memory */
	ww_device *source_device;
	ww_stream *stream;
	const void *source;
	uint64_t bytes; /* 0: nothing is copied */
	uint32_t kind;
	bool waits;
	ww_memory *memory;
};

static bool is_cuda(ww_device *device)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	return ww_device_info_get(device, &info) == WW_OK && info.backend == WW_BACKEND_CUDA;
}

/* A GPU's stream reaches the CPU's memory, and a stream of the CPU reaches no GPU's. */
static ww_device *copying_device(const struct copy_call *call)
{
	return is_cuda(call->device) ? call->device : call->source_device;
}

static ww_status enqueue_copy(struct copy_call *call, ww_stream *stream)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = call->kind,
		.bytes = call->bytes ? call->bytes : 1,
	};
	ww_status status = ww_memory_create(call->device, &params, &call->memory);
	void *to;

	if (status != WW_OK || call->bytes == 0)
		return status;
	to = ww_memory_host_pointer(call->memory);
	if (is_cuda(call->device))
		to = ww_memory_pointer(call->memory);
	return ww_stream_copy(stream, to, call->source, call->bytes);
}

static ww_status run_copy(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct copy_call *args = call;
	ww_stream *stream = ww_stream_ref(args->stream);
	ww_status status = WW_OK;

	(void)timeout_ns;
	(void)cancel;
	args->memory = NULL;
	if (!stream)
		status = ww_stream_create(copying_device(args), &stream);
	if (status == WW_OK)
		status = enqueue_copy(args, stream);
	if (status == WW_OK && args->waits)
		status = ww_stream_synchronize(stream, WW_FOREVER, NULL);
	ww_stream_unref(stream);
	if (status != WW_OK)
		args->memory = ww_memory_unref(args->memory);
	return status;
}

/* Return: a Memory; NULL with an exception. */
static PyObject *copy_memory(struct core *core, struct copy_call *call)
{
	ww_status status = wait_direct(run_copy, call);
	PyObject *made;

	if (status != WW_OK)
		return error_raise(core, status);
	made = memory_object(core, call->memory);
	if (made && call->waits) /* else a stream writes it yet */
		memory_mark_made(made);
	return made;
}

PyObject *array_copied(struct core *core, const struct array_source *source, ww_device *device,
	uint32_t kind, ww_stream *stream, bool waits)
{
	struct copy_call call = {.device = device,
		.source_device = source->device,
		.stream = stream,
		.kind = kind,
		.waits = waits};
	struct ww_array array = source->array;
	PyObject *memory, *made;
	uint64_t first, end;
	ww_status status = ww_array_span(&array, &first, &end);

	if (status != WW_OK)
		return error_raise(core, status);
	call.source = source->start + first;
	call.bytes = end - first;
	array.offset -= first;
	memory = copy_memory(core, &call);
	made = memory ? array_object(core, memory, &array) : NULL;
	Py_XDECREF(memory);
	return made;
}

/* --- the array of a tensor --- */

static ww_status multiply_strides(const struct dl_tensor *tensor, int64_t element_bytes,
	int64_t *out_strides, int64_t *out_below)
{
	for (int32_t i = 0; i < tensor->ndim; i++) {
		int64_t reach;

		if (__builtin_mul_overflow(tensor->strides[i], element_bytes, &out_strides[i]) ||
			__builtin_mul_overflow(out_strides[i], tensor->shape[i] - 1, &reach))
			return WW_ERR_OVERFLOW;
		if (reach < 0 && tensor->shape[i] > 0 &&
			__builtin_sub_overflow(*out_below, reach, out_below))
			return WW_ERR_OVERFLOW;
	}
	return WW_OK;
}

bool array_source_read(struct core *core, const struct dl_tensor *tensor,
	struct array_source *source)
{
	int64_t strides[WW_ARRAY_DIMS] = {0}, below = 0;
	int64_t element_bytes = (int64_t)tensor->dtype.bits * tensor->dtype.lanes / 8;
	ww_status status = WW_OK;

	if (tensor->ndim < 0 || tensor->ndim > WW_ARRAY_DIMS) {
		error_raise_text(core, WW_ERR_INVALID,
			"the array has %d dimensions; %d are the most", (int)tensor->ndim,
			WW_ARRAY_DIMS);
		return false;
	}
	if (tensor->strides && tensor->ndim > 0)
		status = multiply_strides(tensor, element_bytes, strides, &below);
	if (status != WW_OK) {
		error_raise_text(core, status, "the array's strides are too large to compute with");
		return false;
	}
	status = ww_array_set(&source->array, &tensor->dtype, (uint32_t)tensor->ndim, tensor->shape,
		tensor->strides && tensor->ndim > 0 ? strides : NULL, (uint64_t)below);
	if (status != WW_OK)
		error_raise(core, status);
	source->start = tensor->data + tensor->byte_offset - below;
	return status == WW_OK;
}

/* --- copies of an Array, for DLPack --- */

/* A consumer of DLPack expects a BufferError. */
static void raise_as_buffer_error(struct core *core)
{
	PyObject *type, *value, *traceback;

	if (!PyErr_ExceptionMatches(core->errors[0]))
		return;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_Format(PyExc_BufferError, "the array cannot be copied to this device: %S", value);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(traceback);
}

ww_device *dlpack_open_place(struct core *core, int type, int id)
{
	PyObject *name = type == DL_CPU ? PyUnicode_FromString("host") : PyLong_FromLong(id);
	ww_device *device = name ? convert_device(core, name) : NULL;

	Py_XDECREF(name);
	return device;
}

static PyObject *copy_borrowed(PyObject *self, ww_memory *memory, int type, int id,
	ww_stream *stream, bool waits)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_status status = ww_memory_info_get(memory, &info);
	struct array_source source = {.device = info.device,
		.array = ((struct array_instance *)self)->array};
	ww_device *device;
	PyObject *made;

	if (status != WW_OK)
		return error_raise(core_of(self), status);
	source.start = info.pointer ? info.pointer : info.host_pointer;
	device = dlpack_open_place(core_of(self), type, id);
	if (!device) {
		raise_as_buffer_error(core_of(self));
		return NULL;
	}
	made = array_copied(core_of(self), &source, device,
		type == DL_CUDA ? WW_MEMORY_VMM : WW_MEMORY_HOST, stream, waits);
	handle_return(&device_class, device);
	return made;
}

/*
 * -1, and None for another place: no stream.
 * Return: false with an exception
 */
static bool copying_stream(PyObject *memory, bool is_elsewhere, PyObject *value,
	ww_stream **out_stream)
{
	int64_t number = PyLong_Check(value) ? PyLong_AsLongLong(value) : 0;
	PyObject *legacy;

	PyErr_Clear();
	*out_stream = NULL;
	if (number == -1 || (is_elsewhere && value == Py_None))
		return true;
	legacy = value == Py_None ? PyLong_FromLong(1) : Py_NewRef(value);
	if (legacy)
		*out_stream = memory_stream(memory, legacy);
	Py_XDECREF(legacy);
	return *out_stream;
}

/* Has the stream wait for the ready point, or the CPU if there is none. */
static bool copy_order(PyObject *self, ww_stream *stream)
{
	ww_status status = array_wait_ready(self, stream, WW_FOREVER, NULL);

	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

PyObject *array_copy_for(PyObject *self, int type, int id, PyObject *value)
{
	PyObject *memory = ((struct array_instance *)self)->memory, *made = NULL;
	int own_type, own_id;
	ww_stream *stream = NULL;
	ww_memory *borrowed;
	bool is_elsewhere;

	if (!dlpack_place(memory, &own_type, &own_id))
		return NULL;
	is_elsewhere = type != own_type || id != own_id;
	if (own_type == DL_CUDA && !copying_stream(memory, is_elsewhere, value, &stream))
		return NULL;
	borrowed = memory_borrow(memory);
	if (borrowed && copy_order(self, stream)) {
		if (stream)
			memory_mark_streamed(memory);
		made = copy_borrowed(self, borrowed, type, id, stream, is_elsewhere || !stream);
	}
	memory_return(borrowed);
	handle_return(&stream_class, stream);
	return made;
}

/* --- of an address, for objects with the CUDA array interface --- */

PyObject *array_copy_in(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"pointer", "nbytes", "device", "stream", NULL};
	struct copy_call call = {.kind = WW_MEMORY_VMM, .waits = true};
	PyObject *address, *which = Py_None, *value = Py_None, *made = NULL;
	struct core *core = core_of_module(module);

	if (!core ||
		!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!O&|OO:copy_in", names,
			&PyLong_Type, &address, convert_bytes, &call.bytes, &which, &value))
		return NULL;
	call.source = PyLong_AsVoidPtr(address);
	if (!call.source && PyErr_Occurred())
		return NULL;
	call.device = convert_device(core, which);
	if (!call.device)
		return NULL;
	call.source_device = call.device;
	call.stream = value == Py_None ? NULL : convert_stream(core, call.device, value);
	if (call.stream || !PyErr_Occurred())
		made = copy_memory(core, &call);
	handle_return(&stream_class, call.stream);
	handle_return(&device_class, call.device);
	return made;
}
