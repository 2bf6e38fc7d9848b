/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_frame.c - warpway.WorkFrame: a frame of a work queue, to be written, or worked on in place
 *
 * It is a Frame (frame.c) that ends in another way: the one that was received is acknowledged, or
 * rejected. The methods and properties of a Frame but release() are its own, too.
 */
#include "memory.h"
#include "work_queue.h"

static bool is_received(PyObject *self, const char *what)
{
	if (frame_hold_of(self)->state->is_consumer)
		return true;
	error_raise_text(core_of(self), WW_ERR_ACCESS,
		"cannot %s a frame that was acquired: publish or discard it", what);
	return false;
}

static PyObject *frame_acknowledge(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", NULL};
	PyObject *stream = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:acknowledge", names, &stream) ||
		!is_received(self, "acknowledge"))
		return NULL;
	return frame_end(self, stream, true);
}

static PyObject *frame_reject(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", NULL};
	PyObject *stream = Py_None;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:reject", names, &stream) ||
		!is_received(self, "reject"))
		return NULL;
	return frame_end(self, stream, false);
}

static PyObject *get_producer(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(frame_hold_of(self)->frame.producer);
}

static PyObject *get_attempts(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(frame_hold_of(self)->frame.attempts);
}

static PyObject *get_is_repeat(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(frame_hold_of(self)->frame.attempts > 1);
}

/* With room for those of a Frame, and the end. */
static PyMethodDef methods[20] = {
	{"acknowledge", KEYWORDS(frame_acknowledge), METH_VARARGS | METH_KEYWORDS,
		"acknowledge($self, /, stream=None)\n--\n\n"
		"Say that the work with a received frame is done. May be called twice.\n\n"
		"As long as views of the frame exist, such as arrays of NumPy, the frame stays held; the\n"
		"last one that ends acknowledges it. When its producer has left, or holds no slot of a queue\n"
		"that was shut down, a `receive` that finds no frame acknowledges it before, so that\n"
		"consumers get the end.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n"
		"    The frame is done when its work so far has run. None: the stream of `receive`; if there\n"
		"    is none, it is done at once.\n\n"
		"Raises\n------\n"
		"PeerLost\n    The frame was never complete, since the producer ended: what was computed from it is\n"
		"    not valid. If that is known only later, the next `receive` raises it.\n"
		"WrongState\n    The frame was given to another consumer meanwhile."},
	{"reject", KEYWORDS(frame_reject), METH_VARARGS | METH_KEYWORDS,
		"reject($self, /, stream=None)\n--\n\n"
		"Give a received frame back: another consumer gets it, or it has failed if this was its last\n"
		"attempt.\n\n"
		"Waits until the stream has done its work. A frame that is forgotten without `acknowledge`\n"
		"is rejected, too.\n\n"
		"Parameters\n----------\n"
		"stream : Stream or what it takes, optional\n    Which uses the frame. None: the stream of `receive`."},
};

static PyGetSetDef properties[20] = {
	{"producer", get_producer, NULL,
		"int: of a received frame: which producer's it is: 1, 2, ... as this consumer met them.",
		NULL},
	{"attempts", get_attempts, NULL,
		"int: of a received frame: how often it was given out, this time included.", NULL},
	{"is_repeat", get_is_repeat, NULL,
		"bool: it was given out before, and part of its work may be done.", NULL},
};

#define ROOM(table) (sizeof(table) / sizeof((table)[0]) - 1)

/* What a Frame has, behind what stands there. Repeated calls find it there. */
static void add_methods(void)
{
	size_t at = 2;

	for (const PyMethodDef *from = frame_methods; from->ml_name && at < ROOM(methods); from++) {
		if (strcmp(from->ml_name, "release") != 0)
			methods[at++] = *from;
	}
}

static void add_properties(void)
{
	size_t at = 3;

	for (const PyGetSetDef *from = frame_properties; from->name && at < ROOM(properties);
		from++)
		properties[at++] = *from;
}

PyTypeObject *work_frame_type_make(PyObject *module)
{
	PyType_Slot slots[] = {
		{Py_tp_doc,
			DOC("A frame of a WorkQueue: `WorkQueue.acquire` gives one to write, `WorkQueue.receive`\n"
			    "one to work on.\n\n"
			    "``numpy.asarray(frame)``, DLPack and the CUDA array interface use the bytes in place,\n"
			    "as does `array`. A ``with`` block ends the frame: an acquired one is published, a\n"
			    "received one acknowledged; if the block raised an exception, an acquired one is\n"
			    "discarded, and a received one is rejected.\n\n"
			    "A received frame of which a view exists stays held, and counts for the queue's\n"
			    "`held_max`. After an acquired frame was published, its views are not to be written\n"
			    "to; the slot is not acquired again as long as they exist.")},
		{Py_tp_dealloc, frame_dealloc},
		{Py_tp_traverse, frame_traverse},
		{Py_tp_clear, frame_clear},
		{Py_tp_repr, frame_repr},
		{Py_tp_methods, methods},
		{Py_tp_getset, properties},
		{Py_tp_members, frame_members},
		{Py_bf_getbuffer, frame_getbuffer},
		{Py_bf_releasebuffer, buffer_release},
		{0, NULL},
	};
	PyType_Spec spec = {
		.name = "warpway.WorkFrame",
		.basicsize = (int)frame_bytes,
		.flags = TYPE_FLAGS | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
		.slots = slots,
	};

	add_methods();
	add_properties();
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
