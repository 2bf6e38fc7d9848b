/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - warpway.Timeline: a number that only grows, for which processes and streams wait
 *
 * Whatever may reach a driver runs without the GIL: the driver may wait for a function that a
 * stream calls, and that needs the GIL.
 */
#include "sync.h"

#include "token.h"

static void *timeline_ref(void *object)
{
	return ww_timeline_ref(object);
}

static void *timeline_unref(void *object)
{
	return ww_timeline_unref(object);
}

const struct handle_class timeline_class = {"Timeline", timeline_ref, timeline_unref};

PyObject *timeline_object(struct core *core, ww_timeline *timeline)
{
	return handle_new(core->types[CORE_TIMELINE], &timeline_class, timeline);
}

/* Higher ones than WW_TIMELINE_MAX are refused by the library. */
int timeline_convert_value(PyObject *value, void *out_value)
{
	PyObject *number = PyNumber_Index(value);
	unsigned long long converted;

	if (!number)
		return 0;
	converted = PyLong_AsUnsignedLongLong(number);
	Py_DECREF(number);
	if (converted == (unsigned long long)-1 && PyErr_Occurred()) {
		PyErr_Format(PyExc_ValueError, "a value of a timeline is 0 to 2**62, not %R",
			value);
		return 0;
	}
	*(uint64_t *)out_value = converted;
	return 1;
}

static PyObject *timeline_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"value", "alone", NULL};
	struct ww_timeline_params params = WW_INIT(struct ww_timeline_params);
	struct core *core = core_of_type(type);
	ww_timeline *timeline;
	ww_status status;
	int alone = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$p:Timeline", names,
		    timeline_convert_value, &params.value, &alone))
		return NULL;
	params.flags = alone ? WW_TIMELINE_ALONE : 0;
	Py_BEGIN_ALLOW_THREADS
	status = ww_timeline_create(&params, &timeline);
	Py_END_ALLOW_THREADS
	return status == WW_OK ? timeline_object(core, timeline) : error_raise(core, status);
}

static void timeline_dealloc(PyObject *self)
{
	handle_dealloc(self, &timeline_class);
}

/* --- signals and waits --- */

struct wait_call {
	ww_timeline *timeline; /* both borrowed */
	ww_stream *stream;     /* NULL: none */
	uint64_t value;
	uint64_t flags;
};

/* @stream: what convert_stream() takes; None: none. false with an exception. */
static bool borrow_both(PyObject *self, PyObject *stream, struct wait_call *call)
{
	/* The conversion may run Python code, which may close the timeline. */
	if (stream != Py_None && !(call->stream = convert_stream(core_of(self), NULL, stream)))
		return false;
	call->timeline = handle_borrow(self, &timeline_class);
	if (!call->timeline)
		handle_return(&stream_class, call->stream);
	return call->timeline;
}

static PyObject *return_both(struct core *core, const struct wait_call *call, ww_status status)
{
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&stream_class, call->stream);
	handle_return(&timeline_class, call->timeline);
	return status == WW_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *timeline_signal(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"value", "stream", NULL};
	struct wait_call call = {.stream = NULL};
	PyObject *stream = Py_None;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|O:signal", names,
		    timeline_convert_value, &call.value, &stream) ||
		!borrow_both(self, stream, &call))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	if (call.stream)
		status = ww_timeline_stream_signal(call.timeline, call.stream, call.value);
	else
		status = ww_timeline_signal(call.timeline, call.value);
	Py_END_ALLOW_THREADS
	return return_both(core_of(self), &call, status);
}

static ww_status run_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct wait_call *args = call;

	if (!args->stream)
		return ww_timeline_wait(args->timeline, args->value, timeout_ns, cancel);
	return ww_timeline_stream_wait(args->timeline, args->stream, args->value, args->flags,
		timeout_ns, cancel);
}

