/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_iter.c - iterating over a Channel or WorkQueue, and frames that were put back
 */
#include "channel.h"

static struct channel_handle *handle_of(PyObject *self)
{
	return (struct channel_handle *)self;
}

PyObject *channel_take_kept(PyObject *self)
{
	PyObject *kept = handle_of(self)->kept;

	handle_of(self)->kept = NULL;
	return kept;
}

/* Of next(channel), without a loop: the frame before ends. */
static PyObject *next_frame(PyObject *self, uint64_t timeout_ns, PyObject *cancel)
{
	PyObject *frame;

	channel_end_given(self, true);
	frame = channel_take_kept(self);
	if (!frame)
		frame = channel_take(self, false, Py_None, timeout_ns, cancel);
	if (!frame)
		return NULL;
	channel_end_given(self, true); /* another thread iterates, too */
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
	PyObject *frame = handle_is_closed(self) ? NULL : next_frame(self, WW_FOREVER, NULL);
	struct core *core = core_of(self);

	if (frame || !PyErr_Occurred())
		return frame;
	if (PyErr_ExceptionMatches(error_class(core, WW_END)) ||
		(handle_is_closed(self) && PyErr_ExceptionMatches(PyExc_ValueError)))
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

/* For a task that was cancelled when it had received the frame. */
PyObject *channel_put_back(PyObject *self, PyObject *frame)
{
	struct channel_handle *handle = handle_of(self);
	PyObject *given = handle->given, *kept = handle->kept;

	const struct core *core = core_of(self);

	if (Py_TYPE(frame) != core->types[CORE_FRAME] &&
		Py_TYPE(frame) != core->types[CORE_WORK_FRAME])
		return PyErr_Format(PyExc_TypeError, "a frame is put back, not %R", frame);
	handle->given = NULL;
	handle->kept = handle_is_closed(self) ? NULL : Py_NewRef(frame);
	Py_XDECREF(given);
	Py_XDECREF(kept);
	Py_RETURN_NONE;
}
