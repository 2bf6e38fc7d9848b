/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - warpway.Stream: a queue of work on a device
 */
#include "core.h"

#include <stdlib.h>

#include "ready_point.h"

struct stream_handle {
	struct handle base;
	bool is_own;     /* this library made it: closing it waits for its work */
	bool is_stopped; /* a signal has ended a wait for its work */
	PyObject *kept;  /* the stream of another library, which must outlive this one; or NULL */
	uint8_t uuid[WW_DEVICE_UUID_BYTES]; /* of the device, if that is told by a CUstream */
};

static void *stream_ref(void *object)
{
	return ww_stream_ref(object);
}

static void *stream_unref(void *object)
{
	return ww_stream_unref(object);
}

const struct handle_class stream_class = {"Stream", stream_ref, stream_unref};

PyObject *stream_object(struct core *core, ww_stream *stream, PyObject *kept)
{
	struct stream_handle *handle = (struct stream_handle *)handle_new(core->types[CORE_STREAM],
		&stream_class, stream);

	if (handle)
		handle->kept = Py_XNewRef(kept);
	return (PyObject *)handle;
}

#define CU_STREAM_LEGACY     ((void *)1) /* another name of the default stream, which is NULL */
#define CU_STREAM_PER_THREAD ((void *)2)

static void load_uuid(ww_device *device, uint8_t out_uuid[WW_DEVICE_UUID_BYTES])
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	if (device && ww_device_info_get(device, &info) == WW_OK)
		memcpy(out_uuid, info.uuid, sizeof(info.uuid));
}

struct default_key {
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	uint64_t thread; /* 0: the default stream of all threads */
};

PyObject *stream_key(struct core *core, PyObject *value, ww_stream *stream, ww_device *device)
{
	bool is_stream = Py_TYPE(value) == core->types[CORE_STREAM];
	void *native = ww_stream_native(stream);
	struct default_key key = {.thread = 0};

	if (is_stream)
		memcpy(key.uuid, ((struct stream_handle *)value)->uuid, sizeof(key.uuid));
	else
		load_uuid(device, key.uuid);
	while (Py_TYPE(value) == core->types[CORE_STREAM] && ((struct stream_handle *)value)->kept)
		value = ((struct stream_handle *)value)->kept;
	if (Py_TYPE(value) == core->types[CORE_STREAM])
		return PyLong_FromVoidPtr(native ? native : stream);
	if (native && native != CU_STREAM_LEGACY && native != CU_STREAM_PER_THREAD)
		return PyLong_FromVoidPtr(native);
	if (native == CU_STREAM_PER_THREAD)
		key.thread = PyThread_get_thread_ident();
	return PyBytes_FromStringAndSize((const char *)&key, sizeof(key));
}

/*
 * Closes it. What is known of its ready points was for this stream alone, if it is an own one. When
 * it has ended another thread may have made one at the same address.
 */
static void close_handle(PyObject *self)
{
	ww_stream *stream = ((struct handle *)self)->object;
	struct core *core = core_of(self);
	PyObject *key = NULL, *cell = NULL;
	PyObject *type, *error, *traceback;

	PyErr_Fetch(&type, &error, &traceback);
	if (stream && ((struct stream_handle *)self)->is_own)
		key = stream_key(core, self, stream, NULL);
	if (key)
		cell = ready_point_cell(core, key);
	handle_close(self, &stream_class);
	if (cell)
		ready_point_forget(core, key, cell);
	Py_XDECREF(cell);
	Py_XDECREF(key);
	PyErr_Restore(type, error, traceback);
}

static PyObject *stream_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"device", NULL};
	struct core *core = core_of_type(type);
	PyObject *which = Py_None, *made, *key;
	ww_device *device;
	ww_stream *stream;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Stream", names, &which))
		return NULL;
	device = convert_device(core, which);
	if (!device)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = ww_stream_create(device, &stream);
	ww_device_unref(device);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		return error_raise(core, status);
	made = stream_object(core, stream, NULL);
	if (!made)
		return NULL;
	((struct stream_handle *)made)->is_own = true;
	/* A stream that has ended may have had the same address. */
	key = stream_key(core, made, stream, NULL);
	if (key)
		ready_point_forget(core, key, NULL);
	else
		Py_CLEAR(made);
	Py_XDECREF(key);
	return made;
}

