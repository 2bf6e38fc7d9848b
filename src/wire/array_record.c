/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_record.c - an array as stored bytes, see array_record.h
 */
#include "wire/array_record.h"

#include <string.h>

#include "base/error.h"

#define NO_ARRAY 0xff /* in place of the type's code */

void ww_array_record_fill(const struct ww_array *array, struct ww_wire_array *out_record)
{
	memset(out_record, 0, sizeof(*out_record));
	if (!array) {
		out_record->dtype_code = NO_ARRAY;
		return;
	}
	out_record->dtype_code = array->dtype.code;
	out_record->dtype_bits = array->dtype.bits;
	out_record->dtype_lanes = array->dtype.lanes;
	out_record->ndim = array->ndim;
	out_record->offset = array->offset;
	for (size_t i = 0; i < WW_ARRAY_DIMS; i++) {
		out_record->dims[i].shape = array->shape[i];
		out_record->dims[i].stride = array->strides[i];
	}
}

void ww_array_record_encode(const struct ww_array *array, uint8_t out[WW_ARRAY_RECORD_BYTES])
{
	struct ww_wire_array record;

	ww_array_record_fill(array, &record);
	ww_wire_encode_array(&record, out);
}

static bool has_dims(const struct ww_wire_array *record)
{
	for (size_t i = 0; i < WW_ARRAY_DIMS; i++) {
		if (record->dims[i].shape != 0 || record->dims[i].stride != 0)
			return true;
	}
	return false;
}

ww_status ww_array_record_read(const struct ww_wire_array *record, uint64_t bytes_of_span,
	struct ww_array *out_array, bool *out_has)
{
	ww_status status;
	struct ww_error reason;

	memset(out_array, 0, sizeof(*out_array));
	*out_has = false;
	if (record->dtype_code == NO_ARRAY) {
		if (record->dtype_bits || record->dtype_lanes || record->ndim || record->offset ||
			has_dims(record))
			return ww_fail(WW_ERR_PROTOCOL,
				"refused a record that says there is no array, and then describes one");
		return WW_OK;
	}
	out_array->struct_size = sizeof(*out_array);
	out_array->dtype.code = record->dtype_code;
	out_array->dtype.bits = record->dtype_bits;
	out_array->dtype.lanes = record->dtype_lanes;
	out_array->ndim = record->ndim;
	out_array->offset = record->offset;
	for (size_t i = 0; i < WW_ARRAY_DIMS; i++) {
		out_array->shape[i] = record->dims[i].shape;
		out_array->strides[i] = record->dims[i].stride;
	}
	/* What is wrong with an argument is here wrong with what an untrusted process wrote. */
	if (ww_array_check(out_array, bytes_of_span) == WW_OK) {
		status = WW_OK;
	} else {
		ww_error_save(&reason);
		status = ww_fail(WW_ERR_PROTOCOL, "refused the record of an array: %s",
			reason.message);
	}
	if (status == WW_OK)
		*out_has = true;
	else
		memset(out_array, 0, sizeof(*out_array));
	return status;
}

ww_status ww_array_record_decode(const uint8_t bytes[WW_ARRAY_RECORD_BYTES], uint64_t bytes_of_span,
	struct ww_array *out_array, bool *out_has)
{
	struct ww_wire_array record;

	ww_wire_decode_array(bytes, &record);
	return ww_array_record_read(&record, bytes_of_span, out_array, out_has);
}
