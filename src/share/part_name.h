/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_name.h - the names of a part of memory that was wrapped, which end with that part
 *
 * When the part ends, its owner may use the bytes again. So a name is removed before the owner is
 * told. If the broker does not say that the name has gone, the bytes stay lent until no part of the
 * allocation is wrapped any more: then the name opens nothing.
 */
#ifndef WW_SHARE_PART_NAME_H
#define WW_SHARE_PART_NAME_H

#include "client/broker_client.h"
#include "memory/memory.h"

struct ww_part_name;

/*
 * Made before the name is put.
 * @name:           borrowed; NULL: none
 * @out_part_name:  NULL without a name, and for memory that was not wrapped
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_part_name_new(const struct ww_memory *memory, struct ww_broker *broker,
	const char *name, struct ww_part_name **out_part_name);
void ww_part_name_free(struct ww_part_name *part_name);
WW_DEFINE_CLEANUP(struct ww_part_name, ww_part_name_free)
#define WW_AUTO_PART_NAME WW_CLEANUP(ww_part_name_free_p)

/*
 * The name was put: it ends with the memory, and with no other part. Takes over @part_name.
 * @is_answered: false: the broker may put it later, and it may be another part's
 */
void ww_part_name_attach(struct ww_part_name *part_name, struct ww_memory *memory,
	const uint8_t id[WW_OBJECT_ID_BYTES], bool is_answered);

#endif
