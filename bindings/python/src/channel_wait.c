/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_wait.c - waiting for Channels beside other things: fileno(), also of a WorkQueue, and
 * warpway.wait_channels()
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

/* A Channel of the caller's. */
struct any_channel {
	struct channel_state *state;
	PyObject *object; /* borrowed: the sequence has it */
	bool is_ready;
};

struct any_call {
	struct any_channel all[WW_CHANNEL_WAIT_MAX];
	struct channel_state *states[WW_CHANNEL_WAIT_MAX]; /* in the order of their addresses */
	uint32_t count;
	struct channel_state *first; /* that can go on */
};

static int compare(const void *one, const void *other)
{
	uintptr_t ours = (uintptr_t) * (struct channel_state *const *)one;
	uintptr_t theirs = (uintptr_t) * (struct channel_state *const *)other;

	return (ours > theirs) - (ours < theirs);
}

static void any_end(struct any_call *call)
{
	for (uint32_t i = 0; i < call->count; i++)
		handle_return(&channel_class, call->states[i]);
}

/* Return: false with an exception. */
static bool any_add(struct core *core, struct any_call *call, PyObject *object)
{
	struct channel_state *state = convert_handle(core, CORE_CHANNEL, &channel_class, object);

	if (!state)
		return false;
	for (uint32_t i = 0; i < call->count; i++) {
		if (call->states[i] == state) {
			handle_return(&channel_class, state);
			PyErr_SetString(PyExc_ValueError,
				"wait_channels() was given a Channel twice");
			return false;
		}
	}
	call->states[call->count] = state;
	call->all[call->count++] = (struct any_channel){state, object, false};
	return true;
}

/* @channels: a tuple. Return: false with an exception. */
static bool any_begin(struct core *core, struct any_call *call, PyObject *channels)
{
	Py_ssize_t count = PyTuple_Size(channels);

	if (count < 1 || count > WW_CHANNEL_WAIT_MAX) {
		PyErr_Format(PyExc_ValueError,
			"wait_channels() waits for 1 to %d channels, not %zd", WW_CHANNEL_WAIT_MAX,
			count);
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		if (!any_add(core, call, PyTuple_GetItem(channels, i)))
			return false;
	}
	qsort(call->states, call->count, sizeof(void *), compare);
	return true;
}

/*
 * Waits for the first, and then looks at the others. The library finds the one that it found
 * longest ago: the first is found once more, so that it is not the first of the next list, too.
 */
static ww_status run_any(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct any_call *args = call;
	uint32_t found;
	ww_status status = channel_state_wait_any(args->states, args->count, timeout_ns, cancel,
		&found);

	if (status != WW_OK)
		return status;
	args->first = args->states[found];
	for (uint32_t i = 0; i < args->count; i++) {
		struct any_channel *other = &args->all[i];

		other->is_ready = other->state != args->first &&
			channel_state_wait_any(&other->state, 1, 0, NULL, &found) == WW_OK;
	}
	(void)channel_state_wait_any(&args->first, 1, 0, NULL, &found);
	return WW_OK;
}

/* Return: a list; NULL with an exception. */
static PyObject *any_found(const struct any_call *call)
{
	PyObject *found = PyList_New(0);
	int failed = found ? 0 : -1;

	for (uint32_t i = 0; i < call->count && failed == 0; i++) {
		if (call->all[i].state == call->first)
			failed = PyList_Insert(found, 0, call->all[i].object);
		else if (call->all[i].is_ready)
			failed = PyList_Append(found, call->all[i].object);
	}
	if (failed)
		Py_CLEAR(found);
	return found;
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
			found = any_found(&call);
		else if (status == WW_TIMED_OUT)
			error_raise_text(core, status,
				"no channel of the %u has had a frame, or a free slot, within the time "
				"limit",
				call.count);
		else
			channel_fail(core, status);
	}
	any_end(&call);
	return found;
}

PyObject *channel_wait_several(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"channels", "timeout", "cancel", NULL};
	PyObject *channels, *all, *found, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O&$O:wait_channels", names,
		    &channels, convert_timeout, &timeout_ns, &cancel))
		return NULL;
	all = PySequence_Tuple(channels);
	if (!all)
		return NULL;
	found = wait_for(PyModule_GetState(module), all, timeout_ns, cancel);
	Py_DECREF(all);
	return found;
}
