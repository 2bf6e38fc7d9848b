/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_value.c - signatures, and the arguments and results of calls as Python objects
 */
#include "call_value.h"

#include <math.h>

#include "array.h"
#include "memory.h"
#include "token.h"

/* --- signatures --- */

static bool item_read(struct call_item *item, const struct ww_parameter_info *info)
{
	item->kind = info->kind;
	item->dtype = info->dtype;
	item->access = info->access;
	item->flags = info->flags;
	item->bytes_max = info->bytes_max;
	item->scalar = info->scalar;
	item->name = PyUnicode_InternFromString(info->name);
	item->type = PyUnicode_FromString(info->type);
	return item->name && item->type;
}

static bool form_read_items(struct core *core, struct call_form *form, const char *signature)
{
	for (uint32_t i = 0; i < form->parameter_count + form->result_count; i++) {
		struct ww_parameter_info info = WW_INIT(struct ww_parameter_info);
		ww_status status = i < form->parameter_count
			? ww_signature_parameter_get(signature, i, &info)
			: ww_signature_result_get(signature, i - form->parameter_count, &info);

		if (status != WW_OK) {
			error_raise(core, status);
			return false;
		}
		if (!item_read(&form->items[i], &info))
			return false;
	}
	return true;
}

struct call_form *call_form_read(struct core *core, const char *signature)
{
	struct ww_signature_info info = WW_INIT(struct ww_signature_info);
	ww_status status = ww_signature_info_get(signature, &info);
	uint32_t count = info.parameter_count + info.result_count;
	struct call_form *form;

	if (status != WW_OK) {
		error_raise(core, status);
		return NULL;
	}
	form = PyMem_Calloc(1, sizeof(*form) + count * sizeof(form->items[0]));
	if (!form) {
		PyErr_NoMemory();
		return NULL;
	}
	form->refs = 1;
	form->parameter_count = info.parameter_count;
	form->result_count = info.result_count;
	form->text = PyUnicode_FromString(info.text);
	if (form->text && form_read_items(core, form, signature))
		return form;
	return call_form_unref(form);
}

struct call_form *call_form_ref(struct call_form *form)
{
	form->refs++;
	return form;
}

struct call_form *call_form_unref(struct call_form *form)
{
	if (!form || --form->refs > 0)
		return NULL;
	for (uint32_t i = 0; i < form->parameter_count + form->result_count; i++) {
		Py_XDECREF(form->items[i].name);
		Py_XDECREF(form->items[i].type);
	}
	Py_XDECREF(form->text);
	PyMem_Free(form);
	return NULL;
}

/* --- scalars --- */

static bool fail_type(const struct call_item *item, PyObject *object, const char *what)
{
	PyErr_Format(PyExc_TypeError, "%s '%U' is %U, not %R", what, item->name, item->type,
		(PyObject *)Py_TYPE(object));
	return false;
}

static bool fail_range(const struct call_item *item, PyObject *object, const char *what)
{
	PyErr_Format(PyExc_ValueError, "%s '%U' is %U, which cannot be %R", what, item->name,
		item->type, object);
	return false;
}

static bool has_index(PyObject *object)
{
	return PyIndex_Check(object) && !PySequence_Check(object);
}

static bool int_from(const struct call_item *item, PyObject *object, const char *what,
	uint64_t *out_bits)
{
	bool is_signed = item->dtype.code == WW_DTYPE_INT;
	uint64_t top = UINT64_C(1) << (item->dtype.bits - 1);
	PyObject *number = has_index(object) ? PyNumber_Index(object) : NULL;
	uint64_t bits;

	if (!number && !PyErr_Occurred())
		return fail_type(item, object, what);
	if (!number)
		return false;
	bits = is_signed ? (uint64_t)PyLong_AsLongLong(number) : PyLong_AsUnsignedLongLong(number);
	Py_DECREF(number);
	if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError))
		return false;
	if (PyErr_Occurred() || (is_signed ? bits + top > top * 2 - 1 : bits > top * 2 - 1)) {
		PyErr_Clear();
		return fail_range(item, object, what);
	}
	*out_bits = item->dtype.bits == 64 ? bits : bits & (top * 2 - 1);
	return true;
}

