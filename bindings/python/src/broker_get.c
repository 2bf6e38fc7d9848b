/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_get.c - Broker.get()
 *
 * Which device is to reach the bytes, where the caller names none: the one that holds them. Where
 * there is no GPU that is the host device. Otherwise the broker is asked first which one it is. If
 * the name is not there yet, the host device waits for it: so no GPU gets a context for nothing.
 */
#include "array.h"
#include "broker.h"
#include "memory.h"
#include "token.h"

struct get_call {
	ww_broker *broker;
	const char *name;
	struct ww_get_params params;
	uint32_t kind; /* WW_OBJECT_...: what is got */
	ww_device *device;
	struct ww_object_info info;
	ww_memory *memory;
	ww_timeline *timeline;
};

static ww_status run_get(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct get_call *args = call;

	if (args->kind == WW_OBJECT_TIMELINE)
		return ww_timeline_get(args->broker, args->name, timeout_ns, cancel,
			&args->timeline);
	if (args->kind == WW_OBJECT_BARRIER || args->kind == WW_OBJECT_CHANNEL ||
		args->kind == WW_OBJECT_WORK_QUEUE)
		return WW_OK; /* it is got when this process joins */
	return ww_memory_get(args->device, args->broker, args->name, &args->params, timeout_ns,
		cancel, &args->memory, &args->info);
}

static ww_status run_stat(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct get_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_broker_stat(args->broker, args->name, &args->info);
}

/* Waiting for a name, of any kind: what it is can be asked afterwards. */
static ww_status run_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct get_call *args = call;
	ww_status status = ww_memory_get(args->device, args->broker, args->name, NULL, timeout_ns,
		cancel, &args->memory, NULL);

	args->memory = ww_memory_unref(args->memory);
	return status == WW_ERR_UNSUPPORTED ? WW_OK : status;
}

/* --- on which device --- */

/* Return: the status of ww_broker_stat(); STATUS_RAISED. */
static ww_status look(struct core *core, struct get_call *call)
{
	ww_status status = wait_run(core, run_stat, call, 0, NULL);

	if (status == WW_OK)
		call->kind = call->info.kind;
	return status;
}

static bool has_bytes(const struct get_call *call)
{
	return call->kind == WW_OBJECT_MEMORY || call->kind == WW_OBJECT_CHANNEL;
}

static bool is_gettable(const struct get_call *call)
{
	return has_bytes(call) || call->kind == WW_OBJECT_TIMELINE ||
		call->kind == WW_OBJECT_BARRIER || call->kind == WW_OBJECT_WORK_QUEUE;
}

/* What was looked at. Return: as wait_run(). */
static ww_status get_kind(struct core *core, struct get_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	if (!is_gettable(call)) {
		error_raise_text(core, WW_ERR_UNSUPPORTED,
			"'%s' is of a kind that cannot be got by its name from Python", call->name);
		return STATUS_RAISED;
	}
	if (call->kind != WW_OBJECT_MEMORY && call->params.flags & WW_GET_FROM_OWNER) {
		error_raise_text(core, WW_ERR_UNSUPPORTED,
			"'%s' is no memory, and only memory can be got with owner", call->name);
		return STATUS_RAISED;
	}
	return wait_run(core, run_get, call, timeout_ns, cancel);
}

/* @which: NULL: the host device */
static bool open_device(struct core *core, struct get_call *call, PyObject *which)
{
	PyObject *host = which ? NULL : PyUnicode_FromString("host");

	handle_return(&device_class, call->device);
	call->device = NULL;
	if (which || host)
		call->device = convert_device(core, which ? which : host);
	Py_XDECREF(host);
	return call->device;
}

/* On a device that the caller names, or the host device. Return: as wait_run(). */
static ww_status get_on_device(struct core *core, struct get_call *call, PyObject *which,
	uint64_t timeout_ns, PyObject *cancel)
{
	uint64_t begin_ns = wait_now_ns();
	ww_status status;

	if (!open_device(core, call, which))
		return STATUS_RAISED;
	call->kind = WW_OBJECT_MEMORY;
	status = wait_run(core, run_get, call, timeout_ns, cancel);
	if (status != WW_ERR_UNSUPPORTED)
		return status;
	/* If it is no memory: what else. Looking does not change the record of the failure. */
	if (look(core, call) != WW_OK || call->kind == WW_OBJECT_MEMORY)
		return PyErr_Occurred() ? STATUS_RAISED : status;
	return get_kind(core, call, wait_left_ns(begin_ns, timeout_ns), cancel);
}

/* By the host device. Return: as wait_run(). */
static ww_status wait_for_name(struct core *core, struct get_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	if (!open_device(core, call, NULL))
		return STATUS_RAISED;
	return wait_run(core, run_wait, call, timeout_ns, cancel);
}

static bool open_home(struct core *core, struct get_call *call)
{
	handle_return(&device_class, call->device);
	call->device = token_device(core, call->info.home_uuid, Py_None);
	return call->device;
}

/* Looks, and waits for the name. Return: as wait_run(). */
static ww_status look_in_time(struct core *core, struct get_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	uint64_t begin_ns = wait_now_ns();
	ww_status status;

	while ((status = look(core, call)) == WW_ERR_NOT_FOUND) {
		if (timeout_ns > 0)
			status = wait_for_name(core, call, wait_left_ns(begin_ns, timeout_ns),
				cancel);
		if (status != WW_OK)
			return status;
	}
	return status;
}

ww_status broker_await(struct core *core, ww_broker *broker, const char *name, uint64_t timeout_ns,
	PyObject *cancel, struct ww_object_info *out_info)
{
	struct get_call call = {.broker = broker, .name = name};
	ww_status status;

	call.info = WW_INIT(struct ww_object_info);
	status = look_in_time(core, &call, timeout_ns, cancel);
	handle_return(&device_class, call.device);
	*out_info = call.info;
	return status;
}

