/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/array.h - how an array lies in a memory
 *
 * A struct ww_array says what the bytes of a memory mean: the type of an element, the shape, and for each
 * dimension how many bytes lie between neighbours. It owns nothing and points nowhere, so it travels
 * with a memory to other processes (put and get, tokens) and is read by any library of arrays.
 *
 *   element [i, j, ...] is at  start of the memory + offset + i * strides[0] + j * strides[1] + ...
 *
 * Strides are bytes, as in NumPy and the CUDA array interface; DLPack counts elements. They may be
 * negative or zero as long as every element lies inside the memory.
 *
 * Threads: every function may be called from any thread.
 */
#ifndef WARPWAY_ARRAY_H
#define WARPWAY_ARRAY_H

#include <warpway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WW_ARRAY_DIMS 16

/* struct ww_array.dtype_code: what an element is, numbered as in DLPack's DLDataTypeCode. */
enum {
	WW_DTYPE_INT = 0,
	WW_DTYPE_UINT = 1,
	WW_DTYPE_FLOAT = 2,
	WW_DTYPE_OPAQUE = 3, /* bits bits without a meaning known here */
	WW_DTYPE_BFLOAT = 4,
	WW_DTYPE_COMPLEX = 5, /* bits counts both parts */
	WW_DTYPE_BOOL = 6     /* of 8 bits */
};

/**
 * struct ww_array - an array inside a memory
 * @size:         sizeof(struct ww_array)
 * @dtype_code:   WW_DTYPE_...
 * @dtype_bits:   bits of one lane: a multiple of 8
 * @dtype_lanes:  lanes of one element; 1 but for vector types
 * @ndim:         dimensions, 0 (one element) to WW_ARRAY_DIMS
 * @reserved:     0
 * @offset:       bytes from the start of the memory to element [0, 0, ...]
 * @shape:        elements in each of the first @ndim dimensions, >= 0; zeros behind
 * @strides:      bytes between neighbours in each of them; zeros behind
 */
struct ww_array {
	uint32_t size;
	uint8_t dtype_code;
	uint8_t dtype_bits;
	uint16_t dtype_lanes;
	uint32_t ndim;
	uint32_t reserved;
	uint64_t offset;
	int64_t shape[WW_ARRAY_DIMS];
	int64_t strides[WW_ARRAY_DIMS];
};

/**
 * ww_array_set() - describe an array in C order, its elements without gaps
 * @array:       the caller's, filled on success; only its size need be set before
 * @dtype_code:  WW_DTYPE_...
 * @dtype_bits:  8, 16, 32, 64 or 128 (or another multiple of 8, for opaque)
 * @ndim:        0 to WW_ARRAY_DIMS
 * @shape:       borrowed; @ndim numbers >= 0; may be NULL when @ndim is 0
 *
 * Lanes become 1 and the offset 0.
 *
 * Return: WW_OK; WW_ERR_INVALID (no such dtype, too many dimensions, a negative one);
 *         WW_ERR_OVERFLOW (the array would have more bytes than 63 bits hold).
 */
WW_API ww_status ww_array_set(struct ww_array *array, uint32_t dtype_code, uint32_t dtype_bits,
	uint32_t ndim, const int64_t *shape);

/**
 * ww_array_check() - whether every element of an array lies inside a memory
 * @array:  borrowed; may come from a stranger
 * @bytes:  of the memory
 *
 * Return: WW_OK; WW_ERR_INVALID (not an array that can be; the record says what is wrong);
 *         WW_ERR_OVERFLOW (its shape or strides are too large to compute with);
 *         WW_ERR_MISMATCH (it reaches outside the memory).
 */
WW_API ww_status ww_array_check(const struct ww_array *array, uint64_t bytes);

/**
 * ww_array_bytes() - how many bytes the elements have, gaps not counted
 * @array:      borrowed
 * @out_bytes:  elements times bytes of one element
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_OVERFLOW.
 */
WW_API ww_status ww_array_bytes(const struct ww_array *array, uint64_t *out_bytes);

/**
 * ww_array_is_contiguous() - whether the elements lie in C order without gaps
 * @array:  borrowed
 *
 * An array without elements, or with one, is.
 *
 * Return: 1 if so, else 0; 0 for what is no array.
 */
WW_API int32_t ww_array_is_contiguous(const struct ww_array *array);

#ifdef __cplusplus
}
#endif

#endif
