/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - warpway.Array: the type, what it is, copies
 */
#include "array.h"

#include "memory.h"

/* --- making and freeing --- */

PyObject *array_object(struct core *core, PyObject *memory, const struct ww_array *array)
{
	struct array_instance *made = (struct array_instance *)
		PyType_GenericAlloc(core->types[CORE_ARRAY], 0);

	if (!made)
		return NULL;
	made->memory = Py_NewRef(memory);
	made->array = *array;
	return (PyObject *)made;
}

PyObject *array_view(PyObject *self, const struct ww_array *array)
{
	const struct array_instance *from = (struct array_instance *)self;
	PyObject *made = array_object(core_of(self), from->memory, array);

	if (made) {
		((struct array_instance *)made)->is_view = true;
		((struct array_instance *)made)->ready = from->ready;
		((struct array_instance *)made)->numpy_type = Py_XNewRef(from->numpy_type);
		Py_XINCREF(from->ready.timeline);
	}
	return made;
}

bool array_set_ready(PyObject *self, PyObject *timeline, uint64_t value)
{
	struct array_instance *array = (struct array_instance *)self;
	PyObject *former = array->ready.timeline;

	if (!timeline)
		return false;
	array->ready = (struct ready_point){timeline, value};
	Py_XDECREF(former);
	return true;
}

static PyObject *array_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"memory", "shape", "dtype", "strides", "offset", NULL};
	PyObject *memory, *shape, *dtype_name, *strides = Py_None;
	int64_t dims[WW_ARRAY_DIMS], steps[WW_ARRAY_DIMS];
	struct core *core = core_of_type(type);
	struct ww_memory_info info;
	struct ww_array array;
	struct ww_dtype dtype;
	uint64_t offset = 0;
	ww_status status;
	int ndim;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!OO|OO&:Array", names,
		    core->types[CORE_MEMORY], &memory, &shape, &dtype_name, &strides, convert_bytes,
		    &offset) ||
		(ndim = convert_shape(core, shape, "shape", dims)) < 0 ||
		!convert_dtype(core, dtype_name, &dtype))
		return NULL;
	if (strides != Py_None) {
		int count = convert_shape(core, strides, "strides", steps);

		if (count >= 0 && count != ndim)
			return error_raise_text(core, WW_ERR_INVALID,
				"there are %d strides for %d dimensions", count, ndim);
		if (count < 0)
			return NULL;
	}
	if (!memory_info(memory, &info))
		return NULL;
	status = ww_array_set(&array, &dtype, (uint32_t)ndim, dims,
		strides == Py_None ? NULL : steps, offset);
	if (status == WW_OK)
		status = ww_array_check(&array, info.bytes);
	return status == WW_OK ? array_object(core, memory, &array) : error_raise(core, status);
}

/* Without tp_clear: a cycle is broken at the Memory, and every method needs it. */
static int array_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct array_instance *)self)->memory);
	Py_VISIT(((struct array_instance *)self)->former);
	Py_VISIT(((struct array_instance *)self)->asked);
	Py_VISIT(((struct array_instance *)self)->numpy_type);
	Py_VISIT(((struct array_instance *)self)->ready.timeline);
	return 0;
}

static void array_dealloc(PyObject *self)
{
	struct array_instance *array = (struct array_instance *)self;
	PyObject_GC_UnTrack(self);
	if (array->weakrefs)
		PyObject_ClearWeakRefs(self);
	Py_XDECREF(array->asked);
	Py_XDECREF(array->numpy_type);
	memory_leave(array->memory, false);
	memory_leave(array->former, true);
	Py_XDECREF(array->ready.timeline);
	instance_free(self);
}

static const struct ww_array *array_of(PyObject *self)
{
	return &((struct array_instance *)self)->array;
}

static PyObject *memory_of(PyObject *self)
{
	return ((struct array_instance *)self)->memory;
}

/* --- what it is --- */

static int64_t element_bytes(const struct ww_array *array)
{
	return (int64_t)array->dtype.bits * array->dtype.lanes / 8;
}

