/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_object.h - what a pool is in a broker: an object, and objects inside it
 *
 * The pool's object has the owner's signal page and the slice table. The owner puts an object for
 * each chunk inside it, and each process that imports slices puts one for itself.
 */
#ifndef WW_POOL_BROKER_OBJECT_H
#define WW_POOL_BROKER_OBJECT_H

#include "client/broker_client.h"

#define WW_POOL_NAME_BYTES 64

/* A name inside the pool's object: "@ID/chunk-5", "@ID/holder-0123456789abcdef". */
void ww_pool_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	const char *what, const char *which);
void ww_pool_chunk_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	uint32_t index);

/*
 * A broker that does not say which processes came is of no use for a pool.
 * Return: WW_OK; WW_ERR_VERSION; as ww_broker_open().
 */
ww_status ww_pool_require_broker(struct ww_broker *broker);

#endif
