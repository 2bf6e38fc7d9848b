/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.c - types of elements, as Python programs name them
 *
 * What numpy.dtype() takes names the same type here: names ("float32", "single"), type strings
 * ("f4", "<i8"), characters ("f", "?"), Python's types and NumPy's. So do the types of ml_dtypes
 * and torch. NumPy itself is not imported.
 */
#include "core.h"

#include <stdlib.h>

static PyObject *refuse_order(struct core *core, const char *text)
{
	return error_raise_text(core, WW_ERR_UNSUPPORTED,
		"dtype '%s' is in the byte order that this machine does not use, and GPUs have no such "
		"elements: convert the array first, with x.astype(x.dtype.newbyteorder('='))",
		text);
}

/* The type string of a numpy.dtype, whose name does not tell the byte order; else NULL. */
static PyObject *dtype_swapped(struct core *core, PyObject *value)
{
	PyObject *order = optional_attribute(value, "byteorder"), *text;
	bool is_swapped = order && PyUnicode_Check(order) &&
		PyUnicode_CompareWithASCIIString(order, ">") == 0;
	char *shown;

	Py_XDECREF(order);
	if (!is_swapped)
		return NULL;
	text = PyObject_GetAttrString(value, "str");
	if (text && PyUnicode_Check(text)) {
		PyObject *bytes = text_bytes(text, &shown);

		if (bytes)
			refuse_order(core, shown);
		Py_XDECREF(bytes);
	}
	return text;
}

/* The name of a type as Python objects tell it; a new reference to a str. */
static PyObject *dtype_name(struct core *core, PyObject *value)
{
	PyObject *name;

	if (PyUnicode_Check(value))
		return Py_NewRef(value);
	if (PyType_Check(value))
		return PyObject_GetAttrString(value, "__name__");
	name = dtype_swapped(core, value);
	if (name || PyErr_Occurred()) {
		Py_XDECREF(name);
		return NULL;
	}
	name = optional_attribute(value, "name"); /* numpy.dtype */
	if (name && PyUnicode_Check(name))
		return name;
	Py_XDECREF(name);
	return PyErr_Occurred() ? NULL : PyObject_Str(value); /* torch.float32 */
}

/* NumPy's type strings without the byte order, such as "f4". */
static bool dtype_is_sized(const char *text, char out_name[32])
{
	static const char *const kinds[][2] = {{"f", "float"}, {"i", "int"}, {"u", "uint"},
		{"c", "complex"}, {"b", "bool"}, {"V", "opaque"}};
	unsigned long bytes;
	char *end;

	if (!*text || text[1] < '0' || text[1] > '9')
		return false;
	bytes = strtoul(text + 1, &end, 10);
	if (*end || bytes > 999)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (*text != *kinds[i][0])
			continue;
		if (*text == 'b' && bytes == 1)
			snprintf(out_name, 32, "bool");
		else
			snprintf(out_name, 32, "%s%lu", kinds[i][1], bytes * 8);
		return true;
	}
	return false;
}

/* Python's own types, and NumPy's other names, are those that NumPy makes of them on Linux. */
static const char *dtype_alias(const char *text)
{
	static const char *const names[][2] = {{"float", "float64"}, {"int", "int64"},
		{"complex", "complex128"}, {"bool_", "bool"}, {"half", "float16"},
		{"single", "float32"}, {"double", "float64"}, {"csingle", "complex64"},
		{"cdouble", "complex128"}, {"byte", "int8"}, {"short", "int16"}, {"intc", "int32"},
		{"intp", "int64"}, {"int_", "int64"}, {"long", "int64"}, {"longlong", "int64"},
		{"ubyte", "uint8"}, {"ushort", "uint16"}, {"uintc", "uint32"}, {"uintp", "uint64"},
		{"uint", "uint64"}, {"ulong", "uint64"}, {"ulonglong", "uint64"}, {"?", "bool"},
		{"b", "int8"}, {"h", "int16"}, {"i", "int32"}, {"l", "int64"}, {"q", "int64"},
		{"B", "uint8"}, {"H", "uint16"}, {"I", "uint32"}, {"L", "uint64"}, {"Q", "uint64"},
		{"e", "float16"}, {"f", "float32"}, {"d", "float64"}, {"F", "complex64"},
		{"D", "complex128"}};

	if (!strncmp(text, "torch.", 6))
		text += 6;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i][0]))
			return names[i][1];
	}
	return text;
}

/* Whether elements of a type have a byte order. */
static bool dtype_is_wide(const struct ww_dtype *dtype)
{
	return dtype->bits > 8 && dtype->code != WW_DTYPE_OPAQUE;
}

/* @text: the machine's byte order may stand in front; the other one is refused */
static bool dtype_parse(struct core *core, const char *text, struct ww_dtype *out_dtype)
{
	const char *name = text + (*text && strchr("<=|>", *text) && text[1]);
	char sized[32];
	bool is_sized = dtype_is_sized(name, sized);
	ww_status status = ww_dtype_parse(is_sized ? sized : dtype_alias(name), out_dtype);

	if (status == WW_OK && *text == '>' && dtype_is_wide(out_dtype))
		return refuse_order(core, text);
	if (status != WW_OK && is_sized)
		error_raise_text(core, status,
			"no type of elements is called '%.40s': the number behind a letter counts bytes, as in "
			"'f4' of NumPy; 'float32' counts bits",
			text);
	else if (status != WW_OK)
		error_raise(core, status);
	return status == WW_OK;
}

/* A program names few types, and always by the same str. */
static void dtype_remember(struct core *core, PyObject *value, struct ww_dtype dtype)
{
	PyObject *former = core->dtype_text;

	if (!PyUnicode_CheckExact(value))
		return;
	core->dtype = dtype;
	core->dtype_text = Py_NewRef(value);
	Py_XDECREF(former);
}

static bool dtype_read(struct core *core, PyObject *value, struct ww_dtype *out_dtype)
{
	PyObject *name = dtype_name(core, value);
	char *text;
	PyObject *bytes = name ? text_bytes(name, &text) : NULL;
	bool is_parsed = bytes && dtype_parse(core, text, out_dtype);

	Py_XDECREF(name);
	Py_XDECREF(bytes);
	if (is_parsed)
		dtype_remember(core, value, *out_dtype);
	return is_parsed;
}

bool convert_dtype(struct core *core, PyObject *value, struct ww_dtype *out_dtype)
{
	if (value != core->dtype_text)
		return dtype_read(core, value, out_dtype);
	*out_dtype = core->dtype;
	return true;
}
