/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - warpway.Watch: the changes in a broker
 *
 * One thread at a time uses a ww_watch. So the object of the handle is a struct of this file, that
 * is counted and says whether a thread uses it. close() may come from any thread meanwhile:
 *
 *   - It sets a word, and a flag of the watch by which the library ends the wait.
 *   - A wait that has a flag of its caller, or that of signals, cannot have this one, too. It polls
 *     the descriptor and looks at the word every WAIT_MS.
 *   - The watch is freed when the thread that used it has come back.
 */
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "broker.h"

#define WAIT_MS 40
#define MS_NS   UINT64_C(1000000)

struct watch_state {
	int refs;      /* atomic */
	int is_closed; /* atomic: set with the GIL, read without */
	bool is_used;  /* by a thread; under the GIL */
	ww_watch *watch;
	ww_cancel *stop; /* set with is_closed */
};

struct watch_handle {
	struct handle base;
	PyObject *kept; /* WatchEvents that `next` gives first; or NULL */
};

static void *watch_ref(void *object)
{
	struct watch_state *state = object;

	__atomic_add_fetch(&state->refs, 1, __ATOMIC_RELAXED);
	return state;
}

static void *watch_unref(void *object)
{
	struct watch_state *state = object;

	if (state && __atomic_sub_fetch(&state->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		ww_watch_free(state->watch);
		ww_cancel_unref(state->stop);
		free(state);
	}
	return NULL;
}

static const struct handle_class watch_class = {"Watch", watch_ref, watch_unref};

/* --- making one --- */

struct create_call {
	ww_broker *broker;
	const char *prefix;
	uint64_t flags;
	struct watch_state *state;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct create_call *args = call;
	ww_status status = ww_cancel_create(&args->state->stop);

	(void)timeout_ns;
	(void)cancel;
	if (status != WW_OK)
		return status;
	return ww_watch_create(args->broker, args->prefix, args->flags, &args->state->watch);
}

static PyObject *watch_object(struct core *core, struct create_call *call)
{
	ww_status status;

	call->state = calloc(1, sizeof(*call->state));
	if (!call->state)
		return PyErr_NoMemory();
	call->state->refs = 1;
	status = wait_run(core, run_create, call, 0, NULL);
	if (status == WW_OK)
		return handle_new(core->types[CORE_WATCH], &watch_class, call->state);
	handle_return(&watch_class, call->state);
	return error_raise(core, status);
}

PyObject *broker_watch(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"prefix", "existing", NULL};
	struct create_call call = {.prefix = ""};
	int is_existing = 0;
	PyObject *made;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|s$p:watch", names, &call.prefix,
		    &is_existing))
		return NULL;
	call.flags = is_existing ? WW_WATCH_EXISTING : 0;
	call.broker = handle_borrow(self, &broker_class);
	if (!call.broker)
		return NULL;
	made = watch_object(core_of(self), &call);
	handle_return(&broker_class, call.broker);
	return made;
}

static PyObject *watch_close(PyObject *self, PyObject *unused)
{
	struct watch_state *state = ((struct handle *)self)->object;

	(void)unused;
	if (state) {
		__atomic_store_n(&state->is_closed, 1, __ATOMIC_RELEASE);
		ww_cancel_set(state->stop);
	}
	handle_close(self, &watch_class);
	Py_CLEAR(((struct watch_handle *)self)->kept);
	Py_RETURN_NONE;
}

static void watch_dealloc(PyObject *self)
{
	Py_CLEAR(((struct watch_handle *)self)->kept);
	handle_dealloc(self, &watch_class);
}

static PyObject *watch_reduce(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyErr_Format(PyExc_TypeError,
		"a Watch cannot be pickled: have the receiver call Broker.watch()");
}

REDUCE_NOTED(watch_reduce)

/* --- waiting --- */

struct next_call {
	struct watch_state *state;
	struct ww_watch_event event;
};

