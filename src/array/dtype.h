/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.h - which types of elements there are
 */
#ifndef WW_ARRAY_DTYPE_H
#define WW_ARRAY_DTYPE_H

#include <warpway/array.h>

/*
 * Whether there can be elements of this type, with whole bytes.
 *
 * Return: WW_OK; WW_ERR_INVALID, with what is wrong.
 */
ww_status ww_dtype_check(uint32_t code, uint32_t bits, uint32_t lanes);

/* Bytes of an element of a type that was checked. */
static inline uint64_t ww_dtype_bytes(struct ww_dtype dtype)
{
	return (uint64_t)dtype.bits * dtype.lanes / 8;
}

/* The type of an array's elements. */
static inline struct ww_dtype ww_dtype_of(const struct ww_array *array)
{
	return (struct ww_dtype){array->dtype.code, array->dtype.bits, array->dtype.lanes};
}

#endif