static int64_t element_count(const struct ww_array *array)
{
	int64_t count = 1;

	for (uint32_t i = 0; i < array->ndim; i++)
		count *= array->shape[i];
	return count;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
	(void)unused;
	return info_numbers(array_of(self)->shape, array_of(self)->ndim);
}

static PyObject *get_strides(PyObject *self, void *unused)
{
	(void)unused;
	return info_numbers(array_of(self)->strides, array_of(self)->ndim);
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
	PyObject *numpy_type = ((struct array_instance *)self)->numpy_type;

	(void)unused;
	return numpy_type ? Py_XNewRef(PyTuple_GetItem(numpy_type, 0))
			  : info_dtype(&array_of(self)->dtype);
}

static PyObject *get_ndim(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(array_of(self)->ndim);
}

static PyObject *get_size(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(element_count(array_of(self)));
}

static PyObject *get_itemsize(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(element_bytes(array_of(self)));
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(element_count(array_of(self)) * element_bytes(array_of(self)));
}

static PyObject *get_offset(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(array_of(self)->offset);
}

static PyObject *get_memory(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef(memory_of(self));
}

static PyObject *get_of_memory(PyObject *self, void *name)
{
	return PyObject_GetAttrString(memory_of(self), name);
}

static PyObject *get_pointer(PyObject *self, void *unused)
{
	struct ww_memory_info info;

	(void)unused;
	if (!memory_info(memory_of(self), &info))
		return NULL;
	memory_mark_streamed(memory_of(self));
	return PyLong_FromVoidPtr((char *)info.pointer + array_of(self)->offset);
}

static PyObject *get_is_contiguous(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(ww_array_is_contiguous(array_of(self)));
}

static PyObject *get_is_ready(PyObject *self, void *unused)
{
	ww_status status = ready_point_query(&((struct array_instance *)self)->ready);

	(void)unused;
	return status < 0 ? error_raise(core_of(self), status) : PyBool_FromLong(status == WW_OK);
}

static PyObject *array_repr(PyObject *self)
{
	PyObject *shape = get_shape(self, NULL), *dtype = get_dtype(self, NULL);
	PyObject *memory = PyObject_Repr(memory_of(self)), *text = NULL;

	if (shape && dtype && memory)
		text = PyUnicode_FromFormat("<warpway.Array shape=%S dtype=%S in %U>", shape, dtype,
			memory);
	Py_XDECREF(shape);
	Py_XDECREF(dtype);
	Py_XDECREF(memory);
	return text;
}

static Py_ssize_t array_length(PyObject *self)
{
	if (array_of(self)->ndim > 0)
		return (Py_ssize_t)array_of(self)->shape[0];
	PyErr_SetString(PyExc_TypeError, "len() of an array without dimensions");
	return -1;
}

/* map(self.__getitem__, range(len(self))): each view is made when it is asked for. */
static PyObject *array_iter(PyObject *self)
{
	Py_ssize_t length = array_length(self);
	PyObject *builtins, *indices, *item, *views = NULL;

	if (length < 0)
		return NULL;
	builtins = PyImport_ImportModule("builtins");
	indices = builtins ? PyObject_CallMethod(builtins, "range", "n", length) : NULL;
	item = indices ? PyObject_GetAttrString(self, "__getitem__") : NULL;
	if (item)
		views = PyObject_CallMethod(builtins, "map", "OO", item, indices);
	Py_XDECREF(item);
	Py_XDECREF(indices);
	Py_XDECREF(builtins);
	return views;
}

PyObject *call_python(const char *module_name, const char *name, PyObject *self,
	PyObject *arguments, PyObject *keywords)
{
	PyObject *module = PyImport_ImportModule(module_name);
	PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
	PyObject *first = PyTuple_Pack(1, self);
	PyObject *all = first ? PySequence_Concat(first, arguments) : NULL;
	PyObject *made = function && all ? PyObject_Call(function, all, keywords) : NULL;

	Py_XDECREF(module);
	Py_XDECREF(function);
	Py_XDECREF(first);
	Py_XDECREF(all);
	return made;
}

