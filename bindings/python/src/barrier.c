/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.c - warpway.Barrier: a point that processes pass only together
 *
 *   Barrier(n), get(name), a pickle, a token ──> not a member ──join, or the first wait──> member
 *
 * A Barrier is one member. The library lets one thread at a time wait for a member, so a second
 * thread is refused while is_busy. A thread that waits has a reference of the membership: after
 * close() the process leaves when that wait has ended.
 */
#include "barrier.h"

#include <unistd.h>

#include "token.h"

struct barrier_handle {
	struct handle base;       /* object: the membership; NULL: not joined yet, or closed */
	ww_broker *broker;        /* a reference; NULL: the default one */
	char name[WW_NAME_BYTES]; /* of get(); "": there is a token */
	struct ww_token token;
	uint32_t parties; /* 0: not known before it is joined */
	int ready_fd;     /* of fileno(); -1: it was not asked for */
	bool is_busy;     /* a thread joins or waits */
	bool is_closed;
};

static void *barrier_ref(void *object)
{
	return ww_barrier_ref(object);
}

static void *barrier_unref(void *object)
{
	return ww_barrier_unref(object);
}

const struct handle_class barrier_class = {"Barrier", barrier_ref, barrier_unref};

static struct barrier_handle *handle_of(PyObject *self)
{
	return (struct barrier_handle *)self;
}

/* --- making one --- */

PyObject *barrier_object(struct core *core, const struct ww_token *token)
{
	PyObject *self = handle_new(core->types[CORE_BARRIER], &barrier_class, NULL);

	if (!self)
		return NULL;
	handle_of(self)->token = *token;
	handle_of(self)->ready_fd = -1;
	return self;
}

struct create_call {
	ww_broker *broker;
	const char *name;
	struct ww_barrier_params params;
	struct ww_token token;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct create_call *args = call;

	(void)timeout_ns;
	return ww_barrier_create(args->broker, args->name, &args->params, cancel, &args->token);
}

static bool set_params(struct ww_barrier_params *params, int parties, int mode, int replace)
{
	if (parties < 1 || parties > WW_BARRIER_MEMBERS_MAX) {
		PyErr_Format(PyExc_ValueError, "a barrier has 1 to %d parties, not %d",
			WW_BARRIER_MEMBERS_MAX, parties);
		return false;
	}
	if (mode < 1 || mode > 0777) {
		PyErr_Format(PyExc_ValueError, "mode is 0o001 to 0o777, not %d", mode);
		return false;
	}
	params->count = (uint32_t)parties;
	params->mode = (uint32_t)mode;
	params->flags = replace ? WW_PUT_REPLACE : 0;
	return true;
}

/* Takes over call->broker. */
static PyObject *create(struct core *core, struct create_call *call)
{
	ww_status status = wait_run(core, run_create, call, 0, NULL);
	PyObject *self;

	if (status != WW_OK)
		error_raise(core, status);
	self = status == WW_OK ? barrier_object(core, &call->token) : NULL;
	if (!self) {
		handle_return(&broker_class, call->broker);
		return NULL;
	}
	handle_of(self)->broker = call->broker;
	handle_of(self)->parties = call->params.count;
	return self;
}

static PyObject *barrier_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"parties", "name", "broker", "mode", "replace", "escrow", NULL};
	struct create_call call = {.params = WW_INIT(struct ww_barrier_params)};
	int parties = 0, mode = 0600, replace = 0;
	struct core *core = core_of_type(type);
	PyObject *where = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "i|z$OipO&:Barrier", names, &parties,
		    &call.name, &where, &mode, &replace, convert_escrow, &call.params.escrow_ns) ||
		!set_params(&call.params, parties, mode, replace))
		return NULL;
	if (where != Py_None &&
		!(call.broker = convert_handle(core, CORE_BROKER, &broker_class, where)))
		return NULL;
	return create(core, &call);
}

