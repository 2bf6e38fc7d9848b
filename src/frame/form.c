/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form.c - what all frames of a channel, or of a work queue, have in common, see form.h
 */
#include "frame/form.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "array/layout.h"
#include "base/error.h"

#define TEXT_BYTES (WW_DTYPE_NAME_BYTES + 64)

static bool is_same(const struct ww_array *one, const struct ww_array *other)
{
	return memcmp(&one->dtype, &other->dtype, sizeof(one->dtype)) == 0 &&
		one->ndim == other->ndim &&
		memcmp(one->shape, other->shape, sizeof(one->shape)) == 0;
}

/* "float32 [480, 640]", cut at the end of the text; "bytes" for NULL */
static void print(const struct ww_array *array, char out[TEXT_BYTES])
{
	size_t used;

	snprintf(out, TEXT_BYTES, "bytes");
	if (!array || ww_dtype_name(&array->dtype, out) < 0)
		return;
	used = strlen(out);
	for (uint32_t i = 0; i < array->ndim && used < TEXT_BYTES; i++)
		used += (size_t)snprintf(out + used, TEXT_BYTES - used, "%s%" PRId64,
			i ? ", " : " [", array->shape[i]);
	if (used < TEXT_BYTES && array->ndim)
		snprintf(out + used, TEXT_BYTES - used, "]");
}

/* That it begins with the slot, is in C order without gaps, and fits into the slot. */
static ww_status check_array(const struct ww_array *array, uint64_t slot_bytes)
{
	char frames[TEXT_BYTES];
	ww_status status;

	if (!array)
		return WW_OK;
	status = ww_array_check(array, slot_bytes);
	if (status == WW_ERR_MISMATCH && array->offset == 0 && ww_array_is_contiguous(array)) {
		print(array, frames);
		return ww_fail(WW_ERR_MISMATCH,
			"frames of %s do not fit into slots of %" PRIu64
			" bytes; set slot_bytes to the bytes of the largest frame",
			frames, slot_bytes);
	}
	if (status != WW_OK)
		return status;
	if (array->offset != 0 || !ww_array_is_contiguous(array))
		return ww_fail(WW_ERR_INVALID,
			"an array cannot describe frames: it begins %" PRIu64
			" bytes behind the slot's first, or is not in C order without gaps; give it "
			"neither strides nor an offset",
			array->offset);
	return WW_OK;
}

ww_status ww_frame_form_check(const char *params, uint64_t slot_bytes,
	const char metadata_type[WW_FRAME_METADATA_TYPE_BYTES], const struct ww_array *array)
{
	if (slot_bytes == 0)
		return ww_fail(WW_ERR_INVALID,
			"%s.slot_bytes is 0; set it to the bytes of the largest frame", params);
	if (memchr(metadata_type, 0, WW_FRAME_METADATA_TYPE_BYTES) == NULL)
		return ww_fail(WW_ERR_INVALID,
			"%s.metadata_type is not ended by a zero within %d bytes", params,
			WW_FRAME_METADATA_TYPE_BYTES);
	return check_array(array, slot_bytes);
}

ww_status ww_frame_form_round(uint64_t slot_bytes, uint32_t slots_max, uint64_t *out_bytes)
{
	uint64_t bytes;

	if (__builtin_add_overflow(slot_bytes, WW_FRAME_ALIGNMENT - 1, &bytes) ||
		bytes > UINT64_MAX / slots_max)
		return ww_fail(WW_ERR_OVERFLOW,
			"slots of %" PRIu64 " bytes are more than 64 bits count", slot_bytes);
	*out_bytes = bytes / WW_FRAME_ALIGNMENT * WW_FRAME_ALIGNMENT;
	return WW_OK;
}

void ww_frame_form_init(struct ww_frame_form *form, const char *owner, uint64_t slot_bytes,
	uint32_t metadata_bytes, const struct ww_array *array)
{
	*form = (struct ww_frame_form){
		.owner = owner,
		.slot_bytes = slot_bytes,
		.frame_bytes = slot_bytes,
		.metadata_bytes = metadata_bytes,
		.has_array = array != NULL,
	};
	if (!array)
		return;
	form->array = *array;
	(void)ww_array_bytes(array, &form->frame_bytes); /* it was checked */
}

void ww_frame_form_encode(const struct ww_frame_form *form, uint8_t out[WW_ARRAY_RECORD_BYTES])
{
	ww_array_record_encode(form->has_array ? &form->array : NULL, out);
}

ww_status ww_frame_form_decode(struct ww_frame_form *form, const char *owner, uint64_t slot_bytes,
	uint32_t metadata_bytes, const uint8_t array[WW_ARRAY_RECORD_BYTES])
{
	struct ww_array found;
	bool has_array;

	ww_try(ww_array_record_decode(array, slot_bytes, &found, &has_array));
	ww_frame_form_init(form, owner, slot_bytes, metadata_bytes, has_array ? &found : NULL);
	return WW_OK;
}

ww_status ww_frame_form_agree(const struct ww_frame_form *form, const char *type,
	const char *wanted_type, const struct ww_array *wanted)
{
	const struct ww_array *found = form->has_array ? &form->array : NULL;
	char theirs[TEXT_BYTES];
	char ours[TEXT_BYTES];

	if (wanted_type && strcmp(wanted_type, type) != 0)
		return ww_fail(WW_ERR_MISMATCH,
			"the %s's metadata is of type '%s', and '%.64s' was asked for", form->owner,
			type, wanted_type);
	if (!wanted || (found && is_same(found, wanted)))
		return WW_OK;
	print(found, theirs);
	print(wanted, ours);
	return ww_fail(WW_ERR_MISMATCH, "the frames of the %s are %s, and %s was asked for",
		form->owner, theirs, ours);
}
