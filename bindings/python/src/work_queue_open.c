/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_open.c - WorkQueue(...) makes a queue; WorkQueue.get(), tokens and pickles open one
 */
#include "broker.h"
#include "token.h"
#include "work_queue.h"

/* So that the variable of a loop may have a view of the frame before. */
#define HELD_MAX 2

const char *const work_queue_roles[] = {"", "keeper", "producer", "consumer", "failed", NULL};

/* Takes over both, also on failure. */
static PyObject *work_queue_object(struct core *core, ww_work_queue *queue, ww_device *device)
{
	struct channel_state *state = work_queue_state_new(queue, device);

	return state ? handle_new(core->types[CORE_WORK_QUEUE], &work_queue_class, state)
		     : PyErr_NoMemory();
}

static int convert_role(PyObject *value, void *out_role)
{
	int role = convert_word(value, "role", work_queue_roles + 1, WW_WORK_QUEUE_KEEPER);

	if (role < 0)
		return 0;
	*(uint32_t *)out_role = (uint32_t)role;
	return 1;
}

/* 0 is none, None the library's default. */
static bool convert_failed_max(PyObject *value, uint32_t *out_count)
{
	uint64_t count = 0;

	if (value == Py_None)
		return true;
	if (!convert_bytes(value, &count))
		return false;
	*out_count = count == 0 || count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
	return true;
}

/* --- making one --- */

struct create_call {
	struct broker_call on;
	const char *name;
	struct ww_work_queue_params params;
	struct ww_array array;
	ww_work_queue *queue;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct create_call *args = call;

	(void)timeout_ns;
	return ww_work_queue_create(args->on.device, args->on.broker, args->name, &args->params,
		cancel, &args->queue);
}

static PyObject *create(struct core *core, struct create_call *call, PyObject *which,
	PyObject *where, PyObject *cancel)
{
	if (!broker_call_run(core, run_create, &call->on, which, where, cancel))
		return NULL;
	return work_queue_object(core, call->queue, call->on.device);
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

PyObject *work_queue_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "shape", "dtype", "slot_bytes", "role", "slots",
		"producers_max", "consumers_max", "attempts_max", "failed_max", "held_max",
		"end_after_producers", "metadata_bytes", "metadata_type", "device", "kind", "mode",
		"group", "replace", "broker", "cancel", NULL};
	PyObject *shape = Py_None, *dtype = Py_None, *slot_bytes = Py_None, *slots = Py_None;
	PyObject *producers = Py_None, *consumers = Py_None, *attempts = Py_None;
	PyObject *failed = Py_None, *held = Py_None, *which = Py_None, *where = Py_None;
	PyObject *end_after = Py_None;
	struct create_call call = {.params = WW_INIT(struct ww_work_queue_params)};
	struct ww_work_queue_params *params = &call.params;
	struct core *core = core_of_type(type);
	const char *metadata_type = NULL;
	uint64_t metadata_bytes = 0;
	PyObject *cancel = NULL;
	int is_replacing = 0;

	params->role = WW_WORK_QUEUE_PRODUCER;
	params->held_max = HELD_MAX;
	if (!PyArg_ParseTupleAndKeywords(arguments, keywords,
		    "|zOO$OO&OOOOOOOO&zOO&O&O&pOO:WorkQueue", names, &call.name, &shape, &dtype,
		    &slot_bytes, convert_role, &params->role, &slots, &producers, &consumers,
		    &attempts, &failed, &held, &end_after, convert_bytes, &metadata_bytes,
		    &metadata_type, &which, convert_kind, &params->kind, convert_mode,
		    &params->mode, convert_group, &params->gid, &is_replacing, &where, &cancel) ||
		!set_frames(core, &call, shape, dtype, slot_bytes) ||
		!convert_count(slots, "slots", &params->slots) ||
		!convert_count(producers, "producers_max", &params->producers_max) ||
		!convert_count(consumers, "consumers_max", &params->consumers_max) ||
		!convert_count(attempts, "attempts_max", &params->attempts_max) ||
		!convert_failed_max(failed, &params->failed_max) ||
		!convert_count(held, "held_max", &params->held_max) ||
		!convert_count(end_after, "end_after_producers", &params->end_after_producers) ||
		!convert_metadata_type(metadata_type, params->metadata_type,
			sizeof(params->metadata_type)))
		return NULL;
	params->metadata_bytes = metadata_bytes < UINT32_MAX ? (uint32_t)metadata_bytes
							     : UINT32_MAX;
	params->flags = is_replacing ? WW_PUT_REPLACE : 0;
	return create(core, &call, which, where, cancel);
}

/* --- opening one --- */

struct join_call {
	ww_device *device;
	ww_broker *broker;
	const char *name; /* NULL: there is a token */
	const struct ww_token *token;
	struct ww_work_member_params params;
	struct ww_array array;
	ww_work_queue *queue;
};

static ww_status run_join(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct join_call *args = call;

	if (args->token)
		return ww_work_queue_import(args->device, args->broker, args->token, &args->params,
			cancel, &args->queue);
	return ww_work_queue_get(args->device, args->broker, args->name, &args->params, timeout_ns,
		cancel, &args->queue);
}

static PyObject *join(struct core *core, struct join_call *call, PyObject *which,
	uint64_t timeout_ns, PyObject *cancel)
{
	ww_status status;

	call->device = convert_device(core, which);
	if (!call->device)
		return NULL;
	status = wait_run(core, run_join, call, timeout_ns, cancel);
	if (status == WW_OK)
		return work_queue_object(core, call->queue, call->device);
	error_raise_join(core, status, call->name);
	handle_return(&device_class, call->device);
	return NULL;
}

PyObject *work_queue_open_token(struct core *core, const struct ww_token *token, PyObject *which)
{
	struct join_call call = {
		.token = token,
		.params = {.struct_size = sizeof(call.params), .role = WW_WORK_QUEUE_CONSUMER},
	};

	return join(core, &call, which, 0, NULL);
}

PyObject *work_queue_get(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "role", "end_after_producers", "shape", "dtype",
		"metadata_type", "device", "timeout", "broker", "cancel", NULL};
	struct core *core = core_of_type((PyTypeObject *)type);
	PyObject *name, *shape = Py_None, *dtype = Py_None, *which = Py_None, *where = Py_None;
	struct join_call call = {
		.params = {.struct_size = sizeof(call.params), .role = WW_WORK_QUEUE_CONSUMER},
	};
	PyObject *cancel = NULL, *end_after = Py_None, *text, *made = NULL;
	uint64_t timeout_ns = 0;
	bool is_given;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$O&OOOzOO&OO:get", names, &name,
		    convert_role, &call.params.role, &end_after, &shape, &dtype,
		    &call.params.metadata_type, &which, convert_timeout, &timeout_ns, &where,
		    &cancel) ||
		!convert_count(end_after, "end_after_producers",
			&call.params.end_after_producers) ||
		!describe_frames(core, shape, dtype, &call.array, &is_given) ||
		!read_name_or_token(core, name, &call.name, &call.token, &text))
		return NULL;
	call.params.array = is_given ? &call.array : NULL;
	if (borrow_broker(core, where, &call.broker))
		made = join(core, &call, which, timeout_ns, cancel);
	handle_return(&broker_class, call.broker);
	Py_XDECREF(text);
	return made;
}
