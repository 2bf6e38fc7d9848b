/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - warpway.Client: calls to the functions of a service
 */
#include "client.h"

#include "broker.h"
#include "call_value.h"
#include "service.h"
#include "token.h"

struct client_handle {
	struct handle base;  /* object: a struct client_state */
	PyObject *functions; /* a dict from names to Functions */
};

static void *state_ref(void *object)
{
	return client_state_ref(object);
}

static void *state_unref(void *object)
{
	return client_state_unref(object);
}

const struct handle_class client_class = {"Client", state_ref, state_unref};

static struct client_handle *handle_of(PyObject *self)
{
	return (struct client_handle *)self;
}

PyObject *client_fail(struct core *core, ww_status status)
{
	if (status == CLIENT_CLOSED)
		return PyErr_Format(PyExc_ValueError, "this Client is closed");
	return error_raise(core, status);
}

/* --- opening and closing --- */

struct open_call {
	ww_broker *broker;
	const char *name; /* NULL: there is a token */
	const struct ww_token *token;
	struct ww_client_params params;
	ww_client *client;
};

/* What was opened is taken over, also on failure. */
static PyObject *client_object(struct core *core, const struct open_call *call, uint64_t timeout_ns)
{
	struct client_state *state = client_state_new(call->client,
		call->name ? call->name : "a token's service", timeout_ns);
	PyObject *made;

	if (!state)
		return PyErr_NoMemory();
	state->is_named = call->name;
	state->gid = call->params.gid;
	state->broker = call->broker ? ww_broker_ref(call->broker) : NULL;
	made = handle_new(core->types[CORE_CLIENT], &client_class, state);
	if (made && !(handle_of(made)->functions = PyDict_New()))
		Py_CLEAR(made);
	return made;
}

static ww_status run_open(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct open_call *args = call;

	if (args->token)
		return ww_client_import(args->broker, args->token, &args->params, cancel,
			&args->client);
	return ww_client_open(args->broker, args->name, &args->params, timeout_ns, cancel,
		&args->client);
}

static PyObject *client_open(struct core *core, struct open_call *call, uint64_t timeout_ns,
	PyObject *cancel)
{
	ww_status status = wait_run(core, run_open, call, timeout_ns, cancel);

	if (status == WW_TIMED_OUT && call->name)
		return error_raise_text(core, status, "no service '%s' came within the time limit",
			call->name);
	if (status != WW_OK)
		return error_raise(core, status);
	return client_object(core, call, timeout_ns);
}

PyObject *client_open_token(struct core *core, const struct ww_token *token)
{
	struct open_call call = {.token = token, .params = WW_INIT(struct ww_client_params)};

	return client_open(core, &call, 0, NULL);
}

static PyObject *client_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "timeout", "observe", "group", "broker", "cancel", NULL};
	struct open_call call = {.params = WW_INIT(struct ww_client_params)};
	PyObject *name, *where = Py_None, *cancel = NULL, *text, *made = NULL;
	struct core *core = core_of_type(type);
	uint64_t timeout_ns = 0;
	int is_observing = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$O&pO&OO:Client", names, &name,
		    convert_timeout, &timeout_ns, &is_observing, convert_group, &call.params.gid,
		    &where, &cancel) ||
		!read_name_or_token(core, name, &call.name, &call.token, &text))
		return NULL;
	call.params.flags = is_observing ? WW_CLIENT_OBSERVE : 0;
	if (borrow_broker(core, where, &call.broker))
		made = client_open(core, &call, timeout_ns, cancel);
	handle_return(&broker_class, call.broker);
	Py_XDECREF(text);
	return made;
}

static void client_shut(PyObject *self)
{
	struct client_state *state = handle_of(self)->base.object;

	if (!state || callback_is_stuck())
		return;
	client_state_ref(state);
	Py_BEGIN_ALLOW_THREADS
	client_state_close(state);
	Py_END_ALLOW_THREADS
	handle_close(self, &client_class);
	handle_return(&client_class, state);
}

static PyObject *client_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	client_shut(self);
	Py_RETURN_NONE;
}

