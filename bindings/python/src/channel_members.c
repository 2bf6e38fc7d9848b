/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_members.c - methods of a Channel about its consumers, and what has happened to it
 */
#include "channel.h"

/* What the methods ask for, and get. */
struct members_call {
	struct channel_state *state;
	channel_fn fn;
	uint32_t number; /* of a consumer, or how many */
	struct ww_channel_consumer_info infos[WW_CHANNEL_CONSUMERS_MAX];
	uint32_t info_count;
	struct ww_channel_event event;
};

static ww_status run(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct members_call *args = call;

	return channel_state_call(args->state, args->fn, args, timeout_ns, cancel);
}

/* Return: whether it was done; false with an exception. */
static bool ask(PyObject *self, struct members_call *call, uint64_t timeout_ns, PyObject *cancel)
{
	struct core *core = core_of(self);
	ww_status status;

	call->state = handle_borrow(self, &channel_class);
	if (!call->state)
		return false;
	status = wait_run(core, run, call, timeout_ns, cancel);
	if (status != WW_OK)
		channel_fail(core, status);
	handle_return(&channel_class, call->state);
	return status == WW_OK;
}

static bool convert_number(PyObject *value, uint32_t *out_number)
{
	uint64_t number = 0;

	if (value == Py_None || !convert_bytes(value, &number)) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError, "this argument is an int, not None");
		return false;
	}
	*out_number = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
	return true;
}

/* --- how many, and who --- */

static ww_status wait_for(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct members_call *args = call;

	return ww_channel_wait_consumers(channel, args->number, timeout_ns, cancel);
}

PyObject *channel_wait_consumers(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"count", "timeout", "cancel", NULL};
	struct members_call call = {.fn = wait_for, .number = 1};
	PyObject *count = NULL, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO&$O:wait_consumers", names,
		    &count, convert_timeout, &timeout_ns, &cancel) ||
		(count && !convert_number(count, &call.number)))
		return NULL;
	return ask(self, &call, timeout_ns, cancel) ? Py_NewRef(Py_None) : NULL;
}

static ww_status list(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct members_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	for (args->info_count = 0; args->info_count < WW_CHANNEL_CONSUMERS_MAX;
		args->info_count++) {
		struct ww_channel_consumer_info *info = &args->infos[args->info_count];
		ww_status status;

		*info = WW_INIT(struct ww_channel_consumer_info);
		status = ww_channel_consumer_info_get(channel, args->info_count, info);
		if (status != WW_OK)
			return status == WW_END ? WW_OK : status;
	}
	return WW_OK;
}

static PyObject *consumer_object(struct core *core, const struct ww_channel_consumer_info *info)
{
	PyObject *const values[] = {
		PyLong_FromUnsignedLong(info->number),
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->uid),
		info_text(info->program),
		PyLong_FromUnsignedLong(info->held),
		PyLong_FromUnsignedLongLong(info->next),
		PyLong_FromUnsignedLongLong(info->dropped),
		info_seconds(info->waited_ns),
		PyBool_FromLong(info->is_asleep != 0),
		PyBool_FromLong(info->is_evicted != 0),
		PyBool_FromLong(info->is_waited_for != 0),
		INFO_END,
	};

	return info_object(core, CORE_CHANNEL_CONSUMER, values);
}

PyObject *channel_who(PyObject *self, PyObject *unused)
{
	struct members_call call = {.fn = list};
	PyObject *made;

	(void)unused;
	if (!ask(self, &call, 0, NULL))
		return NULL;
	made = PyList_New(0);
	for (uint32_t i = 0; made && i < call.info_count; i++) {
		PyObject *consumer = consumer_object(core_of(self), &call.infos[i]);

		if (!consumer || PyList_Append(made, consumer) < 0)
			Py_CLEAR(made);
		Py_XDECREF(consumer);
	}
	return made;
}

static ww_status evict(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct members_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_channel_evict(channel, args->number);
}

PyObject *channel_evict(PyObject *self, PyObject *number)
{
	struct members_call call = {.fn = evict};

	if (!convert_number(number, &call.number) || !ask(self, &call, 0, NULL))
		return NULL;
	Py_RETURN_NONE;
}

/* --- events --- */

static ww_status next(ww_channel *channel, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct members_call *args = call;

	args->event = WW_INIT(struct ww_channel_event);
	return ww_channel_next_event(channel, timeout_ns, cancel, &args->event);
}

static PyObject *event_object_of(struct core *core, const struct ww_channel_event *event)
{
	static const char *const words[] = {"", "joined", "left", "ended", "evicted", "waited",
		"late", "closed", "lost", "reattached"};
	PyObject *const values[] = {
		info_word(event->kind, words, 10),
		event->consumer == WW_CHANNEL_NOBODY ? Py_NewRef(Py_None)
						     : PyLong_FromUnsignedLong(event->consumer),
		PyLong_FromUnsignedLong(event->pid),
		PyLong_FromUnsignedLong(event->uid),
		info_text(event->program),
		PyLong_FromUnsignedLongLong(event->frame),
		PyLong_FromUnsignedLongLong(event->time_ns),
		info_seconds(event->waited_ns),
		PyLong_FromUnsignedLongLong(event->dropped),
		PyLong_FromUnsignedLong(event->generation),
		INFO_END,
	};

	return info_object(core, CORE_CHANNEL_EVENT, values);
}

PyObject *channel_next_event(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	struct members_call call = {.fn = next};
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:next_event", names,
		    convert_timeout, &timeout_ns, &cancel) ||
		!ask(self, &call, timeout_ns, cancel))
		return NULL;
	return event_object_of(core_of(self), &call.event);
}
