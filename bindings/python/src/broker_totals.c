/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_totals.c - the sums that a broker keeps, as dicts: see <warpway/monitor.h>
 */
#include "broker.h"

#include <stddef.h>

#include <warpway/monitor.h>

/* A field of a struct, which becomes an item of a dict. */
struct field {
	const char *name;
	size_t offset;
};

#define FIELD(type, name)                          \
	{                                          \
#name, offsetof(struct type, name) \
	}
#define FIELDS_END      \
	{               \
		NULL, 0 \
	}

static const struct field broker_fields[] = {FIELD(ww_broker_totals, objects),
	FIELD(ww_broker_totals, holders), FIELD(ww_broker_totals, holds),
	FIELD(ww_broker_totals, bytes), FIELD(ww_broker_totals, waits),
	FIELD(ww_broker_totals, fds), FIELD(ww_broker_totals, fds_limit),
	FIELD(ww_broker_totals, connections), FIELD(ww_broker_totals, connections_limit),
	FIELD(ww_broker_totals, refused_connections), FIELD(ww_broker_totals, unlogged),
	FIELD(ww_broker_totals, up_ns), FIELDS_END};

static const struct field user_fields[] = {FIELD(ww_user_total, bytes),
	FIELD(ww_user_total, bytes_limit), FIELD(ww_user_total, host_bytes),
	FIELD(ww_user_total, host_bytes_limit), FIELD(ww_user_total, objects),
	FIELD(ww_user_total, objects_limit), FIELD(ww_user_total, fds),
	FIELD(ww_user_total, fds_limit), FIELD(ww_user_total, holds),
	FIELD(ww_user_total, holds_limit), FIELD(ww_user_total, connections),
	FIELD(ww_user_total, connections_limit), FIELD(ww_user_total, waits),
	FIELD(ww_user_total, waits_limit), FIELD(ww_user_total, watches),
	FIELD(ww_user_total, watches_limit), FIELD(ww_user_total, holders),
	FIELD(ww_user_total, tokens), FIELD(ww_user_total, deliveries),
	FIELD(ww_user_total, delivery_bytes), FIELD(ww_user_total, requests),
	FIELD(ww_user_total, refused), FIELDS_END};

static const struct field device_fields[] = {FIELD(ww_device_total, objects),
	FIELD(ww_device_total, bytes), FIELD(ww_device_total, removed),
	FIELD(ww_device_total, removed_bytes), FIELDS_END};

/* Takes over the value. Return: whether it was set. */
static bool dict_set(PyObject *dict, const char *name, PyObject *value)
{
	bool is_set = value && PyDict_SetItemString(dict, name, value) == 0;

	Py_XDECREF(value);
	return is_set;
}

/* A dict of the fields of a struct that are uint64_t. */
static PyObject *dict_of(const void *info, const struct field *fields)
{
	PyObject *dict = PyDict_New();

	for (; dict && fields->name; fields++) {
		uint64_t value;

		memcpy(&value, (const char *)info + fields->offset, sizeof(value));
		if (!dict_set(dict, fields->name, PyLong_FromUnsignedLongLong(value)))
			Py_CLEAR(dict);
	}
	return dict;
}

static PyObject *broker_dict(ww_totals *totals)
{
	struct ww_broker_totals info = WW_INIT(struct ww_broker_totals);
	PyObject *dict;

	(void)ww_totals_broker(totals, &info);
	dict = dict_of(&info, broker_fields);
	if (dict && !dict_set(dict, "is_all", PyBool_FromLong(info.is_all != 0)))
		Py_CLEAR(dict);
	return dict;
}

static PyObject *user_dict(const void *info)
{
	const struct ww_user_total *user = info;
	PyObject *dict = dict_of(user, user_fields);

	if (dict && !dict_set(dict, "uid", PyLong_FromUnsignedLong(user->uid)))
		Py_CLEAR(dict);
	return dict;
}

static PyObject *device_dict(const void *info)
{
	const struct ww_device_total *device = info;
	PyObject *dict = dict_of(device, device_fields);

	if (dict &&
		(!dict_set(dict, "uid", PyLong_FromUnsignedLong(device->uid)) ||
			!dict_set(dict, "kind", PyLong_FromUnsignedLong(device->kind)) ||
			!dict_set(dict, "is_others", PyBool_FromLong(device->is_others != 0)) ||
			!dict_set(dict, "home_uuid", info_id(device->home_uuid))))
		Py_CLEAR(dict);
	return dict;
}

static PyObject *request_dict(const void *info)
{
	const struct ww_request_total *request = info;
	PyObject *reason = request->status ? PyUnicode_FromString(ww_status_name(request->status))
					   : Py_NewRef(Py_None);

	return Py_BuildValue("{s:s,s:N,s:K}", "request", request->request, "refused", reason,
		"count", (unsigned long long)request->count);
}

typedef ww_status (*row_fn)(ww_totals *totals, size_t index, void *info);

static ww_status user_row(ww_totals *totals, size_t index, void *info)
{
	*(struct ww_user_total *)info = WW_INIT(struct ww_user_total);
	return ww_totals_user(totals, index, info);
}

static ww_status device_row(ww_totals *totals, size_t index, void *info)
{
	*(struct ww_device_total *)info = WW_INIT(struct ww_device_total);
	return ww_totals_device(totals, index, info);
}

static ww_status request_row(ww_totals *totals, size_t index, void *info)
{
	*(struct ww_request_total *)info = WW_INIT(struct ww_request_total);
	return ww_totals_request(totals, index, info);
}

static PyObject *list_of(ww_totals *totals, row_fn row, PyObject *(*to_dict)(const void *info))
{
	union {
		struct ww_user_total user;
		struct ww_device_total device;
		struct ww_request_total request;
	} info;
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && row(totals, i, &info) == WW_OK; i++) {
		PyObject *dict = to_dict(&info);

		if (!dict || PyList_Append(list, dict) < 0)
			Py_CLEAR(list);
		Py_XDECREF(dict);
	}
	return list;
}

static PyObject *totals_dict(ww_totals *totals)
{
	PyObject *dict = PyDict_New();

	if (dict &&
		(!dict_set(dict, "broker", broker_dict(totals)) ||
			!dict_set(dict, "users", list_of(totals, user_row, user_dict)) ||
			!dict_set(dict, "devices", list_of(totals, device_row, device_dict)) ||
			!dict_set(dict, "requests", list_of(totals, request_row, request_dict))))
		Py_CLEAR(dict);
	return dict;
}

struct totals_call {
	ww_broker *broker;
	ww_totals *totals;
};

static ww_status run_totals(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct totals_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_totals_create(args->broker, &args->totals);
}

PyObject *broker_totals(PyObject *self, PyObject *unused)
{
	struct totals_call call = {.totals = NULL};
	PyObject *dict;
	ww_status status;

	(void)unused;
	call.broker = handle_borrow(self, &broker_class);
	if (!call.broker)
		return NULL;
	status = wait_run(core_of(self), run_totals, &call, 0, NULL);
	handle_return(&broker_class, call.broker);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	dict = totals_dict(call.totals);
	ww_totals_free(call.totals);
	return dict;
}