static PyObject *stream_wrap(PyObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "device", NULL};
	struct core *core = core_of_type((PyTypeObject *)type);
	PyObject *value, *which = Py_None, *made;
	ww_device *device = NULL, *found;
	ww_stream *stream;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O:wrap", names, &value, &which))
		return NULL;
	if (which != Py_None && !(device = convert_device(core, which)))
		return NULL;
	stream = convert_stream_device(core, device, value, &found);
	handle_return(&device_class, device);
	made = stream ? stream_object(core, stream, value) : NULL;
	if (made && found)
		load_uuid(found, ((struct stream_handle *)made)->uuid);
	else if (made && Py_TYPE(value) == core->types[CORE_STREAM])
		memcpy(((struct stream_handle *)made)->uuid, ((struct stream_handle *)value)->uuid,
			WW_DEVICE_UUID_BYTES);
	handle_return(&device_class, found);
	return made;
}

static int stream_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((struct stream_handle *)self)->kept);
	return 0;
}

static void *unref_in_thread(void *stream)
{
	ww_stream_unref(stream);
	return NULL;
}

/*
 * The release waits for the work without end, and no signal ends that. So if one has ended the wait
 * of a caller, a thread waits. Without memory for a thread, the stream stays for ever.
 */
static void release_in_thread_if_stopped(PyObject *self)
{
	struct stream_handle *handle = (struct stream_handle *)self;
	ww_stream *stream = handle->base.object;
	pthread_t thread;

	if (!handle->is_stopped || !stream || ww_stream_query(stream) != WW_NOT_READY)
		return;
	handle->base.object = NULL;
	if (thread_start(&thread, unref_in_thread, stream))
		pthread_detach(thread);
}

/* First the stream: it is the other library's, and ends with what is kept. */
static int stream_clear(PyObject *self)
{
	release_in_thread_if_stopped(self);
	close_handle(self);
	Py_CLEAR(((struct stream_handle *)self)->kept);
	return 0;
}

static void stream_dealloc(PyObject *self)
{
	PyObject *kept = ((struct stream_handle *)self)->kept;

	PyObject_GC_UnTrack(self);
	release_in_thread_if_stopped(self);
	close_handle(self);
	handle_dealloc(self, &stream_class);
	Py_XDECREF(kept);
}

static ww_status run_synchronize(void *stream, uint64_t timeout_ns, ww_cancel *cancel)
{
	return wait_leave(ww_stream_synchronize(stream, timeout_ns, cancel));
}

/* Return: a status; STATUS_RAISED. */
static ww_status synchronize(PyObject *self, ww_stream *stream, uint64_t timeout_ns,
	PyObject *cancel)
{
	ww_status status = wait_timed(core_of(self), run_synchronize, stream, timeout_ns, cancel);

	handle_return(&stream_class, stream);
	if (status == STATUS_RAISED)
		((struct stream_handle *)self)->is_stopped = true;
	return status;
}

static PyObject *stream_synchronize(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"timeout", "cancel", NULL};
	uint64_t timeout_ns = WW_FOREVER;
	PyObject *cancel = NULL;
	ww_stream *stream;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$O:synchronize", names,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	stream = handle_borrow(self, &stream_class);
	if (!stream)
		return NULL;
	status = synchronize(self, stream, timeout_ns, cancel);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

static PyObject *stream_query(PyObject *self, PyObject *unused)
{
	ww_stream *stream = handle_borrow(self, &stream_class);
	ww_status status;

	(void)unused;
	if (!stream)
		return NULL;
	status = ww_stream_query(stream);
	handle_return(&stream_class, stream);
	if (status < 0)
		return error_raise(core_of(self), status);
	return PyBool_FromLong(status == WW_OK);
}

