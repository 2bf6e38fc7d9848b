/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - warpway.Event: CUDA's events between processes
 */
#include "sync.h"

static void *event_ref(void *object)
{
	return ww_event_ref(object);
}

static void *event_unref(void *object)
{
	return ww_event_unref(object);
}

const struct handle_class event_class = {"Event", event_ref, event_unref};

PyObject *event_object(struct core *core, ww_event *event)
{
	return handle_new(core->types[CORE_EVENT], &event_class, event);
}

/* --- making one --- */

struct open_call {
	ww_device *device;
	struct ww_event_params params;
	struct ww_event_handle handle;
	ww_event *event;
};

static ww_status run_create(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct open_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_event_create(args->device, &args->params, &args->event);
}

static ww_status run_open_handle(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct open_call *args = call;

	(void)timeout_ns;
	(void)cancel;
	return ww_event_handle_open(args->device, &args->handle, &args->event);
}

static PyObject *open_with(struct core *core, PyObject *which, struct open_call *call, wait_fn run)
{
	ww_status status;

	call->device = convert_device(core, which);
	if (!call->device)
		return NULL;
	status = wait_run(core, run, call, 0, NULL);
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&device_class, call->device);
	return status == WW_OK ? event_object(core, call->event) : NULL;
}

static PyObject *event_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"device", "blocking_sync", NULL};
	struct open_call call = {.params = WW_INIT(struct ww_event_params)};
	PyObject *which = Py_None;
	int blocking_sync = 0;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$p:Event", names, &which,
		    &blocking_sync))
		return NULL;
	call.params.flags = blocking_sync ? WW_EVENT_BLOCKING_SYNC : 0;
	return open_with(core_of_type(type), which, &call, run_create);
}

/* bytes, another object with a buffer, or ints. */
static bool convert_handle_bytes(PyObject *value, struct ww_event_handle *out_handle)
{
	PyObject *bytes = PyBytes_FromObject(value);
	char *data;
	Py_ssize_t count;

	if (!bytes)
		return false;
	if (PyBytes_AsStringAndSize(bytes, &data, &count) == 0 && count == WW_EVENT_HANDLE_BYTES)
		memcpy(out_handle->bytes, data, WW_EVENT_HANDLE_BYTES);
	else if (!PyErr_Occurred())
		PyErr_Format(PyExc_ValueError, "the handle of an event has %d bytes, not %zd",
			WW_EVENT_HANDLE_BYTES, count);
	Py_DECREF(bytes);
	return !PyErr_Occurred();
}

static PyObject *event_open_handle(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"handle", "device", NULL};
	struct open_call call = {.device = NULL};
	PyObject *handle, *which = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O:open_handle", names, &handle,
		    &which) ||
		!convert_handle_bytes(handle, &call.handle))
		return NULL;
	return open_with(core_of_type((PyTypeObject *)type), which, &call, run_open_handle);
}

static void event_dealloc(PyObject *self)
{
	handle_dealloc(self, &event_class);
}

/* --- recordings and waits --- */

/* Calls @fn with the event and a stream. */
static PyObject *with_stream(PyObject *self, PyObject *value,
	ww_status (*fn)(ww_event *event, ww_stream *stream))
{
	struct core *core = core_of(self);
	ww_stream *stream = convert_stream(core, NULL, value);
	ww_status status = STATUS_RAISED;
	ww_event *event;

	if (!stream)
		return NULL;
	event = handle_borrow(self, &event_class);
	if (event) {
		Py_BEGIN_ALLOW_THREADS
		status = fn(event, stream);
		Py_END_ALLOW_THREADS
	}
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&event_class, event);
	handle_return(&stream_class, stream);
	return status == WW_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *event_record(PyObject *self, PyObject *stream)
{
	return with_stream(self, stream, ww_event_record);
}

static PyObject *event_wait(PyObject *self, PyObject *stream)
{
	return with_stream(self, stream, ww_event_stream_wait);
}

static ww_status run_synchronize(void *event, uint64_t timeout_ns, ww_cancel *cancel)
{
	return ww_event_synchronize(event, timeout_ns, cancel);
}

static PyObject *event_synchronize(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	struct core *core = core_of(self);
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL;
	ww_event *event;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:synchronize", names,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	event = handle_borrow(self, &event_class);
	if (!event)
		return NULL;
	status = wait_run(core, run_synchronize, event, timeout_ns, cancel);
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&event_class, event);
	return status == WW_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *event_synchronize_async(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return aio_run(self, "synchronize", arguments, keywords);
}

