/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c - warpway.Frame: a slot of a channel, to be written or read in place. What is here serves
 * WorkFrame (work_frame.c) as well.
 *
 * The Array of a frame is made when it is first asked for. Its memory is the slot alone, and is a
 * user of the frame's hold (channel.h): whatever has a reference of that memory keeps the slot.
 */
#include "array.h"
#include "channel.h"
#include "memory.h"

struct frame {
	PyObject_HEAD
	PyObject *weakrefs;
	struct frame_hold *hold; /* a reference */
	PyObject *array;         /* NULL: not asked for yet, or the frame is closed */
	PyObject *stream;        /* that of acquire() or receive(); NULL: none */
	PyObject *metadata;      /* bytes */
	struct ww_array layout;  /* of the array */
	bool is_lent; /* others keep this Frame, and use its address: CUDA array interface */
};

static struct frame *frame_of(PyObject *self)
{
	return (struct frame *)self;
}

struct frame_hold *frame_hold_of(PyObject *self)
{
	return frame_of(self)->hold;
}

static bool is_producer(PyObject *self)
{
	return frame_of(self)->hold->state->form.is_producer;
}

static const struct frame_class *class_of(PyObject *self)
{
	return frame_of(self)->hold->state->class;
}

/* Without the GIL: it may wait for the hold's stream, which may have a Python function to run. */
static void hold_return(struct frame_hold *hold, void (*end)(void *hold))
{
	if (callback_is_stuck())
		return;
	Py_BEGIN_ALLOW_THREADS
	end(hold);
	Py_END_ALLOW_THREADS
}

/* The Frame is its user no more. */
static void hold_close(struct frame_hold *hold)
{
	if (!hold->is_open)
		return;
	hold->is_open = false;
	hold_return(hold, frame_hold_drop_user);
}

/* --- what its array is --- */

static void describe_bytes(struct ww_array *layout, uint64_t bytes)
{
	const struct ww_dtype byte = {WW_DTYPE_UINT, 8, 1};
	const int64_t length = (int64_t)bytes;

	ww_array_set(layout, &byte, 1, &length, NULL, 0);
}

/* Return: WW_OK; WW_ERR_PROTOCOL (a received frame is too short for its shape). */
static ww_status describe(struct frame *frame)
{
	const struct ww_array *largest = frame_hold_array(frame->hold);
	const struct ww_frame *filled = &frame->hold->frame;
	int64_t shape[WW_FRAME_DIMS];
	uint64_t bytes;
	ww_status status;

	if (!largest) {
		describe_bytes(&frame->layout, filled->bytes);
		return WW_OK;
	}
	frame->layout = *largest;
	if (frame->hold->state->form.is_producer)
		return ww_array_bytes(&frame->layout, &frame->hold->frame.bytes);
	if (filled->ndim > 0) {
		for (uint32_t i = 0; i < filled->ndim; i++)
			shape[i] = (int64_t)filled->shape[i];
		if (ww_array_set(&frame->layout, &largest->dtype, filled->ndim, shape, NULL, 0) !=
			WW_OK)
			return WW_ERR_PROTOCOL;
	}
	status = ww_array_bytes(&frame->layout, &bytes);
	return status == WW_OK && bytes <= filled->bytes ? WW_OK : WW_ERR_PROTOCOL;
}

PyObject *frame_object(struct core *core, struct frame_hold *hold, PyObject *stream)
{
	struct frame *made = (struct frame *)
		PyType_GenericAlloc(core->types[hold->state->class->type], 0);
	uint32_t bytes = hold->state->form.is_producer ? 0 : hold->frame.metadata_bytes;

	if (!made) {
		hold_close(hold);
		hold_return(hold, frame_hold_unref);
		return NULL;
	}
	made->hold = hold;
	made->stream = stream == Py_None ? NULL : Py_NewRef(stream);
	made->metadata = PyBytes_FromStringAndSize(hold->frame.metadata, bytes);
	if (made->metadata && describe(made) == WW_OK)
		return (PyObject *)made;
	if (made->metadata)
		error_raise_text(core, WW_ERR_PROTOCOL,
			"frame %llu has fewer bytes than its shape needs",
			(unsigned long long)hold->frame.number);
	Py_DECREF(made);
	return NULL;
}

int frame_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(frame_of(self)->array);
	Py_VISIT(frame_of(self)->stream);
	return 0;
}

/* Nothing else leads to other objects of the program. */
int frame_clear(PyObject *self)
{
	Py_CLEAR(frame_of(self)->stream);
	return 0;
}