/* On the device that holds the bytes. Return: as wait_run(). */
static ww_status get_at_home(struct core *core, struct get_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	uint64_t begin_ns = wait_now_ns();
	ww_status status = look_in_time(core, call, timeout_ns, cancel);

	if (status != WW_OK)
		return status;
	if (has_bytes(call) && !open_home(core, call))
		return STATUS_RAISED;
	return get_kind(core, call, wait_left_ns(begin_ns, timeout_ns), cancel);
}

/*
 * Asked once: each time would look for the driver anew where there is none. Loading the driver is
 * no part of waiting, so it is done before the time begins.
 */
bool broker_sees_gpu(void)
{
	static int known = -1; /* under the GIL */
	ww_status status;
	uint32_t count;

	if (known >= 0)
		return known;
	Py_BEGIN_ALLOW_THREADS
	status = ww_device_count(WW_BACKEND_CUDA, &count);
	Py_END_ALLOW_THREADS
	if (status == WW_OK || status == WW_ERR_NO_DEVICE)
		known = status == WW_OK && count > 0;
	return known > 0;
}

/* --- the result --- */

static PyObject *memory_or_array(struct core *core, struct get_call *call)
{
	PyObject *memory = memory_object_imported(core, call->memory);
	PyObject *array;

	if (memory)
		memory_set_name(memory, call->name);
	if (!memory || !call->info.has_array)
		return memory;
	array = array_object(core, memory, &call->info.array);
	Py_DECREF(memory);
	return array;
}

/* TYPE.get(name, ...). Takes over @keywords. */
static PyObject *object_of_name(PyObject *self, enum core_type type, const char *name,
	PyObject *keywords)
{
	PyObject *function = PyObject_GetAttrString((PyObject *)core_of(self)->types[type], "get");
	PyObject *arguments = Py_BuildValue("(s)", name);
	PyObject *made = NULL;

	if (function && arguments && keywords)
		made = PyObject_Call(function, arguments, keywords);
	Py_XDECREF(function);
	Py_XDECREF(arguments);
	Py_XDECREF(keywords);
	return made;
}

static PyObject *member_of_name(PyObject *self, enum core_type type, const char *name)
{
	return object_of_name(self, type, name, Py_BuildValue("{s:O}", "broker", self));
}

static PyObject *channel_of_name(PyObject *self, const struct get_call *call)
{
	PyObject *device = device_object(core_of(self), ww_device_ref(call->device));

	if (!device)
		return NULL;
	return object_of_name(self, CORE_CHANNEL, call->name,
		Py_BuildValue("{s:O,s:N}", "broker", self, "device", device));
}

static PyObject *object_of_call(PyObject *self, struct get_call *call)
{
	if (call->kind == WW_OBJECT_TIMELINE)
		return timeline_object(core_of(self), call->timeline);
	if (call->kind == WW_OBJECT_BARRIER)
		return member_of_name(self, CORE_BARRIER, call->name);
	if (call->kind == WW_OBJECT_WORK_QUEUE)
		return member_of_name(self, CORE_WORK_QUEUE, call->name);
	if (call->kind == WW_OBJECT_CHANNEL)
		return channel_of_name(self, call);
	return memory_or_array(core_of(self), call);
}

/* A user's id, or None. */
static bool convert_owner(PyObject *value, struct ww_get_params *params)
{
	long long uid;

	if (value == Py_None)
		return true;
	uid = PyLong_AsLongLong(value);
	if (uid == -1 && PyErr_Occurred())
		return false;
	if (uid < 0 || uid >= UINT32_MAX) {
		PyErr_Format(PyExc_ValueError, "owner is the id of a user, not %R", value);
		return false;
	}
	params->owner = (uint32_t)uid;
	params->flags |= WW_GET_FROM_OWNER;
	return true;
}

PyObject *broker_get(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "access", "device", "timeout", "owner", "no_slow_route",
		"own_mapping", "cancel", NULL};
	struct get_call call = {
		.params = WW_INIT(struct ww_get_params),
		.info = WW_INIT(struct ww_object_info),
	};
	PyObject *which = Py_None, *owner = Py_None, *cancel = NULL;
	struct core *core = core_of(self);
	int is_fast_only = 0, is_own = 0;
	uint64_t timeout_ns = 0;
	PyObject *found;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s|$O&OO&OppO:get", names, &call.name,
		    convert_access, &call.params.access, &which, convert_timeout, &timeout_ns,
		    &owner, &is_fast_only, &is_own, &cancel) ||
		!convert_owner(owner, &call.params))
		return NULL;
	call.params.flags |= (is_fast_only ? WW_IMPORT_NO_SLOW_ROUTE : 0) |
		(is_own ? WW_IMPORT_OWN_MAPPING : 0);
	call.broker = handle_borrow(self, &broker_class);
	if (!call.broker)
		return NULL;
	if (which != Py_None)
		status = get_on_device(core, &call, which, timeout_ns, cancel);
	else if (broker_sees_gpu())
		status = get_at_home(core, &call, timeout_ns, cancel);
	else
		status = get_on_device(core, &call, NULL, timeout_ns, cancel);
	if (status == WW_OK)
		found = object_of_call(self, &call);
	else if (status == WW_TIMED_OUT)
		found = error_raise_text(core, status,
			"'%s' has not come within the time limit; `warpway ls` shows what the broker at %s "
			"has",
			call.name, ww_broker_address(call.broker));
	else
		found = error_raise(core, status);
	handle_return(&device_class, call.device);
	handle_return(&broker_class, call.broker);
	return found;
}