static bool bool_from(const struct call_item *item, PyObject *object, const char *what,
	uint64_t *out_bits)
{
	long number;

	if (!PyBool_Check(object) && !has_index(object))
		return fail_type(item, object, what);
	number = PyLong_AsLong(object);
	if (number == -1 && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError))
		return false;
	PyErr_Clear();
	if (number != 0 && number != 1)
		return fail_range(item, object, what);
	*out_bits = (uint64_t)number;
	return true;
}

/* Of 16 bits: the library rounds. */
static bool half_from(const struct call_item *item, double number, uint64_t *out_bits)
{
	char *text = PyOS_double_to_string(number, 'r', 0, 0, NULL);
	ww_status status;

	if (!text)
		return false;
	status = ww_scalar_parse(&item->dtype, text, out_bits);
	PyMem_Free(text);
	return status == WW_OK;
}

static bool float_from(const struct call_item *item, PyObject *object, const char *what,
	uint64_t *out_bits)
{
	double number = PyFloat_AsDouble(object);
	float single = (float)number;

	if (number == -1.0 && PyErr_Occurred()) {
		if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
			PyErr_Clear();
			return fail_range(item, object, what);
		}
		if (!PyErr_ExceptionMatches(PyExc_TypeError))
			return false;
		PyErr_Clear();
		return fail_type(item, object, what);
	}
	*out_bits = 0;
	if (item->dtype.bits == 64)
		memcpy(out_bits, &number, sizeof(number));
	else if (item->dtype.bits == 32 && (isfinite(single) || !isfinite(number)))
		memcpy(out_bits, &single, sizeof(single));
	else if (item->dtype.bits == 32 || !half_from(item, number, out_bits))
		return PyErr_Occurred() ? false : fail_range(item, object, what);
	return true;
}

static bool scalar_from(const struct call_item *item, PyObject *object, const char *what,
	uint64_t *out_bits)
{
	switch (item->dtype.code) {
	case WW_DTYPE_BOOL:
		return bool_from(item, object, what, out_bits);
	case WW_DTYPE_INT:
	case WW_DTYPE_UINT:
		return int_from(item, object, what, out_bits);
	default:
		return float_from(item, object, what, out_bits);
	}
}

/* Of 16 bits: bfloat16 has 8 of them for the exponent, float16 has 5. */
static double half_number(const struct ww_dtype *dtype, uint64_t bits)
{
	int fraction_bits = dtype->code == WW_DTYPE_BFLOAT ? 7 : 10;
	int exponent_max = (1 << (15 - fraction_bits)) - 1;
	int exponent = (int)(bits >> fraction_bits) & exponent_max;
	int fraction = (int)bits & ((1 << fraction_bits) - 1);
	int lowest = 1 - exponent_max / 2 - fraction_bits; /* power of two of the last bit */
	double size;

	if (exponent == exponent_max)
		size = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		size = ldexp(fraction, lowest);
	else
		size = ldexp(fraction + (1 << fraction_bits), lowest + exponent - 1);
	return bits >> 15 & 1 ? -size : size;
}

static PyObject *int_object(const struct ww_value *value)
{
	unsigned unused_bits = 64u - value->dtype.bits;

	if (value->dtype.code == WW_DTYPE_UINT)
		return PyLong_FromUnsignedLongLong(value->scalar << unused_bits >> unused_bits);
	return PyLong_FromLongLong((int64_t)(value->scalar << unused_bits) >> unused_bits);
}

static PyObject *scalar_object(const struct ww_value *value)
{
	double number;
	float single;

	switch (value->dtype.code) {
	case WW_DTYPE_BOOL:
		return PyBool_FromLong((long)(value->scalar & 1));
	case WW_DTYPE_INT:
	case WW_DTYPE_UINT:
		return int_object(value);
	default:
		break;
	}
	memcpy(&number, &value->scalar, sizeof(number));
	memcpy(&single, &value->scalar, sizeof(single));
	return value->dtype.bits == 64 ? PyFloat_FromDouble(number)
		: value->dtype.bits == 32
		? PyFloat_FromDouble(single)
		: PyFloat_FromDouble(half_number(&value->dtype, value->scalar));
}