void frame_dealloc(PyObject *self)
{
	struct frame *frame = frame_of(self);

	PyObject_GC_UnTrack(self);
	if (frame->weakrefs)
		PyObject_ClearWeakRefs(self);
	Py_XDECREF(frame->array);
	Py_XDECREF(frame->stream);
	Py_XDECREF(frame->metadata);
	if (frame->hold) {
		hold_close(frame->hold);
		hold_return(frame->hold, frame_hold_unref);
	}
	instance_free(self);
}

/* --- its array --- */

static bool require_open(PyObject *self)
{
	if (frame_of(self)->hold->is_open)
		return true;
	PyErr_Format(PyExc_ValueError, "this frame was %s: it has no array any more",
		is_producer(self) ? "published or discarded" : class_of(self)->ended);
	return false;
}

static PyObject *frame_fail(struct core *core, const struct frame_hold *hold, ww_status status)
{
	if (status == STATUS_CLOSED)
		return PyErr_Format(PyExc_ValueError, "the %s of this frame is closed",
			hold->state->class->handle->noun);
	return error_raise(core, status);
}

/* A Memory of the slot, which keeps the hold. */
static PyObject *frame_memory(struct core *core, struct frame_hold *hold)
{
	const struct ww_wrap_params params = {
		.struct_size = sizeof(params),
		.flags = WW_WRAP_PRIVATE | (hold->state->form.is_producer ? 0 : WW_WRAP_READ),
		.release = frame_hold_drop_user,
		.context = hold,
	};
	PyObject *made;
	ww_memory *memory;
	ww_status status;

	frame_hold_add_user(hold);
	Py_BEGIN_ALLOW_THREADS
	status = frame_hold_wrap(hold, &params, &memory);
	Py_END_ALLOW_THREADS
	if (status != WW_OK) {
		frame_fail(core, hold, status);
		hold_return(hold, frame_hold_drop_user);
		return NULL;
	}
	made = memory_object_imported(core, memory);
	if (made)
		memory_set_frame(made, hold->stream);
	return made;
}

/*
 * With a stream the bytes may be used when its work so far has run: NumPy and other streams wait
 * for that point.
 */
static PyObject *make_ready(PyObject *array, PyObject *stream)
{
	PyObject *done;

	if (!array || !stream)
		return array;
	done = PyObject_CallMethod(array, "ready", "O", stream);
	Py_DECREF(array);
	return done; /* the array itself */
}

/* Return: owned, for the frame may end meanwhile; NULL with an exception. */
static PyObject *frame_array(PyObject *self)
{
	struct frame *frame = frame_of(self);
	struct core *core = core_of(self);
	PyObject *memory, *array;

	if (!require_open(self))
		return NULL;
	if (frame->array)
		return Py_NewRef(frame->array);
	memory = frame_memory(core, frame->hold);
	if (!memory)
		return NULL;
	array = make_ready(array_object(core, memory, &frame->layout), frame->stream);
	Py_DECREF(memory);
	if (!array)
		return NULL;
	if (frame->array || !frame->hold->is_open) { /* another thread was faster */
		Py_DECREF(array);
		return require_open(self) ? Py_XNewRef(frame->array) : NULL;
	}
	frame->array = array;
	return Py_NewRef(array);
}

static PyObject *get_array(PyObject *self, void *unused)
{
	(void)unused;
	return frame_array(self);
}

/* A method of the array. */
static PyObject *call_array(PyObject *self, const char *name, PyObject *arguments,
	PyObject *keywords)
{
	PyObject *array = frame_array(self);
	PyObject *method = array ? PyObject_GetAttrString(array, name) : NULL;
	PyObject *result = method ? PyObject_Call(method, arguments, keywords) : NULL;

	Py_XDECREF(method);
	Py_XDECREF(array);
	return result;
}

static PyObject *frame_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_array(self, "__dlpack__", arguments, keywords);
}

static PyObject *frame_numpy(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_array(self, "__array__", arguments, keywords);
}

static PyObject *frame_dlpack_device(PyObject *self, PyObject *unused)
{
	PyObject *array = frame_array(self);
	PyObject *pair = array ? array_dlpack_device(array, NULL) : NULL;

	(void)unused;
	Py_XDECREF(array);
	return pair;
}

/* Its consumer keeps the Frame, so the Frame keeps the array, also when it is closed. */
static PyObject *get_cuda_interface(PyObject *self, void *unused)
{
	PyObject *array = frame_array(self);
	PyObject *interface = array ? array_cuda_interface(array, NULL) : NULL;

	(void)unused;
	Py_XDECREF(array);
	if (interface)
		frame_of(self)->is_lent = true;
	return interface;
}

