/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_import.h - a slice of a pool becomes a memory: of this process's pool, or of another's
 */
#ifndef WW_POOL_SLICE_IMPORT_H
#define WW_POOL_SLICE_IMPORT_H

#include "pool/member/imported_slice.h"
#include "pool/slice_token.h"

/*
 * @broker:     as for ww_memory_import()
 * @token:      of a slice
 * @is_import:  whether that counts as an import by the token; else the slice was had by its name
 * @object:     NULL, or the caller's, of checked size
 * Return: as ww_memory_import().
 */
ww_status ww_slice_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	bool is_import, struct ww_memory **out_memory, struct ww_object_info *object);

#endif
