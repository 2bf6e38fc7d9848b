/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_info.h - from the broker's description of objects to that of the public headers
 *
 * The process that put an object has written its description, which is opaque to the broker: what
 * in it cannot be read is left out where an object is only looked at, and refused where it is to be
 * used.
 */
#ifndef WW_SHARE_OBJECT_INFO_H
#define WW_SHARE_OBJECT_INFO_H

#include <warpway/broker.h>

#include "memory/description.h"
#include "wire/protocol.h"

/* "memory", "timeline", ...; never NULL. */
const char *ww_object_kind_name(uint16_t kind);

/* What the broker keeps as the description of a memory. */
struct ww_object_description {
	struct ww_description memory;
	struct ww_array array;
	bool has_array;
};

/* @out: of WW_WIRE_DESCRIPTION_BYTES. Return: how many bytes of it are used. */
uint16_t ww_object_description_encode(const struct ww_description *memory,
	const struct ww_array *array, uint8_t *out);

/* Return: WW_OK; WW_ERR_PROTOCOL; WW_ERR_VERSION. */
ww_status ww_object_description_decode(const uint8_t *bytes, size_t count,
	struct ww_object_description *out_description);

/* Every field but size. */
void ww_object_info_of_entry(const struct ww_wire_entry *entry, struct ww_object_info *out_info);
void ww_object_info_of_grant(const struct ww_wire_granted *granted,
	const struct ww_object_description *description, bool is_own,
	struct ww_object_info *out_info);

/* Into the caller's struct. Return: WW_OK; WW_ERR_INVALID (struct_size is not set). */
ww_status ww_object_info_check(const struct ww_object_info *info);
ww_status ww_object_info_write(struct ww_object_info *info, const struct ww_object_info *ours);

#endif