/* The view is one of the Array, and keeps the slot. What keeps the Frame alone would not. */
int frame_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	PyObject *array = buffer_may_keep_asked(flags) ? NULL : frame_array(self);
	int result;

	view->obj = NULL;
	if (buffer_may_keep_asked(flags))
		PyErr_SetString(PyExc_BufferError,
			"such a request, as of numpy.ndarray(..., buffer=frame), may keep the frame, but not its "
			"slot: use numpy.asarray(frame), or memoryview(frame) as the buffer");
	result = array ? PyObject_GetBuffer(array, view, flags) : -1;
	Py_XDECREF(array);
	return result;
}

/* --- its size, before it is published --- */

static bool refuse_size(PyObject *self, const char *text)
{
	error_raise_text(core_of(self), WW_ERR_INVALID, "%s", text);
	return false;
}

static bool set_bytes(PyObject *self, PyObject *nbytes)
{
	struct frame *frame = frame_of(self);
	uint64_t bytes = 0;

	if (frame->hold->state->form.has_array)
		return refuse_size(self, "the frames are arrays here: give the shape, not nbytes");
	if (!convert_bytes(nbytes, &bytes))
		return false;
	if (bytes > frame->hold->frame.capacity) {
		error_raise_text(core_of(self), WW_ERR_INVALID,
			"a frame of %llu bytes does not fit into a slot of %llu",
			(unsigned long long)bytes, (unsigned long long)frame->hold->frame.capacity);
		return false;
	}
	describe_bytes(&frame->layout, bytes);
	frame->hold->frame.bytes = bytes;
	return true;
}

static bool is_within(const struct ww_array *largest, int ndim, const int64_t *dims)
{
	if (ndim != (int)largest->ndim)
		return false;
	for (int i = 0; i < ndim; i++) {
		if (dims[i] > largest->shape[i])
			return false;
	}
	return true;
}

static bool refuse_shape(PyObject *self, const struct ww_array *layout)
{
	const struct ww_array *largest = &frame_of(self)->hold->state->form.array;
	PyObject *shape = info_numbers(layout->shape, layout->ndim);
	PyObject *most = info_numbers(largest->shape, largest->ndim);
	PyObject *text = !shape || !most
		? NULL
		: PyUnicode_FromFormat("a frame of shape %S does not fit into one of %S: "
				       "it needs as many dimensions, none of them longer",
			  shape, most);

	if (text)
		refuse_size(self, PyUnicode_AsUTF8AndSize(text, NULL));
	Py_XDECREF(shape);
	Py_XDECREF(most);
	Py_XDECREF(text);
	return false;
}

static bool set_layout(PyObject *self, int ndim, const int64_t *dims)
{
	struct frame *frame = frame_of(self);
	const struct ww_array *largest = &frame->hold->state->form.array;
	struct ww_array layout;
	uint64_t bytes;
	ww_status status = ww_array_set(&layout, &largest->dtype, (uint32_t)ndim, dims, NULL, 0);

	if (status == WW_OK)
		status = ww_array_bytes(&layout, &bytes);
	if (status != WW_OK) {
		error_raise(core_of(self), status);
		return false;
	}
	if (!is_within(largest, ndim, dims))
		return refuse_shape(self, &layout);
	if (ndim > WW_FRAME_DIMS)
		return refuse_size(self,
			"of more than 8 dimensions all frames have the same shape");
	frame->layout = layout;
	frame->hold->frame.bytes = bytes;
	frame->hold->frame.ndim = (uint32_t)ndim;
	for (int i = 0; i < ndim; i++)
		frame->hold->frame.shape[i] = (uint64_t)dims[i];
	return true;
}

static bool set_shape(PyObject *self, PyObject *shape)
{
	int64_t dims[WW_ARRAY_DIMS];
	int ndim;

	if (!frame_of(self)->hold->state->form.has_array)
		return refuse_size(self, "the frames are bytes here: give nbytes, not a shape");
	ndim = convert_shape(core_of(self), shape, "shape", dims);
	return ndim >= 0 && set_layout(self, ndim, dims);
}

bool frame_set_size(PyObject *self, PyObject *shape, PyObject *nbytes)
{
	if (shape == Py_None && nbytes == Py_None)
		return true;
	if (shape != Py_None && nbytes != Py_None)
		return refuse_size(self, "give a shape or nbytes, not both");
	return shape != Py_None ? set_shape(self, shape) : set_bytes(self, nbytes);
}

