/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - threads that pickle later than the program thinks, see warpway/_late.py
 */
#include "core.h"

#include <stdlib.h>
#include <unistd.h>

/* Return: borrowed, or NULL: it is not imported, or this is the end of Python. */
static PyObject *find_module(const char *name)
{
	return Py_IsInitialized() ? PyDict_GetItemString(PyImport_GetModuleDict(), name) : NULL;
}

/* All such threads serve a queue of this module. */
static bool has_queues(void)
{
	return find_module("multiprocessing.queues");
}

/*
 * Calls a function of warpway._late. No exception may be pending.
 * Return: whether it returns True; -1 with an exception: a handler of a signal may raise in it
 */
static int call_late(const char *name, PyObject *arguments)
{
	PyObject *module = Py_XNewRef(find_module("warpway._late"));
	PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
	PyObject *answer = function ? PyObject_Call(function, arguments, NULL) : NULL;
	int result = answer ? answer == Py_True : PyErr_Occurred() ? -1 : 0;

	Py_XDECREF(answer);
	Py_XDECREF(function);
	Py_XDECREF(module);
	return result;
}

int late_threads_live(void)
{
	PyObject *none;
	int result;

	if (!has_queues())
		return 0;
	none = PyTuple_New(0);
	result = none ? call_late("lives", none) : -1;
	Py_XDECREF(none);
	return result;
}

PyObject *late_note(PyObject *self, PyObject *pickle)
{
	PyObject *type, *value, *traceback, *arguments;

	if (pickle || !has_queues())
		return pickle;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	arguments = Py_BuildValue("(NO)",
		PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__name__"), value);
	if (arguments && call_late("note", arguments) >= 0) {
		PyErr_Restore(type, value, traceback);
	} else { /* such as KeyboardInterrupt */
		Py_DECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(traceback);
	}
	Py_XDECREF(arguments);
	return NULL;
}

/* Of glibc. With another C library such a process keeps its status. */
int on_exit(void (*function)(int status, void *context), void *context) __attribute__((weak));

static void fail(int status, void *unused)
{
	(void)unused;
	if (status != 0)
		return;
	(void)fflush(NULL);
	_exit(1);
}

PyObject *late_fail_at_exit(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (on_exit)
		(void)on_exit(fail, NULL);
	Py_RETURN_NONE;
}