static PyObject *barrier_get(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "broker", NULL};
	struct core *core = core_of_type((PyTypeObject *)type);
	const struct ww_token none = {.bytes = {0}};
	PyObject *where = Py_None, *self;
	const char *name;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s|$O:get", names, &name, &where))
		return NULL;
	if (!name[0] || strlen(name) >= WW_NAME_BYTES)
		return PyErr_Format(PyExc_ValueError, "the name of an object has 1 to %d bytes",
			WW_NAME_BYTES - 1);
	self = barrier_object(core, &none);
	if (!self)
		return NULL;
	memcpy(handle_of(self)->name, name, strlen(name) + 1);
	if (where != Py_None &&
		!(handle_of(self)->broker = convert_handle(core, CORE_BROKER, &broker_class,
			  where)))
		Py_CLEAR(self);
	return self;
}

/* --- joining and waiting --- */

struct member_call {
	ww_broker *broker;        /* a reference, or NULL */
	char name[WW_NAME_BYTES]; /* "": by the token */
	struct ww_token token;
	uint32_t rank;
	ww_barrier *barrier; /* a reference; NULL: to be joined first */
	bool joins_only;
};

static ww_status run_join(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct member_call *args = call;

	if (args->name[0])
		return ww_barrier_get(args->broker, args->name, args->rank, timeout_ns, cancel,
			&args->barrier);
	return ww_barrier_import(args->broker, &args->token, args->rank, timeout_ns, cancel,
		&args->barrier);
}

static ww_status run_wait(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct member_call *args = call;

	return ww_barrier_wait(args->barrier, timeout_ns, cancel);
}

static bool check_open(PyObject *self)
{
	if (handle_of(self)->is_closed)
		PyErr_Format(PyExc_ValueError, "this Barrier is closed");
	return !handle_of(self)->is_closed;
}

static bool check_idle(PyObject *self)
{
	if (!check_open(self))
		return false;
	if (handle_of(self)->is_busy)
		error_raise_text(core_of(self), WW_ERR_STATE,
			"another thread joins or waits with this Barrier, which is one member: for a thread "
			"that is to be a member, too, make another one with barrier.token().open()");
	return !handle_of(self)->is_busy;
}

static bool begin(PyObject *self, struct member_call *call)
{
	struct barrier_handle *handle = handle_of(self);

	if (!check_idle(self))
		return false;
	if (handle->base.object)
		call->barrier = ww_barrier_ref(handle->base.object);
	if (handle->broker)
		call->broker = broker_class.ref(handle->broker);
	memcpy(call->name, handle->name, sizeof(call->name));
	call->token = handle->token;
	handle->is_busy = true;
	return true;
}

/* Keeps a new membership, unless the Barrier was closed meanwhile. */
static void end(PyObject *self, struct member_call *call)
{
	struct barrier_handle *handle = handle_of(self);

	if (call->barrier && !handle->base.object && !handle->is_closed)
		handle->base.object = ww_barrier_ref(call->barrier);
	handle->is_busy = false;
	handle_return(&barrier_class, call->barrier);
	handle_return(&broker_class, call->broker);
}

static PyObject *run_call(PyObject *self, struct member_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);
	uint64_t begin_ns = wait_now_ns();
	struct core *core = core_of(self);
	ww_status status = WW_OK;

	if (!begin(self, call))
		return NULL;
	if (!call->barrier)
		status = wait_run(core, run_join, call, timeout_ns, cancel);
	if (status == WW_OK && !call->joins_only)
		status = wait_timed(core, run_wait, call, wait_left_ns(begin_ns, timeout_ns),
			cancel);
	if (status == WW_OK)
		status = ww_barrier_info_get(call->barrier, &info);
	if (status != WW_OK)
		error_raise(core, status);
	end(self, call);
	return status == WW_OK ? PyLong_FromUnsignedLong(info.rank) : NULL;
}

static PyObject *barrier_wait(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	struct member_call call = {.rank = WW_BARRIER_ANY_RANK};
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:wait", names, convert_timeout,
		    &timeout_ns, &cancel))
		return NULL;
	return run_call(self, &call, timeout_ns, cancel);
}

static PyObject *barrier_wait_async(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return aio_run(self, "wait", arguments, keywords);
}

