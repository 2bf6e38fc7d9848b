/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info.c - what calls tell about objects, processes, brokers and pools, as named tuples
 */
#include "core.h"

PyObject *info_word(uint32_t value, const char *const words[], uint32_t count)
{
	return PyUnicode_FromString(value < count ? words[value] : "");
}

PyObject *info_id(const uint8_t id[WW_OBJECT_ID_BYTES])
{
	char text[2 * WW_OBJECT_ID_BYTES + 1];

	for (size_t i = 0; i < WW_OBJECT_ID_BYTES; i++)
		snprintf(text + i * 2, 3, "%02x", id[i]);
	return PyUnicode_FromString(text);
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
