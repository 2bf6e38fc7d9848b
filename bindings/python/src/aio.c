/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aio.c - methods that return a coroutine: the work is done by warpway/aio.py
 *
 * That module, and asyncio, are imported by the first such call.
 */
#include "core.h"

/* Calls a function of warpway.aio. @keywords: may be NULL */
static PyObject *aio_apply(const char *function, PyObject *first, PyObject *arguments,
	PyObject *keywords)
{
	PyObject *module = PyImport_ImportModule("warpway.aio");
	PyObject *called = module ? PyObject_GetAttrString(module, function) : NULL;
	PyObject *head = called ? PyTuple_Pack(1, first) : NULL;
	PyObject *all = head ? PySequence_Concat(head, arguments) : NULL;
	PyObject *coroutine = all ? PyObject_Call(called, all, keywords) : NULL;

	Py_XDECREF(all);
	Py_XDECREF(head);
	Py_XDECREF(called);
	Py_XDECREF(module);
	return coroutine;
}

PyObject *aio_run(PyObject *self, const char *name, PyObject *arguments, PyObject *keywords)
{
	PyObject *method = PyObject_GetAttrString(self, name);
	PyObject *coroutine = method ? aio_apply("run", method, arguments, keywords) : NULL;

	Py_XDECREF(method);
	return coroutine;
}

PyObject *aio_acquire(PyObject *channel, PyObject *arguments, PyObject *keywords)
{
	return aio_apply("acquire", channel, arguments, keywords);
}

PyObject *aio_receive(PyObject *channel, PyObject *arguments, PyObject *keywords)
{
	return aio_apply("receive", channel, arguments, keywords);
}

static PyObject *aio_apply_alone(const char *function, PyObject *only)
{
	PyObject *none = PyTuple_New(0);
	PyObject *coroutine = none ? aio_apply(function, only, none, NULL) : NULL;

	Py_XDECREF(none);
	return coroutine;
}

PyObject *aio_next(PyObject *watch)
{
	return aio_apply_alone("next_event", watch);
}

PyObject *aio_next_frame(PyObject *channel)
{
	return aio_apply_alone("next_frame", channel);
}