/* For "O&", into a uint32_t. */
static int convert_rank(PyObject *value, void *out_rank)
{
	PyObject *number;
	long rank;

	if (value == Py_None) {
		*(uint32_t *)out_rank = WW_BARRIER_ANY_RANK;
		return 1;
	}
	number = PyNumber_Index(value);
	if (!number)
		return 0;
	rank = PyLong_AsLong(number);
	Py_DECREF(number);
	if (rank >= 0 && rank < WW_BARRIER_MEMBERS_MAX) {
		*(uint32_t *)out_rank = (uint32_t)rank;
		return 1;
	}
	PyErr_Format(PyExc_ValueError, "a rank is 0 to %d, not %R", WW_BARRIER_MEMBERS_MAX - 1,
		value);
	return 0;
}

static PyObject *barrier_join_method(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"rank", "timeout", "cancel", NULL};
	struct member_call call = {.rank = WW_BARRIER_ANY_RANK, .joins_only = true};
	bool is_member = handle_of(self)->base.object;
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL, *rank;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&O&$O:join", names, convert_rank,
		    &call.rank, convert_timeout, &timeout_ns, &cancel))
		return NULL;
	rank = run_call(self, &call, timeout_ns, cancel);
	if (!rank || !is_member || call.rank == WW_BARRIER_ANY_RANK ||
		PyLong_AsUnsignedLong(rank) == call.rank)
		return rank;
	error_raise_text(core_of(self), WW_ERR_STATE,
		"this Barrier has joined before, with rank %lu: it cannot become rank %u",
		PyLong_AsUnsignedLong(rank), (unsigned)call.rank);
	Py_DECREF(rank);
	return NULL;
}

/* --- releasing --- */

static void barrier_drop(PyObject *self)
{
	struct barrier_handle *handle = handle_of(self);
	ww_broker *broker = handle->broker;

	handle->is_closed = true;
	handle->broker = NULL;
	if (handle->ready_fd >= 0)
		close(handle->ready_fd);
	handle->ready_fd = -1;
	handle_return(&broker_class, broker);
}

static PyObject *barrier_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	barrier_drop(self);
	handle_close(self, &barrier_class);
	Py_RETURN_NONE;
}

static void barrier_dealloc(PyObject *self)
{
	barrier_drop(self);
	handle_dealloc(self, &barrier_class);
}

/* --- other processes --- */

static PyObject *barrier_token(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!check_open(self))
		return NULL;
	if (handle_of(self)->name[0])
		return error_raise_text(core_of(self), WW_ERR_UNSUPPORTED,
			"a Barrier of get() is known by its name, and has no token: call Barrier.get() with "
			"the same name");
	return token_object(core_of(self), &handle_of(self)->token);
}

/* What get() made is found by its name again, in the receiver's default broker. */
static PyObject *barrier_reduce(PyObject *self, PyObject *unused)
{
	struct barrier_handle *handle = handle_of(self);
	PyObject *get;

	(void)unused;
	if (!check_open(self))
		return NULL;
	if (!handle->name[0])
		return token_pickle(core_of(self), &handle->token);
	if (handle->broker)
		return PyErr_Format(PyExc_TypeError,
			"a Barrier of get() with broker= cannot be pickled: send the name, and have the "
			"receiver call Barrier.get() with a Broker of its own");
	get = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "get");
	return get ? Py_BuildValue("(N(s))", get, handle->name) : NULL;
}

REDUCE_NOTED(barrier_reduce)

/* --- what it is --- */

/* Before it is a member: nothing but what is known. */
static bool barrier_info(PyObject *self, struct ww_barrier_info *info)
{
	struct barrier_handle *handle = handle_of(self);
	ww_barrier *barrier;
	ww_status status;

	*info = WW_INIT(struct ww_barrier_info);
	info->count = handle->parties;
	info->rank = info->broken_rank = UINT32_MAX;
	if (!check_open(self))
		return false;
	if (!handle->base.object)
		return true;
	barrier = ww_barrier_ref(handle->base.object);
	status = ww_barrier_info_get(barrier, info);
	if (status != WW_OK)
		error_raise(core_of(self), status);
	handle_return(&barrier_class, barrier);
	return status == WW_OK;
}

