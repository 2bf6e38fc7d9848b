/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function.c - warpway.Function: a function of a service, as its clients call it
 *
 * The keywords of a call are the parameters of the signature. Those that are no parameters are
 * options of the call, such as timeout.
 */
#include "client.h"

#include <time.h>

#include "call_value.h"

struct function {
	PyObject_HEAD
	PyObject *weakrefs;
	struct client_state *state; /* a reference */
	struct call_form *form;
	PyObject *name; /* a str */
	uint32_t index;
	uint32_t flags; /* WW_FUNCTION_... */
};

static struct function *function_of(PyObject *self)
{
	return (struct function *)self;
}

static void *state_ref(void *object)
{
	return client_state_ref(object);
}

static void *state_unref(void *object)
{
	return client_state_unref(object);
}

/* A reference of the state alone, whether the Client is closed or not. */
static const struct handle_class state_class = {"Client", state_ref, state_unref};

/* --- finding one --- */

struct find_call {
	const char *name;
	const char *signature;
	uint32_t index;
	struct ww_function_info info;
};

static ww_status find_by(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct find_call *args = call;
	ww_status status = ww_client_find(client, args->name, args->signature, timeout_ns, cancel,
		&args->index);

	if (status != WW_OK)
		return status;
	args->info = WW_INIT(struct ww_function_info);
	return ww_client_function_info_get(client, args->index, &args->info);
}

struct state_find {
	struct client_state *state;
	struct find_call find;
};

static ww_status run_find(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct state_find *args = call;

	return client_state_call(args->state, find_by, &args->find, timeout_ns, cancel);
}

static PyObject *function_object(struct core *core, struct client_state *state, PyObject *name,
	const struct find_call *found)
{
	struct call_form *form = call_form_read(core, found->info.signature);
	struct function *made = NULL;

	if (form)
		made = (struct function *)PyType_GenericAlloc(core->types[CORE_FUNCTION], 0);
	if (!made) {
		call_form_unref(form);
		return NULL;
	}
	made->state = client_state_ref(state);
	made->form = form;
	made->name = Py_NewRef(name);
	made->index = found->index;
	made->flags = found->info.flags;
	return (PyObject *)made;
}

PyObject *function_find(struct core *core, struct client_state *state, PyObject *name,
	const char *signature, uint64_t timeout_ns, PyObject *cancel)
{
	struct state_find call = {.state = state, .find.signature = signature};
	PyObject *bytes, *made = NULL;
	char *text = NULL;
	ww_status status;

	bytes = text_bytes(name, &text);
	if (!bytes)
		return NULL;
	call.find.name = text;
	status = wait_run(core, run_find, &call, timeout_ns, cancel);
	if (status == WW_OK)
		made = function_object(core, state, name, &call.find);
	else if (status == WW_TIMED_OUT)
		error_raise_text(core, status,
			"the service is starting, and has not offered '%s' within the time limit",
			text);
	else
		client_fail(core, status);
	Py_DECREF(bytes);
	return made;
}

static void function_dealloc(PyObject *self)
{
	if (function_of(self)->weakrefs)
		PyObject_ClearWeakRefs(self);
	handle_return(&state_class, function_of(self)->state);
	call_form_unref(function_of(self)->form);
	Py_XDECREF(function_of(self)->name);
	instance_free(self);
}

/* --- options of a call --- */

struct options {
	uint64_t timeout_ns;
	PyObject *cancel; /* borrowed; or NULL */
	struct ww_submit_params params;
	uint64_t depends[WW_SUBMIT_DEPENDS_MAX]; /* of several calls */
	ww_timeline *after;                      /* a reference, or NULL */
	bool has_ticket;                         /* the caller gets it */
	int is_repeated;                         /* if the server ends */
};

static bool read_deadline(PyObject *value, uint64_t *out_ns)
{
	if (value == Py_None)
		return true;
	if (!convert_timeout(value, out_ns))
		return false;
	if (*out_ns == 0)
		*out_ns = 1; /* 0 means none to the library */
	return true;
}

