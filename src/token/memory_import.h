/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_import.h - a memory by a token that names an object of a broker
 */
#ifndef WW_TOKEN_MEMORY_IMPORT_H
#define WW_TOKEN_MEMORY_IMPORT_H

#include "share/token_import.h"

/*
 * The memory that a token names, which is not a slice of a pool. What this process holds by this
 * token already is not asked for again, unless it is to be mapped again.
 * @broker:  as for ww_import_ask()
 * @info:    NULL, or the caller's, of checked size
 * Return: as ww_memory_import(); on failure *out_memory is untouched.
 */
ww_status ww_import_memory(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	struct ww_memory **out_memory, struct ww_object_info *info);

#endif
