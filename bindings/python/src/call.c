/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - warpway.Call: a call, as the function that runs for it sees it
 *
 * The library lets one thread at a time use a ww_call, until the function has returned. So every
 * use here is under the GIL; the thread that serves uses it without the GIL only before the Call is
 * made, and after it has ended.
 */
#include "service.h"

struct call {
	PyObject_HEAD
	PyObject *weakrefs;
	ww_call *call;    /* NULL: the function has returned */
	PyObject *stream; /* a Stream; NULL: not asked for yet */
	struct ww_call_info info;
};

static struct call *call_of(PyObject *self)
{
	return (struct call *)self;
}

PyObject *call_object(struct core *core, ww_call *call)
{
	struct ww_call_info info = WW_INIT(struct ww_call_info);
	ww_status status = ww_call_info_get(call, &info);
	struct call *made;

	if (status != WW_OK)
		return error_raise(core, status);
	made = (struct call *)PyType_GenericAlloc(core->types[CORE_CALL], 0);
	if (made) {
		made->call = call;
		made->info = info;
	}
	return (PyObject *)made;
}

void call_end(PyObject *self)
{
	if (!self)
		return;
	call_of(self)->call = NULL;
	Py_CLEAR(call_of(self)->stream);
}

static void call_dealloc(PyObject *self)
{
	if (call_of(self)->weakrefs)
		PyObject_ClearWeakRefs(self);
	Py_XDECREF(call_of(self)->stream);
	instance_free(self);
}

static ww_call *require_running(PyObject *self)
{
	if (!call_of(self)->call)
		PyErr_SetString(PyExc_ValueError, "this Call has ended: its function has returned");
	return call_of(self)->call;
}

static PyObject *call_is_cancelled(PyObject *self, PyObject *unused)
{
	ww_call *call = require_running(self);

	(void)unused;
	return call ? PyBool_FromLong(ww_call_is_cancelled(call)) : NULL;
}

/* Raises, so that nothing of the function runs any more. */
static PyObject *call_fail(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"message", "error", NULL};
	const struct core *core = core_of(self);
	PyObject *error = error_class(core, WW_ERR_STATE), *message;
	int is_error;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|O:fail", names, &message, &error))
		return NULL;
	is_error = PyType_Check(error)
		? PyObject_IsSubclass(error, error_class(core, WW_ERR_SYSTEM))
		: 0;
	if (is_error == 0)
		PyErr_Format(PyExc_TypeError, "error is a class below warpway.Error, not %R",
			error);
	else if (is_error > 0)
		PyErr_SetObject(error, message);
	return NULL;
}

static PyObject *get_stream(PyObject *self, void *unused)
{
	ww_call *call = require_running(self);
	ww_stream *stream;
	ww_status status;

	(void)unused;
	if (!call)
		return NULL;
	if (!call_of(self)->stream) {
		status = ww_call_stream(call, &stream);
		if (status != WW_OK)
			return error_raise(core_of(self), status);
		call_of(self)->stream = stream_object(core_of(self), ww_stream_ref(stream), NULL);
	}
	return Py_XNewRef(call_of(self)->stream);
}

static PyObject *get_small(PyObject *self, void *field)
{
	return info_u32(&call_of(self)->info, field);
}

static PyObject *get_text(PyObject *self, void *field)
{
	return info_text((char *)&call_of(self)->info + (size_t)field);
}

static PyObject *get_number(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(call_of(self)->info.number);
}

static PyObject *get_deadline(PyObject *self, void *unused)
{
	(void)unused;
	return call_of(self)->info.deadline_ns == WW_FOREVER
		? Py_NewRef(Py_None)
		: info_seconds(call_of(self)->info.deadline_ns);
}

static PyObject *call_repr(PyObject *self)
{
	const struct ww_call_info *info = &call_of(self)->info;

	return PyUnicode_FromFormat("<warpway.Call %llu of %s, by process %u of user %u>",
		(unsigned long long)info->number, info->function, info->pid, info->uid);
}

#define FIELD(name) ((void *)offsetof(struct ww_call_info, name))

static PyMethodDef methods[] = {
	{"is_cancelled", call_is_cancelled, METH_NOARGS,
		"is_cancelled($self, /)\n--\n\n"
		"Whether the result of the call is not needed any more.\n\n"
		"The client has cancelled it, or has ended, or the call's deadline has passed. Then the\n"
		"function may `fail`. A client that still waits gets what the function returns or raises."},
	{"fail", KEYWORDS(call_fail), METH_VARARGS | METH_KEYWORDS,
		"fail($self, /, message, error=WrongState)\n--\n\n"
		"End the call with an error: raises ``error(message)``, as the function itself may do.\n\n"
		"Parameters\n----------\n"
		"message : str\n    What was tried, why it failed, what to do; at most 239 bytes reach the client.\n"
		"error : class\n    One below `Error`; the client gets the same. Timeout, Cancelled and EndOfChannel are\n"
		"    no errors of a function, and arrive as WrongState."},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"stream", get_stream, NULL,
		"Stream: for work on the device. The call is complete when this work is. Work that is enqueued "
		"elsewhere must be complete when the function returns.",
		NULL},
	{"uid", get_small, NULL, "int: the client's user, as the broker knows it.", FIELD(uid)},
	{"gid", get_small, NULL, "int: the group by which the client has opened the service.",
		FIELD(gid)},
	{"pid", get_small, NULL, "int: of the client, as the broker sees it; 0: it does not.",
		FIELD(pid)},
	{"client", get_small, NULL, "int: number of the client; a later one may have it again.",
		FIELD(client)},
	{"lane", get_small, NULL, "int: the lane of the client.", FIELD(lane)},
	{"number", get_number, NULL, "int: of the call: 1, 2, 3, ... of this client.", NULL},
	{"deadline", get_deadline, NULL, "float or None: as `time.monotonic` counts.", NULL},
	{"function", get_text, NULL, "str: the function's name.", FIELD(function)},
	{"program", get_text, NULL, "str: the client's program, as it calls itself.",
		FIELD(program)},
	{NULL},
};

static PyMemberDef members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct call, weakrefs), READONLY, NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("A call, for the function that runs: its parameter ``call``.\n\n"
		    "When the function has returned, the Call has no stream, and cannot be asked whether it is\n"
		    "cancelled.")},
	{Py_tp_dealloc, call_dealloc},
	{Py_tp_repr, call_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Call",
	.basicsize = sizeof(struct call),
	.flags = TYPE_FLAGS | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

PyTypeObject *call_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
