/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - warpway.Service: functions that this process runs for others
 */
#include "service.h"

#include <stdlib.h>
#include <unistd.h>

#include "broker.h"
#include "token.h"

struct service_handle {
	struct handle base; /* object: a struct service_state */
	PyObject *kept;     /* a list of offers */
};

static struct service_handle *handle_of(PyObject *self)
{
	return (struct service_handle *)self;
}

static void *state_ref(void *object)
{
	struct service_state *state = object;

	__atomic_add_fetch(&state->refs, 1, __ATOMIC_RELAXED);
	return state;
}

static void *state_unref(void *object)
{
	struct service_state *state = object;

	if (!state || __atomic_sub_fetch(&state->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	ww_service_unref(state->service);
	ww_device_unref(state->device);
	if (state->ready_fd >= 0)
		close(state->ready_fd);
	free(state);
	return NULL;
}

const struct handle_class service_class = {"Service", state_ref, state_unref};

/* --- making and closing --- */

/* Takes over both, also on failure. */
static PyObject *service_object(struct core *core, ww_service *service, ww_device *device)
{
	struct service_state *state = calloc(1, sizeof(*state));
	PyObject *made;

	if (!state) {
		ww_service_unref(service);
		handle_return(&device_class, device);
		return PyErr_NoMemory();
	}
	state->refs = 1;
	state->ready_fd = -1;
	state->service = service;
	state->device = device;
	made = handle_new(core->types[CORE_SERVICE], &service_class, state);
	if (made && !(handle_of(made)->kept = PyList_New(0)))
		Py_CLEAR(made);
	return made;
}

struct create_call {
	struct broker_call on;
	const char *name;
	struct ww_service_params params;
	ww_service *service;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct create_call *args = call;

	(void)timeout_ns;
	return ww_service_create(args->on.device, args->on.broker, args->name, &args->params,
		cancel, &args->service);
}

static PyObject *create(struct core *core, struct create_call *call, PyObject *which,
	PyObject *where, PyObject *cancel)
{
	if (!broker_call_run(core, run_create, &call->on, which, where, cancel))
		return NULL;
	return service_object(core, call->service, call->on.device);
}

/* None leaves it 0, the library's default; 0 is not said to mean that. For "O&", into a uint32_t. */
static int convert_count(PyObject *value, void *out_count)
{
	uint64_t count = 0;

	if (value == Py_None)
		return 1;
	if (!convert_bytes(value, &count))
		return 0;
	if (count == 0 || count > UINT32_MAX) {
		PyErr_Format(PyExc_ValueError,
			"a limit of a Service is at least 1, or None, not %R", value);
		return 0;
	}
	*(uint32_t *)out_count = (uint32_t)count;
	return 1;
}

/* 0 is none here, which is the library's default. */
static int convert_after_streams(PyObject *value, void *out_count)
{
	return PyLong_Check(value) && !PyObject_IsTrue(value) ? 1 : convert_count(value, out_count);
}

static bool set_version(struct ww_service_params *params, const char *text)
{
	if (strlen(text) >= sizeof(params->version)) {
		PyErr_Format(PyExc_ValueError, "version has at most %d bytes, not '%s'",
			(int)sizeof(params->version) - 1, text);
		return false;
	}
	memcpy(params->version, text, strlen(text));
	return true;
}

static PyObject *service_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "device", "mode", "group", "version", "functions_max",
		"clients_max", "clients_per_uid_max", "calls_max", "arguments_bytes",
		"results_bytes", "streams", "memory_bytes_max", "builtin_data", "builtin_alloc",
		"alloc_bytes_max", "keep", "after_streams", "replace", "broker", "cancel", NULL};
	struct create_call call = {.params = WW_INIT(struct ww_service_params)};
	struct ww_service_params *params = &call.params;
	PyObject *which = Py_None, *where = Py_None, *cancel = NULL;
	struct core *core = core_of_type(type);
	const char *version = "";
	int is_replacing = 0, has_data = 0, has_alloc = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords,
		    "|z$OO&O&sO&O&O&O&O&O&O&O&ppO&O&O&pOO:Service", names, &call.name, &which,
		    convert_mode, &params->mode, convert_group, &params->gid, &version,
		    convert_count, &params->functions_max, convert_count, &params->clients_max,
		    convert_count, &params->clients_per_uid_max, convert_count, &params->calls_max,
		    convert_count, &params->arguments_bytes, convert_count, &params->results_bytes,
		    convert_count, &params->streams, convert_bytes, &params->memory_bytes_max,
		    &has_data, &has_alloc, convert_bytes, &params->alloc_bytes_max, convert_timeout,
		    &params->keep_ns, convert_after_streams, &params->after_streams, &is_replacing,
		    &where, &cancel) ||
		!set_version(params, version))
		return NULL;
	params->flags = is_replacing ? WW_PUT_REPLACE : 0;
	params->builtin = (has_data ? WW_SERVICE_BUILTIN_DATA : 0) |
		(has_alloc ? WW_SERVICE_BUILTIN_ALLOC : 0);
	return create(core, &call, which, where, cancel);
}