static PyObject *timeline_wait(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"value", "timeout", "stream", "unsubmitted", "other_user", "cancel",
		NULL};
	PyObject *stream = Py_None, *cancel = NULL;
	struct core *core = core_of(self);
	struct wait_call call = {.stream = NULL};
	uint64_t timeout_ns = WW_FOREVER;
	int unsubmitted = 0, other_user = 0;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|O&$OppO:wait", names,
		    timeline_convert_value, &call.value, convert_timeout, &timeout_ns, &stream,
		    &unsubmitted, &other_user, &cancel))
		return NULL;
	if ((unsubmitted || other_user) && stream == Py_None)
		return PyErr_Format(PyExc_ValueError,
			"%s=True is for the wait of a stream: give stream=, too",
			unsubmitted ? "unsubmitted" : "other_user");
	call.flags = (unsubmitted ? WW_WAIT_UNSUBMITTED : 0) |
		(other_user ? WW_WAIT_OTHER_USER : 0);
	if (!borrow_both(self, stream, &call))
		return NULL;
	status = WW_NOT_READY;
	if (!call.stream)
		status = ww_timeline_query(call.timeline, call.value);
	if (status == WW_NOT_READY)
		status = wait_run(core, run_wait, &call, timeout_ns, cancel);
	return return_both(core, &call, status);
}

static PyObject *timeline_query(PyObject *self, PyObject *value)
{
	ww_timeline *timeline;
	ww_status status;
	uint64_t number;

	if (!timeline_convert_value(value, &number))
		return NULL;
	timeline = handle_borrow(self, &timeline_class);
	if (!timeline)
		return NULL;
	status = ww_timeline_query(timeline, number); /* reads shared memory, no more */
	if (status < 0)
		error_raise(core_of(self), status);
	handle_return(&timeline_class, timeline);
	return status < 0 ? NULL : PyBool_FromLong(status == WW_OK);
}

static PyObject *timeline_prepare(PyObject *self, PyObject *which)
{
	struct core *core = core_of(self);
	ww_device *device = convert_device(core, which);
	ww_timeline *timeline;
	ww_status status;

	if (!device)
		return NULL;
	timeline = handle_borrow(self, &timeline_class);
	status = STATUS_RAISED;
	if (timeline) {
		Py_BEGIN_ALLOW_THREADS
		status = ww_timeline_prepare(timeline, device);
		Py_END_ALLOW_THREADS
	}
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&timeline_class, timeline);
	handle_return(&device_class, device);
	return status == WW_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *timeline_wait_async(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return aio_run(self, "wait", arguments, keywords);
}

/* --- event loops --- */

static void unref_stream(void *stream)
{
	ww_stream_unref(stream);
}

/*
 * A stream of the host device for one descriptor. Its reference belongs to its own last piece of
 * work: an unref anywhere else would wait until the value is reached.
 */
static ww_status eventfd_alone(ww_timeline *timeline, uint64_t value, int *out_fd)
{
	ww_device *device;
	ww_stream *stream;
	ww_status status = ww_device_open("host", &device);

	if (status != WW_OK)
		return status;
	status = ww_stream_create(device, &stream);
	ww_device_unref(device);
	if (status != WW_OK)
		return status;
	status = ww_timeline_eventfd(timeline, stream, value, out_fd);
	/*
	 * If memory for that work is missing, the stream stays for ever. A failed eventfd may have
	 * enqueued the wait, too.
	 */
	(void)ww_stream_call(stream, unref_stream, stream);
	return status;
}

static PyObject *timeline_eventfd(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"value", "stream", NULL};
	struct core *core = core_of(self);
	struct wait_call call = {.stream = NULL};
	PyObject *stream = Py_None, *done;
	ww_status status;
	int fd = -1;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O&|O:eventfd", names,
		    timeline_convert_value, &call.value, &stream) ||
		!borrow_both(self, stream, &call))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	if (call.stream)
		status = ww_timeline_eventfd(call.timeline, call.stream, call.value, &fd);
	else
		status = eventfd_alone(call.timeline, call.value, &fd);
	Py_END_ALLOW_THREADS
	done = return_both(core, &call, status);
	Py_XDECREF(done);
	return done ? PyLong_FromLong(fd) : NULL;
}

/* --- other processes --- */

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct sync_export *args = call;

	(void)timeout_ns;
	return ww_timeline_export(args->object, args->broker, &args->params, cancel, &args->token);
}

static PyObject *timeline_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return sync_token(self, arguments, keywords, &timeline_class, run_export);
}