static void client_dealloc(PyObject *self)
{
	Py_CLEAR(handle_of(self)->functions);
	handle_dealloc(self, &client_class);
}

/* --- functions --- */

/* Of the same name; @signature NULL: any, and one that was found before will do. */
static PyObject *find_function(PyObject *self, PyObject *name, const char *signature,
	uint64_t timeout_ns, PyObject *cancel)
{
	PyObject *functions = handle_of(self)->functions;
	struct client_state *state;
	PyObject *found;

	if (!handle_check_open(self, &client_class))
		return NULL;
	found = signature ? NULL : Py_XNewRef(PyDict_GetItemWithError(functions, name));
	if (found || PyErr_Occurred())
		return found;
	state = handle_borrow(self, &client_class);
	found = function_find(core_of(self), state, name, signature, timeout_ns, cancel);
	handle_return(&client_class, state);
	if (found && PyDict_SetItem(functions, name, found) < 0)
		Py_CLEAR(found);
	return found;
}

static uint64_t own_timeout(PyObject *self)
{
	const struct client_state *state = handle_of(self)->base.object;

	return state ? state->timeout_ns : 0;
}

static PyObject *client_function(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", "signature", "timeout", "cancel", NULL};
	uint64_t timeout_ns = own_timeout(self);
	const char *signature = NULL;
	PyObject *name, *cancel = NULL;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|z$O&O:function", names, &name,
		    &signature, convert_timeout, &timeout_ns, &cancel))
		return NULL;
	return find_function(self, name, signature, timeout_ns, cancel);
}

/* What a service lacks is an attribute that its Client lacks. */
static PyObject *fail_attribute(struct core *core)
{
	PyObject *type, *error, *traceback, *text;

	if (!PyErr_ExceptionMatches(error_class(core, WW_ERR_NOT_FOUND)))
		return NULL;
	PyErr_Fetch(&type, &error, &traceback);
	text = error ? PyObject_Str(error) : NULL;
	if (text)
		PyErr_SetObject(PyExc_AttributeError, text);
	Py_XDECREF(text);
	Py_XDECREF(type);
	Py_XDECREF(error);
	Py_XDECREF(traceback);
	return NULL;
}

static PyObject *client_getattro(PyObject *self, PyObject *name)
{
	PyObject *found = PyObject_GenericGetAttr(self, name);

	if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
		PyUnicode_GetLength(name) == 0 || PyUnicode_ReadChar(name, 0) == '_')
		return found;
	PyErr_Clear();
	found = find_function(self, name, NULL, own_timeout(self), NULL);
	return found ? found : fail_attribute(core_of(self));
}

typedef PyObject *(*apply_fn)(PyObject *function, PyObject *arguments, PyObject *keywords);

/* The first argument is the function's name. */
static PyObject *apply(PyObject *self, apply_fn fn, PyObject *arguments, PyObject *keywords)
{
	Py_ssize_t count = PyTuple_Size(arguments);
	PyObject *name = count > 0 ? PyTuple_GetItem(arguments, 0) : NULL;
	PyObject *function, *rest, *made = NULL;

	if (!name || !PyUnicode_Check(name))
		return PyErr_Format(PyExc_TypeError,
			"the first argument is the function's name, a str");
	function = find_function(self, name, NULL, own_timeout(self), NULL);
	rest = function ? PyTuple_GetSlice(arguments, 1, count) : NULL;
	if (rest)
		made = fn(function, rest, keywords);
	Py_XDECREF(rest);
	Py_XDECREF(function);
	return made;
}

static PyObject *client_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return apply(self, function_call, arguments, keywords);
}

static PyObject *client_submit(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return apply(self, function_submit, arguments, keywords);
}

/* --- what the service is --- */

struct info_call {
	uint32_t index;
	struct ww_function_info function;
	struct ww_service_info service;
};

static ww_status get_function_info(ww_client *client, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct info_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	args->function = WW_INIT(struct ww_function_info);
	return ww_client_function_info_get(client, args->index, &args->function);
}

