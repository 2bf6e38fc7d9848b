/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.h - a pool of another process, as one that imports its slices has it
 *
 * With the first slice of a pool this process becomes a member: it maps the table, makes a page of marks and shows it to the
 * owner through the broker. From then on an import is a look into the table. Membership lasts until the owner is gone and
 * no slice is left, or this process ends; chunks stay mapped until the owner has given them back.
 */
#ifndef WW_POOL_MEMBER_H
#define WW_POOL_MEMBER_H

#include <warpway/broker.h>

#include "memory/object.h"

/*
 * @broker:  as for ww_memory_import()
 * @info:    what @token says; it names a slice
 * @access:  WW_ACCESS_..., may be with WW_STRICT
 * Return: WW_OK; as ww_memory_import().
 */
ww_status ww_member_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_info *info, const struct ww_token *token, uint32_t access,
	struct ww_memory **out_memory);

/* Gives back what is left of pools whose owners are gone. Calls of pools and imports do so. */
void ww_members_tidy(void);

/* Whether a memory is a slice that was imported. */
bool ww_member_has(const struct ww_memory *memory);

/*
 * Of such a slice.
 * @broker:  NULL: the one it came by
 * Return: WW_OK; WW_ERR_STATE (another broker than the one it came by); as ww_memory_export().
 */
ww_status ww_member_export(struct ww_memory *memory, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token);

/* @memory: a reference, consumed on success. Return: WW_OK; as ww_pool_release(). */
ww_status ww_member_stream_release(struct ww_memory *memory, struct ww_stream *stream);

#endif
