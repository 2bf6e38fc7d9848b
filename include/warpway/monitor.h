/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/monitor.h - what a program asks a broker that watches over it
 *
 * A broker keeps sums of what it has: of each user, of each device and kind of object, and of the
 * requests that came. They change with each object and request, so the broker walks over nothing to
 * tell them. It also keeps its objects and processes in the order of their sizes. So a program that
 * asks every second costs the broker next to nothing, however many objects there are.
 *
 * Root, and the user that the broker runs as, are told of all users; another user of itself alone.
 * Sums over all users are told to every user, as ww_broker_info_get() tells them.
 *
 * Counts that only grow (requests, refusals) begin with the broker process: they start at 0 again
 * when the broker is restarted. Those of one user begin again when the user has had nothing in the
 * broker, not even a connection.
 *
 * A broker that speaks version 6 of the protocol or less has none of this: then each call returns
 * WW_ERR_UNSUPPORTED.
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
 * struct ww_broker_totals - sums over all users
 * @struct_size:  set by the caller to sizeof(struct ww_broker_totals)
 * @is_all:       1: the totals tell of all users; 0: of the caller's user alone
 * @objects:      objects, those included that were removed and are held
 * @holders:      processes that are connected or hold something
 * @holds:        pairs of a holder and an object, tokens in escrow included
 * @bytes:        of all objects that are not removed
 * @waits:        requests of clients that wait for something
 * @fds:          descriptors held for objects
 * @fds_limit:    how many there can be
 * @connections:  connections, and processes whose end is awaited
 * @connections_limit:    how many there can be
 * @refused_connections:  connections that were refused
 * @unlogged:     refusals that are not in the log, since they were too many
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
 * struct ww_user_total - what a broker has of one user, and the limits of that
 * @struct_size:  set by the caller to sizeof(struct ww_user_total)
 * @uid:          the user
 * @bytes:        of objects, as their creators say
 * @bytes_limit:  0: none, as for every limit
 * @host_bytes:   of these, in host memory
 * @host_bytes_limit:   likewise
 * @objects:      objects that are not removed, and removed ones of which descriptors are kept
 * @objects_limit:      likewise
 * @fds:          descriptors of objects
 * @fds_limit:    likewise
 * @holds:        uses of objects by processes, and tokens
 * @holds_limit:  likewise
 * @connections:  connections, and processes whose end is awaited
 * @connections_limit:  likewise
 * @waits:        requests that wait
 * @waits_limit:  likewise
 * @watches:      watches
 * @watches_limit:      likewise
 * @holders:      processes
 * @tokens:       tokens in escrow, deliveries not included
 * @deliveries:   deliveries in flight (in_flight.h); not those of slices of a pool
 * @delivery_bytes:     of their objects together
 * @requests:     requests that came
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
 * @is_others:      1: on all further devices: of one user, 16 devices are told one by one
 * @home_uuid:      of the device that holds the bytes; zeros: none, or is_others
 * @objects:        objects that can be had
 * @bytes:          of these together
 * @removed:        objects that have ended, and that processes hold
 * @removed_bytes:  of these together
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
 * struct ww_request_total - how often something was requested, or refused
 * @struct_size:  set by the caller to sizeof(struct ww_request_total)
 * @status:       0: requests that came; else WW_ERR_...: those that were refused for this reason
 * @count:        how many; of all users if ww_broker_totals.is_all is set
 * @request:      as the protocol calls it, such as "put"; "invalid": what came was no request;
 *                "unknown": a request that this library does not know
 */
struct ww_request_total {
	uint32_t struct_size;
	ww_status status;
	uint64_t count;
	char request[WW_REQUEST_NAME_BYTES];
};

/**
 * ww_totals_create() - ask a broker for its sums
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
 * ww_totals_free() - free the sums
 * @totals:  may be NULL
 * Return: NULL.
 */
WW_API ww_totals *ww_totals_free(ww_totals *totals);

/**
 * ww_totals_broker() - sums over all users
 * @totals:  borrowed
 * @info:    the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID.
 */
WW_API ww_status ww_totals_broker(ww_totals *totals, struct ww_broker_totals *info);

/**
 * ww_totals_user() - what there is of one user
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
 * ww_totals_request() - how often something was requested, or refused
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
 * @contents:      WW_SNAPSHOT_OBJECTS, removed ones and those without a name included; or
 *                 WW_SNAPSHOT_HOLDERS
 * @flags:         WW_LARGEST_... bits
 * @after_bytes:   rows behind a place that ww_snapshot_place() gave; both 0: from the largest on
 * @after_number:  the same
 * @prefix:        borrowed; objects whose names begin so; NULL or "": all
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
 * @out_snapshot:  the caller's; NULL on failure. Its rows are in order: the largest first, of the
 *                 same size the oldest first
 *
 * The broker finds the place by a search and lists from there. If few objects are of the user, kind
 * and prefix that are wanted, the snapshot may have less rows than @count, though there are more:
 * the call looks at 32,768 objects at most. ww_snapshot_place() says where to go on.
 *
 * May block: for one round trip for 64 rows, and with a condition for 128 objects that are looked
 * at.
 *
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_UNSUPPORTED (the broker is older); WW_ERR_NO_MEMORY;
 *         WW_ERR_NO_BROKER; WW_ERR_PROTOCOL; WW_ERR_FORKED.
 */
WW_API ww_status ww_snapshot_largest(ww_broker *broker, const struct ww_largest_params *params,
	ww_snapshot **out_snapshot);

/**
 * ww_snapshot_place() - where a list of the largest goes on
 * @snapshot:      borrowed; of ww_snapshot_largest()
 * @params:        the caller's, with struct_size set; after_bytes and after_number are written
 *
 * Return: WW_OK; WW_END (there is nothing behind it, or the snapshot is another one);
 *         WW_ERR_INVALID.
 */
WW_API ww_status ww_snapshot_place(ww_snapshot *snapshot, struct ww_largest_params *params);

/**
 * ww_snapshot_of_object() - who holds one object
 * @broker:        borrowed; NULL: the default broker
 * @object:        borrowed; as a snapshot described it: its object_id and generation count. It may
 *                 have been removed meanwhile
 * @out_snapshot:  the caller's; NULL on failure. It has the object as it is now, its holds, its
 *                 tokens (64 of them), and the processes that hold it
 *
 * May block: for one round trip for each 512 processes of the broker.
 *
 * Return: WW_OK; WW_ERR_NOT_FOUND (nothing is left of it); WW_ERR_INVALID; WW_ERR_UNSUPPORTED (the
 *         broker is older); WW_ERR_NO_MEMORY; WW_ERR_NO_BROKER; WW_ERR_PROTOCOL; WW_ERR_FORKED.
 */
WW_API ww_status ww_snapshot_of_object(ww_broker *broker, const struct ww_object_info *object,
	ww_snapshot **out_snapshot);

#ifdef __cplusplus
}
#endif

#endif
