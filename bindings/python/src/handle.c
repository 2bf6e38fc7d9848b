/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.c - what all handles have in common, see core.h
 *
 * The last reference of an object may block when it is released, for example until the driver has
 * unmapped memory. So references are released without the GIL. At the end of Python, when it could
 * block for ever, they are left to the end of the process.
 */
#include "core.h"

/* The nouns of warpway.pyx. */
#define HANDLE_CLASS(name, noun)                  \
	static void *name##_ref(void *object)     \
	{                                         \
		return ww_##name##_ref(object);   \
	}                                         \
	static void *name##_unref(void *object)   \
	{                                         \
		return ww_##name##_unref(object); \
	}                                         \
	const struct handle_class name##_class = {noun, name##_ref, name##_unref};

HANDLE_CLASS(barrier, "Barrier")
HANDLE_CLASS(broker, "Broker")
HANDLE_CLASS(device, "Device")
HANDLE_CLASS(event, "Event")
HANDLE_CLASS(graph_node, "GraphNode")
HANDLE_CLASS(pool, "Pool")
HANDLE_CLASS(service, "Service")
HANDLE_CLASS(stream, "Stream")
HANDLE_CLASS(timeline, "Timeline")

static void *watch_unref(void *watch)
{
	return ww_watch_free(watch);
}

const struct handle_class watch_class = {"Watch", NULL, watch_unref};

static void *hold_ref(void *object)
{
	return ww_object_ref(object);
}

static void *hold_unref(void *object)
{
	return ww_object_unref(object);
}

const struct handle_class hold_class = {"hold of an object", hold_ref, hold_unref};

PyMemberDef handle_members[] = {
	{"__weaklistoffset__", T_PYSSIZET, offsetof(struct handle, weakrefs), READONLY, NULL},
	{NULL},
};

void handle_return(const struct handle_class *class, void *object)
{
	if (!object || callback_is_stuck())
		return;
	Py_BEGIN_ALLOW_THREADS
	class->unref(object);
	Py_END_ALLOW_THREADS
}

void handle_give_back(PyObject *self, const struct handle_class *class, void *object)
{
	if (object && ((struct handle *)self)->object == object)
		class->unref(object);
	else
		handle_return(class, object);
}

PyObject *handle_new(PyTypeObject *type, const struct handle_class *class, void *object)
{
	struct handle *handle = (struct handle *)PyType_GenericAlloc(type, 0);

	if (handle)
		handle->object = object;
	else
		handle_return(class, object);
	return (PyObject *)handle;
}

bool handle_check_open(PyObject *self, const struct handle_class *class)
{
	if (((struct handle *)self)->object)
		return true;
	PyErr_Format(PyExc_ValueError, "this %s is closed", class->noun);
	return false;
}

void *handle_borrow(PyObject *self, const struct handle_class *class)
{
	return handle_check_open(self, class) ? class->ref(((struct handle *)self)->object) : NULL;
}

bool handle_is_closed(PyObject *self)
{
	return !((struct handle *)self)->object;
}

void handle_close(PyObject *self, const struct handle_class *class)
{
	struct handle *handle = (struct handle *)self;
	void *object = handle->object;

	handle->object = NULL;
	handle_return(class, object);
}

void instance_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	if (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC)
		PyObject_GC_Del(self);
	else
		PyObject_Free(self);
	Py_DECREF(type);
}

void handle_dealloc(PyObject *self, const struct handle_class *class)
{
	if (((struct handle *)self)->weakrefs)
		PyObject_ClearWeakRefs(self);
	handle_close(self, class);
	instance_free(self);
}

PyObject *handle_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return Py_NewRef(self);
}
