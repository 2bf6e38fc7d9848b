/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype.h - the types that the elements of an array can have
 */
#ifndef WW_ARRAY_DTYPE_H
#define WW_ARRAY_DTYPE_H

#include <warpway/array.h>

/*
 * Checks that elements can have this type, and that each fills whole bytes.
 *
 * Return: WW_OK; WW_ERR_INVALID (the record says what is wrong).
 */
ww_status ww_dtype_check(struct ww_dtype dtype);

/* The bytes of one element. @dtype was checked before. */
static inline uint64_t ww_dtype_bytes(struct ww_dtype dtype)
{
	return (uint64_t)dtype.bits * dtype.lanes / 8;
}

#endif
