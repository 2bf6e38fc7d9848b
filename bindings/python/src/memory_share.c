/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_share.c - a Memory handed to other processes: tokens, sockets, pickles
 */
#include "memory.h"

#include "ready_point.h"
#include "received.h"
#include "token.h"

struct export_call {
	ww_memory *memory;
	ww_broker *broker;
	struct ww_export_params params;
	struct ww_token *token;
};

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *args = call;

	(void)timeout_ns;
	return ww_memory_export(args->memory, args->broker, &args->params, cancel, args->token);
}

/* A slice's token is made here; for other memory the broker is always asked. */
static ww_status export_once(struct core *core, struct export_call *call,
	const struct ww_memory_info *info, PyObject *cancel)
{
	return info->flags & WW_MEMORY_IS_SLICE ? wait_brief(core, run_export, call, cancel)
						: wait_watched(core, run_export, call, cancel);
}

/* Without an access: as the Memory has it; what is sealed in its broker is exported for reading. */
static ww_status export_as_mapped(struct core *core, struct export_call *call,
	const struct ww_memory_info *info, PyObject *cancel)
{
	ww_status status;

	call->params.access = info->access;
	status = export_once(core, call, info, cancel);
	if (status != WW_ERR_ACCESS || info->access == WW_ACCESS_READ)
		return status;
	call->params.access = WW_ACCESS_READ;
	return export_once(core, call, info, cancel);
}

/* @call: its memory is returned; NULL: there is an exception */
static bool export_borrowed(PyObject *self, struct export_call *call, PyObject *cancel,
	struct sent *out_sent)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct core *core = core_of(self);
	ww_status status;

	if (!call->memory)
		return false;
	status = ww_memory_info_get(call->memory, &info);
	if (status == WW_OK)
		status = call->params.access ? export_once(core, call, &info, cancel)
					     : export_as_mapped(core, call, &info, cancel);
	handle_give_back(self, &memory_class, call->memory);
	if (status != WW_OK) {
		error_raise(core, status);
		return false;
	}
	*out_sent = sent_choose(info.flags & WW_MEMORY_IS_SLICE, call->params.uses);
	if (info.flags & WW_MEMORY_IS_WRAPPED)
		memory_mark_lent(self);
	return true;
}

bool memory_export(PyObject *self, ww_broker *broker, const struct ww_export_params *params,
	PyObject *cancel, struct ww_token *out_token, struct sent *out_sent)
{
	struct export_call call = {.broker = broker, .params = *params, .token = out_token};

	call.memory = memory_borrow_to_share(self);
	return export_borrowed(self, &call, cancel, out_sent);
}

PyObject *memory_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "offset", "nbytes", "uses", "escrow", "broker", "cancel",
		NULL};
	struct ww_export_params params = WW_INIT(struct ww_export_params);
	PyObject *access = Py_None, *where = Py_None, *cancel = NULL;
	struct core *core = core_of(self);
	ww_broker *broker = NULL;
	struct ww_token token;
	struct sent sent;
	bool made;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O&O&O&O&OO:token", names, &access,
		    convert_bytes, &params.offset, convert_bytes, &params.bytes, convert_uses,
		    &params.uses, convert_escrow, &params.escrow_ns, &where, &cancel))
		return NULL;
	if (access != Py_None && !convert_access(access, &params.access))
		return NULL;
	if (where != Py_None && !(broker = convert_handle(core, CORE_BROKER, &broker_class, where)))
		return NULL;
	token_deliver(&params);
	made = memory_export(self, broker, &params, cancel, &token, &sent);
	handle_return(&broker_class, broker);
	return made ? token_object_sent(core, &token, &sent) : NULL;
}

static ww_status run_revoke(void *memory, uint64_t timeout_ns, ww_cancel *cancel)
{
	(void)timeout_ns;
	return ww_memory_revoke(memory, NULL, cancel);
}

