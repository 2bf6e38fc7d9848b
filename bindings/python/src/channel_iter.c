/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_iter.c - iterating over a Channel or WorkQueue, and frames that were put back
 */
#include "channel.h"

static struct channel_handle *handle_of(PyObject *self)
{
	return (struct channel_handle *)self;
}

/* --- frames that were put back --- */

static bool is_before(PyObject *one, PyObject *other)
{
	const struct ww_frame *ours = &frame_hold_of(one)->frame;
	const struct ww_frame *theirs = &frame_hold_of(other)->frame;

	if (ours->generation != theirs->generation)
		return ours->generation < theirs->generation;
	return ours->number < theirs->number;
}

static void note_kept(PyObject *self)
{
	const struct channel_handle *handle = handle_of(self);

	if (handle->base.object)
		channel_state_set_kept(handle->base.object,
			handle->kept ? PyList_Size(handle->kept) : 0);
}

/* Return: false with an exception. */
static bool keep(PyObject *self, PyObject *frame)
{
	struct channel_handle *handle = handle_of(self);
	Py_ssize_t place;

	if (!handle->kept && !(handle->kept = PyList_New(0)))
		return false;
	place = PyList_Size(handle->kept);
	while (place > 0 && is_before(frame, PyList_GetItem(handle->kept, place - 1)))
		place--;
	if (PyList_Insert(handle->kept, place, frame) < 0)
		return false;
	note_kept(self);
	return true;
}

PyObject *channel_put_back(PyObject *self, PyObject *frame)
{
	const struct core *core = core_of(self);

	if (Py_TYPE(frame) != core->types[CORE_FRAME] &&
		Py_TYPE(frame) != core->types[CORE_WORK_FRAME])
		return PyErr_Format(PyExc_TypeError, "a frame is put back, not %R", frame);
	if (frame == handle_of(self)->given)
		Py_CLEAR(handle_of(self)->given);
	if (!handle_is_closed(self) && !keep(self, frame))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *take_kept(PyObject *self)
{
	PyObject **kept = &handle_of(self)->kept, *frame;

	if (!*kept || PyList_Size(*kept) == 0)
		return NULL;
	frame = Py_NewRef(PyList_GetItem(*kept, 0));
	PyList_SetSlice(*kept, 0, 1, NULL);
	note_kept(self);
	return frame;
}

/*
 * For a frame that is received anew. @value: a stream, which waits for that of the frame and takes
 * its place; None: nothing changes. Return: false with an exception.
 */
static bool order_for_stream(PyObject *frame, PyObject *value)
{
	struct frame_hold *hold = frame_hold_of(frame);
	PyObject *array, *done;
	ww_stream *stream;

	if (value == Py_None)
		return true;
	stream = convert_stream(core_of(frame), hold->state->device, value);
	array = stream ? PyObject_GetAttrString(frame, "array") : NULL;
	done = array ? PyObject_CallMethod(array, "wait", "O", value) : NULL;
	if (done)
		stream = frame_hold_order(hold, stream);
	handle_return(&stream_class, stream);
	Py_XDECREF(done);
	Py_XDECREF(array);
	return done;
}

PyObject *channel_receive_kept(PyObject *self, PyObject *stream)
{
	PyObject *frame = take_kept(self), *type, *value, *traceback;

	if (!frame || order_for_stream(frame, stream))
		return frame;
	PyErr_Fetch(&type, &value, &traceback);
	Py_XDECREF(channel_put_back(self, frame));
	PyErr_Restore(type, value, traceback);
	Py_DECREF(frame);
	return NULL;
}

/* --- iterating --- */

/* Of next(channel), without a loop: the frame before ends. */
static PyObject *next_frame(PyObject *self, uint64_t timeout_ns, PyObject *cancel)
{
	PyObject *frame;

	channel_end_given(self, true);
	frame = channel_take(self, false, Py_None, timeout_ns, cancel);
	if (!frame)
		return NULL;
	while (handle_of(self)->given) /* other code iterates, too, also while a frame ends */
		channel_end_given(self, true);
	if (!handle_is_closed(self))
		handle_of(self)->given = Py_NewRef(frame);
	return frame;
}

PyObject *channel_next(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O&O:_next", names, convert_timeout,
		    &timeout_ns, &cancel))
		return NULL;
	return next_frame(self, timeout_ns, cancel);
}

/* It ends when the producer has closed the channel, or this process has. */
PyObject *channel_iternext(PyObject *self)
{
	PyObject *frame = channel_is_closed(self) ? NULL : next_frame(self, WW_FOREVER, NULL);
	struct core *core = core_of(self);

	if (frame || !PyErr_Occurred())
		return frame;
	if (PyErr_ExceptionMatches(error_class(core, WW_END)) ||
		(channel_is_closed(self) && PyErr_ExceptionMatches(PyExc_ValueError)))
		PyErr_Clear();
	return NULL;
}

/* Each loop ends the frames that it was given itself: several threads and tasks may have one. */
PyObject *channel_iter(PyObject *self)
{
	const struct channel_state *state = channel_open_state(self);
	PyObject *none, *made;

	if (!state)
		return NULL;
	if (!state->is_consumer)
		return channel_refuse_role(self, state, false);
	none = PyTuple_New(0);
	made = none ? call_python("warpway._channels", "Frames", self, none, NULL) : NULL;
	Py_XDECREF(none);
	return made;
}
