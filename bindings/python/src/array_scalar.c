/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_scalar.c - an Array where Python wants a number, a truth value or text
 *
 * Without these slots Python would read the bytes of an element as text, and compare objects. What
 * they do is in warpway/_scalar.py.
 */
#include "array.h"

/* @argument: borrowed; NULL: there is none */
static PyObject *call_scalar(PyObject *self, const char *name, PyObject *argument)
{
	PyObject *arguments = argument ? PyTuple_Pack(1, argument) : PyTuple_New(0);
	PyObject *made = arguments ? call_python("warpway._scalar", name, self, arguments, NULL)
				   : NULL;

	Py_XDECREF(arguments);
	return made;
}

PyObject *array_float(PyObject *self)
{
	return call_scalar(self, "to_float", NULL);
}

PyObject *array_int(PyObject *self)
{
	return call_scalar(self, "to_int", NULL);
}

PyObject *array_index(PyObject *self)
{
	return call_scalar(self, "to_index", NULL);
}

PyObject *array_complex(PyObject *self, PyObject *unused)
{
	(void)unused;
	return call_scalar(self, "to_complex", NULL);
}

PyObject *array_format(PyObject *self, PyObject *spec)
{
	return call_scalar(self, "to_text", spec);
}

/* bytes() of an object with __index__ would be as many zeros. */
PyObject *array_bytes(PyObject *self, PyObject *unused)
{
	PyObject *view = PyMemoryView_FromObject(self);
	PyObject *bytes = view ? PyBytes_FromObject(view) : NULL;

	(void)unused;
	Py_XDECREF(view);
	return bytes;
}

/* Return: 1, 0; -1 with an exception. Takes over @answer. */
static int is_true(PyObject *answer)
{
	int is_so = answer ? PyObject_IsTrue(answer) : -1;

	Py_XDECREF(answer);
	return is_so;
}

int array_bool(PyObject *self)
{
	return is_true(call_scalar(self, "to_bool", NULL));
}

int array_contains(PyObject *self, PyObject *value)
{
	return is_true(call_scalar(self, "contains", value));
}

PyObject *array_compare(PyObject *self, PyObject *other, int operation)
{
	if (operation != Py_EQ && operation != Py_NE)
		return Py_NewRef(Py_NotImplemented);
	if (self == other)
		return PyBool_FromLong(operation == Py_EQ);
	return call_scalar(self, "compare", other);
}

/* Of the object, as without array_compare(). */
Py_hash_t array_hash(PyObject *self)
{
	hashfunc hash = (hashfunc)PyType_GetSlot(&PyBaseObject_Type, Py_tp_hash);

	return hash(self);
}