static void service_shut(PyObject *self)
{
	struct service_state *state = handle_of(self)->base.object;

	if (state)
		__atomic_store_n(&state->is_closed, 1, __ATOMIC_RELEASE);
	handle_close(self, &service_class);
}

static PyObject *service_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	service_shut(self);
	Py_RETURN_NONE;
}

static int service_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(handle_of(self)->kept);
	return 0;
}

/* Nobody serves any more: a thread that does has a reference. */
static int service_clear(PyObject *self)
{
	service_shut(self);
	if (!callback_is_stuck())
		Py_CLEAR(handle_of(self)->kept);
	return 0;
}

static void service_dealloc(PyObject *self)
{
	PyObject_GC_UnTrack(self);
	service_clear(self);
	handle_dealloc(self, &service_class);
}

/* --- functions --- */

/* The numbers of a sequence, or NULL for None. @out_count: 0 with NULL. */
static bool read_ids(PyObject *value, uint32_t **out_ids, uint32_t *out_count)
{
	PyObject *tuple;
	Py_ssize_t count;
	bool is_read = true;

	if (value == Py_None)
		return true;
	tuple = PySequence_Tuple(value);
	if (!tuple)
		return false;
	count = PyTuple_Size(tuple);
	*out_ids = PyMem_Calloc((size_t)count + 1, sizeof(**out_ids));
	*out_count = (uint32_t)count;
	for (Py_ssize_t i = 0; *out_ids && is_read && i < count; i++) {
		unsigned long id = PyLong_AsUnsignedLong(PyTuple_GetItem(tuple, i));

		is_read = !PyErr_Occurred() && id < UINT32_MAX;
		(*out_ids)[i] = (uint32_t)id;
	}
	Py_DECREF(tuple);
	if (!*out_ids)
		PyErr_NoMemory();
	else if (!is_read && !PyErr_Occurred())
		PyErr_Format(PyExc_ValueError, "these are no numbers of users or groups: %R",
			value);
	return *out_ids && is_read;
}

/* One whose offer was refused. */
static void unkeep(PyObject *self, PyObject *capsule)
{
	PyObject *kept = handle_of(self)->kept;
	Py_ssize_t at = PyList_Size(kept);

	while (at > 0 && PyList_GetItem(kept, at - 1) != capsule)
		at--;
	if (at > 0)
		PyList_SetSlice(kept, at - 1, at, NULL);
}

static PyObject *offer(PyObject *self, PyObject *name, const char *signature, PyObject *function,
	bool wants_call, bool is_batch, const struct ww_function_params *params)
{
	struct service_state *state = handle_borrow(self, &service_class);
	struct core *core = core_of(self);
	PyObject *capsule = NULL, *bytes = NULL;
	struct offer *made;
	ww_status status = STATUS_RAISED;
	char *text;

	if (!state)
		return NULL;
	capsule = offer_new(core, signature, name, function, state->device, wants_call, is_batch,
		&made);
	bytes = capsule ? text_bytes(name, &text) : NULL;
	if (bytes && PyList_Append(handle_of(self)->kept, capsule) == 0)
		status = is_batch ? ww_service_offer_batch(state->service, text, signature,
					    offer_run_batch, made, params)
				  : ww_service_offer(state->service, text, signature, offer_run,
					    made, params);
	if (status != WW_OK) {
		error_raise(core, status);
		unkeep(self, capsule);
	}
	Py_XDECREF(bytes);
	Py_XDECREF(capsule);
	handle_return(&service_class, state);
	return status == WW_OK ? Py_NewRef(function) : NULL;
}

