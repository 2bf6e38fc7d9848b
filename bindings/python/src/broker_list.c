/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_list.c - what is in a broker, who uses it, and how it is
 */
#include "broker.h"

/* --- one object --- */

struct name_call {
	ww_broker *broker;
	const char *name;
	struct ww_object_info info;
	bool has_id;
};

static ww_status run_stat(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct name_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_broker_stat(args->broker, args->name, &args->info);
}

static ww_status run_remove(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct name_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_broker_remove(args->broker, args->name);
}

static ww_status run_end(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct name_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_broker_end(args->broker, args->name, args->has_id ? args->info.object_id : NULL);
}

/* A str without zeros, as UTF-8; a new reference to bytes. */
static PyObject *name_bytes(PyObject *name)
{
	char *unused;

	if (PyUnicode_Check(name))
		return text_bytes(name, &unused);
	return PyErr_Format(PyExc_TypeError, "a name is a str, not %R", name);
}

/* Return: as wait_run(). */
static ww_status run_with_name(PyObject *self, wait_fn fn, PyObject *name, struct name_call *call)
{
	PyObject *bytes = name_bytes(name);
	ww_status status = STATUS_RAISED;

	if (!bytes)
		return STATUS_RAISED;
	call->name = PyBytes_AsString(bytes);
	call->broker = handle_borrow(self, &broker_class);
	if (call->broker)
		status = wait_run(core_of(self), fn, call, 0, NULL);
	handle_return(&broker_class, call->broker);
	Py_DECREF(bytes);
	return status;
}

PyObject *broker_stat(PyObject *self, PyObject *name)
{
	struct name_call call = {.info = WW_INIT(struct ww_object_info)};
	ww_status status = run_with_name(self, run_stat, name, &call);

	if (status != WW_OK)
		return error_raise(core_of(self), status);
	return object_info_object(core_of(self), &call.info);
}

PyObject *broker_remove(PyObject *self, PyObject *name)
{
	struct name_call call = {.name = NULL};
	ww_status status = run_with_name(self, run_remove, name, &call);

	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

/* @name: NULL: call->info.object_id says which */
static ww_status run_with_id(PyObject *self, struct name_call *call)
{
	ww_status status = STATUS_RAISED;

	call->broker = handle_borrow(self, &broker_class);
	if (call->broker)
		status = wait_run(core_of(self), run_end, call, 0, NULL);
	handle_return(&broker_class, call->broker);
	return status;
}

PyObject *broker_end(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "object_id", NULL};
	struct name_call call = {.info = WW_INIT(struct ww_object_info)};
	PyObject *name = Py_None;
	PyObject *id = Py_None;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O:end", names, &name, &id))
		return NULL;
	if (name == Py_None && id == Py_None)
		return PyErr_Format(PyExc_TypeError, "end() takes a name, an object_id or both");
	call.has_id = id != Py_None;
	if (call.has_id && !id_read(id, call.info.object_id))
		return NULL;
	status = name == Py_None ? run_with_id(self, &call)
				 : run_with_name(self, run_end, name, &call);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

/* --- snapshots --- */

struct snapshot_call {
	ww_broker *broker;
	const char *prefix;
	uint64_t contents;
	ww_snapshot *snapshot;
};

static ww_status run_snapshot(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct snapshot_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_snapshot_create(args->broker, args->prefix, args->contents, &args->snapshot);
}

/* Return: NULL with an exception. */
static ww_snapshot *take_snapshot(PyObject *self, const char *prefix, uint64_t contents)
{
	struct snapshot_call call = {.prefix = prefix, .contents = contents};
	ww_status status;

	call.broker = handle_borrow(self, &broker_class);
	if (!call.broker)
		return NULL;
	status = wait_run(core_of(self), run_snapshot, &call, 0, NULL);
	handle_return(&broker_class, call.broker);
	if (status == WW_OK)
		return call.snapshot;
	error_raise(core_of(self), status);
	return NULL;
}

/* Takes over the item. */
static bool list_add(PyObject *list, PyObject *item)
{
	bool is_added = item && PyList_Append(list, item) == 0;

	Py_XDECREF(item);
	return is_added;
}

PyObject *broker_list(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"prefix", "unnamed", NULL};
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot;
	const char *prefix = "";
	PyObject *list;
	int is_all = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|s$p:list", names, &prefix, &is_all))
		return NULL;
	snapshot = take_snapshot(self, prefix,
		WW_SNAPSHOT_OBJECTS | (is_all ? WW_SNAPSHOT_UNNAMED : 0));
	if (!snapshot)
		return NULL;
	list = PyList_New(0);
	for (size_t i = 0; list && ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		if (!list_add(list, object_info_object(core_of(self), &info)))
			Py_CLEAR(list);
	}
	ww_snapshot_free(snapshot);
	return list;
}

/* --- who holds what --- */

/* A dict of lists: the ids of the objects that each holder holds, by its number. */
static PyObject *ids_by_holder(ww_snapshot *snapshot)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	PyObject *holders = PyDict_New();

	for (size_t i = 0; holders && ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++) {
		PyObject *number = PyLong_FromUnsignedLongLong(hold.holder);
		PyObject *ids = number ? PyDict_GetItemWithError(holders, number) : NULL;
		bool is_done;

		Py_XINCREF(ids);
		if (!ids && number && !PyErr_Occurred())
			ids = PyList_New(0);
		is_done = ids && PyDict_SetItem(holders, number, ids) == 0 &&
			list_add(ids, info_id(hold.object_id));
		Py_XDECREF(ids);
		Py_XDECREF(number);
		if (!is_done)
			Py_CLEAR(holders);
	}
	return holders;
}