static PyObject *timeline_reduce(PyObject *self, PyObject *unused)
{
	struct sync_export call = {.params = {.struct_size = sizeof(call.params), .uses = 1}};
	struct core *core = core_of(self);
	ww_status status;

	(void)unused;
	if (handle_is_closed(self))
		return PyErr_Format(PyExc_ValueError,
			"this Timeline is closed, so it cannot be pickled. multiprocessing.Queue pickles in "
			"a thread, after put() has returned: keep it open until the other process has it");
	call.object = handle_borrow(self, &timeline_class);
	status = wait_run(core, run_export, &call, 0, NULL);
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&timeline_class, call.object);
	return status == WW_OK ? token_pickle(core, &call.token) : NULL;
}

static PyObject *timeline_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	handle_close(self, &timeline_class);
	Py_RETURN_NONE;
}

/* --- what it is --- */

static bool timeline_info(PyObject *self, struct ww_timeline_info *info)
{
	ww_timeline *timeline = handle_borrow(self, &timeline_class);
	ww_status status;

	if (!timeline)
		return false;
	*info = WW_INIT(struct ww_timeline_info);
	status = ww_timeline_info_get(timeline, info);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	handle_return(&timeline_class, timeline);
	return status == WW_OK;
}

static const char *const states[] = {"", "live", "closed", "lost"};

static PyObject *get_number(PyObject *self, void *field)
{
	struct ww_timeline_info info;

	return timeline_info(self, &info) ? info_u64(&info, field) : NULL;
}

static PyObject *get_small(PyObject *self, void *field)
{
	struct ww_timeline_info info;

	return timeline_info(self, &info) ? info_u32(&info, field) : NULL;
}

static PyObject *get_state(PyObject *self, void *unused)
{
	struct ww_timeline_info info;

	(void)unused;
	return timeline_info(self, &info) ? info_word(info.state, states, 4) : NULL;
}

static PyObject *get_is_own(PyObject *self, void *unused)
{
	struct ww_timeline_info info;

	(void)unused;
	return timeline_info(self, &info) ? PyBool_FromLong((long)info.is_own) : NULL;
}

