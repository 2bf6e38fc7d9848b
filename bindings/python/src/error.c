/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - exceptions made of statuses and of the thread's error record
 *
 * Each status has a class below warpway.Error, which is also a class that Python users expect:
 * warpway.Timeout is a TimeoutError, warpway.AccessDenied a PermissionError. An exception has the
 * attributes status, status_name, domain, native and message.
 */
#include "core.h"

#include <stdarg.h>

/* What the library's status WW_END, which has no error record, means to users of this package. */
#define END_OF_CHANNEL                                                                           \
	"no frame comes any more: the producer has closed the channel, the work queue was shut " \
	"down, or its producers have left"

struct error_class {
	const char *name;
	PyObject **base; /* beside warpway.Error; NULL: none */
	const char *doc;
	ww_status statuses[5]; /* 0 ends them */
};

static const struct error_class classes[] = {
	{"Error", NULL,
		"A call of Warpway failed. All other exceptions of this package are below it.\n\n"
		"Attributes\n----------\n"
		"status : int\n    The library's status: below 0 for errors, above 0 for Timeout and Cancelled.\n"
		"status_name : str\n    Such as 'WW_ERR_ACCESS'.\n"
		"domain : str\n    Where `native` comes from: 'warpway', 'errno' or 'cuda'.\n"
		"native : int\n    An errno value, a CUresult, or 0.\n"
		"message : str\n    What was tried, why it failed, and what to do; as str() of the exception.",
		{WW_ERR_DEVICE, WW_ERR_SYSTEM}},
	{"InvalidArgument", &PyExc_ValueError, "An argument is not one that the call accepts.",
		{WW_ERR_INVALID, WW_ERR_OVERFLOW, WW_ERR_MISMATCH, WW_ERR_DESCRIPTOR}},
	{"OutOfMemory", &PyExc_MemoryError, "The machine or the device has too little memory.",
		{WW_ERR_NO_MEMORY, WW_ERR_DEVICE_MEMORY}},
	{"LimitReached", NULL,
		"A pool is full, or there are no more descriptors, mappings or threads.",
		{WW_ERR_LIMIT}},
	{"Unsupported", NULL, "This device, driver or kind of memory cannot do it.",
		{WW_ERR_UNSUPPORTED}},
	{"NoDevice", NULL, "There is no such device, or it cannot be used.", {WW_ERR_NO_DEVICE}},
	{"AccessDenied", &PyExc_PermissionError, "More access than was granted.", {WW_ERR_ACCESS}},
	{"ProtocolError", NULL,
		"Bytes from elsewhere that are no token or message of Warpway, or of another version.",
		{WW_ERR_PROTOCOL, WW_ERR_TRUNCATED, WW_ERR_VERSION}},
	{"PeerLost", &PyExc_ConnectionError, "The other process ended, or let go of the object.",
		{WW_ERR_PEER_LOST, WW_ERR_GIVEN_UP}},
	{"Forked", &PyExc_RuntimeError,
		"A child made by fork() uses what is its parent's alone, or its parent had used a GPU.",
		{WW_ERR_FORKED}},
	{"NotFound", &PyExc_LookupError,
		"There is no object of this name or token, or not any more.", {WW_ERR_NOT_FOUND}},
	{"AlreadyExists", &PyExc_FileExistsError, "The name is taken.", {WW_ERR_EXISTS}},
	{"QuotaExceeded", NULL, "The user's share of what a broker may hold is used up.",
		{WW_ERR_QUOTA}},
	{"WrongState", NULL, "The object is not in the state that the call needs.", {WW_ERR_STATE}},
	{"CallError", NULL,
		"A function of a service has raised an exception. The message has its type and text, as far as "
		"239 bytes go. What a function raises of this package's own arrives as it is, but for WrongState, "
		"Timeout, Cancelled and EndOfChannel, which tell of a wait or an object of the server.",
		{FUNCTION_FAILED}},
	{"NoBroker", &PyExc_ConnectionError, "No broker listens there, or it does not answer.",
		{WW_ERR_NO_BROKER}},
	{"EndOfChannel", &PyExc_EOFError,
		"No frame comes any more: the producer has closed the channel, the work queue was shut down, or "
		"its producers have left (end_after_producers).",
		{WW_END}},
	{"Evicted", &PyExc_ConnectionError,
		"The producer of a channel has ended this consumer's subscription; or evicted consumers hold "
		"all slots.",
		{WW_ERR_EVICTED}},
	{"Unavailable", &PyExc_ConnectionError,
		"The server of a service takes no calls any more: it drains, or has closed the service.",
		{WW_ERR_UNAVAILABLE}},
	{"DependencyFailed", NULL,
		"A call was not run, since a call that it depends on has failed. Its attribute `failed_call` "
		"is the number of that one; 0: the value of a timeline that it starts after never comes.",
		{WW_ERR_DEPENDENCY_FAILED}},
	{"Timeout", &PyExc_TimeoutError, "The time limit passed first.", {WW_TIMED_OUT}},
	{"Cancelled", NULL, "The Cancel object of the call was set first.", {WW_CANCELLED}},
};