/* A tuple. */
static PyObject *ids_of(PyObject *holders, uint64_t holder)
{
	PyObject *number = PyLong_FromUnsignedLongLong(holder);
	PyObject *ids = number ? PyDict_GetItemWithError(holders, number) : NULL;

	Py_XDECREF(number);
	if (ids)
		return PyList_AsTuple(ids);
	return PyErr_Occurred() ? NULL : PyTuple_New(0);
}

static PyObject *process_info(struct core *core, const struct ww_holder_info *info,
	PyObject *holders)
{
	PyObject *const values[] = {
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->uid),
		PyLong_FromUnsignedLong(info->gid),
		info_text(info->program),
		PyBool_FromLong(info->is_attached != 0),
		PyLong_FromUnsignedLong(info->held),
		PyLong_FromUnsignedLongLong(info->held_bytes),
		PyLong_FromUnsignedLong(info->put),
		PyLong_FromUnsignedLongLong(info->put_bytes),
		info_seconds(info->age_ns),
		ids_of(holders, info->number),
		INFO_END,
	};

	return info_object(core, CORE_PROCESS_INFO, values);
}

PyObject *broker_who(PyObject *self, PyObject *unused)
{
	struct ww_holder_info info = WW_INIT(struct ww_holder_info);
	ww_snapshot *snapshot = take_snapshot(self, NULL, WW_SNAPSHOT_HOLDERS | WW_SNAPSHOT_HOLDS);
	PyObject *holders, *list;

	(void)unused;
	if (!snapshot)
		return NULL;
	holders = ids_by_holder(snapshot);
	list = holders ? PyList_New(0) : NULL;
	for (size_t i = 0; list && ww_snapshot_holder(snapshot, i, &info) == WW_OK; i++) {
		if (!list_add(list, process_info(core_of(self), &info, holders)))
			Py_CLEAR(list);
	}
	Py_XDECREF(holders);
	ww_snapshot_free(snapshot);
	return list;
}

PyObject *broker_held_elsewhere(PyObject *self, PyObject *unused)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	ww_snapshot *snapshot = take_snapshot(self, NULL, WW_SNAPSHOT_HOLDS);
	PyObject *ids;

	(void)unused;
	if (!snapshot)
		return NULL;
	ids = PySet_New(NULL);
	for (size_t i = 0; ids && ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++) {
		PyObject *id = hold.is_creator ? NULL : info_id(hold.object_id);

		if (!hold.is_creator && (!id || PySet_Add(ids, id) < 0))
			Py_CLEAR(ids);
		Py_XDECREF(id);
	}
	ww_snapshot_free(snapshot);
	return ids;
}

/* --- tokens in flight --- */

static PyObject *flight_info(struct core *core, const struct ww_hold_info *info)
{
	static const char *const words[] = {"", "read", "write"};
	PyObject *const values[] = {
		info_id(info->object_id),
		PyLong_FromUnsignedLongLong(info->bytes),
		info_word(info->access, words, 3),
		info_seconds(info->age_ns),
		info->left_ns == WW_FOREVER ? Py_NewRef(Py_None) : info_seconds(info->left_ns),
		PyLong_FromUnsignedLong(info->uses),
		PyLong_FromUnsignedLongLong(info->delivery),
		Py_NewRef(Py_False),
		PyBool_FromLong(info->is_own != 0),
		PyUnicode_FromString(""),
		INFO_END,
	};

	return info_object(core, CORE_IN_FLIGHT, values);
}

PyObject *broker_in_flight(PyObject *self, PyObject *unused)
{
	struct ww_hold_info info = WW_INIT(struct ww_hold_info);
	ww_snapshot *snapshot = take_snapshot(self, NULL, WW_SNAPSHOT_HOLDS);
	PyObject *list;

	(void)unused;
	if (!snapshot)
		return NULL;
	list = PyList_New(0);
	for (size_t i = 0; list && ww_snapshot_hold(snapshot, i, &info) == WW_OK; i++) {
		if (info.is_escrow && !list_add(list, flight_info(core_of(self), &info)))
			Py_CLEAR(list);
	}
	ww_snapshot_free(snapshot);
	return list;
}

/* --- the broker itself --- */

struct info_call {
	ww_broker *broker;
	struct ww_broker_info info;
};

static ww_status run_info(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct info_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_broker_info_get(args->broker, &args->info);
}

PyObject *broker_info(PyObject *self, PyObject *unused)
{
	struct info_call call = {.info = WW_INIT(struct ww_broker_info)};
	const struct ww_broker_info *info = &call.info;
	ww_status status;

	(void)unused;
	call.broker = handle_borrow(self, &broker_class);
	if (!call.broker)
		return NULL;
	status = wait_run(core_of(self), run_info, &call, 0, NULL);
	handle_return(&broker_class, call.broker);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	PyObject *const values[] = {
		Py_NewRef(((struct broker_handle *)self)->address),
		info_text(info->version),
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->supervisor_pid),
		PyLong_FromUnsignedLong(info->uid),
		PyLong_FromUnsignedLong(info->restarts),
		PyLong_FromUnsignedLongLong(info->objects),
		PyLong_FromUnsignedLongLong(info->holders),
		PyLong_FromUnsignedLongLong(info->holds),
		PyLong_FromUnsignedLongLong(info->bytes),
		PyLong_FromUnsignedLongLong(info->fds),
		PyLong_FromUnsignedLongLong(info->memory_bytes),
		info_seconds(info->up_ns),
		PyLong_FromUnsignedLongLong(info->waits),
		INFO_END,
	};

	return info_object(core_of(self), CORE_BROKER_INFO, values);
}
