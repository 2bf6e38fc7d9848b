/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_gather.h - the elements of an array in C order, wherever its strides put them
 *
 * A walk over an array that the CPU reaches. Which elements come next is kept between calls, so a
 * large array can be taken in pieces.
 */
#ifndef TOOLS_WARPWAY_ARRAY_GATHER_H
#define TOOLS_WARPWAY_ARRAY_GATHER_H

#include <warpway/array.h>

#include <stddef.h>
#include <stdint.h>

struct gather {
	const struct ww_array *array; /* borrowed */
	const uint8_t *first;         /* element [0, 0, ...] */
	size_t item_bytes;
	uint64_t left;      /* elements */
	size_t taken_bytes; /* of the next element, which is larger than the room there was */
	int64_t index[WW_ARRAY_DIMS];
};

/**
 * gather_start() - begin with the first element
 * @array:  borrowed; ww_array_check() has found it inside the memory
 * @base:   borrowed; start of the memory
 */
void gather_start(struct gather *gather, const struct ww_array *array, const void *base);

/*
 * Takes as many elements as fit into @room bytes, or a part of one that is larger.
 * @room:  not 0
 * Return: how many bytes that is; 0: there are no more.
 */
size_t gather_next(struct gather *gather, void *out_bytes, size_t room);

#endif