/* --- its end --- */

static PyObject *refuse_role(PyObject *self, const char *what)
{
	return error_raise_text(core_of(self), WW_ERR_ACCESS, "cannot %s a frame that was %s: %s",
		what, is_producer(self) ? "acquired" : "received",
		is_producer(self) ? "publish or discard it" : class_of(self)->ends);
}

void frame_close(PyObject *self)
{
	struct frame *frame = frame_of(self);

	hold_close(frame->hold); /* first: when the array ends, other code may ask for one */
	if (!frame->is_lent)
		Py_CLEAR(frame->array);
}

void frame_close_done(PyObject *self)
{
	struct frame_hold *hold = frame_of(self)->hold;

	if (hold->is_open)
		__atomic_store_n(&hold->is_done, true, __ATOMIC_RELEASE);
	frame_close(self);
}

/* @out_stream: NULL: that of acquire() or receive(). Return: false with an exception. */
static bool read_stream(PyObject *self, PyObject *value, ww_stream **out_stream)
{
	*out_stream = NULL;
	if (value == Py_None)
		return true;
	*out_stream = convert_stream(core_of(self), frame_of(self)->hold->state->device, value);
	return *out_stream;
}

typedef ww_status (
	*end_fn)(struct frame_hold *hold, const struct frame_metadata *metadata, ww_stream *stream);

/*
 * Another thread may acquire the slot before this one has the GIL again: so what the Frame itself
 * has of the slot ends before that.
 */
static PyObject *end_acquired(PyObject *self, PyObject *stream, end_fn end)
{
	struct frame_hold *hold = frame_of(self)->hold;
	PyObject *bytes = Py_NewRef(frame_of(self)->metadata);
	const struct frame_metadata metadata = {PyBytes_AsString(bytes),
		(uint32_t)PyBytes_Size(bytes)};
	ww_status status = STATUS_RAISED;
	ww_stream *by;

	if (read_stream(self, stream, &by) && require_open(self)) {
		hold->is_open = false;
		if (!frame_of(self)->is_lent)
			Py_CLEAR(frame_of(self)->array);
		Py_BEGIN_ALLOW_THREADS
		status = end(hold, &metadata, by);
		Py_END_ALLOW_THREADS
		hold->is_open = status != WW_OK;
	}
	handle_return(&stream_class, by);
	Py_DECREF(bytes);
	return status == WW_OK ? Py_NewRef(Py_None) : frame_fail(core_of(self), hold, status);
}

static PyObject *frame_publish(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "shape", "nbytes", NULL};
	PyObject *stream = Py_None, *shape = Py_None, *nbytes = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OO:publish", names, &stream,
		    &shape, &nbytes))
		return NULL;
	if (!is_producer(self))
		return refuse_role(self, "publish");
	if (!require_open(self) || !frame_set_size(self, shape, nbytes))
		return NULL;
	return end_acquired(self, stream, frame_hold_publish);
}

static PyObject *frame_discard(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", NULL};
	PyObject *stream = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:discard", names, &stream))
		return NULL;
	if (!is_producer(self))
		return refuse_role(self, "discard");
	if (!frame_of(self)->hold->is_open)
		Py_RETURN_NONE;
	return end_acquired(self, stream, frame_hold_discard);
}

PyObject *frame_end(PyObject *self, PyObject *value, bool is_done)
{
	struct frame_hold *hold = frame_of(self)->hold;
	struct ww_error record;
	ww_stream *stream;

	if (!read_stream(self, value, &stream))
		return NULL;
	handle_return(&stream_class, frame_hold_order(hold, stream));
	(is_done ? frame_close_done : frame_close)(self);
	return channel_state_take_lost(hold->state, &record)
		? error_raise_record(core_of(self), &record)
		: Py_NewRef(Py_None);
}

static PyObject *frame_release(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", NULL};
	PyObject *value = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:release", names, &value))
		return NULL;
	return is_producer(self) ? refuse_role(self, "release") : frame_end(self, value, true);
}

static PyObject *frame_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return require_open(self) ? Py_NewRef(self) : NULL;
}

