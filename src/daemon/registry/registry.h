/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - everything that the broker keeps, and how a new broker takes it over
 *
 * Four tables in shared memory (record_table.h) are the truth: objects (object.h), their further
 * names (name.h), holders, which are processes (holder.h), and holds (hold.h). Records hold no
 * pointers. The item beside each
 * record has the lists, maps and account of this process. A new broker makes the items from the
 * records, and drops the records of what ended in the meantime.
 *
 *   holder ──put──> object            an object has one creator, until that process ends
 *      └────hold────> object          many holders; one without a holder is an escrow, which ends
 *
 * The order of stores makes each change one step: descriptors into the fdstore, then holds, then
 * the object's state. If the process is killed in between, the half-made record counts as free.
 *
 * Everything runs in one thread. Each change is reported to a function (registry_changed), which
 * answers waiting requests and watchers.
 */
#ifndef WW_DAEMON_REGISTRY_REGISTRY_H
#define WW_DAEMON_REGISTRY_REGISTRY_H

#include <uv.h>

#include "base/list.h"
#include "base/map.h"
#include "daemon/registry/account.h"
#include "daemon/registry/item_map.h"
#include "daemon/registry/record_table.h"
#include "daemon/registry/size_order.h"
#include "daemon/registry/fdstore.h"
#include "wire/protocol.h"

#define REGISTRY_NEVER UINT64_MAX

/* Descriptors in the fdstore that are the registry's own. */
#define REGISTRY_TABLES 4

struct further_name;
struct last_will;
struct object;
struct registry;

/* One name of an object, see name.h. */
struct name {
	struct object *object;        /* NULL: there is none */
	struct further_name *further; /* NULL: the one in the object's record */
};

/*
 * Reported of an object that stays without its creator, to requests that wait for other names
 * inside of the same outer object: the creator has ended, or has released the object.
 */
#define REGISTRY_LEFT 0

/* Added to WW_WIRE_WHAT_...: the object loses its name and goes on without it. */
#define REGISTRY_NAME_ONLY 0x80

/* @what: REGISTRY_LEFT; or WW_WIRE_WHAT_..., and object and name are still as they were. */
typedef void (*registry_changed)(void *context, struct name name, uint8_t what);

/* Looks after one last will whose process may still run, see exit_wait.h. */
typedef void (
	*registry_look)(struct registry *registry, struct last_will *last_will, uint64_t now_ns);

struct registry {
	struct table object_table, name_table, holder_table, hold_table;
	struct item_map by_id, by_name; /* objects */
	struct item_map by_further_name;
	struct item_map by_number, by_process; /* holders */
	struct item_map by_pair;               /* holds of processes */
	struct ww_map by_secret;               /* deliveries, as the next */
	struct ww_map by_delivery;
	struct size_order objects_by_size; /* removed ones too */
	struct size_order holders_by_size;
	struct accounts accounts;
	struct fdstore *fdstore;
	uv_loop_t *loop;
	registry_changed changed;
	void *context;
	byte_sum bytes; /* of all objects that are not removed */
	uv_timer_t exit_wait_timer;
	registry_look exit_wait_look;
	struct ww_list exit_waits; /* struct last_will.of_exit_waits */
	uint32_t exit_wait_count;
	struct ww_list
		doomed; /* struct object.of_creator: inside of what has ended, about to end */
	bool is_ending_doomed;
	struct ww_list
		done; /* struct holder.of_done: awaited, and they hold and keep nothing any more */
	uint64_t mapped_bytes;   /* of last wills whose page is mapped all the time */
	uint64_t executed_bytes; /* of last wills, in this turn of the loop */
	uint64_t counted_bytes;  /* of files that count deliveries, likewise */
};

/*
 * Opens the registry: an empty one, or the one that a former broker left in the fdstore.
 * @registry:  zero but for fdstore, loop, changed, context, accounts.config, accounts.fd_limit
 * Return: WW_OK; WW_ERR_VERSION (left by a broker with another layout); WW_ERR_PROTOCOL (not ours);
 *         WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status registry_open(struct registry *registry);

/*
 * Frees the items; the records and descriptors stay. Timers are closed, so the loop must run once
 * more.
 */
void registry_close(struct registry *registry);

/* Frees the memory of tables that are empty now; called when no pointer to an item is in use. */
void registry_reclaim(struct registry *registry);

/* 128 random bits that live as long as the objects do. */
void registry_id(const struct registry *registry, uint8_t out_id[16]);

#endif
