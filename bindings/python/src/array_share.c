/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_share.c - an Array for other processes, and the point at which its bytes are ready
 */
#include "array.h"

#include "memory.h"
#include "received.h"
#include "token.h"

static const struct array_instance *instance(PyObject *self)
{
	return (struct array_instance *)self;
}

/* --- the ready point --- */

/* Sets it to the work of a stream so far. @value: what users name a stream by */
static ww_status record_ready(PyObject *self, PyObject *value)
{
	ww_stream *stream = memory_stream(instance(self)->memory, value);
	struct ww_memory_info info;
	struct ready_point point;
	ww_device *device;
	PyObject *key;
	ww_status status;

	if (!stream)
		return STATUS_RAISED;
	device = memory_device(instance(self)->memory, &info);
	key = device ? stream_key(core_of(self), value, stream, device) : NULL;
	status = key ? ready_point_record(core_of(self), key, stream, &point) : STATUS_RAISED;
	Py_XDECREF(key);
	handle_return(&device_class, device);
	handle_return(&stream_class, stream);
	if (status == WW_OK)
		array_set_ready(self, point.timeline, point.value);
	return status;
}

PyObject *array_ready(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", NULL};
	PyObject *value;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:ready", names, &value))
		return NULL;
	status = record_ready(self, value);
	return status == WW_OK ? Py_NewRef(self) : error_raise(core_of(self), status);
}

ww_status array_wait_ready(PyObject *self, ww_stream *stream, uint64_t timeout_ns, PyObject *cancel)
{
	return ready_point_wait(core_of(self), &instance(self)->ready, stream, timeout_ns, cancel);
}

PyObject *array_wait(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "timeout", "cancel", NULL};
	PyObject *value = Py_None, *cancel = NULL;
	uint64_t timeout_ns = WW_FOREVER;
	ww_stream *stream = NULL;
	ww_status status;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$O&O:wait", names, &value,
		    convert_timeout, &timeout_ns, &cancel))
		return NULL;
	if (value != Py_None && !(stream = memory_stream(instance(self)->memory, value)))
		return NULL;
	status = array_wait_ready(self, stream, timeout_ns, cancel);
	handle_return(&stream_class, stream);
	if (status != WW_OK)
		return error_raise(core_of(self), status);
	Py_RETURN_NONE;
}

/* --- tokens and pickles --- */

/* The ready point as it is now, and whether it is still to come. */
static ww_status take_point(PyObject *self, struct ready_point *out_point)
{
	*out_point = instance(self)->ready;
	Py_XINCREF(out_point->timeline);
	return ready_point_query(out_point);
}

PyObject *array_token(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"access", "stream", "uses", "escrow", "broker", "cancel", NULL};
	struct ww_export_params params = {
		.struct_size = sizeof(params),
		.uses = 1,
		.array = &instance(self)->array,
	};
	PyObject *access = Py_None, *stream = Py_None, *where = Py_None, *cancel = NULL;
	struct core *core = core_of(self);
	ww_broker *broker = NULL;
	struct ready_point point;
	struct ww_token token;
	PyObject *made = NULL;
	struct sent sent;
	ww_status status = WW_OK;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OO&O&OO:token", names, &access,
		    &stream, convert_uses, &params.uses, convert_escrow, &params.escrow_ns, &where,
		    &cancel))
		return NULL;
	if (!array_check_plain(self, "Unsupported"))
		return NULL;
	if (access != Py_None && !convert_access(access, &params.access))
		return NULL;
	if (stream != Py_None)
		status = record_ready(self, stream);
	if (status != WW_OK)
		return error_raise(core, status);
	if (where != Py_None && !(broker = convert_handle(core, CORE_BROKER, &broker_class, where)))
		return NULL;
	status = take_point(self, &point);
	token_deliver(&params);
	if (status != WW_OK && status != WW_NOT_READY)
		error_raise(core, status);
	else if (memory_export(instance(self)->memory, broker, &params, cancel, &token, &sent))
		made = token_object_sent(core, &token, &sent);
	handle_return(&broker_class, broker);
	if (made && status == WW_NOT_READY)
		token_set_ready(made, &point);
	Py_XDECREF(point.timeline);
	return made;
}

/* A view that has ended is pickled by a thread that does so later, as a Memory: see late.c. */
static PyObject *memory_to_pickle(PyObject *self)
{
	int live = instance(self)->former ? late_threads_live() : 0;

	return live < 0 ? NULL : live ? instance(self)->former : instance(self)->memory;
}

/* The pickle also says the type of elements that only NumPy knows. Takes over @reduced. */
static PyObject *name_type(PyObject *self, PyObject *reduced)
{
	PyObject *arguments, *made;

	if (!reduced || !instance(self)->numpy_type)
		return reduced;
	arguments = PyTuple_Pack(1, reduced);
	made = arguments ? call_python("warpway._numpy", "reduced", self, arguments, NULL) : NULL;
	Py_XDECREF(arguments);
	Py_DECREF(reduced);
	return made;
}

PyObject *array_reduce(PyObject *self, PyObject *unused)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.uses = 1,
		.flags = WW_EXPORT_DELIVERY,
		.array = &instance(self)->array,
	};
	PyObject *memory = memory_to_pickle(self);
	struct ww_token token;
	struct sent sent;

	(void)unused;
	if (!memory || !memory_export_pickle(memory, &params, &token, &sent))
		return late_note(self, NULL);
	return late_note(self,
		name_type(self,
			token_pickle_ready(core_of(self), &token, &instance(self)->ready, &sent)));
}