/* --- bytes --- */

static bool bytes_from(struct core *core, struct call_values *values, const struct call_item *item,
	PyObject *object, const char *what)
{
	struct ww_value *value = &values->values[values->count];
	PyObject **bytes = &values->kept[values->count].bytes;
	char *data = NULL;
	Py_ssize_t count;
	Py_buffer view;

	if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) {
		if (PyErr_ExceptionMatches(PyExc_TypeError)) {
			PyErr_Clear();
			return fail_type(item, object, what);
		}
		return false;
	}
	if (view.len <= (Py_ssize_t)item->bytes_max)
		*bytes = PyBytes_FromStringAndSize(view.buf, view.len);
	else
		PyErr_Format(error_class(core, WW_ERR_LIMIT),
			"%s '%U' has %zd bytes, and there may be %u: larger ones go in a Memory or Array",
			what, item->name, view.len, item->bytes_max);
	PyBuffer_Release(&view);
	if (!*bytes || PyBytes_AsStringAndSize(*bytes, &data, &count) < 0)
		return false;
	value->data = data;
	value->bytes = (uint64_t)count;
	return true;
}

/* --- arrays --- */

static bool refuse_array(const struct call_item *item, PyObject *object, const char *what)
{
	PyErr_Format(PyExc_TypeError,
		"%s '%U' is %U: a warpway.Array, Memory or Token, not %R; warpway.share(x) makes an "
		"Array of one of another library, with copy=True also of one of NumPy",
		what, item->name, item->type, (PyObject *)Py_TYPE(object));
	return false;
}

static bool list_append(PyObject **list, PyObject *item)
{
	if (!*list)
		*list = PyList_New(0);
	return *list && PyList_Append(*list, item) == 0;
}

/* A token of what is not mapped here. Its hold must last until the server has its own. */
static bool held_from(struct call_values *values, PyObject *memory)
{
	struct ww_value *value = &values->values[values->count];
	struct ww_token token;
	PyObject *bytes;

	if (!memory_export_held(memory, &token))
		return false;
	bytes = PyBytes_FromStringAndSize((char *)token.bytes, sizeof(token.bytes));
	values->kept[values->count].bytes = bytes;
	if (!bytes || !list_append(&values->held, memory))
		return false;
	value->token = (const struct ww_token *)(const void *)PyBytes_AsString(bytes);
	return value->token;
}

static bool memory_from(struct call_values *values, PyObject *memory)
{
	ww_memory *borrowed;

	if (memory_is_held(memory))
		return held_from(values, memory);
	borrowed = memory_borrow_to_share(memory);
	values->kept[values->count].memory = borrowed;
	values->values[values->count].memory = borrowed;
	if (borrowed)
		memory_mark_lent(memory);
	return borrowed;
}

static bool array_from(struct core *core, struct call_values *values, const struct call_item *item,
	PyObject *object, const char *what, PyObject *cancel)
{
	struct ww_value *value = &values->values[values->count];
	const struct array_instance *array = (struct array_instance *)object;
	ww_status status;

	if (Py_TYPE(object) == core->types[CORE_TOKEN]) {
		value->token = token_of(core, object);
		return true;
	}
	if (Py_TYPE(object) == core->types[CORE_MEMORY])
		return memory_from(values, object);
	if (Py_TYPE(object) != core->types[CORE_ARRAY])
		return refuse_array(item, object, what);
	if (!array_check_plain(object, "Unsupported"))
		return false;
	status = array_wait_ready(object, NULL, WW_FOREVER, cancel);
	if (status != WW_OK) {
		error_raise(core, status);
		return false;
	}
	value->array = &array->array;
	return memory_from(values, array->memory);
}

static bool timeline_from(struct core *core, struct call_values *values,
	const struct call_item *item, PyObject *object, const char *what)
{
	struct ww_value *value = &values->values[values->count];

	if (Py_TYPE(object) == core->types[CORE_TOKEN]) {
		value->token = token_of(core, object);
		return true;
	}
	if (Py_TYPE(object) != core->types[CORE_TIMELINE]) {
		PyErr_Format(PyExc_TypeError, "%s '%U' is a warpway.Timeline or Token, not %R",
			what, item->name, (PyObject *)Py_TYPE(object));
		return false;
	}
	value->timeline = handle_borrow(object, &timeline_class);
	values->kept[values->count].timeline = value->timeline;
	return value->timeline;
}

