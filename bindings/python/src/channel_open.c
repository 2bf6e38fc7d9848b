/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_open.c - Channel(...) makes a producer; Channel.get(), tokens and pickles a consumer
 */
#include "channel_open.h"

#include "broker.h"
#include "channel.h"
#include "token.h"

/* So that the variable of a loop may have a view of the frame before. */
#define HELD_MAX 2

/* Takes over both, also on failure. */
static PyObject *channel_object(struct core *core, ww_channel *channel, ww_device *device,
	bool reattaches)
{
	struct channel_state *state = channel_state_new(channel, device);

	if (state)
		state->reattaches = reattaches;
	return state ? handle_new(core->types[CORE_CHANNEL], &channel_class, state)
		     : PyErr_NoMemory();
}

/* --- arguments --- */

/* None leaves it 0, the library's default; 0 is not said to mean that. */
bool convert_count(PyObject *value, const char *what, uint32_t *out_count)
{
	uint64_t count = 0;

	if (value == Py_None)
		return true;
	if (!convert_bytes(value, &count))
		return false;
	*out_count = (uint32_t)count;
	if (count > 0 && count <= UINT32_MAX)
		return true;
	PyErr_Format(PyExc_ValueError, "%s is at least 1, or None, not %R", what, value);
	return false;
}

/* @params: with its slots */
static bool convert_held(PyObject *value, struct ww_channel_params *params)
{
	params->held_max = params->slots == 1 ? 1 : HELD_MAX;
	return convert_count(value, "held_max", &params->held_max);
}

static int convert_policy(PyObject *value, void *out_policy)
{
	static const char *const words[] = {"block", "drop-oldest", "latest", NULL};
	int policy = convert_word(value, "policy", words, WW_CHANNEL_BLOCK);

	if (policy < 0)
		return 0;
	*(uint32_t *)out_policy = (uint32_t)policy;
	return 1;
}

/* Seconds > 0; None leaves it 0, which means none. For "O&", into a uint64_t. */
static int convert_seconds(PyObject *value, void *out_ns)
{
	uint64_t ns;

	if (value == Py_None)
		return 1;
	if (!convert_timeout(value, &ns))
		return 0;
	if (ns == 0 || ns == WW_FOREVER) {
		PyErr_SetString(PyExc_ValueError, "this is a number of seconds > 0, or None");
		return 0;
	}
	*(uint64_t *)out_ns = ns;
	return 1;
}

static int convert_history(PyObject *value, void *out_history)
{
	static const char *const words[] = {"all", NULL};
	uint64_t *history = out_history;

	if (!PyUnicode_Check(value))
		return value == Py_None || convert_bytes(value, history);
	*history = WW_CHANNEL_OLDEST;
	return convert_word(value, "history", words, 0) == 0;
}

