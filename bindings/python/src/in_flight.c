/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_flight.c - what this process has sent and nobody has received yet: listed, revoked, limited
 */
#include "core.h"

#include <warpway/in_flight.h>

#include "token.h"

#define FIELD_OBJECT_ID 0
#define FIELD_NUMBER    6
#define FIELD_IS_SLICE  7
#define FIELD_BROKER_ID 9

struct list_call {
	ww_in_flight *list;
};

static ww_status run_list(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct list_call *args = call;

	(void)timeout_ns;
	return ww_in_flight_create(NULL, cancel, &args->list);
}

static PyObject *own_info(struct core *core, const struct ww_in_flight_info *info)
{
	static const char *const words[] = {"", "read", "write"};
	PyObject *const values[] = {
		info_id(info->object_id),
		PyLong_FromUnsignedLongLong(info->bytes),
		info_word(info->access, words, 3),
		info_seconds(info->age_ns),
		Py_NewRef(Py_None),
		PyLong_FromUnsignedLongLong(info->uses),
		PyLong_FromUnsignedLongLong(info->number),
		PyBool_FromLong(info->is_slice != 0),
		Py_NewRef(Py_True),
		info_id(info->broker_id),
		INFO_END,
	};

	return info_object(core, CORE_IN_FLIGHT, values);
}

PyObject *in_flight(PyObject *module, PyObject *unused)
{
	struct ww_in_flight_info info = WW_INIT(struct ww_in_flight_info);
	struct core *core = core_of_module(module);
	struct list_call call = {NULL};
	ww_status status;
	PyObject *list;

	(void)unused;
	if (!core)
		return NULL;
	status = wait_run(core, run_list, &call, 0, NULL);
	if (status != WW_OK)
		return error_raise(core, status);
	list = PyList_New(0);
	for (size_t i = 0; list && ww_in_flight_get(call.list, i, &info) == WW_OK; i++) {
		PyObject *item = own_info(core, &info);

		if (!item || PyList_Append(list, item) < 0)
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	ww_in_flight_free(call.list);
	return list;
}

/* --- which to revoke --- */

struct revoke_call {
	struct ww_in_flight_which which;
	struct ww_in_flight_info info;
	uint64_t count;
	uint64_t bytes;
};

static bool read_info(PyObject *which, struct ww_in_flight_info *info)
{
	int is_slice;

	*info = WW_INIT(struct ww_in_flight_info);
	info->number = PyLong_AsUnsignedLongLong(PyTuple_GetItem(which, FIELD_NUMBER));
	is_slice = PyObject_IsTrue(PyTuple_GetItem(which, FIELD_IS_SLICE));
	if (PyErr_Occurred() || is_slice < 0)
		return false;
	info->is_slice = (uint32_t)is_slice;
	if (id_read(PyTuple_GetItem(which, FIELD_OBJECT_ID), info->object_id) &&
		id_read(PyTuple_GetItem(which, FIELD_BROKER_ID), info->broker_id))
		return true;
	PyErr_SetString(PyExc_ValueError,
		"which is an InFlight of warpway.in_flight(): this one has no id");
	return false;
}

static bool read_which(struct core *core, PyObject *which, struct revoke_call *call)
{
	if (which == Py_None)
		return true;
	if (Py_TYPE(which) == core->types[CORE_IN_FLIGHT]) {
		call->which.info = &call->info;
		return read_info(which, &call->info);
	}
	call->which.token = token_of(core, which);
	return call->which.token;
}

static ww_status run_revoke(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct revoke_call *args = call;

	(void)timeout_ns;
	return ww_in_flight_revoke(NULL, &args->which, cancel, &args->count, &args->bytes);
}

PyObject *revoke_in_flight(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"which", "older_than", NULL};
	struct revoke_call call = {.which = WW_INIT(struct ww_in_flight_which)};
	struct core *core = core_of_module(module);
	PyObject *which = Py_None;
	ww_status status;

	if (!core ||
		!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O&:revoke_in_flight", names,
			&which, convert_timeout, &call.which.older_ns) ||
		!read_which(core, which, &call))
		return NULL;
	status = wait_run(core, run_revoke, &call, 0, NULL);
	return status == WW_OK ? PyLong_FromUnsignedLongLong(call.count)
			       : error_raise(core, status);
}

static int convert_limit(PyObject *value, void *out)
{
	uint64_t *limit = out;

	if (value == Py_None)
		return 1;
	*limit = PyLong_AsUnsignedLongLong(value);
	if (PyErr_Occurred())
		return 0;
	if (*limit == 0)
		PyErr_SetString(PyExc_ValueError, "a limit is 1 or more, or None for the default");
	return *limit != 0;
}

PyObject *limit_in_flight(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"count", "bytes", NULL};
	struct core *core = core_of_module(module);
	uint64_t count = 0, bytes = 0;
	ww_status status;

	if (!core ||
		!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O&O&:limit_in_flight", names,
			convert_limit, &count, convert_limit, &bytes))
		return NULL;
	status = ww_in_flight_limit(count < UINT32_MAX ? (uint32_t)count : UINT32_MAX, bytes);
	if (status != WW_OK)
		return error_raise(core, status);
	Py_RETURN_NONE;
}
