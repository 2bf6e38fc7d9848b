/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params.h - structs that grow
 *
 * A public struct begins with `uint32_t struct_size`, its sizeof as the caller was compiled. Fields
 * are only ever appended and zero means "as before", so a shorter struct is filled up with zeros,
 * and a longer one is fine as long as what we do not know is zero.
 */
#ifndef WW_BASE_PARAMS_H
#define WW_BASE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

/*
 * Copies the caller's params into ours.
 * @out:       our struct, of @out_bytes
 * @params:    the caller's
 * @least:     the size of the struct's first version
 * @name:      for the message
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set, or an unknown field is not zero).
 */
ww_status ww_params_read(void *out, size_t out_bytes, const void *params, size_t least,
	const char *name);

/*
 * Whether an info's struct_size is set, before work is done for it. Return: WW_OK; WW_ERR_INVALID.
 */
ww_status ww_params_check(const void *info, size_t least, const char *name);

/*
 * Copies our info into the caller's struct: as much as that has room for, by its struct_size, which
 * is kept; the rest of a longer one is zeroed.
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set).
 */
ww_status ww_params_write(void *info, const void *ours, size_t our_bytes, size_t least,
	const char *name);

static inline bool ww_is_zero(const uint8_t *bytes, size_t count)
{
	while (count > 0 && bytes[count - 1] == 0)
		count--;
	return count == 0;
}

/* A field of params that is zero means its default. */
static inline void ww_params_default(uint32_t *field, uint32_t value)
{
	if (*field == 0)
		*field = value;
}

#endif
