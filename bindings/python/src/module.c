/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - the module warpway._core: its state, its types, its functions
 */
#include "core.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "array.h"
#include "channel.h"
#include "client.h"
#include "dlpack.h"
#include "token.h"
#include "work_queue.h"

struct core *core_of_type(PyTypeObject *type)
{
	return PyType_GetModuleState(type);
}

/* The types that are written in Cython belong to a module of their own. */
struct core *core_of(PyObject *self)
{
	(void)self;
	return core_only;
}

/* The import machinery can make a module that it does not execute. */
struct core *core_of_module(PyObject *module)
{
	struct core *core = PyModule_GetState(module);

	if (core && core->module)
		return core;
	PyErr_SetString(PyExc_RuntimeError, "this module object was not executed: import warpway");
	return NULL;
}

/* --- functions --- */

static PyObject *library_path(PyObject *module, PyObject *unused)
{
	Dl_info info;

	(void)module;
	(void)unused;
	if (!dladdr((void *)(uintptr_t)ww_version, &info) || !info.dli_fname)
		Py_RETURN_NONE;
	return PyUnicode_DecodeFSDefault(info.dli_fname);
}

static PyObject *library_version(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyUnicode_FromString(ww_version());
}

static PyObject *itemsize(PyObject *module, PyObject *value)
{
	struct core *core = core_of_module(module);
	struct ww_dtype dtype;

	if (!core || !convert_dtype(core, value, &dtype))
		return NULL;
	return PyLong_FromLong((long)dtype.bits * dtype.lanes / 8);
}

_Thread_local struct log_line *_Atomic *log_later;

/* A line for another thread. */
struct log_line {
	struct log_line *next; /* came before it */
	void *function;
	char text[];
};

static void keep_line(void *function, const char *line)
{
	size_t bytes = strlen(line) + 1;
	struct log_line *kept = malloc(sizeof(*kept) + bytes);

	if (!kept)
		return;
	kept->function = function;
	memcpy(kept->text, line, bytes);
	kept->next = atomic_load(log_later);
	while (!atomic_compare_exchange_weak(log_later, &kept->next, kept))
		;
}

static void log_line(void *function, const char *line)
{
	static _Thread_local bool is_inside; /* what the function does itself is not logged */
	struct callback callback;
	PyObject *text, *result;

	if (log_later) {
		keep_line(function, line);
		return;
	}
	if (is_inside || !callback_begin(&callback))
		return;
	is_inside = true;
	text = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
	result = text ? PyObject_CallFunctionObjArgs(function, text, NULL) : NULL;
	if (!result)
		PyErr_WriteUnraisable(function);
	Py_XDECREF(result);
	Py_XDECREF(text);
	is_inside = false;
	callback_end(&callback);
}

void log_kept(struct log_line *_Atomic *lines)
{
	struct log_line *last = atomic_exchange(lines, NULL), *first = NULL;

	while (last) {
		struct log_line *before = last->next;

		last->next = first;
		first = last;
		last = before;
	}
	while (first) {
		struct log_line *next = first->next;

		log_line(first->function, first->text);
		free(first);
		first = next;
	}
}

/*
 * The function stays alive for ever: a call that runs in another thread may still use it. There
 * are few of them.
 */