/* What warpway._calls.offer() calls. */
static PyObject *service_offer_raw(PyObject *self, PyObject *arguments)
{
	struct ww_function_params params = WW_INIT(struct ww_function_params);
	uint32_t *uids = NULL, *gids = NULL;
	PyObject *name, *function, *users, *groups, *made = NULL;
	int wants_call, is_idempotent, is_enqueuing;
	const char *signature;

	if (!PyArg_ParseTuple(arguments, "UsOpppOOO&O&:_offer", &name, &signature, &function,
		    &wants_call, &is_idempotent, &is_enqueuing, &users, &groups, convert_count,
		    &params.batch_calls_max, convert_timeout, &params.batch_wait_ns))
		return NULL;
	params.flags = (is_idempotent ? WW_FUNCTION_IDEMPOTENT : 0) |
		(is_enqueuing ? WW_FUNCTION_ENQUEUES : 0);
	if (read_ids(users, &uids, &params.uid_count) &&
		read_ids(groups, &gids, &params.gid_count)) {
		params.uids = uids;
		params.gids = gids;
		made = offer(self, name, signature, function, wants_call,
			params.batch_calls_max > 0, &params);
	}
	PyMem_Free(uids);
	PyMem_Free(gids);
	return made;
}

static PyObject *service_offer(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_python("warpway._calls", "offer", self, arguments, keywords);
}

static PyObject *service_function(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return call_python("warpway._calls", "function", self, arguments, keywords);
}

/* --- serving --- */

static PyObject *apply(PyObject *self, ww_status (*fn)(ww_service *service))
{
	struct service_state *state = handle_borrow(self, &service_class);
	ww_status status;

	if (!state)
		return NULL;
	status = fn(state->service);
	handle_return(&service_class, state);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

static PyObject *service_start(PyObject *self, PyObject *unused)
{
	(void)unused;
	return apply(self, ww_service_start);
}

static PyObject *service_drain(PyObject *self, PyObject *unused)
{
	(void)unused;
	return apply(self, ww_service_drain);
}

static PyObject *service_serve_async(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return aio_run(self, "serve", arguments, keywords);
}

/* --- other processes --- */

struct export_call {
	struct service_state *state;
	uint32_t access;
	struct ww_token_params params;
	struct ww_token token;
};

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct export_call *args = call;

	(void)timeout_ns;
	return ww_service_export(args->state->service, args->access, &args->params, cancel,
		&args->token);
}

static PyObject *service_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "uses", "escrow", "cancel", NULL};
	struct export_call call = {.access = WW_ACCESS_WRITE,
		.params = WW_INIT(struct ww_token_params)};
	PyObject *cancel = NULL;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O&O&O:token", names,
		    convert_access, &call.access, convert_uses, &call.params.uses, convert_escrow,
		    &call.params.escrow_ns, &cancel) ||
		!(call.state = handle_borrow(self, &service_class)))
		return NULL;
	status = wait_run(core_of(self), run_export, &call, 0, cancel);
	handle_return(&service_class, call.state);
	return status == WW_OK ? token_object(core_of(self), &call.token)
			       : error_raise(core_of(self), status);
}

/* --- what it is --- */

static PyObject *service_info(PyObject *self, PyObject *unused)
{
	struct service_state *state = handle_borrow(self, &service_class);
	struct ww_service_info info = WW_INIT(struct ww_service_info);
	ww_status status;

	(void)unused;
	if (!state)
		return NULL;
	status = ww_service_info_get(state->service, &info);
	handle_return(&service_class, state);
	return status == WW_OK ? service_info_object(core_of(self), &info)
			       : error_raise(core_of(self), status);
}

static ww_status next_function(void *state, uint32_t index, struct ww_function_info *info)
{
	return ww_service_function_info_get(((struct service_state *)state)->service, index, info);
}

static PyObject *service_functions(PyObject *self, PyObject *unused)
{
	struct service_state *state = handle_borrow(self, &service_class);
	PyObject *list;

	(void)unused;
	if (!state)
		return NULL;
	list = function_infos(core_of(self), next_function, state);
	handle_return(&service_class, state);
	return list;
}

