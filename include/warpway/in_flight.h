/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/in_flight.h - deliveries that this process has sent and no process has received yet
 *
 * A delivery is a token that was exported with WW_EXPORT_DELIVERY (token.h). It is in flight until
 * it was imported as often as allowed. Meanwhile it keeps its object:
 *
 *   - as long as the process that exported it lives and is connected to its broker;
 *   - then for escrow_ns, by default 60 s. For a slice of a pool, this time begins when the pool
 *     ends: when its owner's process ends or releases the pool. The broker then keeps the pool and
 *     the chunks of slices that are in flight, for the longest time of their deliveries.
 *     ww_snapshot_hold() lists this as one escrow of the pool. The escrow ends early when all
 *     deliveries were imported, and the processes that imported them have released the pool or have
 *     ended. A broker with version 5 of the protocol or less keeps nothing: then only a process
 *     that has imported slices of the pool before can import a slice.
 *
 * The imports of a slice are not counted in one place: each process counts its own imports. So
 * while the owner has the slice itself, its token can open it more often than the token says. All
 * deliveries of a slice are counted together: if one of them is imported more often than it says,
 * the additional imports count for the other deliveries of that slice. Imports by tokens that are
 * not deliveries do not count, unless a process that received a delivery exported them: these count
 * for the deliveries. So if a receiver passes a slice on, send it as often as it is imported in
 * all.
 *
 * If a process is killed before it has imported a delivery, the delivery stays in flight. These
 * calls list and end such deliveries, and limit how many there are. They concern deliveries that
 * this process sent; ww_snapshot_hold() lists the deliveries of all processes.
 *
 * After its first delivery a process stays connected to the broker until ww_in_flight_create() or
 * ww_in_flight_revoke() finds that none is left.
 *
 * All deliveries of a slice of a pool are one entry, because the pool's owner knows only how many
 * imports there were. The age of the entry is the age of the last delivery.
 *
 * Threads: every function may be called from any thread; one thread at a time for each list.
 */
#ifndef WARPWAY_IN_FLIGHT_H
#define WARPWAY_IN_FLIGHT_H

#include <stddef.h>

#include <warpway/broker.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_in_flight ww_in_flight;

/**
 * struct ww_in_flight_info - one delivery
 * @struct_size:  set by the caller to sizeof(struct ww_in_flight_info)
 * @is_slice:   1: a slice of a pool
 * @number:     of the delivery in its broker; for a slice, the number of the slice in its pool that
 *              its deliveries have in common
 * @uses:       number of imports that are still expected
 * @bytes:      of the object, or of the slice
 * @age_ns:     time since it was exported
 * @access:     WW_ACCESS_...: the most access that an importer gets; for a slice 0: not known
 * @reserved:   0
 * @object_id:  of the object, or of the pool
 * @broker_id:  of its broker
 */
struct ww_in_flight_info {
	uint32_t struct_size;
	uint32_t is_slice;
	uint64_t number;
	uint64_t uses;
	uint64_t bytes;
	uint64_t age_ns;
	uint32_t access;
	uint32_t reserved;
	uint8_t object_id[WW_OBJECT_ID_BYTES];
	uint8_t broker_id[16];
};

/**
 * ww_in_flight_create() - list what this process has in flight
 * @broker:    borrowed; NULL: all brokers through which it has sent
 * @cancel:    borrowed; may be NULL: cancel.h
 * @out_list:  the caller's; NULL on failure
 *
 * May block: for a round trip for each 512 holds in the broker.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_NO_MEMORY; WW_ERR_INVALID; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_in_flight_create(ww_broker *broker, ww_cancel *cancel, ww_in_flight **out_list);

/**
 * ww_in_flight_free() - end a list
 * @list:  may be NULL
 * Return: NULL.
 */
WW_API ww_in_flight *ww_in_flight_free(ww_in_flight *list);

/**
 * ww_in_flight_get() - one delivery of a list
 * @list:   borrowed
 * @index:  0 for the first; the entries have no order
 * @info:   the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (no such index); WW_ERR_INVALID.
 */
WW_API ww_status ww_in_flight_get(ww_in_flight *list, size_t index, struct ww_in_flight_info *info);

/**
 * struct ww_in_flight_which - which deliveries
 * @struct_size:  sizeof(struct ww_in_flight_which)
 * @reserved:  0
 * @token:     borrowed; the delivery of this token; NULL: see @info
 * @info:      borrowed; the delivery that ww_in_flight_get() described; NULL: see @older_ns
 * @older_ns:  all deliveries of at least this age; 0: all
 */
struct ww_in_flight_which {
	uint32_t struct_size;
	uint32_t reserved;
	const struct ww_token *token;
	const struct ww_in_flight_info *info;
	uint64_t older_ns;
};

/**
 * ww_in_flight_revoke() - end deliveries of this process that are in flight
 * @broker:     borrowed; NULL: all brokers through which it has sent
 * @which:      borrowed; NULL: all
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_count:  filled on success with the number of imports that were not made; may be NULL
 * @out_bytes:  of their objects together; may be NULL
 *
 * Their tokens open nothing any more. If nothing else keeps their object, it ends. Other tokens of
 * the object stay valid, and processes that hold the object keep it; ww_memory_revoke() makes all
 * tokens invalid. If this process still uses a slice, all tokens of the slice become invalid, as by
 * ww_memory_revoke(). Objects that were received meanwhile are not affected.
 *
 * May block: for one round trip for each 1024 deliveries.
 *
 * Return: WW_OK (there may have been none); WW_CANCELLED; WW_ERR_LIMIT (a pool has no slot left,
 *         see ww_memory_revoke()); WW_ERR_PROTOCOL (not a token); WW_ERR_INVALID;
 *         WW_ERR_NO_MEMORY; WW_ERR_NO_BROKER; WW_ERR_FORKED.
 */
WW_API ww_status ww_in_flight_revoke(ww_broker *broker, const struct ww_in_flight_which *which,
	ww_cancel *cancel, uint64_t *out_count, uint64_t *out_bytes);

/**
 * ww_in_flight_limit() - how much this process may have in flight
 * @count:  deliveries; 0: the default, 65536
 * @bytes:  of their objects together; 0: the default, 16 TiB
 *
 * The limits apply to each pool of this process, and to all other objects in one broker together.
 * An export that would exceed a limit returns WW_ERR_LIMIT. Its message names the oldest delivery
 * and its age, and says what to do. Deliveries that are in flight already stay.
 *
 * Return: WW_OK; WW_ERR_FORKED.
 */
WW_API ww_status ww_in_flight_limit(uint32_t count, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