static bool read_lane(PyObject *value, uint32_t *out_lane)
{
	uint64_t lane = 0;

	if (!convert_bytes(value, &lane))
		return false;
	*out_lane = lane < UINT32_MAX ? (uint32_t)lane : UINT32_MAX;
	return true;
}

/* The number of a call, or its Ticket. */
static bool read_number(PyObject *value, uint64_t *out_number)
{
	PyObject *number = PyIndex_Check(value) || value == Py_None
		? Py_NewRef(value)
		: PyObject_GetAttrString(value, "number");
	bool is_read = number && convert_bytes(number, out_number);

	Py_XDECREF(number);
	return is_read;
}

/* One call, or a tuple of calls. */
static bool read_depends_on(PyObject *value, struct options *options)
{
	Py_ssize_t count;

	if (!PyTuple_Check(value))
		return read_number(value, &options->params.depends_on);
	count = PyTuple_Size(value);
	if (count > WW_SUBMIT_DEPENDS_MAX) {
		PyErr_Format(PyExc_ValueError,
			"a call cannot depend on %zd others: %d are the most", count,
			WW_SUBMIT_DEPENDS_MAX);
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		if (!read_number(PyTuple_GetItem(value, i), &options->depends[i]))
			return false;
	}
	options->params.depends_more = options->depends;
	options->params.depends_more_count = (uint32_t)count;
	return true;
}

static bool read_chain(PyObject *value, uint64_t *flags)
{
	int is_chained = PyObject_IsTrue(value);

	if (is_chained > 0)
		*flags |= WW_SUBMIT_CHAIN;
	return is_chained >= 0;
}

/* A timeline, or its token, and a value. What a tuple has stays as long as it. */
static bool read_after(struct core *core, PyObject *value, struct options *options)
{
	PyObject *object;

	if (value == Py_None)
		return true;
	if (!PyTuple_Check(value) || PyTuple_Size(value) != 2) {
		PyErr_Format(PyExc_TypeError, "after is a tuple (timeline, value), not %R", value);
		return false;
	}
	object = PyTuple_GetItem(value, 0);
	if (Py_TYPE(object) == core->types[CORE_TOKEN]) {
		options->params.after_token = token_of(core, object);
	} else if (Py_TYPE(object) == core->types[CORE_TIMELINE]) {
		options->after = handle_borrow(object, &timeline_class);
		options->params.after = options->after;
		if (!options->after)
			return false;
	} else {
		PyErr_Format(PyExc_TypeError,
			"the first of after is a warpway.Timeline or Token, not %R",
			(PyObject *)Py_TYPE(object));
		return false;
	}
	return convert_bytes(PyTuple_GetItem(value, 1), &options->params.after_value);
}

/* A call that need not wait does not look at it. */
static bool read_cancel(const struct core *core, PyObject *value, PyObject **out_cancel)
{
	*out_cancel = value;
	if (value == Py_None || Py_TYPE(value) == core->types[CORE_CANCEL])
		return true;
	PyErr_Format(PyExc_TypeError, "this argument is a Cancel, not %R", value);
	return false;
}

static bool read_repeat(PyObject *value, struct options *options)
{
	options->is_repeated = PyObject_IsTrue(value);
	if (options->is_repeated <= 0 || !options->has_ticket)
		return options->is_repeated >= 0;
	PyErr_Format(PyExc_TypeError,
		"a call that has a Ticket is not repeated: call the function, instead of submit()");
	return false;
}

