/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready_point.c - the point at which bytes are ready, see ready_point.h
 */
#include "ready_point.h"

#include <pthread.h>

#include "token.h"

static PyObject *timeline_new(struct core *core)
{
	ww_timeline *timeline;
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = ww_timeline_create(NULL, &timeline);
	Py_END_ALLOW_THREADS
	return status == WW_OK ? timeline_object(core, timeline) : error_raise(core, status);
}

/*
 * A cell is a list: its timeline, and whether a point was recorded on it since a function was
 * enqueued. core->ready has the one of each stream.
 */
enum {
	CELL_TIMELINE,
	CELL_HAS_POINT,
};

static void cell_set_point(PyObject *cell, bool has_point)
{
	PyList_SetItem(cell, CELL_HAS_POINT, PyBool_FromLong(has_point));
}

/* Whether this process failed it. The broker may also have given it up. */
static bool is_failed(ww_timeline *timeline)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	return ww_timeline_info_get(timeline, &info) == WW_OK && info.state == WW_TIMELINE_LOST &&
		!info.lost_ns;
}

static bool cell_is_failed(PyObject *cell)
{
	ww_timeline *timeline = handle_borrow(PyList_GetItem(cell, CELL_TIMELINE), &timeline_class);
	bool result = timeline && is_failed(timeline);

	handle_return(&timeline_class, timeline);
	return result;
}

static PyObject *cell_make(struct core *core, PyObject *key)
{
	PyObject *timeline = timeline_new(core);
	PyObject *made = timeline ? Py_BuildValue("[NO]", timeline, Py_False) : NULL;
	/* Another thread may have made one meanwhile. */
	PyObject *found = made ? PyDict_GetItemWithError(core->ready, key) : NULL;

	Py_XINCREF(found);
	if (made && !found && !PyErr_Occurred() && PyDict_SetItem(core->ready, key, made) == 0)
		found = Py_NewRef(made);
	Py_XDECREF(made);
	return found;
}

/* Beside the cells, by numbers, core->ready has these lists. */
#define LIST_FAILED Py_None
#define LIST_ENDED  Py_Ellipsis
#define FAILED_KEPT 1000

/* Appends to a list. Return: borrowed; NULL without memory, and without an exception. */
static PyObject *list_append(struct core *core, PyObject *key, PyObject *value)
{
	PyObject *list = PyDict_GetItemWithError(core->ready, key);
	PyObject *made = list ? NULL : PyList_New(0);

	if (made && PyDict_SetItem(core->ready, key, made) == 0)
		list = made; /* the dict has it */
	Py_XDECREF(made);
	if (list && PyList_Append(list, value) < 0)
		list = NULL;
	PyErr_Clear();
	return list;
}

/*
 * The processes that arrays were sent to import a timeline when they receive the array, and are to
 * find out what failed. So failed ones are kept for a while. Without memory they learn only that
 * the timeline is closed.
 */
static void keep_failed(struct core *core, PyObject *cell)
{
	PyObject *kept = list_append(core, LIST_FAILED, cell);

	if (kept && PyList_Size(kept) > FAILED_KEPT)
		PyList_SetSlice(kept, 0, 1, NULL);
}

void ready_point_end_call(PyObject *timeline)
{
	if (Py_REFCNT(timeline) == 1 && core_only && core_only->ready)
		list_append(core_only, LIST_ENDED, timeline);
	Py_DECREF(timeline);
}

static void cell_forget(struct core *core, PyObject *key)
{
	PyObject *cell = Py_XNewRef(PyDict_GetItemWithError(core->ready, key));

	if (cell && cell_is_failed(cell))
		keep_failed(core, cell);
	if (cell)
		PyDict_DelItem(core->ready, key);
	Py_XDECREF(cell);
	PyErr_Clear();
}

PyObject *ready_point_cell(struct core *core, PyObject *key)
{
	PyObject *cell = core->ready ? PyDict_GetItemWithError(core->ready, key) : NULL;

	Py_XINCREF(cell);
	PyErr_Clear();
	return cell;
}

void ready_point_forget(struct core *core, PyObject *key, PyObject *cell)
{
	PyObject *found = ready_point_cell(core, key);

	if (found && (!cell || found == cell))
		cell_forget(core, key);
	Py_XDECREF(found);
}

void ready_point_recover(struct core *core, PyObject *key)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	PyObject *cell = ready_point_cell(core, key);
	ww_timeline *timeline = cell
		? handle_borrow(PyList_GetItem(cell, CELL_TIMELINE), &timeline_class)
		: NULL;

	if (timeline &&
		(ww_timeline_info_get(timeline, &info) != WW_OK || info.state != WW_TIMELINE_LIVE))
		ready_point_forget(core, key, cell);
	handle_return(&timeline_class, timeline);
	Py_XDECREF(cell);
}

/* No reference is taken: it could be the last one, whose release may call the driver. */
static void timeline_fail(PyObject *timeline, const char *why)
{
	ww_timeline *object = ((struct handle *)timeline)->object;

	if (object)
		ww_timeline_fail(object, why);
}