/* What frames are. @out_given: whether the caller says so. Return: false with an exception. */
bool describe_frames(struct core *core, PyObject *shape, PyObject *dtype, struct ww_array *array,
	bool *out_given)
{
	int64_t lengths[WW_ARRAY_DIMS];
	struct ww_dtype element;
	ww_status status;
	int count;

	*out_given = shape != Py_None;
	if ((shape == Py_None) != (dtype == Py_None)) {
		PyErr_SetString(PyExc_ValueError,
			"give both the shape and the dtype of the frames, or none of them");
		return false;
	}
	if (shape == Py_None)
		return true;
	if (!convert_dtype(core, dtype, &element))
		return false;
	count = convert_shape(core, shape, "shape", lengths);
	if (count < 0)
		return false;
	status = ww_array_set(array, &element, (uint32_t)count, lengths, NULL, 0);
	if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

/* --- a producer --- */

struct create_call {
	struct broker_call on;
	const char *name;
	struct ww_channel_params params;
	struct ww_array array;
	ww_channel *channel;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct create_call *args = call;

	(void)timeout_ns;
	return ww_channel_create(args->on.device, args->on.broker, args->name, &args->params,
		cancel, &args->channel);
}

static PyObject *create(struct core *core, struct create_call *call, PyObject *which,
	PyObject *where, PyObject *cancel)
{
	if (!broker_call_run(core, run_create, &call->on, which, where, cancel))
		return NULL;
	return channel_object(core, call->channel, call->on.device, false);
}

bool convert_metadata_type(const char *text, char *out, size_t room)
{
	if (!text)
		return true;
	if (strlen(text) >= room) {
		PyErr_Format(PyExc_ValueError, "metadata_type has at most %d bytes, not '%s'",
			(int)room - 1, text);
		return false;
	}
	memcpy(out, text, strlen(text));
	return true;
}

bool convert_slot_bytes(PyObject *value, const struct ww_array *array, uint64_t *out_bytes)
{
	uint64_t bytes = 0;

	if (array)
		ww_array_bytes(array, &bytes);
	if (!convert_bytes(value, out_bytes))
		return false;
	if (value == Py_None)
		*out_bytes = bytes > 0 || !array ? bytes : 1;
	if (*out_bytes > 0)
		return true;
	PyErr_SetString(PyExc_ValueError,
		"give the shape and the dtype of the frames, or slot_bytes > 0");
	return false;
}

static bool set_frames(struct core *core, struct create_call *call, PyObject *shape,
	PyObject *dtype, PyObject *slot_bytes)
{
	bool is_given;

	if (!describe_frames(core, shape, dtype, &call->array, &is_given))
		return false;
	call->params.array = is_given ? &call->array : NULL;
	return convert_slot_bytes(slot_bytes, call->params.array, &call->params.slot_bytes);
}

PyObject *channel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "shape", "dtype", "slot_bytes", "slots", "policy",
		"consumers_max", "held_max", "ahead_max", "metadata_bytes", "metadata_type",
		"device", "kind", "mode", "group", "replace", "evict_after", "deadline",
		"consumers_per_uid_max", "trust_users", "broker", "cancel", NULL};
	PyObject *shape = Py_None, *dtype = Py_None, *slot_bytes = Py_None, *slots = Py_None;
	PyObject *consumers = Py_None, *held = Py_None, *ahead = Py_None, *each = Py_None;
	PyObject *which = Py_None, *where = Py_None, *cancel = NULL;
	struct create_call call = {.params = WW_INIT(struct ww_channel_params)};
	const char *metadata_type = NULL;
	struct core *core = core_of_type(type);
	uint64_t metadata_bytes = 0;
	int is_replacing = 0, is_trusting = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords,
		    "|zOO$OOO&OOOO&zOO&O&O&pO&O&OpOO:Channel", names, &call.name, &shape, &dtype,
		    &slot_bytes, &slots, convert_policy, &call.params.policy, &consumers, &held,
		    &ahead, convert_bytes, &metadata_bytes, &metadata_type, &which, convert_kind,
		    &call.params.kind, convert_mode, &call.params.mode, convert_group,
		    &call.params.gid, &is_replacing, convert_seconds, &call.params.evict_after_ns,
		    convert_seconds, &call.params.deadline_ns, &each, &is_trusting, &where,
		    &cancel) ||
		!set_frames(core, &call, shape, dtype, slot_bytes) ||
		!convert_count(slots, "slots", &call.params.slots) ||
		!convert_count(consumers, "consumers_max", &call.params.consumers_max) ||
		!convert_held(held, &call.params) ||
		!convert_count(ahead, "ahead_max", &call.params.ahead_max) ||
		!convert_count(each, "consumers_per_uid_max", &call.params.consumers_per_uid_max) ||
		!convert_metadata_type(metadata_type, call.params.metadata_type,
			sizeof(call.params.metadata_type)))
		return NULL;
	call.params.metadata_bytes = metadata_bytes < UINT32_MAX ? (uint32_t)metadata_bytes
								 : UINT32_MAX;
	call.params.flags = (is_replacing ? WW_PUT_REPLACE : 0) |
		(is_trusting ? WW_CHANNEL_TRUST_USERS : 0);
	return create(core, &call, which, where, cancel);
}

/* --- a consumer --- */

struct join_call {
	ww_device *device;
	ww_broker *broker;
	const char *name; /* NULL: there is a token */
	const struct ww_token *token;
	struct ww_consumer_params params;
	struct ww_array array;
	ww_channel *channel;
};