static PyObject *get_program(PyObject *self, void *unused)
{
	struct ww_timeline_info info;

	(void)unused;
	return timeline_info(self, &info) ? info_text(info.program) : NULL;
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

static PyObject *timeline_repr(PyObject *self)
{
	struct ww_timeline_info info;

	if (handle_is_closed(self))
		return PyUnicode_FromString("<warpway.Timeline closed>");
	if (!timeline_info(self, &info))
		return NULL;
	return PyUnicode_FromFormat("<warpway.Timeline %s, completed %llu, submitted %llu, of %s>",
		info.state < 4 ? states[info.state] : "?", (unsigned long long)info.completed,
		(unsigned long long)info.submitted, info.is_own ? "this process" : info.program);
}

static PyMethodDef methods[] = {
	{"signal", KEYWORDS(timeline_signal), METH_VARARGS | METH_KEYWORDS,
		"signal($self, /, value, stream=None)\n--\n\n"
		"Raise the value: now, or when the work of a stream so far has run.\n\n"
		"Parameters\n----------\n"
		"value : int\n    Above every value signalled before, at most 2**62.\n"
		"stream : Stream or what it takes, optional\n    None: the CPU raises it, now.\n\n"
		"Raises\n------\n"
		"AccessDenied\n    Another process is the signaller.\n"
		"WrongState\n"
		"    A stream has yet to signal a lower value: let it signal this one, too.\n"
		"PeerLost\n"
		"    The stream waited for a process that ended: what it computed since is not valid."},
	{"wait", KEYWORDS(timeline_wait), METH_VARARGS | METH_KEYWORDS,
		"wait($self, /, value, timeout=None, *, stream=None, unsubmitted=False, other_user=False, "
		"cancel=None)\n--\n\n"
		"Wait until a value is reached; or have a stream wait for it.\n\n"
		"Parameters\n----------\n"
		"value : int\n"
		"timeout : float or None\n"
		"    Seconds. With `stream` the CPU waits that long until the value is submitted, that is,\n"
		"    until the signaller has enqueued its signal.\n"
		"stream : Stream or what it takes, optional\n"
		"    Its further work waits for the value. The call returns as soon as the value is\n"
		"    submitted.\n"
		"unsubmitted : bool\n"
		"    With `stream`: enqueue its wait at once. Streams of a GPU that wait for what nobody has\n"
		"    submitted can block each other for ever: see warpway/timeline.h.\n"
		"other_user : bool\n"
		"    With `stream`, of a lane of another user's service: let the stream wait. Without it the\n"
		"    CPU waits until the value is reached, so that user cannot stop the stream.\n"
		"cancel : Cancel, optional\n    Ends the wait of the CPU.\n\n"
		"A wait that began before `close` goes on.\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"PeerLost\n"
		"    The signaller ended, or closed the timeline, below the value; or `stream` is lost."},
	{"wait_async", KEYWORDS(timeline_wait_async), METH_VARARGS | METH_KEYWORDS,
		"wait_async($self, /, value, timeout=None, *, stream=None, unsubmitted=False, other_user=False)"
		"\n--\n\n"
		"A coroutine that does what `wait` does, in a thread of its own.\n\n"
		"When it is cancelled, the wait ends."},
	{"query", timeline_query, METH_O,
		"query($self, value, /)\n--\n\n"
		"Whether a value is reached.\n\n"
		"Raises\n------\n"
		"PeerLost\n    It never will be: the signaller ended, or closed the timeline, below it."},
	{"prepare", timeline_prepare, METH_O,
		"prepare($self, device, /)\n--\n\n"
		"Map the timeline on a device now, instead of at the first use by a stream of it."},
	{"eventfd", KEYWORDS(timeline_eventfd), METH_VARARGS | METH_KEYWORDS,
		"eventfd($self, /, value, stream=None)\n--\n\n"
		"A descriptor that becomes readable when a wait for a value is over.\n\n"
		"Parameters\n----------\n"
		"value : int\n"
		"stream : Stream or what it takes, optional\n"
		"    It waits, and is busy until then; one of the host device is best. None: a thread of\n"
		"    the library waits, which ends when the value is reached, or can no more be reached.\n\n"
		"Returns\n-------\n"
		"int\n"
		"    The descriptor of an eventfd, to be closed by the caller, at any time. Once it is\n"
		"    readable, `query` says how the wait ended."},
	{"token", KEYWORDS(timeline_token), METH_VARARGS | METH_KEYWORDS, sync_token_doc},
	{"close", timeline_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Release the timeline. May be called twice.\n\n"
		"When the signaller releases it for the last time, values that were signalled will still be\n"
		"reached, and waits for higher ones raise `PeerLost`. A wait of another thread keeps the\n"
		"timeline until it ends."},
	{"__reduce__", timeline_reduce, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", timeline_close, METH_VARARGS, NULL},
	{NULL},
};

#define FIELD(name) ((void *)offsetof(struct ww_timeline_info, name))

static PyGetSetDef properties[] = {
	{"completed", get_number, NULL,
		"int: the highest value reached. Of a lost timeline: what the broker found reached.",
		FIELD(completed)},
	{"submitted", get_number, NULL, "int: the highest value whose signal is enqueued or done.",
		FIELD(submitted)},
	{"state", get_state, NULL,
		"str: 'live'; 'closed': the signaller has released it; 'lost': the signaller has ended.",
		NULL},
	{"is_own", get_is_own, NULL, "bool: this process is the signaller.", NULL},
	{"pid", get_small, NULL, "int: of the signaller.", FIELD(pid)},
	{"uid", get_small, NULL, "int: of the signaller, as it says.", FIELD(uid)},
	{"program", get_program, NULL, "str: the signaller's name.", NULL},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Timeline(value=0, *, alone=False)\n--\n\n"
		    "A number that only grows, for which processes and their GPUs wait.\n\n"
		    "Parameters\n----------\n"
		    "value : int\n    That it has reached from the start.\n"
		    "alone : bool\n"
		    "    It shares its page with no other timeline: a process that may see this one can see the\n"
		    "    values of no others.\n\n"
		    "The process that creates a Timeline signals it. Every process that got it, by pickle, token\n"
		    "or name, can wait for its values: on the CPU, on a stream, or in an event loop. If the\n"
		    "signaller ends, every wait for a value that it had not reached raises `PeerLost`.")},
	{Py_tp_new, timeline_new},
	{Py_tp_dealloc, timeline_dealloc},
	{Py_tp_repr, timeline_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Timeline",
	.basicsize = sizeof(struct handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *timeline_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
