/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_elements.c - whether what is copied into an array has elements of its type, in its shape
 *
 * A copy moves bytes, so it would make nonsense of elements of another type without an error. But
 * uint8 is the type of bytes: what has such elements is copied from and to anything of as many
 * bytes.
 */
#include <string.h>

#include "array.h"

/* The letters of the module struct for each kind of number. Other formats are not compared. */
static const struct {
	uint8_t code; /* of struct ww_dtype */
	const char *letters;
} kinds[] = {
	{WW_DTYPE_INT, "bhilqn"},
	{WW_DTYPE_UINT, "BHILQN"},
	{WW_DTYPE_FLOAT, "efdg"},
	{WW_DTYPE_BOOL, "?"},
};

/* Return: false: the format is of something else. */
static bool read_format(const char *format, Py_ssize_t item_bytes, struct ww_dtype *out_dtype)
{
	bool is_complex = false;

	format += strspn(format, "@=<");
	if (*format == 'Z') {
		is_complex = true;
		format++;
	}
	if (strlen(format) != 1)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strchr(kinds[i].letters, *format))
			continue;
		*out_dtype = (struct ww_dtype){
			.code = is_complex ? WW_DTYPE_COMPLEX : kinds[i].code,
			.bits = (uint8_t)(8 * item_bytes),
			.lanes = 1,
		};
		return true;
	}
	return false;
}

/* Whether a dtype is one that read_format() can tell from others. */
static bool is_plain(const struct ww_dtype *dtype)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (dtype->code == kinds[i].code)
			return dtype->lanes == 1;
	}
	return dtype->code == WW_DTYPE_COMPLEX && dtype->lanes == 1;
}

static PyObject *raise_mismatch(PyObject *self, PyObject *other_type, PyObject *other)
{
	PyObject *dtype = PyObject_GetAttrString(self, "dtype");
	PyObject *shape = PyObject_GetAttrString(self, "shape");
	PyObject *other_shape = PyObject_GetAttrString(other, "shape");
	PyObject *text = NULL, *bytes = NULL;

	if (dtype && shape && other_shape)
		text = PyUnicode_FromFormat(
			"cannot copy between an array of %S in shape %S and one of "
			"%S in shape %S; convert or reshape one, or copy its "
			"bytes: .view('uint8')",
			dtype, shape, other_type, other_shape);
	bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
	if (bytes)
		error_raise_text(core_of(self), WW_ERR_MISMATCH, "%s", PyBytes_AsString(bytes));
	Py_XDECREF(bytes);
	Py_XDECREF(text);
	Py_XDECREF(other_shape);
	Py_XDECREF(shape);
	Py_XDECREF(dtype);
	return NULL;
}

static bool has_bytes(const struct ww_array *array)
{
	return array->dtype.code == WW_DTYPE_UINT && array->dtype.bits == 8 &&
		array->dtype.lanes == 1;
}

static bool check_bytes(PyObject *self, const struct ww_array *ours, const struct ww_array *theirs)
{
	uint64_t our_bytes = 0, their_bytes = 0;

	(void)ww_array_bytes(ours, &our_bytes); /* each array of this module has a size */
	(void)ww_array_bytes(theirs, &their_bytes);
	if (our_bytes == their_bytes)
		return true;
	error_raise_text(core_of(self), WW_ERR_INVALID,
		"cannot copy between arrays of %llu and %llu bytes", (unsigned long long)our_bytes,
		(unsigned long long)their_bytes);
	return false;
}

static bool is_of_type(PyObject *self, PyObject *name)
{
	PyObject *own = PyObject_GetAttrString(self, "dtype");
	bool is_so = own && PyObject_RichCompareBool(own, name, Py_EQ) == 1;

	Py_XDECREF(own);
	return is_so;
}

bool array_check_same(PyObject *self, PyObject *other)
{
	const struct ww_array *ours = &((struct array_instance *)self)->array;
	const struct ww_array *theirs = &((struct array_instance *)other)->array;
	bool is_numpys = ((struct array_instance *)self)->numpy_type ||
		((struct array_instance *)other)->numpy_type;
	bool is_good = !memcmp(&ours->dtype, &theirs->dtype, sizeof(ours->dtype)) &&
		ours->ndim == theirs->ndim &&
		!memcmp(ours->shape, theirs->shape, ours->ndim * sizeof(ours->shape[0]));
	PyObject *dtype;

	if (has_bytes(ours) || has_bytes(theirs))
		return check_bytes(self, ours, theirs);
	if (is_good && !is_numpys)
		return true;
	dtype = PyObject_GetAttrString(other, "dtype");
	is_good = is_good && dtype && is_of_type(self, dtype);
	if (dtype && !is_good)
		raise_mismatch(self, dtype, other);
	Py_XDECREF(dtype);
	return is_good;
}