/* One that was ended inside the block stays so. */
static PyObject *frame_exit(PyObject *self, PyObject *arguments)
{
	PyObject *none = PyTuple_New(0), *type, *value, *traceback, *done = NULL;

	if (!none || !PyArg_ParseTuple(arguments, "OOO:__exit__", &type, &value, &traceback))
		goto end;
	if (!frame_of(self)->hold->is_open)
		done = Py_NewRef(Py_None);
	else if (!is_producer(self))
		done = frame_end(self, Py_None, type == Py_None);
	else
		done = type == Py_None ? frame_publish(self, none, NULL)
				       : frame_discard(self, none, NULL);
end:
	Py_XDECREF(none);
	return done;
}

/* --- what it is --- */

static PyObject *get_number(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(frame_of(self)->hold->frame.number);
}

static PyObject *get_generation(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(frame_of(self)->hold->frame.generation);
}

static PyObject *get_submitted(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(frame_of(self)->hold->frame.submitted_ns);
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(frame_of(self)->hold->frame.bytes);
}

static PyObject *get_shape(PyObject *self, void *unused)
{
	const struct ww_array *layout = &frame_of(self)->layout;

	(void)unused;
	return info_numbers(layout->shape, layout->ndim);
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
	(void)unused;
	return info_dtype(&frame_of(self)->layout.dtype);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(!frame_of(self)->hold->is_open);
}

static PyObject *get_metadata(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef(frame_of(self)->metadata);
}

static int set_metadata(PyObject *self, PyObject *value, void *unused)
{
	struct frame *frame = frame_of(self);
	uint32_t room = frame->hold->state->form.metadata_bytes;
	PyObject *bytes, *former;
	Py_ssize_t count;

	(void)unused;
	if (!value || !is_producer(self)) {
		PyErr_SetString(PyExc_AttributeError,
			"the metadata of a received frame cannot be changed");
		return -1;
	}
	bytes = PyBytes_FromObject(value);
	if (!bytes)
		return -1;
	count = PyBytes_Size(bytes);
	if (!require_open(self) || count > room) {
		if (!PyErr_Occurred())
			error_raise_text(core_of(self), WW_ERR_INVALID,
				"metadata of %zd bytes does not fit into the %u that there are for it "
				"(metadata_bytes)",
				count, room);
		Py_DECREF(bytes);
		return -1;
	}
	former = frame->metadata; /* what iterates may have set it meanwhile */
	frame->metadata = bytes;
	Py_DECREF(former);
	return 0;
}

static PyObject *frame_reduce(PyObject *self, PyObject *unused)
{
	(void)unused;
	return late_note(self,
		PyErr_Format(PyExc_TypeError,
			"a frame cannot be pickled: pickle the %s, and have the receiver receive its frames",
			class_of(self)->handle->noun));
}

/* How it has ended; "": it has not. */
static const char *end_word(PyObject *self)
{
	const struct frame_hold *hold = frame_of(self)->hold;

	if (hold->is_open)
		return "";
	if (!is_producer(self))
		return class_of(self)->type == CORE_FRAME ? " released" : " ended";
	return hold->frame.number > 0 ? " published" : " discarded";
}

PyObject *frame_repr(PyObject *self)
{
	PyObject *shape = get_shape(self, NULL), *dtype = get_dtype(self, NULL);
	PyObject *text = NULL;

	if (shape && dtype)
		text = PyUnicode_FromFormat("<warpway.%s %llu shape=%S dtype=%S%s>",
			class_of(self)->type == CORE_FRAME ? "Frame" : "WorkFrame",
			(unsigned long long)frame_of(self)->hold->frame.number, shape, dtype,
			end_word(self));
	Py_XDECREF(shape);
	Py_XDECREF(dtype);
	return text;
}

