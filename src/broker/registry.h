/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - the objects, who holds them, and when each of them goes
 *
 * Three tables in shared memory (table.h) are the truth: objects, holders (processes) and holds (a holder and an
 * object). Beside each record stands an item that points: lists, maps, accounts. A new broker makes
 * the items from the records, and the records of what ended in the meantime it drops.
 *
 *   holder ──put──> object            an object has one maker, until that ends
 *      └────hold────> object          many holders; a hold without a holder is an escrow, with an end in time
 *
 * The order of stores makes each change one step: descriptors into the vault, then holds, then the object's state.
 * What is half made when the process is killed counts for nothing.
 *
 * An object that goes while processes hold it stays as `removed`, without a name to be found by and without
 * descriptors, until they let go: so that one can see what keeps memory from being freed. But one with a testament
 * (testament.h) keeps that until its maker has ended, and so may its maker stay, as mourned (mourning.h).
 *
 * One thread. What has changed is told to a function (registry_changed), which answers waiters and watchers.
 */
#ifndef WW_BROKER_REGISTRY_H
#define WW_BROKER_REGISTRY_H

#include <uv.h>

#include "base/list.h"
#include "base/map.h"
#include "broker/account.h"
#include "broker/slab.h"
#include "broker/table.h"
#include "broker/vault.h"
#include "wire/protocol.h"

#define REGISTRY_NEVER UINT64_MAX

/* Descriptors in the vault that are the registry's own. */
#define REGISTRY_TABLES 3

struct registry;
struct testament;

/* A point in time at which an object or an escrow ends; only what has one has one. */
struct expiry {
	uv_timer_t timer;
	struct registry *registry;
	struct object *object; /* one of the two */
	struct hold *hold;
};

struct object {
	struct ww_map_node by_id;   /* removed ones too: then there may be several of one id */
	struct ww_map_node by_name; /* while it has a name and is not removed */
	struct ww_list holds;       /* struct hold.of_object */
	struct ww_list
		of_maker; /* in holder.put, with a testament in holder.pages; or in registry.remains */
	struct account *account;
	struct holder *maker; /* NULL: has ended */
	struct expiry *expiry;
	struct testament *testament; /* NULL: none */
	uint32_t index;
	uint32_t holders;
	uint32_t escrows;
};

struct holder {
	struct ww_map_node by_number;
	struct ww_map_node by_process; /* while it is not mourned */
	struct ww_list holds;          /* struct hold.of_holder */
	struct ww_list put;            /* struct object.of_maker */
	struct ww_list pages;          /* the same, of those with a testament */
	struct ww_list peers;          /* struct peer.of_holder: its connections */
	struct account *account;
	uv_poll_t *watch; /* of its pidfd */
	uint32_t index;
	uint32_t held;
	uint32_t put_count;
	uint64_t held_bytes;
	uint64_t put_bytes;
	bool has_reservation;
	bool is_confirming;        /* between a reconnection and its last `confirm` */
	struct charge reservation; /* charged already */
};

struct hold {
	struct ww_list of_object;
	struct holder *holder; /* NULL: escrow */
	union {
		struct ww_list of_holder;
		struct expiry *expiry; /* of an escrow */
	};
	uint32_t index;
	bool is_confirmed; /* named since the holder reconnected */
};

/* WW_WIRE_WHAT_...; the object is still as it was. */
typedef void (*registry_changed)(void *context, struct object *object, uint8_t what);

struct registry {
	struct table object_table, holder_table, hold_table;
	struct slab objects, holders, holds;
	struct ww_map by_id, by_name, by_number, by_process;
	struct accounts accounts;
	struct vault *vault;
	uv_loop_t *loop;
	registry_changed changed;
	void *context;
	uint64_t bytes; /* of all objects that are not removed */
	uv_timer_t mourning;
	struct ww_list mourned; /* struct testament.of_mourned */
	uint32_t mourned_count;
	struct ww_list remains;  /* struct object.of_maker, see object_bury() */
	uint64_t mapped_bytes;   /* of testaments whose page is mapped all the time */
	uint64_t executed_bytes; /* of testaments, in this turn of the loop */
};

static inline struct ww_layout_object_record *object_record(const struct registry *registry,
	const struct object *object)
{
	return table_record(&registry->object_table, object->index);
}

static inline struct ww_layout_holder_record *holder_record(const struct registry *registry,
	const struct holder *holder)
{
	return table_record(&registry->holder_table, holder->index);
}

static inline struct ww_layout_hold_record *hold_record(const struct registry *registry,
	const struct hold *hold)
{
	return table_record(&registry->hold_table, hold->index);
}