/* An Array whose elements are of a type that only NumPy knows. */
static PyObject *array_describe(PyObject *self, PyObject *arguments)
{
	struct array_instance *array = (struct array_instance *)self;
	PyObject *name, *descr;

	if (!PyArg_ParseTuple(arguments, "UO:_describe", &name, &descr))
		return NULL;
	if (array->array.dtype.code != WW_DTYPE_OPAQUE || array->numpy_type)
		return error_raise_text(core_of(self), WW_ERR_INVALID,
			"this array has a type of elements already");
	array->numpy_type = Py_NewRef(arguments);
	return Py_NewRef(self);
}

static PyObject *array_numpy_type(PyObject *self, void *unused)
{
	PyObject *numpy_type = ((struct array_instance *)self)->numpy_type;

	(void)unused;
	return Py_NewRef(numpy_type ? numpy_type : Py_None);
}

bool array_check_plain(PyObject *self, const char *error)
{
	PyObject *arguments, *done;

	if (!((struct array_instance *)self)->numpy_type)
		return true;
	arguments = Py_BuildValue("(s)", error);
	done = arguments ? call_python("warpway._numpy", "refuse", self, arguments, NULL) : NULL;
	Py_XDECREF(arguments);
	Py_XDECREF(done);
	return false;
}

static PyObject *array_numpy(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_python("warpway._numpy", "as_numpy", self, arguments, keywords);
}

/* NumPy's types that the buffer protocol cannot name come from ml_dtypes. */
static PyObject *array_array(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_python("warpway._numpy", "to_numpy", self, arguments, keywords);
}

static PyObject *array_ipc_handle(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_python("warpway._ipc", "IpcArrayHandle", self, arguments, keywords);
}

/* --- copies --- */

struct copy_call {
	ww_device *device;
	void *destination;
	const void *source;
	uint64_t bytes;
};

/* By a stream of its own, which is waited for: a copy that has begun is not left running. */
static ww_status run_copy(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct copy_call *args = call;
	ww_stream *stream;
	ww_status status = ww_stream_create(args->device, &stream);

	(void)timeout_ns;
	(void)cancel;
	if (status != WW_OK)
		return status;
	status = ww_stream_copy(stream, args->destination, args->source, args->bytes);
	if (status == WW_OK)
		status = ww_stream_synchronize(stream, WW_FOREVER, NULL);
	ww_stream_unref(stream);
	return status;
}

/* Where one of the two has gaps, or another order than C's. @source: an Array or a memoryview */
static PyObject *copy_strided(PyObject *target, PyObject *source)
{
	PyObject *arguments = PyTuple_Pack(1, source);
	PyObject *done = NULL;

	if (arguments)
		done = call_python("warpway._strided", "copy", target, arguments, NULL);
	Py_XDECREF(arguments);
	return done;
}