/* The Barrier's own descriptor, opened by the first call. */
static PyObject *barrier_fileno(PyObject *self, PyObject *unused)
{
	struct barrier_handle *handle = handle_of(self);
	struct ww_barrier_info info;
	ww_status status = WW_OK;

	(void)unused;
	/* The first may let other threads run: what the second sees stays so. */
	if (!barrier_info(self, &info) || !check_idle(self))
		return NULL;
	if (!handle->base.object)
		return error_raise_text(core_of(self), WW_ERR_STATE,
			"this Barrier is no member yet, and has no descriptor: call join() before");
	if (handle->ready_fd < 0)
		status = ww_barrier_eventfd(handle->base.object, &handle->ready_fd);
	return status == WW_OK ? PyLong_FromLong(handle->ready_fd)
			       : error_raise(core_of(self), status);
}

/* A rank, or None. */
static PyObject *get_rank(PyObject *self, void *field)
{
	struct ww_barrier_info info;
	uint32_t rank;

	if (!barrier_info(self, &info))
		return NULL;
	memcpy(&rank, (char *)&info + (size_t)field, sizeof(rank));
	return rank == UINT32_MAX ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(rank);
}

static PyObject *get_parties(PyObject *self, void *unused)
{
	struct ww_barrier_info info;

	(void)unused;
	if (!barrier_info(self, &info))
		return NULL;
	return info.count ? PyLong_FromUnsignedLong(info.count) : Py_NewRef(Py_None);
}

static PyObject *get_arrived(PyObject *self, void *unused)
{
	struct ww_barrier_info info;

	(void)unused;
	return barrier_info(self, &info) ? PyLong_FromUnsignedLong(info.arrived) : NULL;
}

static PyObject *get_round(PyObject *self, void *unused)
{
	struct ww_barrier_info info;

	(void)unused;
	return barrier_info(self, &info) ? PyLong_FromUnsignedLongLong(info.round) : NULL;
}

static PyObject *get_broken(PyObject *self, void *unused)
{
	struct ww_barrier_info info;

	(void)unused;
	return barrier_info(self, &info) ? PyBool_FromLong((long)info.is_broken) : NULL;
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_of(self)->is_closed);
}

static PyObject *barrier_repr(PyObject *self)
{
	struct ww_barrier_info info;

	if (handle_of(self)->is_closed)
		return PyUnicode_FromString("<warpway.Barrier closed>");
	if (!handle_of(self)->base.object)
		return PyUnicode_FromString("<warpway.Barrier not joined>");
	if (!barrier_info(self, &info))
		return NULL;
	return PyUnicode_FromFormat("<warpway.Barrier rank %u of %u, round %llu%s>",
		(unsigned)info.rank, (unsigned)info.count, (unsigned long long)info.round,
		info.is_broken ? ", broken" : "");
}

