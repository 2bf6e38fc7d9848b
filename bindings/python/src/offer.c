/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer.c - running a Python function for a call
 *
 * The thread that serves does not have the GIL when the library calls offer_run(). The arguments
 * are imported, and the results given, without it: both may ask the broker.
 */
#include "service.h"

#include <stdlib.h>

/* --- making one --- */

static void offer_free(PyObject *capsule)
{
	struct offer *offer = PyCapsule_GetPointer(capsule, NULL);

	call_form_unref(offer->form);
	Py_XDECREF(offer->name);
	handle_return(&device_class, offer->device);
	PyMem_Free(offer);
}

PyObject *offer_new(struct core *core, const char *signature, PyObject *name, PyObject *function,
	ww_device *device, bool wants_call, bool is_batch, struct offer **out_offer)
{
	struct offer *offer = PyMem_Calloc(1, sizeof(*offer));
	PyObject *capsule;

	*out_offer = offer;
	if (!offer)
		return PyErr_NoMemory();
	capsule = PyCapsule_New(offer, NULL, offer_free);
	if (!capsule) {
		PyMem_Free(offer);
		return NULL;
	}
	offer->core = core;
	offer->function = function;
	offer->name = Py_NewRef(name);
	offer->device = ww_device_ref(device);
	offer->wants_call = wants_call;
	offer->is_batch = is_batch;
	offer->form = call_form_read(core, signature);
	if (!offer->form)
		Py_CLEAR(capsule);
	if (capsule && is_batch && !wants_call && offer->form->parameter_count == 0) {
		PyErr_Format(PyExc_ValueError,
			"'%U' cannot know how many calls it runs: it has no parameters; give it 'call'",
			name);
		Py_CLEAR(capsule);
	}
	return capsule;
}

/* --- failures --- */

/* A str; NULL: there is none, and no exception. */
static PyObject *failure_text(PyObject *error, bool is_own)
{
	PyObject *text = PyObject_Str(error), *type, *whole;

	if (!text || is_own) {
		PyErr_Clear();
		return text;
	}
	type = PyType_GetQualName(Py_TYPE(error));
	whole = type ? PyUnicode_FromFormat("%U: %U", type, text) : NULL;
	Py_XDECREF(type);
	Py_DECREF(text);
	PyErr_Clear();
	return whole;
}

/* The status of a warpway.Error; others, and those that are no errors, have WW_ERR_STATE. */
static ww_status failure_status(PyObject *error, bool is_own)
{
	PyObject *number = is_own ? PyObject_GetAttrString(error, "status") : NULL;
	long status = number && PyLong_Check(number) ? PyLong_AsLong(number) : 0;

	Py_XDECREF(number);
	PyErr_Clear();
	return status < 0 && status > INT32_MIN + 2 ? (ww_status)status : WW_ERR_STATE;
}