PyMethodDef frame_methods[] = {
	{"publish", KEYWORDS(frame_publish), METH_VARARGS | METH_KEYWORDS,
		"publish($self, /, stream=None, *, shape=None, nbytes=None)\n--\n\n"
		"Give an acquired frame to the consumers.\n\n"
		"Do not write into its views afterwards: consumers read the same bytes.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    The frame is complete when its work so far has run. None: the stream of `acquire`; if\n"
		"    there is none, the frame is complete now.\n"
		"shape : int or sequence of int, optional\n"
		"    Of a frame that is smaller than the largest; its elements are the first ones of the\n"
		"    slot, in C order. None: as `acquire` said.\n"
		"nbytes : int, optional\n    The same for frames of bytes.\n\n"
		"Raises\n------\n"
		"InvalidArgument\n    It does not fit into the slot. Nothing was published, and the frame is still there."},
	{"discard", KEYWORDS(frame_discard), METH_VARARGS | METH_KEYWORDS,
		"discard($self, /, stream=None)\n--\n\n"
		"Give the slot of an acquired frame back without publishing it.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n    As of `publish`."},
	{"release", KEYWORDS(frame_release), METH_VARARGS | METH_KEYWORDS,
		"release($self, /, stream=None)\n--\n\n"
		"Let the producer use the slot of a received frame again. May be called twice.\n\n"
		"As long as views of the frame exist, such as arrays of NumPy, the slot stays held; the\n"
		"last one that ends releases it.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    The release is complete when its work so far has run. None: the stream of `receive`; if\n"
		"    there is none, it is complete at once.\n\n"
		"Raises\n------\n"
		"PeerLost\n    The frame was never complete, since the producer ended: what was computed from it is\n"
		"    not valid. If that is known only later, the next `receive` raises it."},
	{"__dlpack__", KEYWORDS(frame_dlpack), METH_VARARGS | METH_KEYWORDS,
		"__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
		"As `Array.__dlpack__`. The tensor keeps the slot."},
	{"__dlpack_device__", frame_dlpack_device, METH_NOARGS,
		"__dlpack_device__($self, /)\n--\n\n(device type, device id) of DLPack."},
	{"__array__", KEYWORDS(frame_numpy), METH_VARARGS | METH_KEYWORDS,
		"__array__($self, /, dtype=None, *, copy=None)\n--\n\n"
		"The frame for NumPy: the same bytes, read-only if it was received. It keeps the slot."},
	{"__reduce__", frame_reduce, METH_NOARGS, NULL},
	{"__enter__", frame_enter, METH_NOARGS, NULL},
	{"__exit__", frame_exit, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"generation", get_generation, NULL,
		"int: which producer it is from: 1 for the first one, and 1 more each time the consumer went\n"
		"on with another (``reattach=True``).",
		NULL},
	{"array", get_array, NULL,
		"Array: the bytes in place. Without a shape of frames it has elements of type uint8.",
		NULL},
	{"metadata", get_metadata, set_metadata,
		"bytes: of the program; b'' unless it was set. Of an acquired frame any bytes-like object can be\n"
		"set, of at most `metadata_bytes` of the Channel or WorkQueue.",
		NULL},
	{"number", get_number, NULL,
		"int: 1, 2, 3, ... in the order of publication; 0: not published yet. Each producer of a\n"
		"WorkQueue counts its own.",
		NULL},
	{"submitted_ns", get_submitted, NULL,
		"int: when it was published, as `time.monotonic_ns` counts; 0: it was not.", NULL},
	{"nbytes", get_nbytes, NULL, "int: bytes of the frame.", NULL},
	{"shape", get_shape, NULL, "tuple of int: of `array`.", NULL},
	{"dtype", get_dtype, NULL, "str: of `array`.", NULL},
	{"closed", get_closed, NULL,
		"bool: it was published, discarded or released; of a WorkFrame also acknowledged or\n"
		"rejected.",
		NULL},
	{"__cuda_array_interface__", get_cuda_interface, NULL,
		"dict: as of Array. What uses it keeps this Frame, and the Frame the slot.", NULL},
	{NULL},
};

PyGetSetDef *const frame_properties = properties + 1; /* a WorkFrame has no generation */

PyMemberDef frame_members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct frame, weakrefs), READONLY, NULL},
	{NULL},
};

const size_t frame_bytes = sizeof(struct frame);

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("A slot of a Channel: `Channel.acquire` gives one to write, `Channel.receive` one to read.\n\n"
		    "``numpy.asarray(frame)``, DLPack and the CUDA array interface use the bytes in place, as does\n"
		    "`array`. A ``with`` block ends the frame: an acquired one is published, or discarded if the\n"
		    "block raised an exception; a received one is released.\n\n"
		    "A view of a received frame never shows the bytes of another one: the slot stays held as\n"
		    "long as the view exists, and counts for the channel's `held_max`. After an acquired frame\n"
		    "was published, its views are not to be written to; the slot is not acquired again as long\n"
		    "as they exist.")},
	{Py_tp_dealloc, frame_dealloc},
	{Py_tp_traverse, frame_traverse},
	{Py_tp_clear, frame_clear},
	{Py_tp_repr, frame_repr},
	{Py_tp_methods, frame_methods},
	{Py_tp_getset, properties},
	{Py_tp_members, frame_members},
	{Py_bf_getbuffer, frame_getbuffer},
	{Py_bf_releasebuffer, buffer_release},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Frame",
	.basicsize = sizeof(struct frame),
	.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

PyTypeObject *frame_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