static PyObject *stream_recover(PyObject *self, PyObject *unused)
{
	ww_stream *stream = handle_borrow(self, &stream_class);
	PyObject *key;
	ww_status status;

	(void)unused;
	if (!stream)
		return NULL;
	key = stream_key(core_of(self), self, stream, NULL);
	status = key ? ww_stream_recover(stream) : STATUS_RAISED;
	if (key)
		ready_point_recover(core_of(self), key);
	Py_XDECREF(key);
	handle_return(&stream_class, stream);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

/* --- a Python function between two pieces of work --- */

struct call {
	PyObject *function;
	PyObject *key;         /* of the stream */
	PyObject *ready;       /* the timeline of the ready points that come after the function */
	ww_timeline *timeline; /* borrowed from that */
};

/* "ValueError: no data", ASCII; NULL with an exception. */
static PyObject *describe(PyObject *error)
{
	PyObject *name = PyType_GetName(Py_TYPE(error));
	PyObject *words = name ? PyObject_Str(error) : NULL;
	PyObject *text = NULL;
	PyObject *encoded;

	if (!words)
		PyErr_Clear();
	if (words && PyUnicode_GetLength(words) > 0)
		text = PyUnicode_FromFormat("%U: %U", name, words);
	else
		text = Py_XNewRef(name);
	encoded = text ? PyUnicode_AsEncodedString(text, "ascii", "replace") : NULL;
	Py_XDECREF(text);
	Py_XDECREF(words);
	Py_XDECREF(name);
	return encoded;
}

/* The points that come after the function are never reached: the stream has not gone on yet. */
static void fail_points(const struct call *call)
{
	PyObject *type, *error, *traceback, *text;

	PyErr_Fetch(&type, &error, &traceback);
	PyErr_NormalizeException(&type, &error, &traceback);
	text = describe(error);
	PyErr_Clear();
	/* A class may have no name. */
	ready_point_fail(call->key, call->ready,
		text && PyBytes_AsString(text)[0] ? PyBytes_AsString(text) : "an exception");
	Py_XDECREF(text);
	PyErr_Restore(type, error, traceback);
}

static void call_function(void *context)
{
	struct call *call = context;
	struct callback callback;
	PyObject *result;

	if (!callback_begin(&callback)) {
		ww_timeline_fail(call->timeline, "Python had ended before a function was called");
		return;
	}
	result = PyObject_CallNoArgs(call->function);
	if (!result) {
		fail_points(call);
		PyErr_WriteUnraisable(call->function);
	}
	Py_XDECREF(result);
	Py_DECREF(call->function);
	Py_DECREF(call->key);
	ready_point_end_call(call->ready);
	callback_end(&callback);
	free(call);
}

static void call_free(struct call *call)
{
	Py_XDECREF(call->function);
	Py_XDECREF(call->key);
	Py_XDECREF(call->ready);
	free(call);
}

/* Return: NULL with an exception. */
static struct call *call_new(PyObject *self, ww_stream *stream, PyObject *function)
{
	struct core *core = core_of(self);
	struct call *call = calloc(1, sizeof(*call));

	if (!call) {
		PyErr_NoMemory();
		return NULL;
	}
	call->function = Py_NewRef(function);
	call->key = stream_key(core, self, stream, NULL);
	call->ready = call->key ? ready_point_for_call(core, call->key) : NULL;
	call->timeline = call->ready ? ((struct handle *)call->ready)->object : NULL;
	if (call->timeline)
		return call;
	call_free(call);
	return NULL;
}

static PyObject *stream_call(PyObject *self, PyObject *function)
{
	struct call *call;
	ww_stream *stream;
	ww_status status;

	if (!PyCallable_Check(function))
		return PyErr_Format(PyExc_TypeError, "%R cannot be called", function);
	stream = handle_borrow(self, &stream_class);
	call = stream ? call_new(self, stream, function) : NULL;
	if (!call) {
		handle_return(&stream_class, stream);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	status = ww_stream_call(stream, call_function, call);
	Py_END_ALLOW_THREADS
	handle_return(&stream_class, stream);
	if (status != WW_OK) {
		call_free(call);
		return error_raise(core_of(self), status);
	}
	Py_RETURN_NONE;
}

static PyObject *stream_protocol(PyObject *self, PyObject *unused)
{
	PyObject *pair;
	ww_stream *stream = handle_borrow(self, &stream_class);

	(void)unused;
	if (!stream)
		return NULL;
	pair = Py_BuildValue("(iN)", 0, PyLong_FromVoidPtr(ww_stream_native(stream)));
	handle_return(&stream_class, stream);
	return pair;
}

/* The work is waited for here, where signals can end the wait; then the release need not wait. */
static PyObject *stream_close(PyObject *self, PyObject *unused)
{
	ww_stream *stream = NULL;
	ww_status status = WW_OK;

	(void)unused;
	if (((struct stream_handle *)self)->is_own && !handle_is_closed(self))
		stream = handle_borrow(self, &stream_class);
	if (stream)
		status = synchronize(self, stream, WW_FOREVER, NULL);
	if (status == STATUS_RAISED)
		return NULL;
	close_handle(self);
	Py_RETURN_NONE;
}

static PyObject *get_native(PyObject *self, void *unused)
{
	PyObject *number;
	ww_stream *stream = handle_borrow(self, &stream_class);

	(void)unused;
	if (!stream)
		return NULL;
	number = PyLong_FromVoidPtr(ww_stream_native(stream));
	handle_return(&stream_class, stream);
	return number;
}

static PyObject *stream_repr(PyObject *self)
{
	ww_stream *stream = ((struct handle *)self)->object;
	const void *native = stream ? ww_stream_native(stream) : NULL;

	if (!stream)
		return PyUnicode_FromString("<warpway.Stream closed>");
	if (!native)
		return PyUnicode_FromString("<warpway.Stream native=0>");
	return PyUnicode_FromFormat("<warpway.Stream native=%p>", native);
}

static PyMethodDef methods[] = {
	{"wrap", KEYWORDS(stream_wrap), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
		"wrap($type, /, stream, device=None)\n--\n\n"
		"A Stream of one that another library made.\n\n"
		"Parameters\n----------\n"
		"stream : object\n"
		"    Has ``__cuda_stream__``, or is a stream of torch, CuPy or Numba, or the int of a\n"
		"    CUstream. It is kept as long as the result.\n"
		"device : Device or what it takes, optional\n    The GPU of the stream."},
	{"synchronize", KEYWORDS(stream_synchronize), METH_VARARGS | METH_KEYWORDS,
		"synchronize($self, /, timeout=None, *, cancel=None)\n--\n\n"
		"Wait until all work enqueued so far has run.\n\n"
		"Parameters\n----------\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"PeerLost\n    The stream waited for a process that ended; see `recover`."},
	{"query", stream_query, METH_NOARGS,
		"query($self, /)\n--\n\nWhether all work enqueued so far has run.\n\n"
		"Raises\n------\nPeerLost\n    The stream waited for a process that ended."},
	{"recover", stream_recover, METH_NOARGS,
		"recover($self, /)\n--\n\n"
		"Clear the loss of a stream that raised `PeerLost`, so that it can be used again, and the\n"
		"failure of a function that it called.\n\n"
		"Call it after you have discarded what the stream computed after the wait or function that\n"
		"failed."},
	{"call", stream_call, METH_O,
		"call($self, function, /)\n--\n\n"
		"Enqueue a call of a Python function, without arguments.\n\n"
		"It runs on a thread of the library or the driver, and must not use the GPU. An exception\n"
		"goes to `sys.unraisablehook`. Then no point that `Array.ready` marks after the function is\n"
		"reached: a wait for it raises `PeerLost`, which says what failed. The next function\n"
		"after such a point begins anew, as does the work after `recover`."},
	{"close", stream_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Release the stream. If this library made it, wait for its work. May be called twice."},
	{"__cuda_stream__", stream_protocol, METH_NOARGS,
		"__cuda_stream__($self, /)\n--\n\n(version, CUstream), as cuda.core's protocol says."},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", stream_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"native", get_native, NULL, "int: the CUstream; 0 on the host device.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Stream(device=None)\n--\n\n"
		    "A queue of work on a device, made by this library.\n\n"
		    "Every parameter called `stream` also takes an object with ``__cuda_stream__``, a stream of\n"
		    "torch, CuPy or Numba, and the int of a CUstream.")},
	{Py_tp_new, stream_new},
	{Py_tp_dealloc, stream_dealloc},
	{Py_tp_traverse, stream_traverse},
	{Py_tp_clear, stream_clear},
	{Py_tp_repr, stream_repr},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Stream",
	.basicsize = sizeof(struct stream_handle),
	.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC,
	.slots = slots,
};

PyTypeObject *stream_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