/* --- values --- */

static bool value_fill(struct core *core, struct call_values *values, const struct call_item *item,
	PyObject *object, const char *what, PyObject *cancel)
{
	struct ww_value *value = &values->values[values->count];

	switch (item->kind) {
	case WW_ARGUMENT_SCALAR:
		value->dtype = item->dtype;
		return scalar_from(item, object, what, &value->scalar);
	case WW_ARGUMENT_BYTES:
		return bytes_from(core, values, item, object, what);
	case WW_ARGUMENT_ARRAY:
		return array_from(core, values, item, object, what, cancel);
	default:
		return timeline_from(core, values, item, object, what);
	}
}

/* Left out: the default, or nothing. */
static bool value_fill_default(struct ww_value *value, const struct call_item *item,
	const char *what)
{
	if (item->flags & WW_PARAMETER_DEFAULT) {
		value->kind = WW_ARGUMENT_SCALAR;
		value->dtype = item->dtype;
		value->scalar = item->scalar;
		return true;
	}
	if (item->flags & (WW_PARAMETER_OPTIONAL | WW_PARAMETER_DIMENSION))
		return true;
	PyErr_Format(PyExc_TypeError, "%s '%U' is %U, and cannot be None", what, item->name,
		item->type);
	return false;
}

bool call_values_add(struct core *core, struct call_values *values, const struct call_item *item,
	PyObject *object, const char *what, PyObject *cancel)
{
	uint32_t i = values->count++;
	bool is_filled;

	memset(&values->values[i], 0, sizeof(values->values[i]));
	memset(&values->kept[i], 0, sizeof(values->kept[i]));
	if (object == Py_None)
		return value_fill_default(&values->values[i], item, what);
	values->kept[i].object = Py_NewRef(object);
	values->values[i].kind = item->kind;
	values->count = i;
	is_filled = value_fill(core, values, item, object, what, cancel);
	values->count = i + 1;
	return is_filled;
}

void call_values_fini(struct call_values *values)
{
	for (uint32_t i = 0; i < values->count; i++) {
		memory_return(values->kept[i].memory);
		handle_return(&timeline_class, values->kept[i].timeline);
		Py_XDECREF(values->kept[i].bytes);
		Py_XDECREF(values->kept[i].object);
	}
	Py_XDECREF(values->held);
	CALL_VALUES_INIT(values);
}

/* --- Python objects of values --- */

static PyObject *describe_array(struct core *core, PyObject *memory, const struct ww_array *array)
{
	PyObject *made;

	if (!memory || !array)
		return memory;
	made = array_object(core, memory, array);
	Py_DECREF(memory);
	return made;
}

/* It is mapped by its first use. */
static PyObject *token_array(struct core *core, const struct ww_value *value)
{
	struct ww_token token = *value->token;
	struct ww_token_info info;

	if (!token_info(core, &token, &info))
		return NULL;
	return describe_array(core, token_hold(core, &token, &info),
		value->array             ? value->array
			: info.has_array ? &info.array
					 : NULL);
}

static PyObject *memory_array(struct core *core, const struct ww_value *value)
{
	return describe_array(core, memory_object_imported(core, ww_memory_ref(value->memory)),
		value->array);
}

PyObject *call_value_object(struct core *core, const struct ww_value *value)
{
	switch (value->kind) {
	case WW_ARGUMENT_SCALAR:
		return scalar_object(value);
	case WW_ARGUMENT_BYTES:
		return PyBytes_FromStringAndSize(value->data, (Py_ssize_t)value->bytes);
	case WW_ARGUMENT_ARRAY:
		return value->memory ? memory_array(core, value) : token_array(core, value);
	case WW_ARGUMENT_TIMELINE:
		return timeline_object(core, ww_timeline_ref(value->timeline));
	default:
		return Py_NewRef(Py_None);
	}
}