static ww_status get_service_info(ww_client *client, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct info_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	args->service = WW_INIT(struct ww_service_info);
	return ww_client_service_info_get(client, &args->service);
}

static ww_status ask(PyObject *self, client_fn fn, struct info_call *call)
{
	struct client_state *state = handle_borrow(self, &client_class);
	ww_status status;

	if (!state)
		return STATUS_RAISED;
	Py_BEGIN_ALLOW_THREADS
	status = client_state_call(state, fn, call, 0, NULL);
	Py_END_ALLOW_THREADS
	handle_return(&client_class, state);
	return status;
}

static ww_status next_function(void *self, uint32_t index, struct ww_function_info *info)
{
	struct info_call call = {.index = index};
	ww_status status = ask(self, get_function_info, &call);

	*info = call.function;
	return status;
}

static PyObject *client_functions(PyObject *self, PyObject *unused)
{
	(void)unused;
	return function_infos(core_of(self), next_function, self);
}

static PyObject *client_info(PyObject *self, PyObject *unused)
{
	struct info_call call;
	ww_status status = ask(self, get_service_info, &call);

	(void)unused;
	return status == WW_OK ? service_info_object(core_of(self), &call.service)
			       : client_fail(core_of(self), status);
}

static ww_status wait_ready_by(ww_client *client, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	(void)call;
	return ww_client_wait_ready(client, timeout_ns, cancel);
}

static ww_status run_wait_ready(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	return client_state_call(call, wait_ready_by, NULL, timeout_ns, cancel);
}

static PyObject *client_wait_ready(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER;
	struct client_state *state;
	PyObject *cancel = NULL;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:wait_ready", names,
		    convert_timeout, &timeout_ns, &cancel) ||
		!(state = handle_borrow(self, &client_class)))
		return NULL;
	status = wait_run(core_of(self), run_wait_ready, state, timeout_ns, cancel);
	handle_return(&client_class, state);
	if (status != WW_OK)
		return client_fail(core_of(self), status);
	Py_RETURN_NONE;
}

/* --- the order on streams --- */

/* Time for the server to answer; each try asks anew. */
#define LANE_NS UINT64_C(1000000000)

struct lane_call {
	struct client_state *state;
	uint32_t lane;
	ww_timeline *timeline;
};

static ww_status lane_timeline_by(ww_client *client, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct lane_call *args = call;

	return ww_client_lane_timeline(client, args->lane, timeout_ns > 0 ? LANE_NS : 0, cancel,
		&args->timeline);
}

static ww_status run_lane_timeline(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct lane_call *args = call;

	return client_state_call(args->state, lane_timeline_by, args, timeout_ns, cancel);
}

static PyObject *client_lane_timeline(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"lane", "timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER, lane = 0;
	struct lane_call call = {.timeline = NULL};
	PyObject *cancel = NULL;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&O&$O:lane_timeline", names,
		    convert_bytes, &lane, convert_timeout, &timeout_ns, &cancel) ||
		!(call.state = handle_borrow(self, &client_class)))
		return NULL;
	call.lane = lane < UINT32_MAX ? (uint32_t)lane : UINT32_MAX;
	status = wait_run(core_of(self), run_lane_timeline, &call, timeout_ns, cancel);
	handle_return(&client_class, call.state);
	return status == WW_OK ? timeline_object(core_of(self), call.timeline)
			       : client_fail(core_of(self), status);
}