static PyMethodDef methods[] = {
	{"get", KEYWORDS(barrier_get), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"get($type, /, name, *, broker=None)\n--\n\n"
		"The barrier of a name. Joining it waits for the name, and checks it.\n\n"
		"Such a Barrier pickles as its name, so the receiver finds it in its own default broker.\n"
		"With a `broker` it cannot be pickled."},
	{"join", KEYWORDS(barrier_join_method), METH_VARARGS | METH_KEYWORDS,
		"join($self, /, rank=None, timeout=None, *, cancel=None)\n--\n\n"
		"Become a member, and wait until all others have. A member returns at once.\n\n"
		"Parameters\n----------\n"
		"rank : int, optional\n    0 to parties - 1, for each member another one. None: a free one.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\nint\n    The rank.\n\n"
		"Raises\n------\n"
		"Timeout\n    The others did not join in time. This process is no member then.\n"
		"AlreadyExists\n    The rank is taken, or all are.\n"
		"NotFound\n    There is no such barrier, or nobody joined it in time.\n"
		"PeerLost\n    A member has ended or left.\n"
		"WrongState\n    Another thread joins or waits with this Barrier."},
	{"wait", KEYWORDS(barrier_wait), METH_VARARGS | METH_KEYWORDS,
		"wait($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"Arrive, and wait until all members have. Joins first, if that has not been done.\n\n"
		"After `Timeout`, `Cancelled` or an exception of a signal handler this member counts as\n"
		"arrived: the next call goes on waiting in the same round. If the time passes while it joins,\n"
		"this process is no member, and has not arrived.\n\n"
		"Parameters\n----------\n"
		"timeout : float or None\n    Seconds, for joining and waiting together.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\nint\n    The rank.\n\n"
		"Raises\n------\n"
		"Timeout\n    The others did not arrive in time.\n"
		"PeerLost\n    A member ended or left before it arrived. The barrier stays broken.\n"
		"WrongState\n    Another thread joins or waits with this Barrier."},
	{"wait_async", KEYWORDS(barrier_wait_async), METH_VARARGS | METH_KEYWORDS,
		"wait_async($self, /, timeout=None)\n--\n\n"
		"A coroutine that does what `wait` does, in a thread of its own.\n\n"
		"When it is cancelled, the wait ends; a member counts as arrived all the same."},
	{"fileno", barrier_fileno, METH_NOARGS,
		"fileno($self, /)\n--\n\n"
		"A descriptor for event loops: readable when the round is complete. Only poll it.\n\n"
		"After `join`, ``wait(0)`` arrives, and raises `Timeout` while others are missing. When the\n"
		"descriptor is readable, call it again: it returns, or raises `PeerLost`. Before this member has\n"
		"arrived, only a broken barrier makes the descriptor readable; it stays readable then. The\n"
		"Barrier closes it.\n\n"
		"Raises\n------\n"
		"WrongState\n    `join` was not called; or another thread joins or waits with this Barrier."},
	{"token", barrier_token, METH_NOARGS,
		"token($self, /)\n--\n\n"
		"The token by which any process can become a member.\n\n"
		"It is always the same one. It is valid for `escrow` seconds, and then as long as the\n"
		"barrier has members."},
	{"close", barrier_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Leave the barrier. May be called twice.\n\n"
		"Rounds in which this member has arrived end as if it had stayed; later ones raise\n"
		"`PeerLost` in the others. While another thread waits, the member leaves when that wait\n"
		"ends."},
	{"__reduce__", barrier_reduce_noted, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", barrier_close, METH_VARARGS, NULL},
	{NULL},
};

#define FIELD(name) ((void *)offsetof(struct ww_barrier_info, name))

static PyGetSetDef properties[] = {
	{"parties", get_parties, NULL,
		"int or None: how many members it has; None: not known before this process is one.",
		NULL},
	{"rank", get_rank, NULL, "int or None: of this member; None: not joined yet.", FIELD(rank)},
	{"arrived", get_arrived, NULL,
		"int: members that have arrived in the round that is not over yet.", NULL},
	{"round", get_round, NULL, "int: rounds that this member has passed.", NULL},
	{"broken", get_broken, NULL, "bool: a member ended or left before it arrived.", NULL},
	{"broken_rank", get_rank, NULL, "int or None: the member that did.", FIELD(broken_rank)},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Barrier(parties, name=None, *, broker=None, mode=0o600, replace=False, escrow=60.0)\n--\n\n"
		    "A point that processes pass only together, again and again.\n\n"
		    "Parameters\n----------\n"
		    "parties : int\n    How many members: 1 to 1024.\n"
		    "name : str, optional\n    By which `get` finds it; without one it is handed on by pickle or\n"
		    "    token.\n"
		    "broker : Broker, optional\n"
		    "mode : int\n    Permission bits of the name: who may read may become a member. 0o600: this\n    user alone.\n"
		    "replace : bool\n    End an object that has the name.\n"
		    "escrow : float\n    Seconds for which the broker keeps the barrier until it has members.\n\n"
		    "A process becomes a member by `join`, or by its first `wait`; the process that creates the\n"
		    "barrier need not. Each process that unpickles a Barrier can become one member, and so can\n"
		    "each Barrier that ``token().open()`` returns. If a member ends or leaves before it has\n"
		    "arrived, every wait raises `PeerLost`.")},
	{Py_tp_new, barrier_new},
	{Py_tp_dealloc, barrier_dealloc},
	{Py_tp_repr, barrier_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Barrier",
	.basicsize = sizeof(struct barrier_handle),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

PyTypeObject *barrier_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