void ready_point_fail(PyObject *key, PyObject *timeline, const char *why)
{
	PyObject *dict = core_only ? core_only->ready : NULL;
	PyObject *cell = dict ? PyDict_GetItemWithError(dict, key) : NULL;

	timeline_fail(timeline, why);
	if (cell)
		timeline_fail(PyList_GetItem(cell, CELL_TIMELINE), why);
	PyErr_Clear();
}

/*
 * The cell of a stream, a new reference; NULL with an exception.
 * @is_for_call: a function is to be enqueued, which begins anew if a failure was marked by a point
 */
static PyObject *cell_of(struct core *core, PyObject *key, bool is_for_call)
{
	PyObject *found;

	if (!core->ready)
		core->ready = PyDict_New();
	if (!core->ready)
		return NULL;
	if (PyDict_GetItemWithError(core->ready, LIST_ENDED))
		PyDict_DelItem(core->ready, LIST_ENDED);
	found = Py_XNewRef(PyDict_GetItemWithError(core->ready, key));
	if (found && is_for_call && PyList_GetItem(found, CELL_HAS_POINT) == Py_True &&
		cell_is_failed(found)) {
		Py_CLEAR(found);
		cell_forget(core, key);
	}
	if (!found && !PyErr_Occurred())
		found = cell_make(core, key);
	return found;
}

PyObject *ready_point_for_call(struct core *core, PyObject *key)
{
	PyObject *cell = cell_of(core, key, true);
	PyObject *timeline = cell ? Py_NewRef(PyList_GetItem(cell, CELL_TIMELINE)) : NULL;

	if (cell)
		cell_set_point(cell, false);
	Py_XDECREF(cell);
	return timeline;
}

/*
 * Has the stream raise the timeline to the next value, which one that failed never reaches. Without
 * the GIL: a driver whose queue is full waits for the work before, which may be a Python function.
 * Without a lock, which a child made by fork() could find taken: if another thread signals the same
 * value first, the call is refused.
 */
static ww_status signal_next(ww_timeline *timeline, ww_stream *stream, uint64_t *out_value)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	do {
		status = ww_timeline_info_get(timeline, &info);
		*out_value = info.submitted + 1;
		if (status == WW_OK)
			status = ww_timeline_stream_signal(timeline, stream, *out_value);
	} while (status == WW_ERR_INVALID && ww_timeline_info_get(timeline, &info) == WW_OK &&
		info.submitted >= *out_value);
	if (status == WW_ERR_PEER_LOST && is_failed(timeline))
		status = WW_OK;
	Py_END_ALLOW_THREADS
	return status;
}

ww_status ready_point_record(struct core *core, PyObject *key, ww_stream *stream,
	struct ready_point *out_point)
{
	PyObject *cell = cell_of(core, key, false);
	PyObject *timeline = cell ? Py_NewRef(PyList_GetItem(cell, CELL_TIMELINE)) : NULL;
	ww_timeline *borrowed = timeline ? handle_borrow(timeline, &timeline_class) : NULL;
	ww_status status = borrowed ? signal_next(borrowed, stream, &out_point->value)
				    : STATUS_RAISED;

	handle_return(&timeline_class, borrowed);
	if (status == WW_OK)
		cell_set_point(cell, true);
	else
		Py_CLEAR(timeline);
	Py_XDECREF(cell);
	out_point->timeline = timeline;
	return status;
}

struct ready_call {
	ww_timeline *timeline;
	ww_stream *stream;
	uint64_t value;
};

static ww_status run_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct ready_call *args = call;

	if (!args->stream)
		return ww_timeline_wait(args->timeline, args->value, timeout_ns, cancel);
	return ww_timeline_stream_wait(args->timeline, args->stream, args->value, 0, timeout_ns,
		cancel);
}

ww_status ready_point_wait(struct core *core, const struct ready_point *point, ww_stream *stream,
	uint64_t timeout_ns, PyObject *cancel)
{
	struct ready_call call = {.stream = stream, .value = point->value};
	ww_status status;

	if (!point->timeline)
		return WW_OK;
	call.timeline = handle_borrow(point->timeline, &timeline_class);
	if (!call.timeline)
		return STATUS_RAISED;
	status = wait_timed(core, run_wait, &call, timeout_ns, cancel);
	handle_return(&timeline_class, call.timeline);
	return status;
}

ww_status ready_point_query(const struct ready_point *point)
{
	ww_timeline *timeline;
	ww_status status;

	if (!point->timeline)
		return WW_OK;
	timeline = handle_borrow(point->timeline, &timeline_class);
	if (!timeline)
		return STATUS_RAISED;
	status = ww_timeline_query(timeline, point->value);
	handle_return(&timeline_class, timeline);
	return status;
}

struct export_call {
	ww_timeline *timeline;
	struct ww_token token;
};

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *args = call;

	(void)timeout_ns;
	return ww_timeline_export(args->timeline, NULL, NULL, cancel, &args->token);
}

ww_status ready_point_export(struct core *core, const struct ready_point *point,
	struct ww_token *out_token)
{
	struct export_call call = {
		.timeline = handle_borrow(point->timeline, &timeline_class),
	};
	ww_status status;

	if (!call.timeline)
		return STATUS_RAISED;
	status = wait_brief(core, run_export, &call, NULL);
	handle_return(&timeline_class, call.timeline);
	*out_token = call.token;
	return status;
}
