/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_put.c - Broker.put()
 */
#include <unistd.h>

#include "array.h"
#include "broker.h"
#include "memory.h"

#define MODE_DEFAULT 0600
#define MODE_MAX     0777

struct put_call {
	ww_broker *broker;
	const char *name;
	ww_memory *memory;
	ww_timeline *timeline;
	struct ww_put_params params;
};

static ww_status run_put_memory(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct put_call *args = call;

	return ww_memory_put(args->memory, args->broker, args->name, &args->params, timeout_ns,
		cancel);
}

static ww_status run_put_timeline(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct put_call *args = call;
	const struct ww_name_params params = {
		.struct_size = sizeof(params),
		.mode = args->params.mode,
		.gid = args->params.gid,
		.flags = args->params.flags,
	};

	(void)timeout_ns;
	return ww_timeline_put(args->timeline, args->broker, args->name, &params, cancel);
}

/* --- arguments --- */

/* Mode 0 means another one to the library. */
int convert_mode(PyObject *value, void *out_mode)
{
	long long mode = PyLong_AsLongLong(value);

	if (mode == -1 && PyErr_Occurred())
		return 0;
	if (mode <= 0 || mode > MODE_MAX) {
		PyErr_Format(PyExc_ValueError, "a mode is permission bits such as 0o640, not %R",
			value);
		return 0;
	}
	*(uint32_t *)out_mode = (uint32_t)mode;
	return 1;
}

/* Group 0 means the caller's own to the library. */
int convert_group(PyObject *value, void *out_gid)
{
	long long gid;

	if (value == Py_None)
		return 1;
	gid = PyLong_AsLongLong(value);
	if (gid == -1 && PyErr_Occurred())
		return 0;
	if (gid < 0 || gid >= UINT32_MAX || (gid == 0 && getegid() != 0)) {
		PyErr_Format(PyExc_ValueError,
			"a group is the id of one of this process's groups, not %R", value);
		return 0;
	}
	*(uint32_t *)out_gid = (uint32_t)gid;
	return 1;
}

static int convert_life(PyObject *value, void *out_life)
{
	static const char *const words[] = {"held", "owner", "kept", NULL};
	int life;

	if (value == Py_None)
		return 1;
	life = convert_word(value, "life", words, WW_LIFE_HELD);
	if (life < 0)
		return 0;
	*(uint32_t *)out_life = (uint32_t)life;
	return 1;
}

static int convert_state(PyObject *value, void *out_state)
{
	static const char *const words[] = {"writing", "sealed", "shared", NULL};
	int state;

	if (value == Py_None)
		return 1;
	state = convert_word(value, "state", words, WW_STATE_WRITING);
	if (state < 0)
		return 0;
	*(uint32_t *)out_state = (uint32_t)state;
	return 1;
}

static int convert_ttl(PyObject *value, void *out_ns)
{
	uint64_t ns;

	if (value == Py_None)
		return 1;
	if (!convert_timeout(value, &ns))
		return 0;
	if (ns == 0) {
		PyErr_SetString(PyExc_ValueError, "a ttl is seconds > 0, or None for no end");
		return 0;
	}
	/* For ever is no end. */
	*(uint64_t *)out_ns = ns == WW_FOREVER ? 0 : ns;
	return 1;
}

/* --- by what is put --- */

/* Whether the name lasts only as long as somebody holds the memory. */
static bool is_held_only(const struct put_call *call)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);

	if (call->params.life != 0)
		return call->params.life == WW_LIFE_HELD;
	return ww_memory_info_get(call->memory, &info) == WW_OK &&
		!(info.flags & WW_MEMORY_IS_SLICE);
}

static ww_status put_memory(struct put_call *call, PyObject *memory, uint64_t timeout_ns,
	PyObject *cancel)
{
	ww_status status = STATUS_RAISED;

	call->memory = memory_borrow_to_share(memory);
	if (call->memory)
		status = memory_seal(memory, &call->params.state, run_put_memory, call, timeout_ns,
			cancel);
	if (status == WW_OK && call->name && is_held_only(call))
		memory_mark_put(memory);
	memory_return(call->memory);
	if (status == WW_OK)
		memory_mark_lent(memory);
	if (status == WW_OK && call->name)
		memory_set_name(memory, call->name);
	return status;
}

static ww_status put_array(struct put_call *call, PyObject *object, uint64_t timeout_ns,
	PyObject *cancel)
{
	const struct array_instance *array = (struct array_instance *)object;
	ww_status status = array_wait_ready(object, NULL, WW_FOREVER, cancel);

	if (status != WW_OK)
		return status;
	call->params.array = &array->array;
	return put_memory(call, array->memory, timeout_ns, cancel);
}

static ww_status put_timeline(struct core *core, struct put_call *call, PyObject *object,
	uint64_t timeout_ns, PyObject *cancel)
{
	const struct ww_put_params *params = &call->params;
	ww_status status;

	if (!call->name || params->life || params->state || params->ttl_ns || timeout_ns) {
		error_raise_text(core, WW_ERR_INVALID,
			call->name
				? "a Timeline is put with mode, group and replace only: it ends with its process"
				: "a Timeline is put under a name; without one, processes open it by its token()");
		return STATUS_RAISED;
	}
	call->timeline = handle_borrow(object, &timeline_class);
	if (!call->timeline)
		return STATUS_RAISED;
	status = wait_run(core, run_put_timeline, call, 0, cancel);
	handle_return(&timeline_class, call->timeline);
	return status;
}

static ww_status put_object(struct core *core, struct put_call *call, PyObject *object,
	uint64_t timeout_ns, PyObject *cancel)
{
	const PyTypeObject *type = Py_TYPE(object);

	if (type == core->types[CORE_MEMORY])
		return put_memory(call, object, timeout_ns, cancel);
	if (type == core->types[CORE_ARRAY])
		return put_array(call, object, timeout_ns, cancel);
	if (type == core->types[CORE_TIMELINE])
		return put_timeline(core, call, object, timeout_ns, cancel);
	PyErr_Format(PyExc_TypeError,
		"what is put into a broker is a Memory, Array or Timeline, not %R; a Barrier gets its name "
		"when it is made",
		object);
	return STATUS_RAISED;
}

PyObject *broker_put(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "obj", "mode", "life", "state", "ttl", "group", "replace",
		"timeout", "cancel", NULL};
	struct put_call call = {
		.params = {.struct_size = sizeof(call.params),
			.mode = MODE_DEFAULT,
			.gid = WW_GID_OWN},
	};
	struct core *core = core_of(self);
	PyObject *object, *cancel = NULL;
	uint64_t timeout_ns = 0;
	int is_replacing = 0;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "zO|$O&O&O&O&O&pO&O:put", names,
		    &call.name, &object, convert_mode, &call.params.mode, convert_life,
		    &call.params.life, convert_state, &call.params.state, convert_ttl,
		    &call.params.ttl_ns, convert_group, &call.params.gid, &is_replacing,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	call.params.flags = is_replacing ? WW_PUT_REPLACE : 0;
	call.broker = handle_borrow(self, &broker_class);
	if (!call.broker)
		return NULL;
	status = put_object(core, &call, object, timeout_ns, cancel);
	handle_return(&broker_class, call.broker);
	if (status != WW_OK)
		return error_raise(core, status);
	Py_RETURN_NONE;
}
