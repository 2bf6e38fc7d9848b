/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticket.c - warpway.Ticket: a call that was made, and what comes of it
 */
#include "client.h"

#include "call_value.h"

#define FIRST_NS UINT64_C(100000) /* without signals: often the reply comes sooner */

struct ticket {
	PyObject_HEAD
	PyObject *weakrefs;
	struct ticket_state *state;
	struct call_form *form;
	PyObject *held;   /* a list of Memories that the call needs; or NULL */
	PyObject *result; /* NULL: not asked for yet */
};

static struct ticket *ticket_of(PyObject *self)
{
	return (struct ticket *)self;
}

static void free_state(struct ticket_state *state)
{
	Py_BEGIN_ALLOW_THREADS
	ticket_state_free(state);
	Py_END_ALLOW_THREADS
}

PyObject *ticket_object(struct core *core, struct ticket_state *state, struct call_form *form,
	PyObject *held)
{
	struct ticket *made = (struct ticket *)PyType_GenericAlloc(core->types[CORE_TICKET], 0);

	if (!made) {
		free_state(state);
		return NULL;
	}
	made->state = state;
	made->form = call_form_ref(form);
	made->held = Py_XNewRef(held);
	return (PyObject *)made;
}

static void ticket_dealloc(PyObject *self)
{
	struct ticket *ticket = ticket_of(self);

	if (ticket->weakrefs)
		PyObject_ClearWeakRefs(self);
	if (!callback_is_stuck())
		free_state(ticket->state);
	call_form_unref(ticket->form);
	Py_XDECREF(ticket->held);
	Py_XDECREF(ticket->result);
	instance_free(self);
}

/* --- failures --- */

static bool set_attribute(PyObject *error, const char *name, PyObject *value)
{
	bool done = value && PyObject_SetAttrString(error, name, value) == 0;

	Py_XDECREF(value);
	return done;
}

/* What the exception says of the call. */
static PyObject *describe_failure(const struct ticket_state *state)
{
	PyObject *type, *error, *traceback;

	PyErr_Fetch(&type, &error, &traceback);
	PyErr_NormalizeException(&type, &error, &traceback);
	if (error &&
		(!set_attribute(error, "has_started", PyBool_FromLong(state->info.has_started)) ||
			!set_attribute(error, "failed_call",
				PyLong_FromUnsignedLongLong(state->info.failed_call))))
		PyErr_Clear();
	PyErr_Restore(type, error, traceback);
	return NULL;
}

static PyObject *ticket_fail(struct core *core, const struct ticket_state *state)
{
	unsigned long long number = state->info.number;

	if (state->record.status == WW_CANCELLED)
		error_raise_text(core, WW_CANCELLED,
			"call %llu was cancelled before the function was started", number);
	else
		error_raise_record(core, &state->record);
	return describe_failure(state);
}

/* --- results --- */

static PyObject *read_result(struct core *core, struct ticket_state *state, uint32_t index)
{
	struct ww_value value;
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = ticket_state_result(state, index, &value);
	Py_END_ALLOW_THREADS
	return status == WW_OK ? call_value_object(core, &value) : error_raise(core, status);
}

/* None, the only result, or a tuple. */
static PyObject *read_results(PyObject *self)
{
	struct ticket *ticket = ticket_of(self);
	uint32_t count = ticket->form->result_count;
	PyObject *tuple;

	if (count == 0)
		return Py_NewRef(Py_None);
	if (count == 1)
		return read_result(core_of(self), ticket->state, 0);
	tuple = PyTuple_New(count);
	for (uint32_t i = 0; tuple && i < count; i++) {
		PyObject *item = read_result(core_of(self), ticket->state, i);

		if (item)
			PyTuple_SetItem(tuple, i, item);
		else
			Py_CLEAR(tuple);
	}
	return tuple;
}

/* The same objects each time. */
static PyObject *take_results(PyObject *self)
{
	struct ticket *ticket = ticket_of(self);
	PyObject *made;

	if (!ticket->result) {
		made = read_results(self);
		if (!made)
			return NULL;
		if (ticket->result)
			Py_DECREF(made); /* another thread was faster */
		else
			ticket->result = made;
		Py_CLEAR(ticket->held);
	}
	return Py_NewRef(ticket->result);
}

/* --- waiting --- */

static ww_status run_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	return ticket_state_wait(call, timeout_ns, cancel);
}

static ww_status wait_first(struct ticket_state *state, uint64_t timeout_ns)
{
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = ticket_state_wait(state, timeout_ns < FIRST_NS ? timeout_ns : FIRST_NS, NULL);
	Py_END_ALLOW_THREADS
	return status;
}