/* Cut between characters. */
static ww_status tell_failure(ww_call *call, ww_status status, PyObject *text)
{
	PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
	const char *whole = bytes ? PyBytes_AsString(bytes) : "";
	char message[WW_ERROR_MESSAGE_BYTES] = "";
	size_t length = strlen(whole);

	if (length >= sizeof(message)) {
		length = sizeof(message) - 1;
		while (length > 0 && ((unsigned char)whole[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(message, whole, length);
	PyErr_Clear();
	Py_XDECREF(bytes);
	return ww_call_fail(call, status, message[0] ? message : NULL);
}

/* A traceback goes to the log. */
static void log_failure(const struct offer *offer, PyObject *error)
{
	PyObject *arguments = PyTuple_Pack(1, error);
	PyObject *done = arguments
		? call_python("warpway._calls", "log_failure", offer->name, arguments, NULL)
		: NULL;

	if (!done)
		PyErr_WriteUnraisable(offer->function);
	Py_XDECREF(done);
	Py_XDECREF(arguments);
}

/* KeyboardInterrupt and the like leave the function, and serve(). Takes over all three. */
static void stop_serving(PyObject *type, PyObject *error, PyObject *traceback)
{
	struct serving *serving = serving_now();

	if (!serving || serving->type) {
		Py_XDECREF(type);
		Py_XDECREF(error);
		Py_XDECREF(traceback);
		return;
	}
	serving->type = type;
	serving->error = error;
	serving->traceback = traceback;
	if (serving->cancel && wait_is_watched())
		ww_cancel_set(serving->cancel);
}

/*
 * The exception that is set is how the calls end.
 * @is_raised: by the function, which an exception like KeyboardInterrupt leaves, and serve()
 */
static ww_status fail_by_exception(const struct offer *offer, ww_call *const *calls, uint32_t count,
	bool is_raised)
{
	PyObject *type, *error, *traceback, *text;
	bool is_own, is_usual;
	ww_status status = WW_OK;

	PyErr_Fetch(&type, &error, &traceback);
	PyErr_NormalizeException(&type, &error, &traceback);
	if (traceback)
		PyException_SetTraceback(error, traceback);
	is_own = PyErr_GivenExceptionMatches(error, error_class(offer->core, WW_ERR_SYSTEM));
	is_usual = PyErr_GivenExceptionMatches(error, PyExc_Exception);
	text = failure_text(error, is_own);
	for (uint32_t i = 0; i < count; i++)
		status = tell_failure(calls[i], failure_status(error, is_own), text);
	Py_XDECREF(text);
	if (!is_usual && is_raised) {
		stop_serving(type, error, traceback);
		return status;
	}
	if (!is_own)
		log_failure(offer, error);
	Py_XDECREF(type);
	Py_XDECREF(error);
	Py_XDECREF(traceback);
	return status;
}

/* --- results --- */

/* The results as a tuple of as many as the signature has. */
static PyObject *results_tuple(const struct offer *offer, PyObject *returned)
{
	uint32_t count = offer->form->result_count;
	PyObject *tuple;

	if (count == 1)
		return PyTuple_Pack(1, returned);
	if (count == 0 && returned == Py_None)
		return PyTuple_New(0);
	if (count == 0 || !PySequence_Check(returned) || PyUnicode_Check(returned) ||
		PyBytes_Check(returned))
		return PyErr_Format(PyExc_TypeError, "'%U' returned %R, but its signature is '%U'",
			offer->name, (PyObject *)Py_TYPE(returned), offer->form->text);
	tuple = PySequence_Tuple(returned);
	if (tuple && PyTuple_Size(tuple) != (Py_ssize_t)count) {
		PyErr_Format(PyExc_TypeError,
			"'%U' returned %zd results, but its signature is '%U'", offer->name,
			PyTuple_Size(tuple), offer->form->text);
		Py_CLEAR(tuple);
	}
	return tuple;
}

static bool is_ours(const struct core *core, PyObject *object)
{
	return object == Py_None || Py_TYPE(object) == core->types[CORE_ARRAY] ||
		Py_TYPE(object) == core->types[CORE_MEMORY] ||
		Py_TYPE(object) == core->types[CORE_TOKEN];
}

/* An Array with a copy of an array of another library. */
static PyObject *copy_result(const struct offer *offer, PyObject *object)
{
	PyObject *device = device_object(offer->core, ww_device_ref(offer->device));
	PyObject *arguments = device ? PyTuple_Pack(1, device) : NULL;
	PyObject *copy = arguments
		? call_python("warpway._calls", "copy_result", object, arguments, NULL)
		: NULL;

	Py_XDECREF(arguments);
	Py_XDECREF(device);
	return copy;
}

static bool add_result(const struct offer *offer, struct call_values *values, uint32_t index,
	PyObject *object)
{
	const struct call_item *item = &call_form_results(offer->form)[index];
	PyObject *given = item->kind == WW_ARGUMENT_ARRAY && !is_ours(offer->core, object)
		? copy_result(offer, object)
		: Py_NewRef(object);
	bool is_added = given && call_values_add(offer->core, values, item, given, "result", NULL);

	Py_XDECREF(given);
	return is_added;
}

/* The library has refused something with a status, or not. */
static ww_status fail_by_record(ww_call *call, ww_status status)
{
	if (status == WW_OK)
		return status;
	if (status > WW_OK) /* serving is cancelled, and with it what the library waits for */
		return ww_call_fail(call, WW_ERR_UNAVAILABLE,
			"the server was interrupted while it read or answered the call");
	return ww_call_fail(call, status,
		ww_error_last()->status == status ? ww_error_last()->message : NULL);
}

static ww_status set_results(ww_call *call, const struct call_values *values)
{
	ww_status status = WW_OK;

	for (uint32_t i = 0; status == WW_OK && i < values->count; i++)
		status = ww_call_result(call, i, &values->values[i]);
	return fail_by_record(call, status);
}

static ww_status give_results(const struct offer *offer, ww_call *call, PyObject *returned)
{
	PyObject *tuple = results_tuple(offer, returned);
	struct call_values values;
	bool is_complete = tuple;
	ww_status status;

	CALL_VALUES_INIT(&values);
	for (uint32_t i = 0; is_complete && i < offer->form->result_count; i++)
		is_complete = add_result(offer, &values, i, PyTuple_GetItem(tuple, i));
	if (is_complete) {
		Py_BEGIN_ALLOW_THREADS
		status = set_results(call, &values);
		Py_END_ALLOW_THREADS
	} else {
		status = fail_by_exception(offer, &call, 1, true);
	}
	call_values_fini(&values);
	Py_XDECREF(tuple);
	return status;
}

/* --- running --- */

/* What runs at once: one call, or several of a function that takes them so. */
struct run {
	const struct offer *offer;
	ww_call *const *calls;
	uint32_t count;
	struct ww_value *values; /* the arguments of the first call, then of the next one */
};

/* @number: of a parameter, or of a call */
typedef PyObject *(*make_fn)(const struct run *run, uint32_t number, uint32_t index);

/* What @make returns for each index below @count. */
static PyObject *make_tuple(const struct run *run, make_fn make, uint32_t number, uint32_t count)
{
	PyObject *tuple = PyTuple_New(count);

	for (uint32_t i = 0; tuple && i < count; i++) {
		PyObject *object = make(run, number, i);

		if (object)
			PyTuple_SetItem(tuple, i, object);
		else
			Py_CLEAR(tuple);
	}
	return tuple;
}

static PyObject *make_argument(const struct run *run, uint32_t parameter, uint32_t call)
{
	const struct offer *offer = run->offer;
	const struct ww_value *values = &run->values[(size_t)call * offer->form->parameter_count];

	return call_value_object(offer->core, &values[parameter]);
}

/* An argument, or those of all calls. */
static PyObject *make_parameter(const struct run *run, uint32_t unused, uint32_t parameter)
{
	(void)unused;
	return run->offer->is_batch ? make_tuple(run, make_argument, parameter, run->count)
				    : make_argument(run, parameter, 0);
}

static PyObject *make_call(const struct run *run, uint32_t unused, uint32_t call)
{
	(void)unused;
	return call_object(run->offer->core, run->calls[call]);
}

/* The function has returned, and may have kept them. */
static void end_calls(PyObject *handles)
{
	for (Py_ssize_t i = 0; handles && i < PyTuple_Size(handles); i++)
		call_end(PyTuple_GetItem(handles, i));
	Py_XDECREF(handles);
}

/* Calls the function. Return: what it returns; NULL with an exception. */
static PyObject *apply(const struct run *run)
{
	const struct offer *offer = run->offer;
	PyObject *handles = NULL, *keywords = NULL, *returned = NULL;
	PyObject *arguments = make_tuple(run, make_parameter, 0, offer->form->parameter_count);

	if (arguments && offer->wants_call) {
		handles = make_tuple(run, make_call, 0, run->count);
		keywords = handles ? PyDict_New() : NULL;
		if (!keywords ||
			PyDict_SetItemString(keywords, "call",
				offer->is_batch ? handles : PyTuple_GetItem(handles, 0)) < 0)
			Py_CLEAR(arguments);
	}
	if (arguments)
		returned = PyObject_Call(offer->function, arguments, keywords);
	Py_XDECREF(keywords);
	Py_XDECREF(arguments);
	end_calls(handles);
	return returned;
}

/* --- results of several calls --- */

/* What is returned for each call, as a tuple. */
static PyObject *returned_tuple(const struct run *run, PyObject *returned)
{
	PyObject *tuple = NULL;

	if (PySequence_Check(returned) && !PyUnicode_Check(returned) && !PyBytes_Check(returned))
		tuple = PySequence_Tuple(returned);
	else
		PyErr_Format(PyExc_TypeError,
			"'%U' returned %R; it runs several calls at once, and returns a list",
			run->offer->name, (PyObject *)Py_TYPE(returned));
	if (tuple && PyTuple_Size(tuple) != (Py_ssize_t)run->count) {
		PyErr_Format(PyExc_TypeError, "'%U' returned %zd results for %u calls",
			run->offer->name, PyTuple_Size(tuple), run->count);
		Py_CLEAR(tuple);
	}
	return tuple;
}

static void give_one(const struct offer *offer, ww_call *call, PyObject *returned)
{
	if (!PyExceptionInstance_Check(returned)) {
		(void)give_results(offer, call, returned);
		return;
	}
	PyErr_SetObject((PyObject *)Py_TYPE(returned), returned);
	(void)fail_by_exception(offer, &call, 1, false);
}

/* Each call succeeds or fails by itself, if there is something for each. */
static ww_status give_all(const struct run *run, PyObject *returned)
{
	PyObject *tuple;

	if (returned == Py_None && run->offer->form->result_count == 0)
		return WW_OK;
	tuple = returned_tuple(run, returned);
	if (!tuple)
		return fail_by_exception(run->offer, run->calls, run->count, true);
	for (uint32_t i = 0; i < run->count; i++)
		give_one(run->offer, run->calls[i], PyTuple_GetItem(tuple, i));
	Py_DECREF(tuple);
	return WW_OK;
}

/* --- what the library calls --- */

static ww_status run_function(const struct run *run)
{
	PyObject *returned = apply(run);
	ww_status status;

	if (!returned)
		return fail_by_exception(run->offer, run->calls, run->count, true);
	status = run->offer->is_batch ? give_all(run, returned)
				      : give_results(run->offer, run->calls[0], returned);
	Py_DECREF(returned);
	return status;
}

static ww_status run_with_gil(const struct run *run)
{
	struct callback callback;
	ww_status status;

	if (!callback_begin(&callback))
		return ww_call_fail(run->calls[0], WW_ERR_UNAVAILABLE,
			"the server's interpreter ends");
	status = run_function(run);
	callback_end(&callback);
	return status;
}

static ww_status read_arguments(const struct offer *offer, ww_call *call, struct ww_value *values)
{
	ww_status status = WW_OK;

	for (uint32_t i = 0; status == WW_OK && i < offer->form->parameter_count; i++)
		status = ww_call_argument(call, i, &values[i]);
	return fail_by_record(call, status);
}

ww_status offer_run(void *context, ww_call *call)
{
	struct ww_value values[WW_CALL_ARGS_MAX];
	const struct run run = {context, &call, 1, values};
	ww_status status;

	if (serving_is_over())
		return ww_call_fail(call, WW_ERR_UNAVAILABLE, "the server has closed the service");
	status = read_arguments(context, call, values);
	return status == WW_OK ? run_with_gil(&run) : status;
}

/* Those whose arguments cannot be read fail alone. */
static ww_status run_readable(const struct offer *offer, ww_call *const *calls, uint32_t count,
	struct ww_value *values)
{
	ww_call *readable[WW_SERVICE_BATCH_MAX];
	struct run run = {offer, readable, 0, values};

	for (uint32_t i = 0; i < count; i++) {
		if (read_arguments(offer, calls[i], values) != WW_OK)
			continue;
		readable[run.count++] = calls[i];
		values += offer->form->parameter_count;
	}
	return run.count > 0 ? run_with_gil(&run) : WW_OK;
}

ww_status offer_run_batch(void *context, ww_call *const *calls, uint32_t count)
{
	const struct offer *offer = context;
	struct ww_value *values;
	ww_status status;

	if (serving_is_over())
		return ww_call_fail(calls[0], WW_ERR_UNAVAILABLE,
			"the server has closed the service");
	values = calloc((size_t)count * offer->form->parameter_count + 1, sizeof(*values));
	if (!values)
		return ww_call_fail(calls[0], WW_ERR_NO_MEMORY, "the server is out of memory");
	status = run_readable(offer, calls, count, values);
	free(values);
	return status;
}
