/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.c - warpway.Cancel: ends calls that wait in other threads
 */
#include "core.h"

static void *cancel_ref(void *object)
{
	return ww_cancel_ref(object);
}

static void *cancel_unref(void *object)
{
	return ww_cancel_unref(object);
}

const struct handle_class cancel_class = {"Cancel", cancel_ref, cancel_unref};

static PyObject *cancel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {NULL};
	ww_cancel *cancel;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, ":Cancel", names))
		return NULL;
	status = ww_cancel_create(&cancel);
	if (status != WW_OK)
		return error_raise(core_of_type(type), status);
	return handle_new(type, &cancel_class, cancel);
}

static void cancel_dealloc(PyObject *self)
{
	handle_dealloc(self, &cancel_class);
}

static ww_cancel *flag(PyObject *self)
{
	return ((struct handle *)self)->object;
}

static PyObject *cancel_set(PyObject *self, PyObject *unused)
{
	(void)unused;
	wait_cancel(flag(self));
	Py_RETURN_NONE;
}

static PyObject *cancel_clear(PyObject *self, PyObject *unused)
{
	(void)unused;
	ww_cancel_clear(flag(self));
	Py_RETURN_NONE;
}

static PyObject *cancel_is_set(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyBool_FromLong(ww_cancel_is_set(flag(self)));
}

static PyMethodDef methods[] = {
	{"set", cancel_set, METH_NOARGS,
		"set($self, /)\n--\n\n"
		"End the calls that wait with this flag, now and until it is cleared.\n\n"
		"They raise `Cancelled` within 50 ms."},
	{"clear", cancel_clear, METH_NOARGS,
		"clear($self, /)\n--\n\nLet calls with this flag wait again."},
	{"is_set", cancel_is_set, METH_NOARGS, "is_set($self, /)\n--\n\nWhether the flag is set."},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("Cancel()\n--\n\n"
		    "A flag that ends calls which wait in other threads.\n\n"
		    "Pass it as ``cancel=`` to any call that waits. In the main thread a signal handler that\n"
		    "raises an exception, such as that of Ctrl-C, ends every wait within 0.1 s without it.")},
	{Py_tp_new, cancel_new},
	{Py_tp_dealloc, cancel_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.Cancel",
	.basicsize = sizeof(struct handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *cancel_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