static bool read_option(PyObject *self, struct options *options, PyObject *key, PyObject *value)
{
	if (PyUnicode_CompareWithASCIIString(key, "timeout") == 0)
		return convert_timeout(value, &options->timeout_ns);
	if (PyUnicode_CompareWithASCIIString(key, "deadline") == 0)
		return read_deadline(value, &options->params.deadline_ns);
	if (PyUnicode_CompareWithASCIIString(key, "lane") == 0)
		return read_lane(value, &options->params.lane);
	if (PyUnicode_CompareWithASCIIString(key, "depends_on") == 0)
		return read_depends_on(value, options);
	if (PyUnicode_CompareWithASCIIString(key, "chain") == 0)
		return read_chain(value, &options->params.flags);
	if (PyUnicode_CompareWithASCIIString(key, "after") == 0)
		return read_after(core_of(self), value, options);
	if (PyUnicode_CompareWithASCIIString(key, "cancel") == 0)
		return read_cancel(core_of(self), value, &options->cancel);
	if (PyUnicode_CompareWithASCIIString(key, "repeat") == 0)
		return read_repeat(value, options);
	PyErr_Format(PyExc_TypeError, "'%U' has no parameter '%U': its signature is '%U'",
		function_of(self)->name, key, function_of(self)->form->text);
	return false;
}

/* Index of the parameter; -1: there is none. */
static int find_parameter(const struct call_form *form, PyObject *key)
{
	for (uint32_t i = 0; i < form->parameter_count; i++) {
		if (form->items[i].name == key || PyUnicode_Compare(form->items[i].name, key) == 0)
			return (int)i;
	}
	return -1;
}

/* --- arguments --- */

/* Each parameter's object, borrowed. Return: false with an exception. */
static bool sort_keywords(PyObject *self, PyObject *keywords, PyObject *objects[],
	struct options *options)
{
	const struct function *function = function_of(self);
	PyObject *key, *value;
	Py_ssize_t at = 0;

	while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
		int i = find_parameter(function->form, key);

		if (i < 0) {
			if (!read_option(self, options, key, value))
				return false;
		} else if (objects[i]) {
			PyErr_Format(PyExc_TypeError, "'%U' got two values for its parameter '%U'",
				function->name, key);
			return false;
		} else {
			objects[i] = value;
		}
	}
	return true;
}

static bool sort_arguments(PyObject *self, PyObject *arguments, PyObject *objects[])
{
	const struct function *function = function_of(self);
	Py_ssize_t count = PyTuple_Size(arguments);

	if (count > (Py_ssize_t)function->form->parameter_count) {
		PyErr_Format(PyExc_TypeError,
			"'%U' takes at most %u arguments, not %zd: its signature is '%U'",
			function->name, function->form->parameter_count, count,
			function->form->text);
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++)
		objects[i] = PyTuple_GetItem(arguments, i);
	return true;
}

static bool fail_missing(const struct function *function, uint32_t index)
{
	PyErr_Format(PyExc_TypeError, "'%U' needs its parameter '%U': its signature is '%U'",
		function->name, function->form->items[index].name, function->form->text);
	return false;
}

static bool read_arguments(PyObject *self, PyObject *arguments, PyObject *keywords,
	struct call_values *values, struct options *options)
{
	const struct function *function = function_of(self);
	PyObject *objects[WW_CALL_ARGS_MAX] = {NULL};

	if (!sort_arguments(self, arguments, objects) ||
		!sort_keywords(self, keywords, objects, options))
		return false;
	for (uint32_t i = 0; i < function->form->parameter_count; i++) {
		const struct call_item *item = &function->form->items[i];

		if (!objects[i] &&
			!(item->flags & (WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION)))
			return fail_missing(function, i);
		if (!call_values_add(core_of(self), values, item, objects[i] ? objects[i] : Py_None,
			    "argument", options->cancel))
			return false;
	}
	return true;
}

/* --- the call --- */

struct submit_call {
	struct client_state *state;
	uint32_t function;
	const struct call_values *values;
	const struct ww_submit_params *params;
	struct ticket_state *ticket;
};

