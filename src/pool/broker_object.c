/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_object.c - what a pool is in a broker, see broker_object.h
 */
#include "pool/broker_object.h"

#include <inttypes.h>
#include <stdio.h>

#include "share/sync_object.h"
#include "wire/name.h"

#define ANNOUNCES 3 /* version of the protocol from which on a broker says who came */

void ww_pool_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	const char *what, const char *which)
{
	ww_name_begin_inside(id, out);
	snprintf(out + WW_NAME_INSIDE_CHARS, WW_POOL_NAME_BYTES - WW_NAME_INSIDE_CHARS, "%s-%s",
		what, which);
}

void ww_pool_chunk_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	uint32_t index)
{
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, index);
	ww_pool_name(out, id, "chunk", number);
}

ww_status ww_pool_require_broker(struct ww_broker *broker)
{
	return ww_sync_object_require_version(broker, ANNOUNCES, "tell a pool's owner who uses it");
}
