/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c - arguments of Python as numbers, devices, streams and shapes
 */
#include "core.h"

#include <math.h>

#define SECOND_NS 1000000000.0

/* --- arguments --- */

/* Return: the index of a name; -1: there is none. */
static Py_ssize_t find_name(const char *const names[], PyObject *name)
{
	for (Py_ssize_t i = 0; names[i]; i++) {
		if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
			return i;
	}
	return -1;
}

static bool take_named(const char *method, const char *const names[], PyObject *name,
	PyObject *value, PyObject **const out[], Py_ssize_t positional)
{
	Py_ssize_t found = find_name(names, name);

	if (found >= 0 && found >= positional) {
		*out[found] = value;
		return true;
	}
	if (found < 0)
		PyErr_Format(PyExc_TypeError, "%s() has no argument %R", method, name);
	else
		PyErr_Format(PyExc_TypeError, "%s() was given %R by name and by position", method,
			name);
	return false;
}

bool convert_arguments(const char *method, const char *const names[], Py_ssize_t positional,
	const struct fast_call *call, PyObject **const out[])
{
	Py_ssize_t named = call->names ? PyTuple_Size(call->names) : 0;

	if (call->positional > positional) {
		PyErr_Format(PyExc_TypeError,
			"%s() was given %zd arguments by position; the most is %zd", method,
			call->positional, positional);
		return false;
	}
	for (Py_ssize_t i = 0; i < call->positional; i++)
		*out[i] = call->values[i];
	for (Py_ssize_t i = 0; i < named; i++) {
		if (!take_named(method, names, PyTuple_GetItem(call->names, i),
			    call->values[call->positional + i], out, call->positional))
			return false;
	}
	return true;
}

/* --- numbers and words --- */

int convert_timeout(PyObject *value, void *out_ns)
{
	uint64_t *ns = out_ns;
	double seconds;

	if (value == Py_None) {
		*ns = WW_FOREVER;
		return 1;
	}
	seconds = PyFloat_AsDouble(value);
	if (seconds == -1.0 && PyErr_Occurred())
		return 0;
	if (isnan(seconds) || seconds < 0) {
		PyErr_SetString(PyExc_ValueError,
			"a timeout is seconds >= 0, or None for no limit");
		return 0;
	}
	/* Half of the range is 292 years. */
	*ns = seconds * SECOND_NS < 0x1p63 ? (uint64_t)(seconds * SECOND_NS) : WW_FOREVER;
	return 1;
}