static bool is_closed(const struct watch_state *state)
{
	return __atomic_load_n(&state->is_closed, __ATOMIC_ACQUIRE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Until there is something to read, the watch is closed, the flag is set or the time is over.
 * Return: the time that is left.
 */
static uint64_t poll_watch(const struct watch_state *state, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct pollfd fd = {.fd = ww_watch_fd(state->watch), .events = POLLIN};
	uint64_t begin_ns = now_ns(), left_ns = timeout_ns;

	while (left_ns > 0 && fd.fd >= 0 && !is_closed(state) && !ww_cancel_is_set(cancel)) {
		uint64_t spent_ns;
		int wait_ms = WAIT_MS;

		if (left_ns < WAIT_MS * MS_NS)
			wait_ms = (int)(left_ns / MS_NS) + 1;
		if (poll(&fd, 1, wait_ms) > 0)
			break;
		spent_ns = now_ns() - begin_ns;
		if (timeout_ns != WW_FOREVER)
			left_ns = spent_ns < timeout_ns ? timeout_ns - spent_ns : 0;
	}
	return left_ns;
}

/* Return: as ww_watch_next(); WW_END: it was closed meanwhile; WW_CANCELLED may mean this, too. */
static ww_status run_next(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct next_call *args = call;
	struct watch_state *state = args->state;

	args->event = WW_INIT(struct ww_watch_event);
	if (!cancel)
		return ww_watch_next(state->watch, timeout_ns, state->stop, &args->event);
	timeout_ns = poll_watch(state, timeout_ns, cancel);
	if (is_closed(state))
		return WW_END;
	return ww_watch_next(state->watch, timeout_ns, cancel, &args->event);
}

/* Return: as ww_watch_next(); WW_END: it is closed; STATUS_RAISED. */
static ww_status wait_next(PyObject *self, struct next_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	struct core *core = core_of(self);
	ww_status status;

	if (handle_is_closed(self))
		return WW_END;
	call->state = handle_borrow(self, &watch_class);
	if (call->state->is_used) {
		handle_return(&watch_class, call->state);
		error_raise_text(core, WW_ERR_STATE,
			"another thread uses this Watch; make one for each");
		return STATUS_RAISED;
	}
	call->state->is_used = true;
	status = wait_run(core, run_next, call, timeout_ns, cancel);
	call->state->is_used = false;
	if (status == WW_CANCELLED && is_closed(call->state))
		status = WW_END;
	handle_return(&watch_class, call->state);
	return status;
}

static PyObject *event_object_of(struct core *core, const struct ww_watch_event *event)
{
	static const char *const words[] = {"", "put", "ready", "removed", "expired", "gone",
		"lost", "overflow", "replaced"};
	PyObject *const values[] = {
		info_word(event->what, words, 9),
		event->what == WW_WATCH_OVERFLOW ? Py_NewRef(Py_None)
						 : object_info_object(core, &event->object),
		event->what == WW_WATCH_REPLACED ? info_id(event->former_id) : Py_NewRef(Py_None),
		INFO_END,
	};

	return info_object(core, CORE_WATCH_EVENT, values);
}

/* For a task that was cancelled when it had the event. */
static PyObject *watch_put_back(PyObject *self, PyObject *event)
{
	PyObject **kept = &((struct watch_handle *)self)->kept;

	if (!handle_is_closed(self) &&
		((!*kept && !(*kept = PyList_New(0))) || PyList_Append(*kept, event)))
		return NULL;
	Py_RETURN_NONE;
}

/* Return: the first event that was put back, or NULL. */
static PyObject *take_kept(PyObject *self)
{
	PyObject *kept = ((struct watch_handle *)self)->kept, *event;

	if (!kept || PyList_Size(kept) == 0)
		return NULL;
	event = Py_NewRef(PyList_GetItem(kept, 0));
	PyList_SetSlice(kept, 0, 1, NULL);
	return event;
}

static PyObject *watch_next(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL, *event;
	struct next_call call;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:next", names, convert_timeout,
		    &timeout_ns, &cancel))
		return NULL;
	event = take_kept(self);
	if (event)
		return event;
	status = wait_next(self, &call, timeout_ns, cancel);
	if (status == WW_END)
		return PyErr_Format(PyExc_ValueError, "this Watch is closed");
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	return event_object_of(core_of(self), &call.event);
}

/* Ends when the watch is closed. */
static PyObject *watch_iternext(PyObject *self)
{
	PyObject *event = take_kept(self);
	struct next_call call;
	ww_status status;

	if (event)
		return event;
	status = wait_next(self, &call, WW_FOREVER, NULL);
	if (status == WW_END)
		return NULL;
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	return event_object_of(core_of(self), &call.event);
}

static PyObject *watch_iter(PyObject *self)
{
	if (!handle_is_closed(self))
		return Py_NewRef(self);
	return PyErr_Format(PyExc_ValueError, "this Watch is closed");
}

static PyObject *watch_fileno(PyObject *self, PyObject *unused)
{
	struct watch_state *state = handle_borrow(self, &watch_class);
	bool is_used = state && state->is_used;
	int fd = -1;

	(void)unused;
	if (!state)
		return NULL;
	if (!is_used)
		fd = ww_watch_fd(state->watch);
	handle_return(&watch_class, state);
	if (is_used)
		return error_raise_text(core_of(self), WW_ERR_STATE,
			"another thread uses this Watch");
	if (fd < 0)
		return error_raise_text(core_of(self), WW_ERR_FORKED,
			"a child made by fork() has no Watch of its parent");
	return PyLong_FromLong(fd);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

static PyObject *watch_repr(PyObject *self)
{
	return PyUnicode_FromString(
		handle_is_closed(self) ? "<warpway.Watch closed>" : "<warpway.Watch>");
}

static PyMethodDef methods[] = {
	{"next", KEYWORDS(watch_next), METH_VARARGS | METH_KEYWORDS,
		"next($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"The next change, as a WatchEvent.\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"WrongState\n    Another thread uses this Watch.\n"
		"NoBroker\n    The broker ended, and was not restarted in time."},
	{"fileno", watch_fileno, METH_NOARGS,
		"fileno($self, /)\n--\n\n"
		"A descriptor that is readable when there is an event: for select and event loops.\n\n"
		"It may change: ask again after each `next` that raised Timeout or gave 'overflow'."},
	{"close", watch_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"End the watch. May be called twice, and while another thread waits.\n\n"
		"An iteration that waits ends; `next` raises ValueError."},
	{"_put_back", watch_put_back, METH_O,
		"_put_back($self, event, /)\n--\n\nHave a later call give this event first."},
	{"__reduce__", watch_reduce_noted, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", watch_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("The changes in a broker, in order, made by `Broker.watch`.\n\n"
		    "An iterator: ``for event in watch`` waits for each WatchEvent, until the watch is closed.\n"
		    "One thread at a time uses it. The event 'overflow' says that some were missed, because they\n"
		    "were not read in time or the broker was restarted: then look again, with `Broker.list`.")},
	{Py_tp_dealloc, watch_dealloc},
	{Py_tp_repr, watch_repr},
	{Py_tp_iter, watch_iter},
	{Py_tp_iternext, watch_iternext},
	{Py_am_aiter, watch_iter},
	{Py_am_anext, aio_next},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Watch",
	.basicsize = sizeof(struct watch_handle),
	.flags = TYPE_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

PyTypeObject *watch_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