static PyObject *get_device(PyObject *self, void *unused)
{
	struct service_state *state = handle_of(self)->base.object;

	(void)unused;
	if (!handle_check_open(self, &service_class))
		return NULL;
	return device_object(core_of(self), ww_device_ref(state->device));
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

static PyMethodDef methods[] = {
	{"function", KEYWORDS(service_function), METH_VARARGS | METH_KEYWORDS,
		"function($self, /, signature, *, name=None, idempotent=False, enqueues=False, uids=None, "
		"gids=None, batch=None, batch_wait=0.0)\n--\n\n"
		"A decorator that offers a function.\n\n"
		"Parameters\n----------\n"
		"signature : str\n    Such as ``'f32 a, f32[n] x read, f32[n] y readwrite -> f64 sum'``.\n"
		"name : str, optional\n    None: the function's ``__name__``.\n"
		"idempotent, enqueues, uids, gids, batch, batch_wait\n    As of `offer`."},
	{"offer", KEYWORDS(service_offer), METH_VARARGS | METH_KEYWORDS,
		"offer($self, /, name, signature, function, *, idempotent=False, enqueues=False, uids=None, "
		"gids=None, batch=None, batch_wait=0.0)\n--\n\n"
		"Offer a function to clients.\n\n"
		"It gets the arguments by position: numbers, bool, bytes, None for what is left out, a Timeline,\n"
		"and an Array for each array, which NumPy, torch and CuPy use in place. If it has a parameter\n"
		"``call``, that is the Call. It returns what the signature says: nothing, one result, or a tuple\n"
		"of results. An array as a result is an Array, Memory or Token; one of another library is copied.\n\n"
		"An exception is the call's failure: that of a warpway.Error has its status and message, others\n"
		"have the status of `WrongState`, and their traceback goes to the logger 'warpway'.\n\n"
		"Parameters\n----------\n"
		"name : str\n    Letters, digits, ``_``, ``.``, ``-`` and ``/``; not ``warpway.`` and more.\n"
		"signature : str\n"
		"function : callable\n    No coroutine function: a thread that serves runs it.\n"
		"idempotent : bool\n    To repeat a call does no harm.\n"
		"enqueues : bool\n"
		"    It touches arrays only by work on ``call.stream``: so the next call of the lane starts when\n"
		"    it has returned.\n"
		"uids, gids : sequence of int, optional\n    Users and groups that may call it. None, None: all who may call\n"
		"    the service.\n"
		"batch : int, optional\n"
		"    It runs so many calls at once, at most 256, of different lanes. For each parameter it gets a\n"
		"    tuple with the argument of each call, and as ``call`` a tuple of Calls. It returns a list of\n"
		"    what it would return for each call; an exception in the list is the failure of that call\n"
		"    alone, and one that is raised that of all. With no results it may return None.\n"
		"batch_wait : float\n"
		"    Seconds for which a call waits for others, at most 60. 0: those are run together that have\n"
		"    come while no thread was free.\n\n"
		"Raises\n------\n"
		"AlreadyExists\n    There is a function of this name.\n"
		"InvalidArgument\n    The signature is none: the message says where."},
	{"_offer", service_offer_raw, METH_VARARGS, NULL},
	{"start", service_start, METH_NOARGS,
		"start($self, /)\n--\n\nTell clients that all functions are offered."},
	{"serve", KEYWORDS(service_serve), METH_VARARGS | METH_KEYWORDS,
		"serve($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"Run functions for clients, in this thread. Starts the service.\n\n"
		"Several threads may serve: then as many functions run at the same time, but of one lane of a\n"
		"client only one.\n\n"
		"Parameters\n----------\n"
		"timeout : float or None\n    Seconds; a function that runs then is not interrupted.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\n"
		"bool\n    True: the service was drained and no call is left, or it was closed. False: the time is over."},
	{"serve_async", KEYWORDS(service_serve_async), METH_VARARGS | METH_KEYWORDS,
		"serve_async($self, /, timeout=None)\n--\n\n"
		"A coroutine that does what `serve` does, in a thread of its own."},
	{"fileno", service_fileno, METH_NOARGS,
		"fileno($self, /)\n--\n\n"
		"A descriptor for event loops: readable while ``serve(0)`` has something to do. Only poll it.\n\n"
		"That is a call, or the end of one on a stream, a client that has come, or that the service was\n"
		"drained and no call is left. Each ``serve(0)`` runs the calls that are there, in the thread of\n"
		"the loop, and makes the descriptor unreadable until there is more. The Service closes it. With\n"
		"asyncio::\n\n"
		"    service.start()\n"
		"    loop.add_reader(service.fileno(), service.serve, 0)\n\n"
		"With `select`, which takes the Service itself::\n\n"
		"    service.start()\n"
		"    is_over = False\n"
		"    while not is_over:\n"
		"        readable, _, _ = select.select([service, sock], [], [])\n"
		"        if service in readable:\n"
		"            is_over = service.serve(0)"},
	{"drain", service_drain, METH_NOARGS,
		"drain($self, /)\n--\n\n"
		"Take no new calls: `serve` returns when those that have come are done.\n\n"
		"For a signal handler, too: ``signal.signal(signal.SIGTERM, lambda *_: service.drain())``."},
	{"token", KEYWORDS(service_token), METH_VARARGS | METH_KEYWORDS,
		"token($self, /, access='write', *, uses=0, escrow=60.0, cancel=None)\n--\n\n"
		"A token by which any process can open the service.\n\n"
		"Parameters\n----------\n"
		"access : 'read' or 'write'\n    To see its functions, or to call them.\n"
		"uses : int\n    How often it can be opened; 0: any number of times.\n"
		"escrow : float or None\n    Seconds for which the token is valid after the service has ended.\n"
		"cancel : Cancel, optional"},
	{"info", service_info, METH_NOARGS, "info($self, /)\n--\n\nIts state, as a ServiceInfo."},
	{"functions", service_functions, METH_NOARGS,
		"functions($self, /)\n--\n\nWhat it offers, as a list of FunctionInfo."},
	{"close", service_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"End the service. Calls that were not started end with `Unavailable`.\n\n"
		"Threads that serve end when the function that they run has returned."},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", service_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"device", get_device, NULL, "Device: where arrays are mapped.", NULL},
	{"closed", get_closed, NULL, "bool: this process has closed it.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Service(name=None, *, device=None, mode=0o600, group=None, version='', functions_max=None, "
		    "clients_max=None, clients_per_uid_max=None, calls_max=None, arguments_bytes=None, "
		    "results_bytes=None, streams=None, memory_bytes_max=None, builtin_data=False, "
		    "builtin_alloc=False, alloc_bytes_max=None, keep=0.0, after_streams=None, "
		    "replace=False, broker=None, cancel=None)\n--\n\n"
		    "Functions that this process runs for others, on arrays that stay where they are.\n\n"
		    "Parameters\n----------\n"
		    "name : str, optional\n    None: it is found by its token only.\n"
		    "device : Device or what it takes, optional\n"
		    "    Where the arrays of calls are mapped; None: the default device.\n"
		    "mode : int\n    Permission bits: read: see functions and state; write: call. 0o600: this user alone.\n"
		    "group : int, optional\n    A group id; None: this process's own.\n"
		    "version : str\n    The program's own version.\n"
		    "functions_max : int, optional\n    At most 1024; None: 64.\n"
		    "clients_max : int, optional\n    At one time, at most 4096; None: 1024.\n"
		    "clients_per_uid_max : int, optional\n    Of one user; None: as many as `clients_max`.\n"
		    "calls_max : int, optional\n"
		    "    Of one client that are not complete: a power of two, at most 1024; None: 64.\n"
		    "arguments_bytes, results_bytes : int, optional\n"
		    "    Room for those of one client's calls that are not complete, at most 1 MiB; None: 64 KiB.\n"
		    "streams : int, optional\n    On which functions work at the same time; None: 4.\n"
		    "memory_bytes_max : int, optional\n"
		    "    Arrays that are kept for one client as results until it has taken them; None: 1 GiB.\n"
		    "builtin_data : bool\n"
		    "    Offer the functions ``warpway.copy``, ``warpway.fill``, ``warpway.read`` and ``warpway.write``.\n"
		    "builtin_alloc : bool\n"
		    "    Offer ``warpway.alloc`` and ``warpway.free``, by which clients have memory made here.\n"
		    "alloc_bytes_max : int, optional\n"
		    "    Of that memory, for all clients of one user; None: 1 GiB.\n"
		    "keep : float or None\n"
		    "    Seconds for which an array stays mapped here after a call, so that the next call with it is\n"
		    "    faster. If its owner frees it, its bytes are free only then. None: until the client ends.\n"
		    "    Of a client the last 8 arrays; slices of pools never.\n"
		    "after_streams : int, optional\n"
		    "    Streams of the GPU, at most 4, that may wait for values of timelines that calls start\n"
		    "    after, so that such a call starts as soon as its value is reached: for clients of this\n"
		    "    user, and values that a stream is about to signal. None, or under MPS: the timelines are\n"
		    "    polled.\n"
		    "replace : bool\n    A service that has the name ends, in one step.\n"
		    "broker : Broker, optional\n"
		    "cancel : Cancel, optional\n\n"
		    "Only this process needs the GPU. A client's death harms nobody; if the server ends, each call\n"
		    "ends with `PeerLost`. Use::\n\n"
		    "    service = warpway.Service('lab')\n\n"
		    "    @service.function('f32 a, f32[n] x read, f32[n] y readwrite')\n"
		    "    def saxpy(a, x, y):\n"
		    "        np.asarray(y)[:] += a * np.asarray(x)\n\n"
		    "    service.serve()\n\n"
		    "Raises\n------\n"
		    "AlreadyExists\n    The name is taken, and `replace` is false.")},
	{Py_tp_new, service_new},
	{Py_tp_dealloc, service_dealloc},
	{Py_tp_traverse, service_traverse},
	{Py_tp_clear, service_clear},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Service",
	.basicsize = sizeof(struct service_handle),
	.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};

PyTypeObject *service_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
