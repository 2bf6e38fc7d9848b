/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agreement.c - whether two processes mean the same array, see agreement.h
 */
#include "array/agreement.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

ww_status ww_array_agree(const char *owner, const struct ww_array *found,
	const struct ww_array *wanted)
{
	char theirs[TEXT_BYTES];
	char ours[TEXT_BYTES];

	if (!wanted || (found && is_same(found, wanted)))
		return WW_OK;
	print(found, theirs);
	print(wanted, ours);
	return ww_fail(WW_ERR_MISMATCH, "the frames of the %s are %s, and %s was asked for", owner,
		theirs, ours);
}

ww_status ww_array_check_frames(const struct ww_array *array, uint64_t slot_bytes)
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