static ww_status run_join(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct join_call *args = call;

	if (args->token)
		return ww_channel_import(args->device, args->broker, args->token, &args->params,
			cancel, &args->channel);
	return ww_channel_get(args->device, args->broker, args->name, &args->params, timeout_ns,
		cancel, &args->channel);
}

/*
 * The device of a named channel: the one that holds the slots, for which the name is waited for.
 * Return: the status of the wait; STATUS_RAISED.
 */
static ww_status find_device(struct core *core, struct join_call *call, uint64_t *timeout_ns,
	PyObject *cancel)
{
	uint64_t begin_ns = wait_now_ns();
	struct ww_object_info info;
	ww_status status = broker_await(core, call->broker, call->name, *timeout_ns, cancel, &info);

	if (status != WW_OK)
		return status;
	*timeout_ns = wait_left_ns(begin_ns, *timeout_ns);
	call->device = token_device(core, info.home_uuid, Py_None);
	return call->device ? WW_OK : STATUS_RAISED;
}

/* Return: as find_device(). */
static ww_status open_device(struct core *core, struct join_call *call, PyObject *which,
	uint64_t *timeout_ns, PyObject *cancel)
{
	struct ww_token_info info;

	if (which == Py_None && !call->token && broker_sees_gpu())
		return find_device(core, call, timeout_ns, cancel);
	if (call->token && !token_info(core, call->token, &info))
		return STATUS_RAISED;
	call->device = call->token ? token_device(core, info.home_uuid, which)
				   : convert_device(core, which);
	return call->device ? WW_OK : STATUS_RAISED;
}

static PyObject *join(struct core *core, struct join_call *call, PyObject *which,
	uint64_t timeout_ns, PyObject *cancel)
{
	ww_status status = open_device(core, call, which, &timeout_ns, cancel);

	if (status == WW_OK)
		status = wait_run(core, run_join, call, timeout_ns, cancel);
	if (status == WW_OK)
		return channel_object(core, call->channel, call->device,
			call->params.flags & WW_CONSUMER_REATTACH);
	error_raise_join(core, status, call->name);
	handle_return(&device_class, call->device);
	return NULL;
}

PyObject *channel_open_token(struct core *core, const struct ww_token *token, PyObject *which)
{
	struct join_call call = {.token = token, .params = WW_INIT(struct ww_consumer_params)};

	return join(core, &call, which, 0, NULL);
}

PyObject *channel_get(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "history", "shape", "dtype", "metadata_type", "device",
		"timeout", "deadline", "reattach", "observe", "trust_users", "broker", "cancel",
		NULL};
	struct core *core = core_of_type((PyTypeObject *)type);
	PyObject *name, *shape = Py_None, *dtype = Py_None, *which = Py_None, *where = Py_None;
	struct join_call call = {.params = WW_INIT(struct ww_consumer_params)};
	PyObject *cancel = NULL, *text, *made = NULL;
	int reattaches = 0, is_observing = 0, is_trusting = 0;
	uint64_t timeout_ns = 0;
	bool is_given;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$O&OOzOO&O&pppOO:get", names,
		    &name, convert_history, &call.params.history, &shape, &dtype,
		    &call.params.metadata_type, &which, convert_timeout, &timeout_ns,
		    convert_seconds, &call.params.deadline_ns, &reattaches, &is_observing,
		    &is_trusting, &where, &cancel) ||
		!describe_frames(core, shape, dtype, &call.array, &is_given) ||
		!read_name_or_token(core, name, &call.name, &call.token, &text))
		return NULL;
	call.params.array = is_given ? &call.array : NULL;
	call.params.flags = (reattaches ? WW_CONSUMER_REATTACH : 0) |
		(is_observing ? WW_CONSUMER_OBSERVE : 0) |
		(is_trusting ? WW_CONSUMER_TRUST_USERS : 0);
	if (borrow_broker(core, where, &call.broker))
		made = join(core, &call, which, timeout_ns, cancel);
	handle_return(&broker_class, call.broker);
	Py_XDECREF(text);
	return made;
}
