/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - what all that computes with arrays shares
 */
#ifndef WW_ARRAY_LAYOUT_H
#define WW_ARRAY_LAYOUT_H

#include <stdbool.h>

#include <warpway/array.h>

/* Everything that can be said without computing. Return: WW_OK; WW_ERR_INVALID. */
ww_status ww_array_check_form(const struct ww_array *array);

/* Return: WW_OK; WW_ERR_INVALID (too many dimensions, a negative one). */
ww_status ww_array_check_shape(uint32_t ndim, const int64_t *shape);

/*
 * What the elements would have if no dimension were without any; of an array whose form was
 * checked.
 *
 * Return: WW_OK; WW_ERR_OVERFLOW (more than 63 bits count).
 */
ww_status ww_array_full_bytes(const struct ww_array *array, uint64_t *out_bytes);

/*
 * How far the elements reach below the first one and above it, their own bytes not counted; at most
 * INT64_MAX each. A dimension without elements counts as one. Of an array whose form was checked.
 *
 * Return: WW_OK; WW_ERR_OVERFLOW.
 */
ww_status ww_array_measure(const struct ww_array *array, uint64_t *out_below, uint64_t *out_above);

/* Strides of C order without gaps; of an array whose full bytes were found to fit. */
void ww_array_set_c_order(struct ww_array *array);

bool ww_array_has_elements(const struct ww_array *array);

/* Bytes of one element; of an array whose form was checked. */
uint64_t ww_array_element_bytes(const struct ww_array *array);

#endif
