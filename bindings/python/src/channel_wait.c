/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_wait.c - waiting for Channels beside other things: fileno(), also of a WorkQueue, and
 * warpway.wait_any()
 */
#include "channel.h"

#include <stdlib.h>

/* --- event loops --- */

PyObject *channel_fileno(PyObject *self, PyObject *unused)
{
	const struct handle_class *class = channel_class_of(self);
	struct channel_state *state = handle_borrow(self, class);
	ww_status status;
	int fd = -1;

	(void)unused;
	if (!state)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = channel_state_fileno(state, &fd);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		channel_fail(core_of(self), status);
	handle_return(class, state);
	return status == WW_OK ? PyLong_FromLong(fd) : NULL;
}

/* --- several channels --- */

/* A Channel of the caller's, in the order of the states' addresses. */
struct any_channel {
	struct channel_state *state;
	PyObject *object; /* borrowed: the sequence has it */
};

struct any_call {
	struct any_channel all[WW_CHANNEL_WAIT_MAX];
	struct channel_state *states[WW_CHANNEL_WAIT_MAX];
	uint32_t count;
	uint32_t found;
};

static int compare(const void *one, const void *other)
{
	uintptr_t ours = (uintptr_t)((const struct any_channel *)one)->state;
	uintptr_t theirs = (uintptr_t)((const struct any_channel *)other)->state;

	return (ours > theirs) - (ours < theirs);
}

static void any_end(struct any_call *call)
{
	for (uint32_t i = 0; i < call->count; i++)
		handle_return(&channel_class, call->all[i].state);
}

/* Return: false with an exception. */
static bool any_add(struct core *core, struct any_call *call, PyObject *object)
{
	struct channel_state *state = convert_handle(core, CORE_CHANNEL, &channel_class, object);

	if (!state)
		return false;
	for (uint32_t i = 0; i < call->count; i++) {
		if (call->all[i].state == state) {
			handle_return(&channel_class, state);
			PyErr_SetString(PyExc_ValueError, "wait_any() was given a Channel twice");
			return false;
		}
	}
	call->all[call->count++] = (struct any_channel){state, object};
	return true;
}

/* @channels: a list or tuple. Return: false with an exception. */
static bool any_begin(struct core *core, struct any_call *call, PyObject *channels)
{
	Py_ssize_t count = PySequence_Size(channels);

	if (count < 1 || count > WW_CHANNEL_WAIT_MAX) {
		PyErr_Format(PyExc_ValueError, "wait_any() waits for 1 to %d channels, not %zd",
			WW_CHANNEL_WAIT_MAX, count);
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *object = PySequence_GetItem(channels, i);
		bool is_added = object && any_add(core, call, object);

		Py_XDECREF(object);
		if (!is_added)
			return false;
	}
	qsort(call->all, call->count, sizeof(call->all[0]), compare);
	for (uint32_t i = 0; i < call->count; i++)
		call->states[i] = call->all[i].state;
	return true;
}

static ww_status run_any(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct any_call *args = call;

	return channel_state_wait_any(args->states, args->count, timeout_ns, cancel, &args->found);
}

/* @channels: a tuple */
static PyObject *wait_for(struct core *core, PyObject *channels, uint64_t timeout_ns,
	PyObject *cancel)
{
	struct any_call call = {.count = 0};
	PyObject *found = NULL;
	ww_status status;

	if (any_begin(core, &call, channels)) {
		status = wait_timed(core, run_any, &call, timeout_ns, cancel);
		if (status == WW_OK)
			found = call.all[call.found].object;
		else if (status == WW_TIMED_OUT)
			error_raise_text(core, status,
				"no channel of the %u has had a frame, or a free slot, within the time "
				"limit",
				call.count);
		else
			channel_fail(core, status);
	}
	any_end(&call);
	return Py_XNewRef(found);
}

PyObject *channel_wait_any(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"channels", "timeout", "cancel", NULL};
	PyObject *channels, *all, *found, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O&$O:wait_any", names, &channels,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	all = PySequence_Tuple(channels);
	if (!all)
		return NULL;
	found = wait_for(PyModule_GetState(module), all, timeout_ns, cancel);
	Py_DECREF(all);
	return found;
}