PyObject *memory_revoke(PyObject *self, PyObject *unused)
{
	ww_memory *memory = memory_borrow_to_share(self);
	ww_status status;

	(void)unused;
	if (!memory)
		return NULL;
	status = wait_run(core_of(self), run_revoke, memory, 0, NULL);
	memory_return(memory);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

struct publish_call {
	ww_memory *memory;
	ww_broker *broker;
	uint32_t state;
};

static ww_status run_publish(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct publish_call *args = call;

	(void)timeout_ns;
	return ww_memory_publish(args->memory, args->broker, args->state, cancel);
}

PyObject *memory_publish(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"state", "broker", "cancel", NULL};
	static const char *const words[] = {"sealed", "shared", NULL};
	PyObject *state = NULL, *where = Py_None, *cancel = NULL;
	struct publish_call call = {.state = WW_STATE_SEALED};
	struct core *core = core_of(self);
	int word = WW_STATE_SEALED;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OO:publish", names, &state,
		    &where, &cancel))
		return NULL;
	if (state && (word = convert_word(state, "state", words, WW_STATE_SEALED)) < 0)
		return NULL;
	call.state = (uint32_t)word;
	if (where != Py_None &&
		!(call.broker = convert_handle(core, CORE_BROKER, &broker_class, where)))
		return NULL;
	call.memory = memory_borrow_to_share(self);
	status = STATUS_RAISED;
	if (call.memory)
		status = memory_seal(self, &call.state, run_publish, &call, 0, cancel);
	memory_return(call.memory);
	handle_return(&broker_class, call.broker);
	if (status != WW_OK)
		return error_raise(core, status);
	Py_RETURN_NONE;
}

/* --- sockets --- */

struct socket_call {
	ww_memory *memory;
	ww_device *device;
	int socket;
	uint32_t access;
};

static ww_status run_send(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct socket_call *args = call;

	return ww_memory_send(args->memory, args->access, args->socket, timeout_ns, cancel);
}

PyObject *memory_send(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"socket", "access", "timeout", "cancel", NULL};
	PyObject *socket, *access = Py_None, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;
	struct socket_call call = {0};
	struct ww_memory_info info;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O$O&O:send", names, &socket,
		    &access, convert_timeout, &timeout_ns, &cancel) ||
		!memory_info(self, &info))
		return NULL;
	call.access = info.access;
	call.socket = PyObject_AsFileDescriptor(socket);
	if (call.socket < 0 || (access != Py_None && !convert_access(access, &call.access)))
		return NULL;
	call.memory = memory_borrow_to_share(self);
	if (!call.memory)
		return NULL;
	status = wait_run(core_of(self), run_send, &call, timeout_ns, cancel);
	memory_return(call.memory);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

static ww_status run_receive(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct socket_call *args = call;
	const struct ww_import_params params = {.struct_size = sizeof(params),
		.access = args->access};

	return ww_memory_receive(args->device, args->socket, &params, timeout_ns, cancel,
		&args->memory);
}

PyObject *memory_receive(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"socket", "access", "device", "timeout", "cancel", NULL};
	struct core *core = core_of_type((PyTypeObject *)type);
	PyObject *socket, *which = Py_None, *cancel = NULL;
	struct socket_call call = {.access = WW_ACCESS_READ};
	uint64_t timeout_ns = WW_FOREVER;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O&O$O&O:receive", names, &socket,
		    convert_access, &call.access, &which, convert_timeout, &timeout_ns, &cancel))
		return NULL;
	call.socket = PyObject_AsFileDescriptor(socket);
	if (call.socket < 0)
		return NULL;
	call.device = convert_device(core, which);
	if (!call.device)
		return NULL;
	status = wait_run(core, run_receive, &call, timeout_ns, cancel);
	handle_return(&device_class, call.device);
	return status == WW_OK ? memory_object_imported(core, call.memory)
			       : error_raise(core, status);
}

/* --- pickles: one delivery each --- */

/* Also of a closed Memory that has a hold: see memory.h. */
static ww_memory *borrow_to_pickle(PyObject *self)
{
	const struct memory_handle *handle = (struct memory_handle *)self;

	if (memory_is_held(self))
		return memory_map_to_pickle(self);
	if (!handle->is_closed && !handle_is_closed(self))
		return memory_borrow_to_share(self);
	if (handle->late)
		return ww_memory_ref(handle->late);
	if (handle->hold)
		return memory_map_held(self);
	PyErr_SetString(PyExc_ValueError,
		"this Memory is closed, so it cannot be pickled: send it before it is closed, or send "
		"array.token() or memory.token()");
	return NULL;
}

struct hold_call {
	struct export_call export;
	ww_object *object;
};

