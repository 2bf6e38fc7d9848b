/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_share.c - an Array for other processes, and the point at which its bytes are ready
 *
 * For each stream that array.ready() was called with, there is a timeline. Each call makes
 * the stream raise it by one after the work before. The timeline and its value travel with the
 * array when it is pickled.
 */
#include "array.h"

#include <pthread.h>

#include "memory.h"
#include "token.h"

static const struct array_instance *instance(PyObject *self)
{
	return (struct array_instance *)self;
}

/* --- the ready point --- */

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

PyObject *array_ready(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", NULL};
	struct core *core = core_of(self);
	PyObject *value, *timeline;
	ww_timeline *borrowed;
	ww_stream *stream;
	ww_status status;
	uint64_t ready;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:ready", names, &value))
		return NULL;
	stream = memory_stream(instance(self)->memory, value);
	if (!stream)
		return NULL;
	timeline = timeline_for(core, value, stream);
	borrowed = timeline ? handle_borrow(timeline, &timeline_class) : NULL;
	status = borrowed ? signal_next(borrowed, stream, &ready) : STATUS_RAISED;
	handle_return(&timeline_class, borrowed);
	handle_return(&stream_class, stream);
	if (status != WW_OK) {
		Py_XDECREF(timeline);
		return error_raise(core, status);
	}
	array_set_ready(self, timeline, ready);
	return Py_NewRef(self);
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

ww_status array_wait_ready(PyObject *self, ww_stream *stream, uint64_t timeout_ns, PyObject *cancel)
{
	struct ready_call call = {.stream = stream, .value = instance(self)->ready};
	ww_status status;

	if (!instance(self)->timeline)
		return WW_OK;
	call.timeline = handle_borrow(instance(self)->timeline, &timeline_class);
	if (!call.timeline)
		return STATUS_RAISED;
	status = wait_run(core_of(self), run_wait, &call, timeout_ns, cancel);
	handle_return(&timeline_class, call.timeline);
	return status;
}

PyObject *array_wait(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "timeout", "cancel", NULL};
	PyObject *value = Py_None, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;
	ww_stream *stream = NULL;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O&O:wait", names, &value,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	if (value != Py_None && !(stream = memory_stream(instance(self)->memory, value)))
		return NULL;
	status = array_wait_ready(self, stream, timeout_ns, cancel);
	handle_return(&stream_class, stream);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

/* --- tokens and pickles --- */

PyObject *array_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "uses", "escrow", "broker", "cancel", NULL};
	struct ww_export_params params = {
		.struct_size = sizeof(params),
		.uses = 1,
		.array = &instance(self)->array,
	};
	PyObject *access = Py_None, *where = Py_None, *cancel = NULL;
	struct core *core = core_of(self);
	ww_broker *broker = NULL;
	struct ww_token token;
	ww_status status;
	bool made;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O&O&OO:token", names, &access,
		    convert_uses, &params.uses, convert_escrow, &params.escrow_ns, &where, &cancel))
		return NULL;
	if (access != Py_None && !convert_access(access, &params.access))
		return NULL;
	status = array_wait_ready(self, NULL, WW_FOREVER, cancel);
	if (status != WW_OK)
		return error_raise(core, status);
	if (where != Py_None && !(broker = convert_handle(core, CORE_BROKER, &broker_class, where)))
		return NULL;
	token_deliver(&params);
	made = memory_export(instance(self)->memory, broker, &params, cancel, &token);
	handle_return(&broker_class, broker);
	return made ? token_object_sent(core, &token, params.uses) : NULL;
}

struct timeline_call {
	ww_timeline *timeline;
	struct ww_token token;
};

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct timeline_call *args = call;

	(void)timeout_ns;
	return ww_timeline_export(args->timeline, NULL, NULL, cancel, &args->token);
}

static bool export_timeline(PyObject *self, struct ww_token *out_token)
{
	struct timeline_call call = {
		.timeline = handle_borrow(instance(self)->timeline, &timeline_class),
	};
	ww_status status;

	if (!call.timeline)
		return false;
	status = wait_brief(core_of(self), run_export, &call, NULL);
	handle_return(&timeline_class, call.timeline);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	*out_token = call.token;
	return status == WW_OK;
}

/* A point that is reached need not travel. */
static bool is_pending(PyObject *self)
{
	ww_timeline *timeline;
	ww_status status;

	if (!instance(self)->timeline)
		return false;
	timeline = handle_borrow(instance(self)->timeline, &timeline_class);
	if (!timeline)
		return false;
	status = ww_timeline_query(timeline, instance(self)->ready);
	handle_return(&timeline_class, timeline);
	return status != WW_OK;
}

PyObject *array_reduce(PyObject *self, PyObject *unused)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.uses = 1,
		.flags = WW_EXPORT_DELIVERY,
		.array = &instance(self)->array,
	};
	struct core *core = core_of(self);
	struct ww_token token, timeline;

	(void)unused;
	if (!memory_export_pickle(instance(self)->memory, &params, &token))
		return NULL;
	if (!is_pending(self))
		return PyErr_Occurred() ? NULL : token_pickle_ready(core, &token, NULL, 0);
	if (!export_timeline(self, &timeline))
		return NULL;
	return token_pickle_ready(core, &token, &timeline, instance(self)->ready);
}