static PyObject *event_query(PyObject *self, PyObject *unused)
{
	ww_event *event = handle_borrow(self, &event_class);
	ww_status status;

	(void)unused;
	if (!event)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = ww_event_query(event);
	Py_END_ALLOW_THREADS
	if (status < 0)
		error_raise(core_of(self), status);
	handle_return(&event_class, event);
	return status < 0 ? NULL : PyBool_FromLong(status == WW_OK);
}

/* --- other processes --- */

static ww_status run_export(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	struct sync_export *args = call;

	(void)timeout_ns;
	return ww_event_export(args->object, args->broker, &args->params, cancel, &args->token);
}

static PyObject *event_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	return sync_token(self, arguments, keywords, &event_class, run_export);
}

/* Which device is to open it only the receiver knows. */
static PyObject *event_reduce(PyObject *self, PyObject *unused)
{
	(void)unused;
	(void)self;
	return PyErr_Format(PyExc_TypeError,
		"an Event cannot be pickled: send event.token().to_bytes(), and have the receiver call "
		"Token(data).open(device=...); or use a Timeline");
}

static PyObject *event_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	handle_close(self, &event_class);
	Py_RETURN_NONE;
}

static PyObject *get_handle(PyObject *self, void *unused)
{
	ww_event *event = handle_borrow(self, &event_class);
	struct ww_event_handle handle;
	ww_status status;

	(void)unused;
	if (!event)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = ww_event_handle_get(event, &handle);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		error_raise(core_of(self), status);
	handle_return(&event_class, event);
	if (status != WW_OK)
		return NULL;
	return PyBytes_FromStringAndSize((char *)handle.bytes, WW_EVENT_HANDLE_BYTES);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

static PyObject *event_repr(PyObject *self)
{
	if (handle_is_closed(self))
		return PyUnicode_FromString("<warpway.Event closed>");
	return PyUnicode_FromFormat("<warpway.Event at %p>", self);
}

static PyMethodDef methods[] = {
	{"record", event_record, METH_O,
		"record($self, stream, /)\n--\n\n"
		"Let the event stand for the work enqueued on a stream so far.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes\n    Of the event's device."},
	{"wait", event_wait, METH_O,
		"wait($self, stream, /)\n--\n\n"
		"Have a stream's further work wait for what was recorded last.\n\n"
		"If the event was never recorded, the stream does not wait. If the process that recorded it\n"
		"ends first, a stream of a GPU waits for ever: a Timeline has no such limit.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes\n    Of the event's device."},
	{"synchronize", KEYWORDS(event_synchronize), METH_VARARGS | METH_KEYWORDS,
		"synchronize($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"Wait on the CPU for what was recorded last.\n\n"
		"Parameters\n----------\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"PeerLost\n    The process that recorded it ended; on the host device only."},
	{"synchronize_async", KEYWORDS(event_synchronize_async), METH_VARARGS | METH_KEYWORDS,
		"synchronize_async($self, /, timeout=None)\n--\n\n"
		"A coroutine that does what `synchronize` does, in a thread of its own.\n\n"
		"When it is cancelled, the wait ends."},
	{"query", event_query, METH_NOARGS,
		"query($self, /)\n--\n\nWhether the work that was recorded last has run."},
	{"open_handle", KEYWORDS(event_open_handle), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"open_handle($type, /, handle, device=None)\n--\n\n"
		"The event of another CUDA program.\n\n"
		"Parameters\n----------\n"
		"handle : bytes-like or ints\n"
		"    Its cudaIpcEventHandle_t, of 64 bytes. Another process made it.\n"
		"device : Device or what it takes, optional\n    A GPU."},
	{"token", KEYWORDS(event_token), METH_VARARGS | METH_KEYWORDS, sync_token_doc},
	{"close", event_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Release the event. Work that waits for it still waits. May be called twice."},
	{"__reduce__", event_reduce, METH_NOARGS, NULL},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", event_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"handle", get_handle, NULL,
		"bytes: the cudaIpcEventHandle_t by which any CUDA program can open the event. The host "
		"device has none.",
		NULL},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Event(device=None, *, blocking_sync=False)\n--\n\n"
		    "An event that programs without this library can open; elsewhere use a `Timeline`.\n\n"
		    "Parameters\n----------\n"
		    "device : Device or what it takes, optional\n"
		    "blocking_sync : bool\n    A CPU that waits sleeps instead of spinning.\n\n"
		    "It stands for the work that was enqueued on a stream when the event was last recorded. If\n"
		    "the process that recorded it ends, a wait on a GPU never ends.")},
	{Py_tp_new, event_new},
	{Py_tp_dealloc, event_dealloc},
	{Py_tp_repr, event_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Event",
	.basicsize = sizeof(struct handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *event_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