static ww_status submit_by(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct submit_call *args = call;
	ww_ticket *ticket;
	ww_status status = ww_client_submit(client, args->function, args->values->values,
		args->values->count, args->params, timeout_ns, cancel, &ticket);

	if (status != WW_OK)
		return status;
	args->ticket = ticket_state_new(args->state, ticket);
	return args->ticket ? WW_OK : WW_ERR_NO_MEMORY;
}

static ww_status run_submit(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct submit_call *args = call;

	return client_state_call(args->state, submit_by, args, timeout_ns, cancel);
}

/* Usually there is room: so the first try is without signals. */
static ww_status submit_in_time(struct core *core, struct submit_call *call,
	const struct options *options)
{
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = run_submit(call, 0, NULL);
	Py_END_ALLOW_THREADS
	if (status != WW_TIMED_OUT || options->timeout_ns == 0)
		return status;
	return wait_run(core, run_submit, call, options->timeout_ns, options->cancel);
}

static PyObject *submit_values(PyObject *self, const struct call_values *values,
	const struct options *options)
{
	struct function *function = function_of(self);
	struct submit_call call = {
		.state = function->state,
		.function = function->index,
		.values = values,
		.params = &options->params,
	};
	ww_status status = submit_in_time(core_of(self), &call, options);

	if (status == WW_OK)
		return ticket_object(core_of(self), call.ticket, function->form, values->held);
	if (status == WW_TIMED_OUT)
		return error_raise_text(core_of(self), status,
			"there was no room for the call within the time limit: earlier ones of this "
			"Client have not ended");
	return client_fail(core_of(self), status);
}

/* --- calls that are made again when their server has ended --- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Ends of the time limit and of the deadline; WW_FOREVER: none. */
struct limits {
	uint64_t end_ns;
	uint64_t start_ns;
};

static uint64_t end_of(uint64_t limit_ns)
{
	uint64_t now = now_ns();

	return limit_ns < WW_FOREVER - now ? now + limit_ns : WW_FOREVER;
}

/* Leaves in the options what is left. Return: false: the time is over. */
static bool limits_apply(const struct limits *limits, struct options *options)
{
	uint64_t now = now_ns();

	if (now >= limits->end_ns || now >= limits->start_ns)
		return false;
	if (limits->end_ns != WW_FOREVER)
		options->timeout_ns = limits->end_ns - now;
	if (limits->start_ns != WW_FOREVER)
		options->params.deadline_ns = limits->start_ns - now;
	return true;
}

static PyObject *call_once(PyObject *self, const struct call_values *values,
	const struct options *options)
{
	PyObject *ticket = submit_values(self, values, options), *result = NULL;

	if (ticket)
		result = ticket_wait(ticket, options->timeout_ns, options->cancel, true);
	Py_XDECREF(ticket);
	return result;
}

/* Whether the exception is that the server of a state has ended. A function may raise PeerLost. */
static bool has_lost_server(struct core *core, struct client_state *state)
{
	bool is_over;

	if (!PyErr_ExceptionMatches(error_class(core, WW_ERR_PEER_LOST)))
		return false;
	Py_BEGIN_ALLOW_THREADS
	is_over = client_state_is_over(state);
	Py_END_ALLOW_THREADS
	return is_over;
}

static bool may_repeat(PyObject *self, const struct options *options)
{
	const struct function *function = function_of(self);

	return options->is_repeated && function->state->is_named &&
		function->flags & WW_FUNCTION_IDEMPOTENT && options->params.depends_on == 0 &&
		options->params.depends_more_count == 0 && options->params.flags == 0 &&
		has_lost_server(core_of(self), function->state);
}

struct next_call {
	struct client_state *state;
	struct client_state *next;
	struct ww_service_info lost;
	struct ww_service_info found;
};

static ww_status run_next(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct next_call *args = call;
	ww_status status = client_state_info(args->state, &args->lost);

	if (status == WW_OK)
		status = client_state_next(args->state, timeout_ns, cancel, &args->next);
	if (status == WW_OK)
		status = client_state_info(args->next, &args->found);
	return status;
}