/* Nobody waits for the call any more. An exception may be set. */
static void cancel_call(struct ticket_state *state)
{
	Py_BEGIN_ALLOW_THREADS
	ticket_state_cancel(state);
	Py_END_ALLOW_THREADS
}

static bool is_starting(struct client_state *state)
{
	struct ww_service_info info;
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = client_state_info(state, &info);
	Py_END_ALLOW_THREADS
	return status == WW_OK && info.state == WW_SERVICE_STARTING;
}

static PyObject *fail_wait(struct core *core, const struct ticket_state *state, ww_status status,
	bool is_call)
{
	if (status == WW_TIMED_OUT)
		return error_raise_text(core, status,
			"call %llu has not ended within the time limit%s%s",
			(unsigned long long)state->info.number,
			is_call ? ", and was cancelled" : "; it goes on",
			is_starting(state->client)
				? ". The service is still starting: its server has not called start()"
				: "");
	return client_fail(core, status);
}

PyObject *ticket_wait(PyObject *self, uint64_t timeout_ns, PyObject *cancel, bool is_call)
{
	struct ticket_state *state = ticket_of(self)->state;
	struct core *core = core_of(self);
	ww_status status = wait_first(state, timeout_ns);

	if (status == WW_TIMED_OUT && timeout_ns > FIRST_NS)
		status = wait_run(core, run_wait, state,
			timeout_ns == WW_FOREVER ? timeout_ns : timeout_ns - FIRST_NS, cancel);
	if (status == WW_OK)
		return state->record.status == WW_OK ? take_results(self)
						     : ticket_fail(core, state);
	if (is_call)
		cancel_call(state);
	return fail_wait(core, state, status, is_call);
}

static PyObject *ticket_result(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:result", names,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	return ticket_wait(self, timeout_ns, cancel, false);
}

/* --- a stream that waits --- */

struct stream_wait_call {
	struct ticket_state *state;
	ww_stream *stream; /* a reference */
	uint64_t flags;
	bool is_late;
};

static ww_status run_stream_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct stream_wait_call *args = call;

	return ticket_state_stream_wait(args->state, args->stream, args->flags, timeout_ns, cancel,
		&args->is_late);
}

static PyObject *fail_stream_wait(struct core *core, const struct stream_wait_call *call,
	ww_status status)
{
	if (status != WW_TIMED_OUT)
		return client_fail(core, status);
	return error_raise_text(core, status,
		call->is_late ? "the deadline of call %llu has passed, and the server has not "
				"answered, or calls before it in its lane go on; the stream does "
				"not wait for it"
			      : "call %llu has not come so far within the time limit; the stream "
				"does not wait for it",
		(unsigned long long)call->state->info.number);
}

static PyObject *ticket_stream_wait(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "timeout", "unsubmitted", "other_user", "cancel", NULL};
	struct stream_wait_call call = {.state = ticket_of(self)->state};
	PyObject *stream, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;
	int unsubmitted = 0, other_user = 0;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O&$ppO:stream_wait", names,
		    &stream, convert_timeout, &timeout_ns, &unsubmitted, &other_user, &cancel))
		return NULL;
	call.flags = (unsubmitted ? WW_WAIT_UNSUBMITTED : 0) |
		(other_user ? WW_WAIT_OTHER_USER : 0);
	call.stream = convert_stream(core_of(self), NULL, stream);
	if (!call.stream)
		return NULL;
	status = wait_run(core_of(self), run_stream_wait, &call, timeout_ns, cancel);
	if (status != WW_OK)
		fail_stream_wait(core_of(self), &call, status);
	handle_return(&stream_class, call.stream);
	return status == WW_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *ticket_fileno(PyObject *self, PyObject *unused)
{
	ww_status status;
	int fd;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	status = ticket_state_fileno(ticket_of(self)->state, &fd);
	Py_END_ALLOW_THREADS
	return status == WW_OK ? PyLong_FromLong(fd) : client_fail(core_of(self), status);
}

static PyObject *ticket_cancel(PyObject *self, PyObject *unused)
{
	(void)unused;
	cancel_call(ticket_of(self)->state);
	Py_RETURN_NONE;
}

/* --- what it is --- */

static PyObject *get_done(PyObject *self, void *unused)
{
	ww_status status = wait_first(ticket_of(self)->state, 0);

	(void)unused;
	if (status != WW_OK && status != WW_TIMED_OUT)
		return client_fail(core_of(self), status);
	return PyBool_FromLong(status == WW_OK);
}