/* Of a memoryview. */
static bool is_format_of_bytes(const char *format)
{
	return strlen(format) == 1 && strchr("Bc", *format);
}

/* Of a memoryview: ours are little-endian, as are the machines. */
static bool is_of_other_order(const char *format, Py_ssize_t item_bytes)
{
	return item_bytes > 1 && strspn(format, ">!") > 0;
}

static bool has_shape(const struct ww_array *array, PyObject *shape)
{
	if (PyTuple_Size(shape) != (Py_ssize_t)array->ndim)
		return false;
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (PyLong_AsLongLong(PyTuple_GetItem(shape, i)) != array->shape[i])
			return false;
	}
	return true;
}

/* The type of a memoryview's elements, as NumPy calls it: a format means little to users. */
static PyObject *name_type(PyObject *view)
{
	PyObject *none = PyTuple_New(0);
	PyObject *name = NULL;

	if (none)
		name = call_python("warpway._arrays", "_name_type", view, none, NULL);
	Py_XDECREF(none);
	return name;
}

/* Formats have no names for types such as bfloat16: what is copied is not compared with them. */
static bool may_have_type(PyObject *self, PyObject *name)
{
	const struct array_instance *array = (struct array_instance *)self;

	return array->numpy_type ? is_of_type(self, name) : !is_plain(&array->array.dtype);
}

/* @shape:  a tuple; @format: bytes */
static bool check_view(PyObject *self, PyObject *view, PyObject *format, PyObject *shape,
	Py_ssize_t item_bytes)
{
	const struct ww_array *array = &((struct array_instance *)self)->array;
	const char *letters = PyBytes_AsString(format);
	struct ww_dtype dtype;
	PyObject *name;
	bool is_same;

	if (!letters)
		return false;
	if (has_bytes(array) || is_format_of_bytes(letters))
		return true;
	if (read_format(letters, item_bytes, &dtype) && !is_of_other_order(letters, item_bytes) &&
		!memcmp(&dtype, &array->dtype, sizeof(dtype)) && has_shape(array, shape))
		return true;
	name = name_type(view);
	is_same = name && has_shape(array, shape) && may_have_type(self, name);
	if (name && !is_same)
		raise_mismatch(self, name, view);
	Py_XDECREF(name);
	return is_same;
}

static bool check_memoryview(PyObject *self, PyObject *view)
{
	PyObject *text = PyObject_GetAttrString(view, "format");
	PyObject *format = text ? PyUnicode_AsUTF8String(text) : NULL;
	PyObject *shape = PyObject_GetAttrString(view, "shape");
	PyObject *size = PyObject_GetAttrString(view, "itemsize");
	bool is_good = format && shape && size &&
		check_view(self, view, format, shape, PyLong_AsSsize_t(size));

	Py_XDECREF(size);
	Py_XDECREF(shape);
	Py_XDECREF(format);
	Py_XDECREF(text);
	return is_good;
}

/* Of (view, name of the type). */
static bool check_named(PyObject *self, PyObject *pair)
{
	const struct ww_array *array = &((struct array_instance *)self)->array;
	PyObject *view = PyTuple_GetItem(pair, 0), *name = PyTuple_GetItem(pair, 1);
	PyObject *shape = PyObject_GetAttrString(view, "shape");
	bool is_good = shape &&
		(has_bytes(array) || (has_shape(array, shape) && is_of_type(self, name)));

	if (shape && !is_good)
		raise_mismatch(self, name, view);
	Py_XDECREF(shape);
	return is_good;
}

bool array_check_unmasked(PyObject *value)
{
	PyObject *none, *done;

	if (!PyObject_HasAttrString((PyObject *)Py_TYPE(value), "filled"))
		return true;
	none = PyTuple_New(0);
	done = none ? call_python("warpway._arrays", "_refuse_mask", value, none, NULL) : NULL;
	Py_XDECREF(none);
	Py_XDECREF(done);
	return done;
}

PyObject *array_view_buffer(PyObject *self, PyObject *buffer)
{
	PyObject *view = array_check_unmasked(buffer) ? PyMemoryView_FromObject(buffer) : NULL;
	PyObject *all, *pair;

	if (view) {
		if (!check_memoryview(self, view))
			Py_CLEAR(view);
		return view;
	}
	if (!PyErr_ExceptionMatches(PyExc_ValueError))
		return NULL;
	PyErr_Clear();
	all = PyTuple_Pack(1, Py_True);
	pair = all ? call_python("warpway._arrays", "_view_buffer", buffer, all, NULL) : NULL;
	if (pair && check_named(self, pair))
		view = Py_NewRef(PyTuple_GetItem(pair, 0));
	Py_XDECREF(pair);
	Py_XDECREF(all);
	return view;
}