static PyObject *fail_next(struct core *core, const struct client_state *state, ww_status status)
{
	if (status == WW_TIMED_OUT)
		return error_raise_text(core, status,
			"the server of '%s' has ended, and no other one has come within the time "
			"limit",
			state->name);
	return client_fail(core, status);
}

/* Anyone may have taken the name since, and a call has tokens. */
static bool check_user(struct core *core, const struct next_call *call)
{
	if (call->found.uid == call->lost.uid)
		return true;
	error_raise_text(core, WW_ERR_ACCESS,
		"the call is not repeated: the server of '%s' has ended, and the next one is of user "
		"%u, not %u; open the service anew if that is right",
		call->state->name, call->found.uid, call->lost.uid);
	return false;
}

static bool check_idempotent(PyObject *function)
{
	if (function_of(function)->flags & WW_FUNCTION_IDEMPOTENT)
		return true;
	PyErr_Format(error_class(core_of(function), WW_ERR_MISMATCH),
		"the call is not repeated: the next server does not offer '%U' as idempotent",
		function_of(function)->name);
	return false;
}

/* The same function of the next server. */
static PyObject *find_again(PyObject *self, struct client_state *next,
	const struct options *options)
{
	PyObject *bytes, *found = NULL;
	char *signature;

	bytes = text_bytes(function_of(self)->form->text, &signature);
	if (bytes)
		found = function_find(core_of(self), next, function_of(self)->name, signature,
			options->timeout_ns, options->cancel);
	Py_XDECREF(bytes);
	if (found && !check_idempotent(found))
		Py_CLEAR(found);
	return found;
}

/* By the next server. @out_is_lost: it has ended, too */
static PyObject *call_next(PyObject *self, const struct call_values *values,
	const struct options *options, bool *out_is_lost)
{
	struct next_call call = {.state = function_of(self)->state};
	struct core *core = core_of(self);
	uint64_t wait_ns = options->timeout_ns;
	PyObject *function = NULL, *result = NULL;
	ww_status status;

	if (options->params.deadline_ns > 0 && options->params.deadline_ns < wait_ns)
		wait_ns = options->params.deadline_ns;
	status = wait_run(core, run_next, &call, wait_ns, options->cancel);
	if (status != WW_OK)
		fail_next(core, call.state, status);
	else if (check_user(core, &call))
		function = find_again(self, call.next, options);
	if (function)
		result = call_once(function, values, options);
	*out_is_lost = !result && call.next && has_lost_server(core, call.next);
	Py_XDECREF(function);
	handle_return(&state_class, call.next);
	return result;
}

static PyObject *call_values(PyObject *self, const struct call_values *values,
	struct options *options)
{
	uint64_t deadline_ns = options->params.deadline_ns;
	const struct limits limits = {
		.end_ns = end_of(options->timeout_ns),
		.start_ns = deadline_ns ? end_of(deadline_ns) : WW_FOREVER,
	};
	PyObject *result = call_once(self, values, options);
	bool is_lost = !result && may_repeat(self, options);

	while (is_lost) {
		PyErr_Clear();
		if (!limits_apply(&limits, options))
			return fail_next(core_of(self), function_of(self)->state, WW_TIMED_OUT);
		result = call_next(self, values, options, &is_lost);
	}
	return result;
}

/* --- calling --- */

static PyObject *apply(PyObject *self, PyObject *arguments, PyObject *keywords, bool has_ticket)
{
	struct options options = {
		.timeout_ns = WW_FOREVER,
		.params = WW_INIT(struct ww_submit_params),
		.has_ticket = has_ticket,
	};
	struct call_values values;
	PyObject *result = NULL;

	CALL_VALUES_INIT(&values);
	if (read_arguments(self, arguments, keywords, &values, &options))
		result = has_ticket ? submit_values(self, &values, &options)
				    : call_values(self, &values, &options);
	call_values_fini(&values);
	handle_return(&timeline_class, options.after);
	return result;
}

