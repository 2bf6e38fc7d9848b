/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_gather.c - the elements of an array in C order, wherever its strides put them
 */
#include "warpway/array_gather.h"

#include <string.h>

void gather_start(struct gather *gather, const struct ww_array *array, const void *base)
{
	uint64_t elements = 1;

	*gather = (struct gather){
		.array = array,
		.first = (const uint8_t *)base + array->offset,
		.item_bytes = (size_t)array->dtype.bits * array->dtype.lanes / 8,
	};
	for (uint32_t i = 0; i < array->ndim; i++)
		elements *= (uint64_t)array->shape[i];
	gather->left = elements;
}

/* Where the element at the index is. */
static const uint8_t *locate(const struct gather *gather)
{
	int64_t offset = 0;

	for (uint32_t i = 0; i < gather->array->ndim; i++)
		offset += gather->index[i] * gather->array->strides[i];
	return gather->first + offset;
}

/* Adds to the last index, and carries. */
static void step(struct gather *gather, int64_t count)
{
	uint32_t i = gather->array->ndim;

	gather->left -= (uint64_t)count;
	if (i == 0)
		return;
	gather->index[i - 1] += count;
	while (--i > 0 && gather->index[i] == gather->array->shape[i]) {
		gather->index[i] = 0;
		gather->index[i - 1]++;
	}
}

/* Elements from here to the end of the last dimension. */
static int64_t row_left(const struct gather *gather)
{
	uint32_t ndim = gather->array->ndim;

	return ndim ? gather->array->shape[ndim - 1] - gather->index[ndim - 1] : 1;
}

static void take_row(struct gather *gather, uint8_t *out_bytes, int64_t count)
{
	const uint8_t *from = locate(gather);
	uint32_t ndim = gather->array->ndim;
	int64_t stride = ndim ? gather->array->strides[ndim - 1] : 0;

	if (stride == (int64_t)gather->item_bytes) {
		memcpy(out_bytes, from, (size_t)count * gather->item_bytes);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		memcpy(out_bytes + (size_t)i * gather->item_bytes, from + i * stride,
			gather->item_bytes);
}

/* Of an element that does not fit as a whole. */
static size_t take_part(struct gather *gather, void *out_bytes, size_t room)
{
	size_t bytes = gather->item_bytes - gather->taken_bytes;

	if (gather->left == 0)
		return 0;
	if (bytes > room)
		bytes = room;
	memcpy(out_bytes, locate(gather) + gather->taken_bytes, bytes);
	gather->taken_bytes += bytes;
	if (gather->taken_bytes == gather->item_bytes) {
		gather->taken_bytes = 0;
		step(gather, 1);
	}
	return bytes;
}

size_t gather_next(struct gather *gather, void *out_bytes, size_t room)
{
	size_t fit = room / gather->item_bytes;
	size_t done = 0;

	if (fit == 0 || gather->taken_bytes > 0)
		return take_part(gather, out_bytes, room);
	while (gather->left > 0 && done < fit) {
		int64_t count = row_left(gather);

		if ((uint64_t)count > fit - done)
			count = (int64_t)(fit - done);
		take_row(gather, (uint8_t *)out_bytes + done * gather->item_bytes, count);
		done += (size_t)count;
		step(gather, count);
	}
	return done * gather->item_bytes;
}
