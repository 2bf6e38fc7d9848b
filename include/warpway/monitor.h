/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/monitor.h - totals of a broker, for programs that monitor it
 *
 * A broker keeps totals for each user, for each device and kind of object, and for the requests
 * that it got. It updates the totals with each object and request, so a query needs no walk over
 * the objects. It also keeps its objects and processes in the order of their sizes. So a program
 * that asks every second costs the broker almost nothing, however many objects there are.
 *
 * Root, and the user that the broker runs as, get the totals of all users. Any other user gets only
 * its own totals. Every user gets the totals over all users, as ww_broker_info_get() gives them.
 *
 * Counts that only grow (requests, refusals) begin with the broker process: they start at 0 again
 * when the broker is restarted. The counts of one user also start again after a time in which the
 * user had nothing in the broker, not even a connection.
 *
 * If the broker has version 6 of the protocol or less, each call returns WW_ERR_UNSUPPORTED.
 *
 * Threads: every function may be called from any thread; one thread at a time for each ww_totals.
 */
#ifndef WARPWAY_MONITOR_H
#define WARPWAY_MONITOR_H

#include <stddef.h>

#include <warpway/broker.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_totals ww_totals;

/* Of a request's name with its ending zero. */
#define WW_REQUEST_NAME_BYTES 24

/**
 * struct ww_broker_totals - totals over all users
 * @struct_size:  set by the caller to sizeof(struct ww_broker_totals)
 * @is_all:       1: the caller gets the totals of all users; 0: only of its own user
 * @objects:      objects, including ended objects that are still held
 * @holders:      processes that are connected or hold something
 * @holds:        pairs of a holder and an object, tokens in escrow included
 * @bytes:        of all objects that have not ended
 * @waits:        requests of clients that wait for something
 * @fds:          descriptors held for objects
 * @fds_limit:    how many there can be
 * @connections:  connections, and processes that have closed theirs and have not ended yet
 * @connections_limit:    how many there can be
 * @refused_connections:  connections that were refused
 * @unlogged:     refusals that are not in the log, because there were too many
 * @up_ns:        nanoseconds since the broker process started
 */
struct ww_broker_totals {
	uint32_t struct_size;
	uint32_t is_all;
	uint64_t objects;
	uint64_t holders;
	uint64_t holds;
	uint64_t bytes;
	uint64_t waits;
	uint64_t fds;
	uint64_t fds_limit;
	uint64_t connections;
	uint64_t connections_limit;
	uint64_t refused_connections;
	uint64_t unlogged;
	uint64_t up_ns;
};

/**
 * struct ww_user_total - totals of one user, and the limits for them
 * @struct_size:  set by the caller to sizeof(struct ww_user_total)
 * @uid:          the user
 * @bytes:        of objects, as their creators say
 * @bytes_limit:  0: no limit, as for every limit below
 * @host_bytes:   how many of these are in host memory
 * @host_bytes_limit:   likewise
 * @objects:      objects that have not ended, and ended objects whose descriptors are kept
 * @objects_limit:      likewise
 * @fds:          descriptors of objects
 * @fds_limit:    likewise
 * @holds:        uses of objects by processes, and tokens
 * @holds_limit:  likewise
 * @connections:  connections, and processes that have closed theirs and have not ended yet
 * @connections_limit:  likewise
 * @waits:        requests that wait
 * @waits_limit:  likewise
 * @watches:      watches
 * @watches_limit:      likewise
 * @holders:      processes
 * @tokens:       tokens in escrow, deliveries not included
 * @deliveries:   deliveries in flight (in_flight.h); not those of slices of a pool
 * @delivery_bytes:     bytes of their objects together
 * @requests:     requests that the broker got
 * @refused:      requests that were refused
 */
struct ww_user_total {
	uint32_t struct_size;
	uint32_t uid;
	uint64_t bytes;
	uint64_t bytes_limit;
	uint64_t host_bytes;
	uint64_t host_bytes_limit;
	uint64_t objects;
	uint64_t objects_limit;
	uint64_t fds;
	uint64_t fds_limit;
	uint64_t holds;
	uint64_t holds_limit;
	uint64_t connections;
	uint64_t connections_limit;
	uint64_t waits;
	uint64_t waits_limit;
	uint64_t watches;
	uint64_t watches_limit;
	uint64_t holders;
	uint64_t tokens;
	uint64_t deliveries;
	uint64_t delivery_bytes;
	uint64_t requests;
	uint64_t refused;
};

/**
 * struct ww_device_total - objects of one user, of one kind, on one device
 * @struct_size:    set by the caller to sizeof(struct ww_device_total)
 * @uid:            the user
 * @kind:           WW_OBJECT_... of token.h; 0: kinds that the broker does not know
 * @is_others:      1: this is the sum over all further devices, because only 16 devices of a user
 *                  are listed one by one
 * @home_uuid:      of the device that holds the bytes; zeros: none, or is_others
 * @objects:        objects that have not ended
 * @bytes:          bytes of these together
 * @removed:        objects that have ended, and that processes still hold
 * @removed_bytes:  bytes of these together
 */
struct ww_device_total {
	uint32_t struct_size;
	uint32_t uid;
	uint32_t kind;
	uint32_t is_others;
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES];
	uint64_t objects;
	uint64_t bytes;
	uint64_t removed;
	uint64_t removed_bytes;
};

/**
 * struct ww_request_total - how often one kind of request came, or was refused
 * @struct_size:  set by the caller to sizeof(struct ww_request_total)
 * @status:       0: requests that came; else WW_ERR_...: requests that were refused for this reason
 * @count:        how many; of all users if ww_broker_totals.is_all is set
 * @request:      its name in the protocol, such as "put"; "invalid": a message that was not a
 *                request; "unknown": a request that this library does not know
 */