static PyObject *client_dir(PyObject *self, PyObject *unused)
{
	PyObject *none = PyTuple_New(0);
	PyObject *listed = none ? call_python("warpway._calls", "list_names", self, none, NULL)
				: NULL;

	(void)unused;
	Py_XDECREF(none);
	return listed;
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

static PyObject *client_repr(PyObject *self)
{
	const struct client_state *state = handle_of(self)->base.object;

	return state ? PyUnicode_FromFormat("<warpway.Client of %s>", state->name)
		     : PyUnicode_FromString("<warpway.Client closed>");
}

static PyMethodDef methods[] = {
	{"call", KEYWORDS(client_call), METH_VARARGS | METH_KEYWORDS,
		"call($self, name, /, *arguments, **keywords)\n--\n\n"
		"Call a function by its name, wait, and return what it returns.\n\n"
		"Parameters\n----------\n"
		"name : str\n"
		"*arguments, **keywords\n    As of a `Function`: its arguments and options, such as ``timeout=``."},
	{"submit", KEYWORDS(client_submit), METH_VARARGS | METH_KEYWORDS,
		"submit($self, name, /, *arguments, **keywords)\n--\n\n"
		"Call a function without waiting for it: a Ticket.\n\n"
		"Parameters\n----------\n"
		"name : str\n"
		"*arguments, **keywords\n    As of `Function.submit`."},
	{"function", KEYWORDS(client_function), METH_VARARGS | METH_KEYWORDS,
		"function($self, /, name, signature=None, *, timeout=None, cancel=None)\n--\n\n"
		"A function of the service, as a Function.\n\n"
		"Parameters\n----------\n"
		"name : str\n"
		"signature : str, optional\n    What the caller takes it for.\n"
		"timeout : float or None\n"
		"    Seconds to wait until it is offered, while the service is starting. Left out: that of the\n"
		"    Client.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"NotFound\n    The service has no such function.\n"
		"InvalidArgument\n    Its signature is another one: the message has both."},
	{"functions", client_functions, METH_NOARGS,
		"functions($self, /)\n--\n\nWhat the service offers, as a list of FunctionInfo."},
	{"info", client_info, METH_NOARGS,
		"info($self, /)\n--\n\nThe state of the service, as a ServiceInfo."},
	{"wait_ready", KEYWORDS(client_wait_ready), METH_VARARGS | METH_KEYWORDS,
		"wait_ready($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"Wait until the server has offered all functions.\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"Unavailable\n    The service drains, or was closed.\n"
		"PeerLost\n    The server has ended."},
	{"lane_timeline", KEYWORDS(client_lane_timeline), METH_VARARGS | METH_KEYWORDS,
		"lane_timeline($self, /, lane=0, timeout=None, *, cancel=None)\n--\n\n"
		"The Timeline of a lane, by which a stream waits for calls.\n\n"
		"It reaches `Ticket.value` when the call is complete, however that ended:\n"
		"``timeline.wait(ticket.value, stream=stream)``. Keep it: each use of this asks the server.\n\n"
		"Parameters\n----------\n"
		"lane : int\n    0 to 63.\n"
		"timeout : float or None\n    Seconds to wait for the server.\n"
		"cancel : Cancel, optional"},
	{"close", client_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Leave the service. Calls that were not started are dropped; waits raise ValueError."},
	{"__dir__", client_dir, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", client_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"closed", get_closed, NULL, "bool: this process has closed it.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Client(name, *, timeout=0.0, observe=False, group=None, broker=None, cancel=None)\n--\n\n"
		    "Calls functions of a service: a process that runs them on arrays that stay where they are.\n\n"
		    "Parameters\n----------\n"
		    "name : str or Token\n"
		    "timeout : float or None\n"
		    "    Seconds to wait for the name; and for each function while the service is starting.\n"
		    "observe : bool\n    Only look at its functions and state; nothing can be called.\n"
		    "group : int, optional\n"
		    "    By which functions may be limited; None: this process's own.\n"
		    "broker : Broker, optional\n"
		    "cancel : Cancel, optional\n\n"
		    "Each function of the service is an attribute, a `Function`: ``client.saxpy(2.0, x, y)``. One\n"
		    "whose name is no attribute, or one of a Client's own, is called by `call`. The process needs no\n"
		    "device: memories go as tokens. Several threads may use a Client.\n\n"
		    "Raises\n------\n"
		    "NotFound, Timeout\n    There is no such name.\n"
		    "AccessDenied\n    Its mode does not allow calls.\n"
		    "Unsupported\n    The object is no service.")},
	{Py_tp_new, client_new},
	{Py_tp_dealloc, client_dealloc},
	{Py_tp_repr, client_repr},
	{Py_tp_getattro, client_getattro},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Client",
	.basicsize = sizeof(struct client_handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *client_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