PyObject *function_submit(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return apply(self, arguments, keywords, true);
}

PyObject *function_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return apply(self, arguments, keywords, false);
}

/* --- what it is --- */

static PyObject *get_name(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef(function_of(self)->name);
}

static PyObject *get_signature(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef(function_of(self)->form->text);
}

static PyObject *get_parameters(PyObject *self, void *unused)
{
	const struct call_form *form = function_of(self)->form;

	(void)unused;
	return call_items_tuple(form->items, form->parameter_count);
}

static PyObject *get_results(PyObject *self, void *unused)
{
	const struct call_form *form = function_of(self)->form;

	(void)unused;
	return call_items_tuple(call_form_results(form), form->result_count);
}

static PyObject *function_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<warpway.Function %U(%U)>", function_of(self)->name,
		function_of(self)->form->text);
}

static PyMethodDef methods[] = {
	{"submit", KEYWORDS(function_submit), METH_VARARGS | METH_KEYWORDS,
		"submit($self, /, *arguments, **keywords)\n--\n\n"
		"Call the function without waiting for it: a Ticket.\n\n"
		"It takes what a call takes. `timeout` is for room: a Client has a limit on calls that have\n"
		"not ended."},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"name", get_name, NULL, "str: its name.", NULL},
	{"signature", get_signature, NULL, "str: its signature, in canonical form.", NULL},
	{"parameters", get_parameters, NULL,
		"tuple of (name, type, access, is_optional): what it takes. The access of an array is 'read' "
		"or 'write'.",
		NULL},
	{"results", get_results, NULL,
		"tuple of (name, type, access, is_optional): what it returns.", NULL},
	{NULL},
};

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weakrefs), READONLY, NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("A function of a service; an attribute of a Client.\n\n"
		    "It is called with arguments by position and by the names of its signature. Numbers, bool and\n"
		    "bytes are copied. An array is an Array, Memory or Token: it stays where it is. None stands for\n"
		    "an argument that is left out. These keywords are options, unless the signature has a parameter\n"
		    "of the name:\n\n"
		    "- ``timeout``: seconds to wait, for room and for the end. When they have passed, the call is\n"
		    "  cancelled and `Timeout` raised. None: no limit.\n"
		    "- ``deadline``: seconds from now: the function is not started later. If all threads of the\n"
		    "  server are busy, the answer comes later: only `timeout` limits the wait.\n"
		    "- ``lane``: 0 to 63: calls of one lane run in their order.\n"
		    "- ``depends_on``: a Ticket, or its number, or a tuple of up to six of these: if one of these\n"
		    "  calls fails, this one is not run.\n"
		    "- ``chain``: True: the call depends on the one before it in its lane.\n"
		    "- ``after``: (timeline, value), a Timeline or a Token of one, and a number: the call waits in\n"
		    "  its lane until the timeline has completed the value. If the value never comes, since\n"
		    "  the signaller has ended or has closed the timeline, it ends with `DependencyFailed`. The\n"
		    "  Client keeps a Timeline that is given until then. If this process is the signaller, to\n"
		    "  close it does not end the wait: cancel the call, or set a deadline.\n"
		    "- ``cancel``: a Cancel, which ends the wait and cancels the call.\n"
		    "- ``repeat``: True: if the server ends before it has answered, wait within `timeout` and\n"
		    "  `deadline` for the next server of the name, and call its function. The first may have run,\n"
		    "  so both must be offered with ``idempotent=True``; the Client was opened by name, the next\n"
		    "  server is of the same user, and the call depends on no other one. Otherwise `PeerLost` is\n"
		    "  raised, or the reason why the next server does not get the call. Not for `submit`.")},
	{Py_tp_dealloc, function_dealloc},
	{Py_tp_call, function_call},
	{Py_tp_repr, function_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Function",
	.basicsize = sizeof(struct function),
	.flags = TYPE_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

PyTypeObject *function_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