static PyObject *set_log(PyObject *module, PyObject *function)
{
	(void)module;
	if (function == Py_None)
		ww_log_set(NULL, NULL);
	else if (PyCallable_Check(function))
		ww_log_set(log_line, Py_NewRef(function));
	else
		return PyErr_Format(PyExc_TypeError, "%R cannot be called", function);
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"library_path", library_path, METH_NOARGS,
		"library_path()\n--\n\n"
		"The file of the library libwarpway that this process uses.\n\n"
		"A process has one such library: the one that was loaded first, by this module or by\n"
		"another extension."},
	{"library_version", library_version, METH_NOARGS,
		"library_version()\n--\n\nThe version of the library libwarpway in use."},
	{"from_dlpack", KEYWORDS(array_from_dlpack), METH_VARARGS | METH_KEYWORDS,
		"from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
		"An Array of an array of another library that has ``__dlpack__``.\n\n"
		"Without a copy, it keeps `x` until the memory is no longer used. With one, the call waits\n"
		"for what the other library has been asked to write into `x`, and for the copy.\n\n"
		"Parameters\n----------\n"
		"x : array of another library\n"
		"device : Device or what it takes, optional\n    None: that of `x`.\n"
		"copy : bool, optional\n"
		"    True: into new memory, which can be shared. False: never. None: only to another\n"
		"    device.\n\n"
		"Raises\n------\n"
		"BufferError\n    `x` is on another device, and `copy` is False.\n"
		"Unsupported\n"
		"    The memory of `x` cannot be shared, such as that of NumPy, which malloc() allocated."},
	{"copy_in", KEYWORDS(array_copy_in), METH_VARARGS | METH_KEYWORDS,
		"copy_in(pointer, nbytes, device=None, stream=None)\n--\n\n"
		"A Memory with a copy of bytes that the device reaches, made in the order of a stream.\n\n"
		"Waits for the copy. Without a stream nothing else is waited for."},
	{"open_handle", KEYWORDS(array_open_handle), METH_VARARGS | METH_KEYWORDS,
		"open_handle(handle, shape, dtype, strides=None, offset=0, access='write', device=None)\n"
		"--\n\n"
		"An Array in what a legacy handle names, 64 bytes of cudaIpcGetMemHandle()."},
	{"itemsize", itemsize, METH_O, "itemsize(dtype, /)\n--\n\nBytes of an element of a type."},
	{"hand_over", hand_over, METH_VARARGS,
		"hand_over(pool, nbytes, /)\n--\n\n"
		"Nanoseconds that a new slice takes whose token is opened here and given out by DLPack,\n"
		"without any Python in between."},
	{"unpickle", token_unpickle, METH_O,
		"unpickle(payload, /)\n--\n\nWhat a pickle of an object of this package stands for."},
	{"wait_channels", KEYWORDS(channel_wait_several), METH_VARARGS | METH_KEYWORDS,
		"wait_channels($module, /, channels, timeout=None, *, cancel=None)\n--\n\n"
		"Wait until one of several channels can go on: a consumer has a frame, or the end, to\n"
		"receive; a producer has a slot to acquire.\n\n"
		"It receives and acquires nothing itself::\n\n"
		"    for channel in warpway.wait_channels(channels):\n"
		"        with channel.receive() as frame:\n            ...\n\n"
		"Parameters\n----------\n"
		"channels : iterable of Channel\n    At most 64, of any brokers and devices.\n"
		"timeout : float or None\n    Seconds.\n"
		"cancel : Cancel, optional\n\n"
		"Returns\n-------\n"
		"list of Channel\n"
		"    Those that can go on. The one that was the first of a list longest ago is the first.\n\n"
		"Raises\n------\n"
		"Timeout\n    `timeout` seconds passed first.\n"
		"WrongState\n    This process holds as many frames as it may, of each of them.\n"
		"AccessDenied\n    One is an observer."},
	{"set_log", set_log, METH_O,
		"set_log(function, /)\n--\n\n"
		"Have the library's debug log call ``function(line)``, from any thread; None: no log.\n\n"
		"It is called inside of other calls, which may have objects of this package in use: so it must\n"
		"not use any.\n\n"
		"`enable_logging` does this for the module logging."},
	{"capture_begin", capture_begin, METH_NOARGS,
		"capture_begin()\n--\n\nThe beginning of `capturing`."},
	{"capture_end", capture_end, METH_NOARGS, "capture_end()\n--\n\nThe end of `capturing`."},
	{"_fail_at_exit", late_fail_at_exit, METH_NOARGS,
		"_fail_at_exit()\n--\n\nThis process ends with status 1, if it would end with 0 by exit()."},
	{"set_torch_pool", torch_pool_set, METH_VARARGS,
		"set_torch_pool(index, pool, /)\n--\n\n"
		"The pool from which torch's allocator takes memory of the device with this index."},
	{"torch_failure", torch_failure, METH_NOARGS,
		"torch_failure()\n--\n\nWhy the last allocation of torch's allocator failed, or None."},
	{NULL},
};

/* --- the module --- */

struct type_maker {
	enum core_type type;
	PyTypeObject *(*make)(PyObject *module);
};

static const struct type_maker makers[] = {
	{CORE_CANCEL, cancel_type_make},
	{CORE_MEMORY, memory_type_make},
	{CORE_ARRAY, array_type_make},
	{CORE_EXPORTER, exporter_type_make},
	{CORE_CHANNEL, channel_type_make},
	{CORE_FRAME, frame_type_make},
	{CORE_WORK_FRAME, work_frame_type_make},
};

/*
 * The types that are written in Cython. They belong to a module of their own in this shared object,
 * which only make_cython() loads.
 */