static ww_status run_hold(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *export = &((struct hold_call *)call)->export;
	ww_status status = run_export(export, timeout_ns, cancel);

	if (status == WW_ERR_ACCESS) { /* it is sealed in its broker */
		export->params.access = WW_ACCESS_READ;
		status = run_export(export, timeout_ns, cancel);
	}
	return status == WW_OK ? ww_object_import(NULL, export->token, cancel,
					 &((struct hold_call *)call)->object, NULL)
			       : status;
}

bool memory_try_hold(PyObject *self)
{
	struct ww_memory_info info;
	struct ww_token_info named;
	struct ww_token token;
	struct hold_call call = {
		{.params = WW_INIT(struct ww_export_params), .token = &token},
		NULL,
	};
	ww_status status = WW_OK;

	if (memory_info(self, &info))
		call.export.memory = memory_borrow_to_share(self);
	if (call.export.memory) {
		call.export.params.access = info.access;
		call.export.params.escrow_ns = WW_ESCROW_NONE;
		status = wait_run(core_of(self), run_hold, &call, 0, NULL);
	}
	memory_return(call.export.memory);
	if (status != STATUS_RAISED)
		PyErr_Clear();
	/* Another thread may have closed it, or given it a hold, meanwhile. */
	if (call.object && !handle_is_closed(self) && !((struct memory_handle *)self)->hold &&
		token_info(core_of(self), &token, &named))
		return memory_set_hold(self, call.object, &token, &named);
	handle_return(&hold_class, call.object);
	return status != STATUS_RAISED;
}

struct pass_call {
	ww_object *hold;
	struct ww_token_params params;
	struct ww_token *token;
};

static ww_status run_pass_on(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct pass_call *args = call;

	(void)timeout_ns;
	return ww_object_export(args->hold, &args->params, cancel, args->token);
}

/*
 * What came by a pickle, and is as it came, is passed on without a mapping.
 * @out_is_slice: set, if so
 */
static bool is_as_it_came(struct core *core, const struct memory_handle *handle,
	const struct ww_array *array, bool *out_is_slice)
{
	struct ww_token_info info;

	if (handle->base.object || !handle->hold || !token_info(core, &handle->hold->token, &info))
		return false;
	*out_is_slice = info.flags & WW_TOKEN_SLICE;
	return array ? info.has_array && !memcmp(array, &info.array, sizeof(*array))
		     : !info.has_array;
}

static bool memory_pass_on(PyObject *self, const struct ww_token_params *params,
	struct ww_token *out_token)
{
	struct pass_call call = {
		.hold = ww_object_ref(((struct memory_handle *)self)->hold->object),
		.params = *params,
		.token = out_token,
	};
	ww_status status = wait_brief(core_of(self), run_pass_on, &call, NULL);

	handle_return(&hold_class, call.hold);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	return status == WW_OK;
}

bool memory_export_held(PyObject *self, struct ww_token *out_token)
{
	const struct ww_token_params params = {
		.struct_size = sizeof(params),
		.escrow_ns = WW_ESCROW_NONE,
	};

	return memory_pass_on(self, &params, out_token);
}

bool memory_export_pickle(PyObject *self, const struct ww_export_params *params,
	struct ww_token *out_token, struct sent *out_sent)
{
	const struct ww_token_params delivery = {
		.struct_size = sizeof(delivery),
		.uses = 1,
		.flags = WW_EXPORT_DELIVERY,
	};
	struct export_call call = {.params = *params, .token = out_token};
	bool is_slice;

	if (is_as_it_came(core_of(self), (struct memory_handle *)self, params->array, &is_slice)) {
		*out_sent = sent_choose(is_slice, delivery.uses);
		return memory_pass_on(self, &delivery, out_token);
	}
	if (PyErr_Occurred())
		return false;
	call.memory = borrow_to_pickle(self);
	return export_borrowed(self, &call, NULL, out_sent);
}

PyObject *memory_reduce(PyObject *self, PyObject *unused)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.uses = 1,
		.flags = WW_EXPORT_DELIVERY,
	};
	const struct ready_point none = {NULL};
	struct ww_token token;
	struct sent sent;

	(void)unused;
	if (!memory_export_pickle(self, &params, &token, &sent))
		return late_note(self, NULL);
	return late_note(self, token_pickle_ready(core_of(self), &token, &none, &sent));
}
