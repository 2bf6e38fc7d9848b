/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offer.c - running a Python function for a call
 *
 * The thread that serves does not have the GIL when the library calls offer_run(). The arguments
 * are imported, and the results given, without it: both may ask the broker.
 */
#include "service.h"

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
	ww_device *device, bool wants_call, struct offer **out_offer)
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
	offer->form = call_form_read(core, signature);
	if (!offer->form)
		Py_CLEAR(capsule);
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

/* The exception that is set is how the call ends. */
static ww_status fail_by_exception(const struct offer *offer, ww_call *call)
{
	PyObject *type, *error, *traceback, *text;
	bool is_own, is_usual;
	ww_status status;

	PyErr_Fetch(&type, &error, &traceback);
	PyErr_NormalizeException(&type, &error, &traceback);
	if (traceback)
		PyException_SetTraceback(error, traceback);
	is_own = PyErr_GivenExceptionMatches(error, error_class(offer->core, WW_ERR_SYSTEM));
	is_usual = PyErr_GivenExceptionMatches(error, PyExc_Exception);
	text = failure_text(error, is_own);
	status = tell_failure(call, failure_status(error, is_own), text);
	Py_XDECREF(text);
	if (!is_usual) {
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

static ww_status set_results(ww_call *call, const struct call_values *values)
{
	ww_status status = WW_OK;

	for (uint32_t i = 0; status == WW_OK && i < values->count; i++)
		status = ww_call_result(call, i, &values->values[i]);
	if (status < 0)
		return ww_call_fail(call, status,
			ww_error_last()->status == status ? ww_error_last()->message : NULL);
	return status;
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
		status = fail_by_exception(offer, call);
	}
	call_values_fini(&values);
	Py_XDECREF(tuple);
	return status;
}

/* --- running --- */

static PyObject *arguments_tuple(const struct offer *offer, const struct ww_value *values)
{
	uint32_t count = offer->form->parameter_count;
	PyObject *tuple = PyTuple_New(count);

	for (uint32_t i = 0; tuple && i < count; i++) {
		PyObject *object = call_value_object(offer->core, &values[i]);

		if (object)
			PyTuple_SetItem(tuple, i, object);
		else
			Py_CLEAR(tuple);
	}
	return tuple;
}

/* Calls the function. Return: what it returns; NULL with an exception. */
static PyObject *apply(const struct offer *offer, ww_call *call, const struct ww_value *values)
{
	PyObject *arguments = arguments_tuple(offer, values);
	PyObject *handle = NULL, *keywords = NULL, *returned = NULL;

	if (arguments && offer->wants_call) {
		handle = call_object(offer->core, call);
		keywords = handle ? PyDict_New() : NULL;
		if (!keywords || PyDict_SetItemString(keywords, "call", handle) < 0)
			Py_CLEAR(arguments);
	}
	if (arguments)
		returned = PyObject_Call(offer->function, arguments, keywords);
	call_end(handle);
	Py_XDECREF(keywords);
	Py_XDECREF(handle);
	Py_XDECREF(arguments);
	return returned;
}

static ww_status run_function(const struct offer *offer, ww_call *call,
	const struct ww_value *values)
{
	PyObject *returned = apply(offer, call, values);
	ww_status status;

	if (!returned)
		return fail_by_exception(offer, call);
	status = give_results(offer, call, returned);
	Py_DECREF(returned);
	return status;
}

ww_status offer_run(void *context, ww_call *call)
{
	const struct offer *offer = context;
	struct ww_value values[WW_CALL_ARGS_MAX];
	struct callback callback;
	ww_status status;

	if (serving_is_over())
		return ww_call_fail(call, WW_ERR_UNAVAILABLE, "the server has closed the service");
	for (uint32_t i = 0; i < offer->form->parameter_count; i++) {
		status = ww_call_argument(call, i, &values[i]);
		if (status != WW_OK)
			return status;
	}
	if (!callback_begin(&callback))
		return ww_call_fail(call, WW_ERR_UNAVAILABLE, "the server's interpreter ends");
	status = run_function(offer, call, values);
	callback_end(&callback);
	return status;
}
