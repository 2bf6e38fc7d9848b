/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.h - the types that signatures have short names for, and values of scalars
 *
 * A scalar is its bits, zeros above, in a uint64_t: the two's complement of an integer, the IEEE
 * 754 pattern of a floating-point number, 0 or 1 of a bool.
 */
#ifndef WW_CALL_SCALAR_H
#define WW_CALL_SCALAR_H

#include <stdbool.h>

#include <warpway/signature.h>

/* Whether an argument that is no array can have this type. */
bool ww_scalar_is_type(struct ww_dtype dtype);

/* Whether it is one of i8 to u64. */
bool ww_scalar_is_integer(struct ww_dtype dtype);

static inline bool ww_dtype_is_same(struct ww_dtype a, struct ww_dtype b)
{
	return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/* A type by its short name or by the one that ww_dtype_parse() reads. The record stays as it was.
 */
bool ww_dtype_find(const char *name, struct ww_dtype *out_dtype);

/* The short name if there is one. @dtype was checked before. */
void ww_dtype_short_name(struct ww_dtype dtype, char out_text[WW_DTYPE_NAME_BYTES]);

/*
 * Whether these bits are a value of the type: nothing above them, a bool that is 0 or 1. For what
 * an untrusted process sent. @dtype: a type that a scalar can have.
 */
bool ww_scalar_is_valid(struct ww_dtype dtype, uint64_t scalar);

/*
 * The length of a dimension that a scalar of integer type gives. Return: false: it is negative or
 * has more than 63 bits.
 */
bool ww_scalar_to_count(struct ww_dtype dtype, uint64_t scalar, int64_t *out_count);

/* The other way. @count: >= 0. Return: false: the type has no such value. */
bool ww_scalar_from_count(struct ww_dtype dtype, int64_t count, uint64_t *out_scalar);

#endif