int convert_word(PyObject *value, const char *what, const char *const words[], int first)
{
	char list[200] = "";
	size_t used = 0;

	if (!PyUnicode_Check(value)) {
		PyErr_Format(PyExc_TypeError, "%s is a str such as '%s', not %R", what, words[0],
			value);
		return -1;
	}
	for (int i = 0; words[i]; i++) {
		if (PyUnicode_CompareWithASCIIString(value, words[i]) == 0)
			return first + i;
	}
	for (int i = 0; words[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%s'",
			i == 0                 ? ""
				: words[i + 1] ? ", "
					       : " or ",
			words[i]);
	PyErr_Format(PyExc_ValueError, "%s is %s, not %R", what, list, value);
	return -1;
}

int convert_access(PyObject *value, void *out_access)
{
	static const char *const words[] = {"read", "write", NULL};
	int access = convert_word(value, "access", words, WW_ACCESS_READ);

	if (access < 0)
		return 0;
	*(uint32_t *)out_access = (uint32_t)access;
	return 1;
}

int convert_kind(PyObject *value, void *out_kind)
{
	static const char *const words[] = {"device", "host", NULL};
	int kind = convert_word(value, "kind", words, WW_MEMORY_VMM);

	if (kind < 0)
		return 0;
	*(uint32_t *)out_kind = (uint32_t)kind;
	return 1;
}

int convert_bytes(PyObject *value, void *out_bytes)
{
	PyObject *number;
	unsigned long long bytes;

	if (value == Py_None)
		return 1;
	number = PyNumber_Index(value);
	if (!number)
		return 0;
	bytes = PyLong_AsUnsignedLongLong(number);
	Py_DECREF(number);
	if (bytes == (unsigned long long)-1 && PyErr_Occurred()) {
		PyErr_Format(PyExc_ValueError, "expected a number from 0 to 2**64 - 1, not %R",
			value);
		return 0;
	}
	*(uint64_t *)out_bytes = bytes;
	return 1;
}

void *convert_handle(struct core *core, enum core_type type, const struct handle_class *class,
	PyObject *value)
{
	if (Py_TYPE(value) == core->types[type])
		return handle_borrow(value, class);
	PyErr_Format(PyExc_TypeError, "this argument is a %s, not %R", class->noun, value);
	return NULL;
}

PyObject *optional_attribute(PyObject *value, const char *name)
{
	PyObject *found = PyObject_GetAttrString(value, name);

	if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_Clear();
	return found;
}

PyObject *text_bytes(PyObject *text, char **out_text)
{
	PyObject *bytes;

	if (!PyUnicode_Check(text)) {
		PyErr_Format(PyExc_TypeError, "a name or a type is a str, not %R", text);
		return NULL;
	}
	bytes = PyUnicode_AsUTF8String(text);
	if (bytes && PyBytes_AsStringAndSize(bytes, out_text, NULL) < 0)
		Py_CLEAR(bytes);
	return bytes;
}

/* --- devices --- */

#define DEVICES_KEPT 64

/* Under the GIL. */
void device_keep(ww_device *device)
{
	static ww_device *kept[DEVICES_KEPT]; /* a reference of each, for ever */
	size_t i = 0;

	while (i < DEVICES_KEPT && kept[i] && kept[i] != device)
		i++;
	if (i < DEVICES_KEPT && !kept[i]) {
		kept[i] = ww_device_ref(device);
		wait_device_opened();
	}
}

static ww_device *open_named(struct core *core, const char *name)
{
	ww_device *device;
	ww_status status;

	Py_BEGIN_ALLOW_THREADS
	status = ww_device_open(name, &device);
	Py_END_ALLOW_THREADS
	if (status == WW_OK)
		device_keep(device);
	else
		error_raise(core, status);
	return device;
}

static ww_device *open_index(struct core *core, PyObject *value)
{
	long index = PyLong_AsLong(value);
	char name[32];

	if (index == -1 && PyErr_Occurred())
		return NULL;
	snprintf(name, sizeof(name), "cuda:%ld", index);
	return open_named(core, name);
}

/* Of cuda.core (device_id), CuPy and Numba (id). */
static ww_device *open_foreign(struct core *core, PyObject *value)
{
	static const char *const names[] = {"device_id", "id"};
	ww_device *device = NULL;

	for (size_t i = 0; i < 2; i++) {
		PyObject *index = optional_attribute(value, names[i]);

		if (index && PyLong_Check(index))
			device = open_index(core, index);
		Py_XDECREF(index);
		if (device || PyErr_Occurred())
			return device;
	}
	PyErr_Format(PyExc_TypeError,
		"a device is None, the index of a GPU, a str such as 'cuda:0', 'GPU-<UUID>', 'host' or 'cpu', or "
		"a warpway.Device, not %R",
		value);
	return NULL;
}

static ww_device *open_text(struct core *core, PyObject *value)
{
	char *text;
	PyObject *bytes = text_bytes(value, &text);
	ww_device *device;
	char name[64];

	if (!bytes)
		return NULL;
	snprintf(name, sizeof(name), "%s%s", strncmp(text, "GPU-", 4) ? "" : "cuda:", text);
	Py_DECREF(bytes);
	if (!strcmp(name, "cpu"))
		strcpy(name, "host");
	if (!strcmp(name, "cuda"))
		strcpy(name, "cuda:0");
	device = open_named(core, name);
	return device;
}

ww_device *convert_device(struct core *core, PyObject *value)
{
	PyObject *text;
	ww_device *device;

	if (!value || value == Py_None)
		return open_named(core, NULL);
	if (Py_TYPE(value) == core->types[CORE_DEVICE])
		return handle_borrow(value, &device_class);
	if (PyLong_Check(value))
		return open_index(core, value);
	if (PyUnicode_Check(value))
		return open_text(core, value);
	/* torch.device: str() of it is a name that open_text() knows. */
	text = optional_attribute(value, "type");
	if (text && PyUnicode_Check(text)) {
		Py_DECREF(text);
		text = PyObject_Str(value);
		device = text ? open_text(core, text) : NULL;
		Py_XDECREF(text);
		return device;
	}
	Py_XDECREF(text);
	return PyErr_Occurred() ? NULL : open_foreign(core, value);
}

/* --- streams --- */

/* The pointer in (version, pointer), which __cuda_stream__ returns, or is. */
static PyObject *pointer_of_protocol(PyObject *protocol)
{
	PyObject *pair = PyCallable_Check(protocol) ? PyObject_CallNoArgs(protocol)
						    : Py_NewRef(protocol);
	PyObject *item = pair ? PySequence_GetItem(pair, 1) : NULL;
	PyObject *pointer = item ? PyNumber_Index(item) : NULL;

	Py_XDECREF(item);
	Py_XDECREF(pair);
	return pointer;
}

/* Return: NULL, with an exception. */
static PyObject *no_stream(PyObject *value)
{
	return PyErr_Format(PyExc_TypeError,
		"a stream is a warpway.Stream, an object with __cuda_stream__, a stream of torch, CuPy or "
		"Numba, or the int of a CUstream, not %R",
		value);
}

/*
 * The number of a CUstream: of an int, or of an object of another library; a new reference.
 * @depth: how many objects deep it may be: Numba's is in a ctypes.c_void_p of its handle
 */
static PyObject *pointer_object(PyObject *value, int depth)
{
	static const char *const names[] = {"cuda_stream", "ptr", "handle", "value"};
	PyObject *found;

	if (PyLong_Check(value))
		return Py_NewRef(value);
	found = optional_attribute(value, "__cuda_stream__");
	if (found) {
		PyObject *pointer = pointer_of_protocol(found);

		Py_DECREF(found);
		return pointer;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && depth > 0 && !PyErr_Occurred();
		i++) {
		found = optional_attribute(value, names[i]);
		if (!found)
			continue;
		/* Numba's handle is a ctypes.c_void_p, whose value is an int, or None for NULL. */
		if (found == Py_None) {
			Py_DECREF(found);
			return PyLong_FromLong(0);
		}
		if (!PyLong_Check(found)) {
			PyObject *pointer = pointer_object(found, depth - 1);

			Py_DECREF(found);
			return pointer;
		}
		return found;
	}
	return PyErr_Occurred() ? NULL : no_stream(value);
}

/* The GPU a CUstream belongs to is not known: the first that accepts it. */
static ww_status wrap_somewhere(void *native, ww_device **out_device, ww_stream **out_stream)
{
	ww_status status;
	uint32_t count;

	*out_stream = NULL;
	status = ww_device_count(WW_BACKEND_CUDA, &count);
	for (uint32_t i = 0; status == WW_OK && i < count; i++) {
		ww_device *device;
		char name[32];

		snprintf(name, sizeof(name), "cuda:%u", (unsigned)i);
		if (ww_device_open(name, &device) != WW_OK)
			continue;
		status = ww_stream_wrap(device, native, out_stream);
		if (status == WW_OK) {
			*out_device = device;
			return WW_OK;
		}
		ww_device_unref(device);
		if (status == WW_ERR_INVALID && i + 1 < count)
			status = WW_OK;
	}
	return status == WW_OK ? WW_ERR_NO_DEVICE : status;
}

/* A Timeline, for one, has a value, which the driver would take for an address. */
static bool is_own_object(const struct core *core, PyObject *value)
{
	for (size_t i = 0; i < CORE_TYPES; i++) {
		if (Py_TYPE(value) == core->types[i])
			return true;
	}
	return false;
}

ww_stream *convert_stream_device(struct core *core, ww_device *device, PyObject *value,
	ww_device **out_device)
{
	PyObject *pointer;
	ww_stream *stream;
	ww_status status;
	void *native;

	*out_device = NULL;
	if (Py_TYPE(value) == core->types[CORE_STREAM])
		return handle_borrow(value, &stream_class);
	pointer = is_own_object(core, value) ? no_stream(value) : pointer_object(value, 2);
	if (!pointer)
		return NULL;
	native = PyLong_AsVoidPtr(pointer);
	Py_DECREF(pointer);
	if (PyErr_Occurred())
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	if (device)
		status = ww_stream_wrap(device, native, &stream);
	else
		status = wrap_somewhere(native, out_device, &stream);
	Py_END_ALLOW_THREADS
	if (status != WW_OK)
		error_raise(core, status);
	else if (device)
		*out_device = ww_device_ref(device);
	return stream;
}

ww_stream *convert_stream(struct core *core, ww_device *device, PyObject *value)
{
	ww_device *found;
	ww_stream *stream = convert_stream_device(core, device, value, &found);

	handle_return(&device_class, found);
	return stream;
}

/* --- shapes --- */

static bool take_number(PyObject *value, int64_t *out_number)
{
	PyObject *number = PyNumber_Index(value);

	if (!number)
		return false;
	*out_number = PyLong_AsLongLong(number);
	Py_DECREF(number);
	return !PyErr_Occurred();
}

int convert_shape(struct core *core, PyObject *value, const char *what,
	int64_t out_numbers[WW_ARRAY_DIMS])
{
	Py_ssize_t count;

	if (PyIndex_Check(value) && !PySequence_Check(value))
		return take_number(value, &out_numbers[0]) ? 1 : -1;
	count = PySequence_Size(value);
	if (count < 0)
		return -1;
	if (count > WW_ARRAY_DIMS) {
		error_raise_text(core, WW_ERR_INVALID,
			"%s has %zd dimensions, but at most %d are possible", what, count,
			WW_ARRAY_DIMS);
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(value, i);
		bool taken = item && take_number(item, &out_numbers[i]);

		Py_XDECREF(item);
		if (!taken)
			return -1;
	}
	return (int)count;
}