static const struct {
	enum core_type type;
	const char *name;
} cython_types[] = {
	{CORE_BARRIER, "Barrier"},
	{CORE_BROKER, "Broker"},
	{CORE_WATCH, "Watch"},
	{CORE_CALL, "Call"},
	{CORE_CLIENT, "Client"},
	{CORE_DEVICE, "Device"},
	{CORE_EVENT, "Event"},
	{CORE_FUNCTION, "Function"},
	{CORE_GRAPH_NODE, "GraphNode"},
	{CORE_POOL, "Pool"},
	{CORE_SERVICE, "Service"},
	{CORE_STREAM, "Stream"},
	{CORE_TICKET, "Ticket"},
	{CORE_TIMELINE, "Timeline"},
	{CORE_TOKEN, "Token"},
	{CORE_WORK_QUEUE, "WorkQueue"},
	{CORE_OBJECT_INFO, "ObjectInfo"},
	{CORE_PROCESS_INFO, "ProcessInfo"},
	{CORE_BROKER_INFO, "BrokerInfo"},
	{CORE_POOL_INFO, "PoolInfo"},
	{CORE_POOL_HOLDER, "PoolHolder"},
	{CORE_WATCH_EVENT, "WatchEvent"},
	{CORE_IN_FLIGHT, "InFlight"},
	{CORE_CHANNEL_CONSUMER, "ChannelConsumer"},
	{CORE_CHANNEL_EVENT, "ChannelEvent"},
	{CORE_SERVICE_INFO, "ServiceInfo"},
	{CORE_FUNCTION_INFO, "FunctionInfo"},
};

#define CYTHON_TYPES (sizeof(cython_types) / sizeof(cython_types[0]))

static const char *const cython_functions[] = {
	"graph_launch",
	"in_flight",
	"limit_in_flight",
	"revoke_in_flight",
	NULL,
};

struct core *core_only;

PyMODINIT_FUNC PyInit_warpway(void);

/* Return: a module that is executed; NULL with an exception. */
static PyObject *make_cython(PyObject *module)
{
	PyObject *definition = PyInit_warpway();
	PyObject *spec = definition ? PyObject_GetAttrString(module, "__spec__") : NULL;
	PyObject *made = spec ? PyModule_FromDefAndSpec((PyModuleDef *)definition, spec) : NULL;

	Py_XDECREF(spec);
	if (made && PyModule_ExecDef(made, (PyModuleDef *)definition) < 0)
		Py_CLEAR(made);
	return made;
}

static int add_cython(struct core *core)
{
	core->cython = make_cython(core->module);
	for (size_t i = 0; core->cython && i < CYTHON_TYPES; i++) {
		PyObject *type = PyObject_GetAttrString(core->cython, cython_types[i].name);

		core->types[cython_types[i].type] = (PyTypeObject *)type;
		if (!type || PyModule_AddType(core->module, (PyTypeObject *)type) < 0)
			return -1;
	}
	for (size_t i = 0; core->cython && cython_functions[i]; i++) {
		PyObject *function = PyObject_GetAttrString(core->cython, cython_functions[i]);
		int result = PyModule_AddObjectRef(core->module, cython_functions[i], function);

		Py_XDECREF(function);
		if (result < 0)
			return -1;
	}
	return core->cython ? 0 : -1;
}

static int add_types(struct core *core)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		PyTypeObject *type = makers[i].make(core->module);

		core->types[makers[i].type] = type;
		if (!type || PyModule_AddType(core->module, type) < 0)
			return -1;
	}
	return 0;
}

/*
 * A child made by fork() may import what its parent has not used. So importing does nothing with
 * the library.
 */
static int module_exec(PyObject *module)
{
	struct core *core = PyModule_GetState(module);

	/* Callbacks take the GIL by PyGILState_Ensure(), which knows the main interpreter only. */
	if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
		PyErr_SetString(PyExc_ImportError,
			"warpway works in the main interpreter of a process only, and this is a "
			"sub-interpreter: use a process of its own instead");
		return -1;
	}
	core->module = module;
	core_only = core;
	if (errors_add(core) < 0 || add_types(core) < 0 || add_cython(core) < 0)
		return -1;
	return PyModule_AddIntConstant(module, "MAX_DIMS", WW_ARRAY_DIMS);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct core *core = PyModule_GetState(module);

	for (size_t i = 0; i < CORE_TYPES; i++)
		Py_VISIT(core->types[i]);
	for (size_t i = 0; i < CORE_ERRORS; i++)
		Py_VISIT(core->errors[i]);
	Py_VISIT(core->dtype_text);
	Py_VISIT(core->cython);
	Py_VISIT(core->unpickle);
	Py_VISIT(core->ready);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct core *core = PyModule_GetState(module);

	for (size_t i = 0; i < CORE_TYPES; i++)
		Py_CLEAR(core->types[i]);
	for (size_t i = 0; i < CORE_ERRORS; i++)
		Py_CLEAR(core->errors[i]);
	Py_CLEAR(core->dtype_text);
	Py_CLEAR(core->cython);
	Py_CLEAR(core->unpickle);
	Py_CLEAR(core->ready);
	return 0;
}

/* What ends later finds no state. */
static void module_free(void *module)
{
	if (PyModule_GetState(module) == core_only)
		core_only = NULL;
}

static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, module_exec},
	{0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "warpway._core",
	.m_doc = "The extension in C; use it by way of the package warpway.",
	.m_size = sizeof(struct core),
	.m_methods = functions,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
	return PyModuleDef_Init(&definition);
}
