/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - what calls tell about objects, processes, brokers and pools, as named tuples
 */
#include "core.h"

PyObject *info_object(struct core *core, enum core_type type, PyObject *const values[])
{
	PyObject *info = PyStructSequence_New(core->types[type]);
	bool complete = info;
	Py_ssize_t i;

	for (i = 0; values[i] != INFO_END; i++) {
		if (!values[i])
			complete = false;
		if (info)
			PyStructSequence_SetItem(info, i, values[i]);
		else
			Py_XDECREF(values[i]);
	}
	if (!complete)
		Py_CLEAR(info);
	return info;
}

PyObject *info_word(uint32_t value, const char *const words[], uint32_t count)
{
	return PyUnicode_FromString(value < count ? words[value] : "");
}

PyObject *info_seconds(uint64_t ns)
{
	return PyFloat_FromDouble((double)ns / 1e9);
}

PyObject *info_id(const uint8_t id[WW_OBJECT_ID_BYTES])
{
	char text[2 * WW_OBJECT_ID_BYTES + 1];

	for (size_t i = 0; i < WW_OBJECT_ID_BYTES; i++)
		snprintf(text + i * 2, 3, "%02x", id[i]);
	return PyUnicode_FromString(text);
}

static int hex_digit(char character)
{
	const char *digits = "0123456789abcdef";
	const char *found = character ? strchr(digits, character) : NULL;

	return found ? (int)(found - digits) : -1;
}

bool id_read(PyObject *text, uint8_t id[WW_OBJECT_ID_BYTES])
{
	PyObject *bytes = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : NULL;
	const char *digits = bytes ? PyBytes_AsString(bytes) : "";
	bool is_id = bytes && PyBytes_Size(bytes) == 2 * (Py_ssize_t)WW_OBJECT_ID_BYTES;

	for (size_t i = 0; is_id && i < WW_OBJECT_ID_BYTES; i++) {
		int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);

		is_id = high >= 0 && low >= 0;
		id[i] = is_id ? (uint8_t)(high * 16 + low) : 0;
	}
	Py_XDECREF(bytes);
	if (!is_id && !PyErr_Occurred())
		PyErr_Format(PyExc_ValueError,
			"an object id is a str of 32 hexadecimal digits in lower case, as Memory.object_id, not %R",
			text ? text : Py_None);
	return is_id;
}

/* Names come from other processes: the broker has checked that they are UTF-8. */
PyObject *info_text(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *info_u32(const void *info, const void *offset)
{
	uint32_t number;

	memcpy(&number, (const char *)info + (size_t)offset, sizeof(number));
	return PyLong_FromUnsignedLong(number);
}

PyObject *info_u64(const void *info, const void *offset)
{
	uint64_t number;

	memcpy(&number, (const char *)info + (size_t)offset, sizeof(number));
	return PyLong_FromUnsignedLongLong(number);
}

PyObject *info_dtype(const struct ww_dtype *dtype)
{
	char name[WW_DTYPE_NAME_BYTES];

	if (ww_dtype_name(dtype, name) != WW_OK)
		snprintf(name, sizeof(name), "unknown");
	return PyUnicode_FromString(name);
}

PyObject *info_numbers(const int64_t *numbers, uint32_t count)
{
	PyObject *tuple = PyTuple_New(count);

	for (uint32_t i = 0; tuple && i < count; i++) {
		PyObject *number = PyLong_FromLongLong(numbers[i]);

		if (!number)
			Py_CLEAR(tuple);
		else
			PyTuple_SetItem(tuple, i, number);
	}
	return tuple;
}

PyObject *object_info_object(struct core *core, const struct ww_object_info *info)
{
	static const char *const kinds[] = {"", "memory", "timeline", "event", "barrier", "channel",
		"service", "pool", "work-queue"};
	static const char *const states[] = {"", "writing", "sealed", "shared", "removed"};
	static const char *const lives[] = {"", "held", "owner", "kept"};
	static const char *const accesses[] = {"", "read", "write"};
	PyObject *const values[] = {
		info_text(info->name),
		info_word(info->kind, kinds, 9),
		info_word(info->state, states, 5),
		info_word(info->life, lives, 4),
		PyLong_FromUnsignedLongLong(info->bytes),
		PyLong_FromUnsignedLong(info->mode),
		PyLong_FromUnsignedLong(info->uid),
		PyLong_FromUnsignedLong(info->gid),
		info_word(info->access, accesses, 3),
		PyLong_FromUnsignedLong(info->pid),
		PyLong_FromUnsignedLong(info->holders),
		PyLong_FromUnsignedLong(info->escrows),
		PyBool_FromLong(info->is_own),
		info_seconds(info->age_ns),
		info->left_ns == WW_FOREVER ? Py_NewRef(Py_None) : info_seconds(info->left_ns),
		info_id(info->object_id),
		info->has_array ? info_numbers(info->array.shape, info->array.ndim)
				: Py_NewRef(Py_None),
		info->has_array ? info_dtype(&info->array.dtype) : Py_NewRef(Py_None),
		PyBool_FromLong(info->is_slice),
		INFO_END,
	};

	return info_object(core, CORE_OBJECT_INFO, values);
}