/* From @other into @self, both arrays of this module without gaps. */
static bool copy_array(PyObject *self, PyObject *other)
{
	PyObject *target = memory_of(self), *source = memory_of(other); /* also if a view ends */
	ww_memory *to, *from = NULL;
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct copy_call call;
	ww_status status;

	status = array_wait_ready(other, NULL, WW_FOREVER, NULL);
	if (status != WW_OK) {
		error_raise(core_of(self), status);
		return false;
	}
	if (!memory_begin_write(target))
		return false;
	to = memory_borrow_briefly(target);
	if (to)
		from = memory_borrow_briefly(source);
	if (!to || !from) {
		memory_return(to);
		memory_end_write(target);
		return false;
	}
	status = ww_memory_info_get(to, &info);
	call.device = info.device;
	call.destination = (char *)ww_memory_pointer(to) + array_of(self)->offset;
	call.source = (char *)ww_memory_pointer(from) + array_of(other)->offset;
	call.bytes = (uint64_t)(element_count(array_of(self)) * element_bytes(array_of(self)));
	if (status == WW_OK)
		status = wait_direct(run_copy, &call);
	memory_return(to);
	memory_return(from);
	memory_end_write(target);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

/* As bytes. A memoryview without elements cannot be cast; an empty buffer stands for it. */
static PyObject *flatten(PyObject *view)
{
	PyObject *size = PyObject_GetAttrString(view, "nbytes");
	PyObject *flat = NULL;

	if (size && PyObject_IsTrue(size))
		flat = PyObject_CallMethod(view, "cast", "s", "B");
	else if (size)
		flat = PyByteArray_FromStringAndSize(NULL, 0);
	Py_XDECREF(size);
	return flat;
}

/* The bytes of a view and an array without gaps: by Memory.write or readinto. */
static PyObject *copy_flat(PyObject *self, PyObject *view, const char *method)
{
	int64_t bytes = element_count(array_of(self)) * element_bytes(array_of(self));
	PyObject *flat = flatten(view), *done = NULL;

	if (flat && PySequence_Size(flat) != bytes)
		error_raise_text(core_of(self), WW_ERR_INVALID,
			"the array has %lld bytes, the buffer %zd", (long long)bytes,
			PySequence_Size(flat));
	else if (flat)
		done = PyObject_CallMethod(memory_of(self), method, "OK", flat,
			(unsigned long long)array_of(self)->offset);
	Py_XDECREF(flat);
	return done;
}

static bool is_contiguous(PyObject *view)
{
	PyObject *answer = PyObject_GetAttrString(view, "c_contiguous");
	bool is_so = answer == Py_True;

	Py_XDECREF(answer);
	return is_so;
}

static PyObject *copy_buffer(PyObject *self, PyObject *buffer, bool is_write)
{
	ww_status status = is_write ? WW_OK : array_wait_ready(self, NULL, WW_FOREVER, NULL);
	PyObject *view, *done = NULL;

	if (status != WW_OK)
		return error_raise(core_of(self), status);
	view = array_view_buffer(self, buffer);
	if (view && ww_array_is_contiguous(array_of(self)) && is_contiguous(view))
		done = copy_flat(self, view, is_write ? "write" : "readinto");
	else if (view)
		done = copy_strided(is_write ? self : view, is_write ? view : self);
	Py_XDECREF(view);
	return done;
}

/* Both are arrays of this module. */
static PyObject *copy_between(PyObject *target, PyObject *source)
{
	if (!array_check_same(target, source))
		return NULL;
	if (!ww_array_is_contiguous(array_of(target)) || !ww_array_is_contiguous(array_of(source)))
		return copy_strided(target, source);
	if (!copy_array(target, source))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *array_copy_from(PyObject *self, PyObject *source)
{
	return Py_TYPE(source) == Py_TYPE(self) ? copy_between(self, source)
						: copy_buffer(self, source, true);
}

static PyObject *array_copy_to(PyObject *self, PyObject *destination)
{
	return Py_TYPE(destination) == Py_TYPE(self) ? copy_between(destination, self)
						     : copy_buffer(self, destination, false);
}

static PyObject *array_exit(PyObject *self, PyObject *unused)
{
	(void)unused;
	return array_close(self, NULL, 0, NULL);
}

static PyMethodDef methods[] = {
	{"reshape", array_reshape, METH_VARARGS,
		"reshape($self, /, *shape)\n--\n\n"
		"A view of the same elements, in C order, in another shape: ``reshape(2, 3)`` or\n"
		"``reshape((2, 3))``. One number may be -1.\n\n"
		"Raises\n------\nUnsupported\n    It would need a copy."},
	{"transpose", array_transpose, METH_VARARGS,
		"transpose($self, /, *axes)\n--\n\nA view with its dimensions in another order: "
		"``transpose(1, 0, 2)``. Without axes their order is reversed."},
	{"broadcast_to", array_broadcast_to, METH_O,
		"broadcast_to($self, shape, /)\n--\n\nA view that repeats elements until it has a shape.\n\n"
		"Raises\n------\nInvalidArgument\n    The shapes do not fit each other, as in NumPy."},
	{"view", array_as_dtype, METH_O,
		"view($self, dtype, /)\n--\n\nA view of the same bytes as elements of another type.\n\n"
		"The last dimension is longer or shorter then, if the elements have other sizes.\n\n"
		"Raises\n------\nInvalidArgument, Unsupported\n    The bytes do not make whole elements, or have gaps."},
	{"copy_from", array_copy_from, METH_O,
		"copy_from($self, source, /)\n--\n\n"
		"Copy an Array or a buffer into this one, and wait until the bytes are there.\n\n"
		"Works for any device. If `source` is an Array with a ready point, that is waited for.\n\n"
		"Parameters\n----------\n"
		"source : Array or bytes-like\n    Of this Array's shape and type. If one of the two has elements of uint8, such as\n"
		"    `bytes`, the other one may be anything of as many bytes, in C order. Both may have gaps, but\n"
		"    then the bytes go through the CPU; into a GPU, with a copy for each piece without gaps.\n\n"
		"Raises\n------\n"
		"InvalidArgument\n    It has another shape or type, or more or fewer bytes.\n"
		"AccessDenied\n    This Array is for reading only."},
	{"copy_to", array_copy_to, METH_O,
		"copy_to($self, destination, /)\n--\n\n"
		"Copy into an Array or a writable buffer, and wait until the bytes are there.\n\n"
		"Works for any device. If this Array has a ready point, that is waited for.\n\n"
		"Parameters\n----------\n"
		"destination : Array or bytes-like\n    As the source of `copy_from`.\n\n"
		"Raises\n------\nInvalidArgument, AccessDenied\n    As `copy_from`."},
	{"token", KEYWORDS(array_token), METH_VARARGS | METH_KEYWORDS,
		"token($self, /, access=None, *, stream=None, uses=1, escrow=60.0, broker=None, cancel=None)\n"
		"--\n\n"
		"A token that opens as this Array in any process.\n\n"
		"It takes its hold now: the array may be closed at once. If the array has a ready point,\n"
		"a pickle of the token carries it; `Token.to_bytes` and `Token.text` wait for it.\n\n"
		"Parameters\n----------\n"
		"access : 'read' or 'write'\n    The most that an importer gets. None: as this Array.\n"
		"stream : Stream or what it takes, optional\n    Calls `ready` with it first.\n"
		"uses : int\n    How often it can be opened: until then it is in flight, and keeps the memory as long\n"
		"    as this process lives. 0: any number of times; only `escrow` ends its hold.\n"
		"escrow : float or None\n    Seconds for which the token alone keeps the memory: after the end of this process,\n"
		"    but with uses=0 from now on; None: not at all.\n"
		"broker : Broker, optional\n    None: the default one.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\nToken\n    A pickled one arrives as the Array."},
	{"ready", KEYWORDS(array_ready), METH_VARARGS | METH_KEYWORDS,
		"ready($self, /, stream)\n--\n\n"
		"Say that the bytes are ready when the work enqueued on a stream so far has run.\n\n"
		"Everybody who uses the array afterwards waits for that point: `__dlpack__` and the CUDA\n"
		"array interface by the stream of the consumer, `wait` by any stream, NumPy on the CPU;\n"
		"also in the processes that the array is sent to. Returns the array.\n\n"
		"If a function that the stream calls before fails (`Stream.call`), they get `PeerLost`."},
	{"wait", KEYWORDS(array_wait), METH_VARARGS | METH_KEYWORDS,
		"wait($self, /, stream=None, *, timeout=None, cancel=None)\n--\n\n"
		"Wait until the bytes are ready: on the CPU, or have a stream's further work wait.\n\n"
		"An Array without a ready point is always ready.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n    Its further work waits, and the call returns. None: the CPU waits.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"PeerLost\n    The process that was to write them ended before.\n"
		"Timeout\n    `timeout` seconds passed first."},
	{"close", KEYWORDS(array_close), METH_FASTCALL | METH_KEYWORDS,
		"close($self, /, stream=None)\n--\n\n"
		"Release the memory, as `Memory.close`; also for all views of this package.\n\n"
		"But a view, which indexing, `reshape` and the like made, ends alone, unless nothing else has\n"
		"the memory. What NumPy or another library has of it stays valid: then the bytes stay, too,\n"
		"and a ResourceWarning says by what. After ``numpy.ndarray(..., buffer=array)`` that is the\n"
		"Array itself, until it is freed."},
	{"get_ipc_handle", KEYWORDS(array_ipc_handle), METH_VARARGS | METH_KEYWORDS,
		"get_ipc_handle($self, /)\n--\n\n"
		"An `IpcArrayHandle`, as Numba's arrays have: it can be pickled, and opened any number of\n"
		"times while the array lives. It keeps no bytes in another process."},
	{"__dlpack__", KEYWORDS(array_dlpack), METH_FASTCALL | METH_KEYWORDS,
		"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
		"A capsule with a DLPack tensor, as the array API says.\n\n"
		"When the tensor of a GPU's memory ends, the memory is released after the work that the\n"
		"GPU has been given until then.\n\n"
		"Parameters\n----------\n"
		"stream : int, optional\n"
		"    The consumer's stream; it waits for the ready point, and has the copy in its order.\n"
		"    None: CUDA's legacy default stream. -1: nothing waits; a copy is there on return.\n"
		"max_version : tuple of int, optional\n    The newest DLPack that the consumer knows.\n"
		"dl_device : tuple of int, optional\n    Where the tensor is to be, such as (1, 0), the CPU.\n"
		"copy : bool, optional\n"
		"    True: of new memory. False: never of new memory. None: only for another device.\n\n"
		"Raises\n------\n"
		"BufferError\n"
		"    The memory is for reading only, and the consumer's version of DLPack cannot say so; or\n"
		"    a copy is needed, and `copy` is False."},
	{"__dlpack_device__", array_dlpack_device, METH_NOARGS,
		"__dlpack_device__($self, /)\n--\n\n(device type, device id) of DLPack."},
	{"__array__", KEYWORDS(array_array), METH_VARARGS | METH_KEYWORDS,
		"__array__($self, /, dtype=None, *, copy=None)\n--\n\n"
		"The array for NumPy: the same bytes, read-only if `access` is 'read'."},
	{"numpy", KEYWORDS(array_numpy), METH_VARARGS | METH_KEYWORDS,
		"numpy($self, /, *, copy=False)\n--\n\n"
		"The array for NumPy, when it is ready: a view of the same bytes, if the CPU reaches them.\n\n"
		"Parameters\n----------\n"
		"copy : bool\n    Copy, also from a GPU, whose memory has no view on the CPU.\n\n"
		"Raises\n------\nUnsupported\n    It is a GPU's memory, and `copy` is false."},
	{"_describe", array_describe, METH_VARARGS, NULL},
	{"__complex__", array_complex, METH_NOARGS, NULL},
	{"__format__", array_format, METH_O, NULL},
	{"__bytes__", array_bytes, METH_NOARGS, NULL},
	{"__reduce__", array_reduce, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", array_exit, METH_VARARGS, NULL},
	{NULL},
};

#define OF_MEMORY(name) ((void *)(uintptr_t)(name))

static PyGetSetDef properties[] = {
	{"shape", get_shape, NULL, "tuple of int.", NULL},
	{"strides", get_strides, NULL, "tuple of int: bytes between neighbours.", NULL},
	{"dtype", get_dtype, NULL, "str: such as 'float32'.", NULL},
	{"_numpy_type", array_numpy_type, NULL, NULL, NULL},
	{"ndim", get_ndim, NULL, "int: dimensions.", NULL},
	{"size", get_size, NULL, "int: elements.", NULL},
	{"itemsize", get_itemsize, NULL, "int: bytes of an element.", NULL},
	{"nbytes", get_nbytes, NULL, "int: bytes of all elements.", NULL},
	{"offset", get_offset, NULL, "int: bytes from the start of `memory` to the first element.",
		NULL},
	{"T", (getter)array_transpose, NULL, "Array: transposed.", NULL},
	{"memory", get_memory, NULL, "Memory: the one that contains the array.", NULL},
	{"pointer", get_pointer, NULL, "int: the address of the first element, for the device.",
		NULL},
	{"is_contiguous", get_is_contiguous, NULL, "bool: C order without gaps.", NULL},
	{"is_ready", get_is_ready, NULL, "bool: the ready point is reached, or there is none.",
		NULL},
	{"device", get_of_memory, NULL, "Device: the one that this mapping serves.",
		OF_MEMORY("device")},
	{"name", get_of_memory, NULL, "str or None: as `Memory.name`.", OF_MEMORY("name")},
	{"access", get_of_memory, NULL, "str: 'read' or 'write'.", OF_MEMORY("access")},
	{"route", get_of_memory, NULL, "str: as `Memory.route`.", OF_MEMORY("route")},
	{"closed", get_of_memory, NULL, "bool: the memory was closed.", OF_MEMORY("closed")},
	{"is_mapped", get_of_memory, NULL, "bool: as `Memory.is_mapped`.", OF_MEMORY("is_mapped")},
	{"is_lazy", get_of_memory, NULL, "bool: as `Memory.is_lazy`.", OF_MEMORY("is_lazy")},
	{"__array_interface__", array_interface, NULL,
		"dict: version 3 of NumPy's array interface; only for memory that the CPU reaches. It has an\n"
		"address, so keep the Array open while that is used; NumPy itself uses the buffer protocol.",
		NULL},
	{"__cuda_array_interface__", array_cuda_interface, NULL,
		"dict: version 3 of the CUDA array interface; only for memory that a GPU reaches.",
		NULL},
	{NULL},
};

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct array_instance, weakrefs), READONLY,
		NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Array(memory, shape, dtype, strides=None, offset=0)\n--\n\n"
		    "An array in a Memory: a type of elements, a shape and strides.\n\n"
		    "Parameters\n----------\n"
		    "memory : Memory\n"
		    "shape : int or sequence of int\n    At most 16 dimensions.\n"
		    "dtype : str or a dtype of NumPy, ml_dtypes or torch\n"
		    "strides : sequence of int, optional\n    Bytes between neighbours; None: C order.\n"
		    "offset : int\n    Bytes from the start of the memory to the first element.\n\n"
		    "Indexing, slicing, iteration, `reshape`, `transpose` and `view` make views of the same bytes. NumPy,\n"
		    "PyTorch, CuPy, Numba and JAX use an Array without a copy, by DLPack, the buffer protocol\n"
		    "or the CUDA array interface. A pickled Array arrives as an Array of the same bytes; the\n"
		    "pickle alone keeps them as long as its sender lives, and 60 s more. copy.copy() and\n"
		    "copy.deepcopy() use the pickle, so the result has the same bytes; ``from_dlpack(array,\n"
		    "copy=True)`` copies them. Most arrays are made by `empty`, `zeros` or `Pool.empty`.\n\n"
		    "An Array of 0 dimensions, such as ``array[3]`` of one dimension, is a number for float(),\n"
		    "int(), complex(), format() and, of integers, as an index: when it is ready, its element is\n"
		    "read, also from a GPU. bool() takes any Array of one element, as NumPy. Operators do not\n"
		    "look at elements: ``==`` with an array or a number, and ``in``, raise TypeError.\n\n"
		    "Raises\n------\n"
		    "InvalidArgument\n    The array does not fit into the memory, or there is no such type.")},
	{Py_tp_new, array_new},
	{Py_tp_dealloc, array_dealloc},
	{Py_tp_traverse, array_traverse},
	{Py_tp_repr, array_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, members},
	{Py_tp_iter, array_iter},
	{Py_tp_richcompare, array_compare},
	{Py_tp_hash, array_hash},
	{Py_nb_float, array_float},
	{Py_nb_int, array_int},
	{Py_nb_index, array_index},
	{Py_nb_bool, array_bool},
	{Py_sq_contains, array_contains},
	{Py_mp_length, array_length},
	{Py_mp_subscript, array_subscript},
	{Py_bf_getbuffer, array_getbuffer},
	{Py_bf_releasebuffer, buffer_release},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Array",
	.basicsize = sizeof(struct array_instance),
	.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};

PyTypeObject *array_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
