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

/* That of a CUstream of another library, which lives as long as the module. */
static PyObject *timeline_of_native(struct core *core, void *native)
{
	PyObject *key = PyLong_FromVoidPtr(native);
	PyObject *found, *made = NULL;

	if (!core->ready)
		core->ready = PyDict_New();
	if (!key || !core->ready) {
		Py_XDECREF(key);
		return NULL;
	}
	found = Py_XNewRef(PyDict_GetItemWithError(core->ready, key));
	if (!found && !PyErr_Occurred() && (made = timeline_new(core))) {
		/* Another thread may have made one meanwhile. */
		found = Py_XNewRef(PyDict_GetItemWithError(core->ready, key));
		if (!found && !PyErr_Occurred() && PyDict_SetItem(core->ready, key, made) == 0)
			found = Py_NewRef(made);
	}
	Py_XDECREF(made);
	Py_DECREF(key);
	return found;
}

/*
 * The timeline of a stream, a new reference; NULL with an exception.
 * @value: what @stream was made of; a Stream keeps its timeline itself
 */
static PyObject *timeline_for(struct core *core, PyObject *value, ww_stream *stream)
{
	PyObject **place = stream_ready(core, value);
	PyObject *made;

	if (!place)
		return timeline_of_native(core, ww_stream_native(stream));
	made = *place ? NULL : timeline_new(core);
	if (made && !*place)
		*place = made;
	else
		Py_XDECREF(made);
	return Py_XNewRef(*place);
}

/*
 * Has the stream raise the timeline to the next value. Without the GIL: a driver whose queue is
 * full waits for the work before, which may be a Python function.
 */
static ww_status signal_next(ww_timeline *timeline, ww_stream *stream, uint64_t *out_value)
{
	static pthread_mutex_t
		lock = PTHREAD_MUTEX_INITIALIZER; /* from the question to the signal */
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	pthread_mutex_lock(&lock);
	status = ww_timeline_info_get(timeline, &info);
	*out_value = info.submitted + 1;
	if (status == WW_OK)
		status = ww_timeline_stream_signal(timeline, stream, *out_value);
	pthread_mutex_unlock(&lock);
	Py_END_ALLOW_THREADS
	return status;
}

ww_status ready_point_record(struct core *core, PyObject *value, ww_stream *stream,
	struct ready_point *out_point)
{
	PyObject *timeline = timeline_for(core, value, stream);
	ww_timeline *borrowed = timeline ? handle_borrow(timeline, &timeline_class) : NULL;
	ww_status status = borrowed ? signal_next(borrowed, stream, &out_point->value)
				    : STATUS_RAISED;

	handle_return(&timeline_class, borrowed);
	if (status != WW_OK)
		Py_CLEAR(timeline);
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
	status = wait_run(core, run_wait, &call, timeout_ns, cancel);
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
