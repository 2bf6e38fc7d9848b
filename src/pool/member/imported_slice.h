/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imported_slice.h - a pool of another process, as one that imports its slices has it
 *
 * With the first slice of a pool this process becomes a member: it maps the table, makes a page of
 * marks and shows it to the owner through the broker. From then on an import is a look into the
 * table. Membership lasts until the owner is gone and no slice is left, or this process ends;
 * chunks stay mapped until the owner has given chunks back, or has closed the pool.
 */
#ifndef WW_POOL_MEMBER_IMPORTED_SLICE_H
#define WW_POOL_MEMBER_IMPORTED_SLICE_H

#include <warpway/broker.h>

#include "memory/memory.h"
#include "wire/token.h"

/*
 * @broker:     as for ww_memory_import()
 * @token:      of a slice
 * @is_import:  whether that counts as an import of the slice
 * Return: WW_OK; as ww_memory_import().
 */
ww_status ww_member_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	bool is_import, struct ww_memory **out_memory);

struct ww_member;

/*
 * Uses the slice of a token, and maps nothing.
 * @is_import:        whether that counts as an import of the slice
 * @holds:            gets the hold of its chunk
 * @out_member:       counted in its users
 * @out_memory_kind:  WW_MEMORY_... of the pool
 * Return: WW_OK; as ww_object_import().
 */
ww_status ww_member_hold(struct ww_broker *broker, const struct ww_token_content *token,
	bool is_import, struct ww_attachments *holds, struct ww_member **out_member,
	uint32_t *out_memory_kind);

/*
 * Maps a slice that is used so, which is no import of it: the memory is a use of its own.
 * @holds:  as ww_member_hold() filled it
 * @info:   of the token that it came by
 * Return: WW_OK; as ww_object_map().
 */
ww_status ww_member_map(struct ww_member *member, struct ww_attachments *holds,
	struct ww_device *device, const struct ww_token_info *info,
	const struct ww_import_options *options, struct ww_memory **out_memory);

/* Ends that use of the slice, and of the member. */
void ww_member_let_go(struct ww_member *member, uint64_t number);

/*
 * A token by which another process gets a slice that is used here.
 * @broker:  NULL: the pool's; another one is refused
 * @info:    as in the token that it came by; the fields about pool and broker are filled in
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_member_token(struct ww_member *member, struct ww_broker *broker,
	struct ww_token_info *info, struct ww_token *out_token);

/* Releases what is left of pools whose owners have ended. Calls of pools and imports do so. */
void ww_members_reclaim(void);

#endif