/* The object that is held. */
static inline struct object *hold_object(const struct registry *registry, const struct hold *hold)
{
	return slab_item(&registry->objects, hold_record(registry, hold)->object);
}

/*
 * Opens the registry: an empty one, or the one a former broker left in the vault.
 * @registry:  zero but for vault, loop, changed, context, accounts.config, accounts.fd_limit
 * Return: WW_OK; WW_ERR_VERSION (left by a broker with another layout); WW_ERR_PROTOCOL (not ours);
 *         WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status registry_open(struct registry *registry);

/* Frees the items; the records and descriptors stay. Timers are closed, so the loop must run once more. */
void registry_close(struct registry *registry);

/* Gives back the memory of what is empty now; called when nobody has a pointer to an item. */
void registry_tidy(struct registry *registry);

/* 128 random bits that live as long as the objects do. */
void registry_id(const struct registry *registry, uint8_t out_id[16]);

/* --- objects --- */

/*
 * Whether it is a member of another object, inside of it and counted on its page, whose maker has not ended: the owner of the
 * other one takes it for gone when it does not find it.
 */
bool object_is_member(const struct registry *registry, const struct object *object);

/* Return: NULL when there is none that can be had; removed ones are found by nobody. */
struct object *object_find(const struct registry *registry, const char *name);
struct object *object_find_id(const struct registry *registry, const uint8_t id[16]);

/*
 * Takes an object in, with a hold of its maker.
 * @put:         checked
 * @fds:         borrowed, @fd_count of them
 * @host_bytes:  of the descriptors, as the kernel says
 * @gid:         its group
 * Return: WW_OK; WW_ERR_QUOTA; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_PEER_LOST (the keeper is gone).
 */
ww_status object_put(struct registry *registry, struct holder *maker, const struct ww_wire_put *put,
	const int *fds, size_t fd_count, uint64_t host_bytes, gid_t gid,
	struct object **out_object);

/* Starts an object's time to live anew; @ttl_ns 0: none. Return: WW_OK; WW_ERR_NO_MEMORY (then it has none). */
ww_status object_set_end(struct registry *registry, struct object *object, uint64_t ttl_ns);

/*
 * Puts an object that has no name anew, with one: what @put says of it holds from now on, but its descriptors,
 * secrets and time to live stay. Nobody has that name. Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status object_name(struct registry *registry, struct object *object,
	const struct ww_wire_put *put, gid_t gid);

/* Ends writing. */
void object_seal(struct registry *registry, struct object *object, uint32_t state);

/*
 * Takes an object out: watchers are told @what, its descriptors are closed, but for the testament of a maker that has not
 * ended. Holders keep a removed one.
 */
void object_end(struct registry *registry, struct object *object, uint8_t what);

/* --- holders --- */

struct holder *holder_find(const struct registry *registry, const uint8_t process_id[16]);
struct holder *holder_find_number(const struct registry *registry, uint64_t number);

/*
 * Enters a process.
 * @pidfd:  borrowed; -1: none
 * Return: WW_OK; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_PEER_LOST (the keeper is gone).
 */
ww_status holder_add(struct registry *registry, const uint8_t process_id[16], uint32_t pid,
	uid_t uid, gid_t gid, int pidfd, const char *program, struct holder **out_holder);

/* The first thing to be done about a process that is to end: what it has left as testaments is executed, at once. */
void holder_mourn(struct registry *registry, struct holder *holder);

/*
 * Releases all it holds, and ends what lives with it. It has no connections any more. It is forgotten, or stays
 * as mourned if its process may still run; then this is called again when that has ended.
 */
void holder_end(struct registry *registry, struct holder *holder);

bool holder_is_mourned(const struct registry *registry, const struct holder *holder);

/* --- holds --- */

/* Return: NULL when it does not hold it. */
struct hold *hold_find(const struct registry *registry, const struct holder *holder,
	const struct object *object);

/* By the object's id, of removed ones too. */
struct hold *hold_find_id(const struct registry *registry, const struct holder *holder,
	const uint8_t id[16]);

/*
 * Has a holder hold an object; once is enough, with the most access it ever was granted.
 * Return: WW_OK; WW_ERR_QUOTA; WW_ERR_LIMIT; WW_ERR_NO_MEMORY.
 */
ww_status hold_take(struct registry *registry, struct holder *holder, struct object *object,
	uint8_t access);

/* Has nobody hold an object for some time. @account: who pays. Return: as hold_take(). */
ww_status hold_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns);

/* Counts an import against the oldest escrow for this access whose uses are counted. */
void hold_use_escrow(struct registry *registry, struct object *object, uint8_t access);

/* Lets go; the object may end by that. */
void hold_drop(struct registry *registry, struct hold *hold);

#endif
