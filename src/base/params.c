/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params.c - structs that grow, see params.h
 */
#include "base/params.h"

#include <string.h>

#include "base/error.h"

static ww_status read_size(const void *theirs, size_t least, const char *name, uint32_t *out_size)
{
	memcpy(out_size, theirs, sizeof(*out_size));
	if (*out_size < least)
		return ww_fail(WW_ERR_INVALID,
			"%s.struct_size is %u, less than any version of it (%zu); set it to sizeof(struct %s)",
			name, *out_size, least, name);
	return WW_OK;
}

ww_status ww_params_check(const void *info, size_t least, const char *name)
{
	uint32_t size;

	return read_size(info, least, name, &size);
}

ww_status ww_params_read(void *out, size_t out_bytes, const void *params, size_t least,
	const char *name)
{
	const uint8_t *theirs = params;
	uint32_t size;

	ww_try(read_size(params, least, name, &size));
	for (size_t i = out_bytes; i < size; i++) {
		if (theirs[i] != 0)
			return ww_fail(WW_ERR_INVALID,
				"%s has a field at byte %zu that this library (%s) does not know",
				name, i, WW_VERSION);
	}
	if (size > out_bytes)
		size = (uint32_t)out_bytes;
	memcpy(out, params, size);
	memset((uint8_t *)out + size, 0, out_bytes - size);
	return WW_OK;
}

ww_status ww_params_write(void *info, const void *ours, size_t our_bytes, size_t least,
	const char *name)
{
	const size_t skip = sizeof(uint32_t); /* the size field stays the caller's */
	uint8_t *theirs = info;
	uint32_t size;

	ww_try(read_size(info, least, name, &size));
	if (our_bytes > size)
		our_bytes = size;
	memcpy(theirs + skip, (const uint8_t *)ours + skip, our_bytes - skip);
	memset(theirs + our_bytes, 0, size - our_bytes);
	return WW_OK;
}