struct ww_request_total {
	uint32_t struct_size;
	ww_status status;
	uint64_t count;
	char request[WW_REQUEST_NAME_BYTES];
};

/**
 * ww_totals_create() - ask a broker for its totals
 * @broker:      borrowed; NULL: the default broker
 * @out_totals:  the caller's; NULL on failure
 *
 * May block: for one round trip, and one more for each further page of up to 64 users.
 *
 * Return: WW_OK; WW_ERR_UNSUPPORTED (the broker is older); WW_ERR_NO_MEMORY; WW_ERR_NO_BROKER;
 *         WW_ERR_PROTOCOL; WW_ERR_INVALID; WW_ERR_FORKED.
 */
WW_API ww_status ww_totals_create(ww_broker *broker, ww_totals **out_totals);

/**
 * ww_totals_free() - free the totals
 * @totals:  may be NULL
 * Return: NULL.
 */
WW_API ww_totals *ww_totals_free(ww_totals *totals);

/**
 * ww_totals_broker() - totals over all users
 * @totals:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID.
 */
WW_API ww_status ww_totals_broker(ww_totals *totals, struct ww_broker_totals *info);

/**
 * ww_totals_user() - totals of one user
 * @totals:  borrowed
 * @index:   0 for the first, in no order
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (no such index); WW_ERR_INVALID.
 */
WW_API ww_status ww_totals_user(ww_totals *totals, size_t index, struct ww_user_total *info);

/**
 * ww_totals_device() - objects of one user, of one kind, on one device
 * @totals:  borrowed
 * @index:   0 for the first, in no order
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (no such index); WW_ERR_INVALID.
 */
WW_API ww_status ww_totals_device(ww_totals *totals, size_t index, struct ww_device_total *info);

/**
 * ww_totals_request() - how often one kind of request came, or was refused
 * @totals:  borrowed
 * @index:   0 for the first, in no order
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_END (no such index); WW_ERR_INVALID.
 */
WW_API ww_status ww_totals_request(ww_totals *totals, size_t index, struct ww_request_total *info);

#define WW_LARGEST_OF_USER UINT64_C(0x1) /* only what belongs to ww_largest_params.uid */

/**
 * struct ww_largest_params - which objects or processes to list
 * @struct_size:   sizeof(struct ww_largest_params)
 * @uid:           with WW_LARGEST_OF_USER: the user; else 0
 * @kind:          of objects: WW_OBJECT_... of token.h; 0: any
 * @count:         rows at most, 1 to 4096
 * @contents:      WW_SNAPSHOT_OBJECTS, including ended objects and objects without a name; or
 *                 WW_SNAPSHOT_HOLDERS
 * @flags:         WW_LARGEST_... bits
 * @after_bytes:   with @after_number, the place where the rows begin, from ww_snapshot_place();
 *                 both 0: from the largest on
 * @after_number:  see @after_bytes
 * @prefix:        borrowed; only objects whose names begin with it; NULL or "": all
 */
struct ww_largest_params {
	uint32_t struct_size;
	uint32_t uid;
	uint32_t kind;
	uint32_t count;
	uint64_t contents;
	uint64_t flags;
	uint64_t after_bytes;
	uint64_t after_number;
	const char *prefix;
};

/**
 * ww_snapshot_largest() - list the largest objects, or the processes that hold most bytes
 * @broker:        borrowed; NULL: the default broker
 * @params:        borrowed
 * @out_snapshot:  the caller's; NULL on failure. Its rows are in order: the largest first; of rows
 *                 of the same size, the oldest first
 *
 * The broker finds the place by a search and lists from there. If few objects match the user, kind
 * and prefix, the snapshot may have fewer rows than @count although more objects match, because the
 * call checks at most 32,768 objects. ww_snapshot_place() says where to go on.
 *
 * May block: for one round trip for each 64 rows, and if there is a condition, for each 128 objects
 * that are checked.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_UNSUPPORTED (the broker is older); WW_ERR_NO_MEMORY;
 *         WW_ERR_NO_BROKER; WW_ERR_PROTOCOL; WW_ERR_FORKED.
 */
WW_API ww_status ww_snapshot_largest(ww_broker *broker, const struct ww_largest_params *params,
	ww_snapshot **out_snapshot);

/**
 * ww_snapshot_place() - the place where a list of the largest goes on
 * @snapshot:      borrowed; of ww_snapshot_largest()
 * @params:        the caller's, with struct_size set; after_bytes and after_number are written
 *
 * Return: WW_OK; WW_END (nothing follows, or the snapshot is not of ww_snapshot_largest());
 *         WW_ERR_INVALID.
 */
WW_API ww_status ww_snapshot_place(ww_snapshot *snapshot, struct ww_largest_params *params);

/**
 * ww_snapshot_of_object() - the processes that hold one object
 * @broker:        borrowed; NULL: the default broker
 * @object:        borrowed; as a snapshot described it: its object_id and generation count. It may
 *                 have ended meanwhile
 * @out_snapshot:  the caller's; NULL on failure. It has the object as it is now, its holds, its
 *                 tokens (64 of them), and the processes that hold it
 *
 * May block: for one round trip for each 512 processes of the broker.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND (the object has ended, and no process holds it); WW_ERR_INVALID;
 *         WW_ERR_UNSUPPORTED (the broker is older); WW_ERR_NO_MEMORY; WW_ERR_NO_BROKER;
 *         WW_ERR_PROTOCOL; WW_ERR_FORKED.
 */
WW_API ww_status ww_snapshot_of_object(ww_broker *broker, const struct ww_object_info *object,
	ww_snapshot **out_snapshot);

#ifdef __cplusplus
}
#endif

#endif