#define CLASSES (sizeof(classes) / sizeof(classes[0]))
_Static_assert(CLASSES <= CORE_ERRORS, "the state has a place for each class");

static bool set_attribute(PyObject *error, const char *name, PyObject *value)
{
	bool done = value && PyObject_SetAttrString(error, name, value) == 0;

	Py_XDECREF(value);
	return done;
}

/* CallError is an exception of its own for a status that others have, too. */
static ww_status told_status(ww_status status)
{
	return status == FUNCTION_FAILED ? WW_ERR_STATE : status;
}

/*
 * What an exception has that was made in Python, such as ``raise warpway.Timeout("...")``, and of a
 * call that was never made.
 */
static bool set_defaults(PyObject *made, ww_status status)
{
	return set_attribute(made, "has_started", PyBool_FromLong(0)) &&
		set_attribute(made, "failed_call", PyLong_FromLong(0)) &&
		set_attribute(made, "status", PyLong_FromLong(status)) &&
		set_attribute(made, "status_name",
			PyUnicode_FromString(status == WW_OK ? "" : ww_status_name(status))) &&
		set_attribute(made, "domain", PyUnicode_FromString("warpway")) &&
		set_attribute(made, "native", PyLong_FromLong(0)) &&
		set_attribute(made, "message", PyUnicode_FromString(""));
}

static PyObject *class_new(struct core *core, size_t i)
{
	const struct error_class *class = &classes[i];
	PyObject *bases, *made;
	char name[64];

	snprintf(name, sizeof(name), "warpway.%s", class->name);
	if (i == 0)
		bases = PyTuple_Pack(1, PyExc_Exception);
	else if (class->base)
		bases = PyTuple_Pack(2, core->errors[0], *class->base);
	else
		bases = PyTuple_Pack(1, core->errors[0]);
	if (!bases)
		return NULL;
	made = PyErr_NewExceptionWithDoc(name, class->doc, bases, NULL);
	Py_DECREF(bases);
	if (made && !set_defaults(made, i == 0 ? WW_OK : told_status(class->statuses[0])))
		Py_CLEAR(made);
	return made;
}

int errors_add(struct core *core)
{
	for (size_t i = 0; i < CLASSES; i++) {
		core->errors[i] = class_new(core, i);
		if (!core->errors[i] ||
			PyModule_AddObjectRef(core->module, classes[i].name, core->errors[i]) < 0)
			return -1;
	}
	return 0;
}

PyObject *error_class(const struct core *core, ww_status status)
{
	for (size_t i = 0; i < CLASSES; i++) {
		for (const ww_status *known = classes[i].statuses; *known; known++) {
			if (*known == status)
				return core->errors[i];
		}
	}
	return core->errors[0];
}

static PyObject *error_message(const struct ww_error *record)
{
	char text[ERROR_TEXT_BYTES];

	error_text(record->message, text);
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *error_raise_record(struct core *core, const struct ww_error *record)
{
	static const char *const domains[] = {"warpway", "errno", "cuda"};
	const char *domain = (uint32_t)record->domain < 3 ? domains[record->domain] : "unknown";
	PyObject *message = error_message(record);
	ww_status status = told_status(record->status);
	PyObject *class = error_class(core, record->status);
	PyObject *error = message ? PyObject_CallFunctionObjArgs(class, message, NULL) : NULL;

	if (error && set_attribute(error, "status", PyLong_FromLong(status)) &&
		set_attribute(error, "status_name", PyUnicode_FromString(ww_status_name(status))) &&
		set_attribute(error, "domain", PyUnicode_FromString(domain)) &&
		set_attribute(error, "native", PyLong_FromLongLong(record->native)) &&
		set_attribute(error, "message", Py_NewRef(message)))
		PyErr_SetObject(class, error);
	Py_XDECREF(error);
	Py_XDECREF(message);
	return NULL;
}

PyObject *error_raise(struct core *core, ww_status status)
{
	struct ww_error record = {.status = status};

	if (status == STATUS_RAISED)
		return NULL;
	if (status < 0 && ww_error_last()->status == status)
		record = *ww_error_last();
	else
		snprintf(record.message, sizeof(record.message), "%s",
			status == WW_END ? END_OF_CHANNEL : ww_status_text(status));
	return error_raise_record(core, &record);
}

PyObject *error_raise_join(struct core *core, ww_status status, const char *name)
{
	if (status != WW_TIMED_OUT || !name)
		return error_raise(core, status);
	return error_raise_text(core, status,
		"'%s' has not come within the time limit; `warpway ls` shows what is there", name);
}

PyObject *error_raise_text(struct core *core, ww_status status, const char *format, ...)
{
	struct ww_error record = {.status = status};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(record.message, sizeof(record.message), format, arguments);
	va_end(arguments);
	return error_raise_record(core, &record);
}
