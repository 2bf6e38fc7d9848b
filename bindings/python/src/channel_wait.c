/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_wait.c - waiting for Channels beside other things: fileno(), also of a WorkQueue, and
 * warpway.wait_channels()
 */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

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
};

struct any_call {
	struct any_channel all[WW_CHANNEL_WAIT_MAX];
	uint32_t count;
	/* In the order of their addresses; at the end only those that were not found. */
	struct channel_state *states[WW_CHANNEL_WAIT_MAX];
	struct channel_state *found[WW_CHANNEL_WAIT_MAX]; /* they can go on */
	uint32_t found_count;
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
		handle_return(&channel_class, call->all[i].state);
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
	call->all[call->count++] = (struct any_channel){state, object};
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
 * Waits for the first, and then looks at those that are left. The library finds the one that it
 * found longest ago, so each keeps its place, but for the first: that is found again.
 */
static ww_status run_any(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct any_call *args = call;
	struct channel_state **states = args->states;
	uint32_t left = args->count, at;
	ww_status status = channel_state_wait_any(states, left, timeout_ns, cancel, &at);

	if (status != WW_OK)
		return status;
	do {
		args->found[args->found_count++] = states[at];
		left--;
		memmove(&states[at], &states[at + 1], (left - at) * sizeof(void *));
	} while (left > 0 && channel_state_wait_any(states, left, 0, NULL, &at) == WW_OK);
	(void)channel_state_wait_any(args->found, 1, 0, NULL, &at);
	return WW_OK;
}

/* Return: a list; NULL with an exception. */
static PyObject *any_found(const struct any_call *call)
{
	PyObject *found = PyList_New(0);

	for (uint32_t i = 0; i < call->found_count; i++) {
		const struct any_channel *each = call->all;

		while (each->state != call->found[i])
			each++;
		if (found && PyList_Append(found, each->object))
			Py_CLEAR(found);
	}
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