static PyObject *get_started(PyObject *self, void *unused)
{
	struct ww_ticket_info info;
	ww_status status;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	status = ticket_state_info(ticket_of(self)->state, &info);
	Py_END_ALLOW_THREADS
	return status == WW_OK ? PyBool_FromLong(info.has_started)
			       : error_raise(core_of(self), status);
}

static PyObject *get_number(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(ticket_of(self)->state->info.number);
}

static PyObject *get_value(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(ticket_of(self)->state->info.value);
}

static PyObject *get_lane(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(ticket_of(self)->state->info.lane);
}

static PyObject *ticket_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<warpway.Ticket of call %llu to %s>",
		(unsigned long long)ticket_of(self)->state->info.number,
		ticket_of(self)->state->client->name);
}

static PyMethodDef methods[] = {
	{"result", KEYWORDS(ticket_result), METH_VARARGS | METH_KEYWORDS,
		"result($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"Wait until the call has ended, and return what the function returned.\n\n"
		"Parameters\n----------\n"
		"timeout : float or None\n    Seconds. When they have passed, the call goes on.\n"
		"cancel : Cancel, optional\n    It ends the wait; the call goes on.\n\n"
		"Returns\n-------\n"
		"object\n    None, the only result, or a tuple of the results; the same objects each time.\n"
		"    An Array is mapped by its first use.\n\n"
		"Raises\n------\n"
		"Error\n    The exception of the function's status, with its sentence.\n"
		"Timeout\n    `timeout`, or the call's deadline, passed first.\n"
		"Cancelled\n    The call was cancelled before the function was started.\n"
		"PeerLost\n    The server has ended. The exception's attribute `has_started` says whether the\n"
		"    function may have run.\n"
		"DependencyFailed\n    A call that it depends on has failed: `failed_call` is its number. 0: the value that\n"
		"    the call starts after never comes."},
	{"stream_wait", KEYWORDS(ticket_stream_wait), METH_VARARGS | METH_KEYWORDS,
		"stream_wait($self, /, stream, timeout=None, *, unsubmitted=False, other_user=False, cancel=None)"
		"\n--\n\n"
		"Have a stream's further work wait until the call is complete, however it ends.\n\n"
		"Nobody needs to wait for the reply. `Client.lane_timeline` of the lane must have been called\n"
		"before the calls.\n\n"
		"If the server is another user's, the CPU waits for the reply instead, until the call's\n"
		"deadline at most, and the stream does not wait at all: so that user cannot stop it.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes\n"
		"timeout : float or None\n"
		"    Seconds; how long the CPU waits until the server has enqueued the call's work.\n"
		"unsubmitted : bool\n    As of `Timeline.wait`: do not wait for that.\n"
		"other_user : bool\n    Let the stream wait, too, if the server is another user's.\n"
		"cancel : Cancel, optional\n    It ends the wait of the CPU; the call goes on.\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout`, or the deadline of a call to another user's server, passed first.\n"
		"WrongState\n    `Client.lane_timeline` was not called.\n"
		"PeerLost\n    The server has ended; or `stream` is lost."},
	{"fileno", ticket_fileno, METH_NOARGS,
		"fileno($self, /)\n--\n\n"
		"A descriptor for event loops: readable when the call has ended. Only poll it.\n\n"
		"``result(0)`` does not wait then. The descriptor is readable, too, when the Client was closed;\n"
		"it is closed with the Ticket. asyncio needs none: it awaits the Ticket."},
	{"cancel", ticket_cancel, METH_NOARGS,
		"cancel($self, /)\n--\n\n"
		"Cancel the call.\n\n"
		"A function that was not started is not run. One that runs can see it: `Call.is_cancelled`."},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"done", get_done, NULL, "bool: the call has ended.", NULL},
	{"started", get_started, NULL, "bool: the function was started, and may have run.", NULL},
	{"number", get_number, NULL, "int: of the call: 1, 2, 3, ... of its Client.", NULL},
	{"lane", get_lane, NULL, "int: its lane.", NULL},
	{"value", get_value, NULL,
		"int: of the lane's timeline, `Client.lane_timeline`: the call is complete when it is reached.",
		NULL},
	{NULL},
};

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct ticket, weakrefs), READONLY, NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("A call that was made by `Client.submit` or `Function.submit`.\n\n"
		    "``await ticket`` waits for its result; if the awaiting task is cancelled, the call is, too.\n"
		    "A Ticket that is deleted does not end its call.")},
	{Py_tp_dealloc, ticket_dealloc},
	{Py_tp_repr, ticket_repr},
	{Py_am_await, aio_await_ticket},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Ticket",
	.basicsize = sizeof(struct ticket),
	.flags = TYPE_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

PyTypeObject *ticket_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
