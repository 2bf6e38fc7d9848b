/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - objects: descriptors, a description, an owner, and the processes that hold them
 *
 * An object is put by a process, its creator, and held by processes. What its life and its holds
 * say decides when it ends. An object that ends while processes hold it stays as `removed`, without
 * a name and without descriptors, until they release it: so a user can see what keeps memory from
 * being freed. But an object with a last will (last_will.h) keeps the descriptor of that until its
 * creator has ended.
 *
 * The name of a memory is a link to it: when the name is removed, is given to another object or has
 * expired, the memory goes on without it, as long as a process or an escrow holds it. Any other
 * object ends with its name. A name of life held also goes when no process holds the object any
 * more, although an escrow may. See object_name.c.
 *
 * The user of an object pays for it while the object has a name, or a process or an escrow of that
 * user holds it. When only other users keep it, one of them pays; see object_payer.c.
 *
 * A pool has no name of its own, but parts of it, its slices, may have names, which are like
 * further names. They go when its creator has ended or has released it.
 *
 * An object that counts deliveries (delivery_counts.h) is kept after its creator while some are in
 * flight, but not longer than they say. It has a point in time then, at which it ends. What its
 * creator has put inside of it, and the deliveries need, is kept with it.
 *
 * Eight files: object.c finds objects and links them; name.c finds them by their names;
 * object_keep.c says which of them are kept; object_end.c ends them; object_creator_end.c decides
 * what becomes of them when their creators end or release them; object_put.c puts them;
 * object_name.c gives and takes names; object_payer.c decides who pays for an object without a
 * name.
 */
#ifndef WW_DAEMON_REGISTRY_OBJECT_H
#define WW_DAEMON_REGISTRY_OBJECT_H

#include "daemon/registry/device_total.h"
#include "daemon/registry/name.h"
#include "daemon/registry/registry.h"

/* The maker in the record of an object that is about to end, while its further names go. */
#define OBJECT_ENDS UINT64_MAX

struct expiry;
struct hold;
struct holder;
struct unreceived;

/*
 * The escrows of an object: those for any number of uses, and by access those whose uses are
 * counted, oldest first.
 */
struct escrows {
	uint32_t count;
	struct ww_list lists[WW_WIRE_ACCESS_WRITE + 1]; /* struct hold.of_object */
};

/* What only objects have that are inside of others, or have others inside. */
struct nesting {
	struct ww_list
		lingering; /* struct object.of_creator: without their creators, until it ends */
	/* Those inside of it that count deliveries; its place there; the outer one. */
	struct ww_list counting; /* struct nesting.of_counting */
	struct ww_list of_counting;
	struct object *counted_in;   /* NULL: none */
	struct object *object;       /* whose nesting it is */
	struct unreceived *kept_for; /* which inner objects are kept with it; NULL: all */
	/* The creator of something that stays inside of it has ended: no new name will come. */
	bool is_left;
	uint32_t left_pid; /* of that creator */
};

/* What few objects have, each NULL or 0 if there is none. */
struct object_extra {
	struct escrows *escrow_lists;
	struct device_total *paying; /* of another user, who pays */
	struct expiry *expiry;
	struct last_will *last_will;
	struct nesting *nesting;
	uint32_t further;      /* 1 + the index of its newest further name; 0: none */
	uint32_t held_further; /* how many of these have life held */
};

/* Of all objects that have none of it: all zeros, always. */
extern struct object_extra object_no_extra;

struct object {
	struct item_node by_id;   /* removed ones too: then there may be several of one id */
	struct item_node by_name; /* while it has a name and is not removed */
	struct size_node by_size; /* while it is in by_id */
	/* In holder.put, with a last will in holder.signal_pages; or in nesting.lingering. */
	struct ww_list of_creator;
	struct device_total *total; /* of its user, in which it counts unless another user pays */
	struct holder *creator;     /* the creator; NULL: has ended */
	struct object_extra *extra; /* object_no_extra until object_need_extra() */
	uint32_t index;
	uint32_t holders;
	uint32_t newest_hold; /* 1 + the index of a hold, see struct hold.older; 0: none */
	uint32_t oldest_hold; /* the same, see struct hold.newer */
	uint32_t payer;       /* the same: whose user pays, or else from which one is looked for */
	uint32_t own_holds;   /* of processes and escrows of its user and of root */
	uint32_t writers;     /* processes that hold it for writing */
};

static inline struct ww_layout_object_record *object_record(const struct registry *registry,
	const struct object *object)
{
	return table_record(&registry->object_table, object->index);
}

static inline bool object_is_named(const struct registry *registry, const struct object *object)
{
	return object_record(registry, object)->name[0] || object->extra->further;
}

static inline uint32_t object_escrows(const struct object *object)
{
	return object->extra->escrow_lists ? object->extra->escrow_lists->count : 0;
}

static inline struct device_total *object_total(const struct object *object)
{
	return object->extra->paying ? object->extra->paying : object->total;
}

/* Of the user who pays. */
static inline struct account *object_account(const struct object *object)
{
	return object_total(object)->account;
}

/* --- object.c --- */

/* Return: NULL when there is none that can be had; removed ones are never found. */
struct object *object_find_id(const struct registry *registry, const uint8_t id[16]);

/* How many objects there are of an id, with the removed ones that are still held. */
uint32_t object_count_id(const struct registry *registry, const uint8_t id[16]);

/* The object that this one is inside of, or NULL. */
struct object *object_find_outer(const struct registry *registry, const struct object *object);

/*
 * Whether it is a member of another object: it is inside of that and counted on that one's page,
 * and its creator has not ended. If the owner of the other object does not find a member, it
 * concludes that the member has gone.
 */
bool object_is_member(const struct registry *registry, const struct object *object);

/*
 * The same without a creator: the outer object, if that has a page on which this one was counted;
 * or NULL.
 */
struct object *object_find_counting(const struct registry *registry, const struct object *object);

bool object_is_writing(const struct registry *registry, const struct object *object);

/*
 * What becomes of an object without a last will that its creator does not hold (any more), although
 * that may still run. It is lost if it is being written, since no other process can end that. If it
 * lives with its creator, it is gone when it has no descriptors, for then it says something about
 * the creator only; or no name, for then no other process could remove it.
 * Return: of enum what; 0: nothing.
 */
uint8_t object_without_creator(const struct registry *registry, const struct object *object);

/* What an object costs its account: until it is removed, and then what its last will costs. */
struct charge object_charge(const struct ww_layout_object_record *record);

/* Charges what an object costs now in place of what it cost before, which was not less. */
void object_charge_again(struct registry *registry, const struct object *object,
	const struct charge *before);

/*
 * How many descriptors count for one: a last will needs its creator's pidfd for as long as itself.
 */
uint64_t object_count_fds(const uint8_t fd_access[WW_WIRE_FDS], size_t fd_count);

/*
 * Makes the item of a filled record, with its account; in no map yet. Return: WW_OK;
 * WW_ERR_NO_MEMORY.
 */
ww_status object_item(struct registry *registry, uint32_t index, struct object **out_object);

/* The key of an object in registry.objects_by_size. */
struct size_key object_size_key(const struct table *table, uint32_t index);

/* It counts in no total any more, and its account is not in use for it. */
void object_forget_account(struct registry *registry, struct object *object);

/* Before a field of its extra is set. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status object_need_extra(struct object *object);

/* With its nesting and its lists of escrows; the rest has ended. */
void object_free_extra(struct object *object);

/* An object's nesting, which is made if there is none. Return: NULL: there is no memory. */
struct nesting *object_nesting(struct object *object);

/* Adds an object that its record describes to the maps. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status object_map(struct registry *registry, struct object *object);

/* Takes it out of the map of first names. By its id it stays mapped until its record is freed. */
void object_unmap_name(struct registry *registry, struct object *object);
void object_unmap_id(struct registry *registry, struct object *object);

/* Links an object to its creator. */
void object_belongs(struct registry *registry, struct object *object, struct holder *creator);

/* Takes an object from its creator, if it has one. */
void object_disown(struct registry *registry, struct object *object);

/* --- object_keep.c --- */

/* Whether it may have several names or none, and goes on when it loses one: a memory. */
bool object_may_have_names(const struct ww_layout_object_record *record);

/*
 * Whether parts of it may have names: a pool without a name of its own, whose mode is that of these
 * names, and with a last will, so that it ends with its creator or is kept without these names.
 */
bool object_may_have_parts(const struct ww_layout_object_record *record);

/* What the put of an object that counts deliveries says of it: only that can be kept. */
bool object_counts_deliveries(const struct ww_layout_object_record *record);

/* Whether an object is kept while deliveries are in flight. */
bool object_is_kept(const struct ww_layout_object_record *record);

bool object_ends_with_creator(const struct ww_layout_object_record *record);

/*
 * Whether an object that is not held is kept with the one that it is inside of. If so it belongs to
 * that, and to its creator no longer.
 */
bool object_keep_inside(struct registry *registry, struct object *object);

/* If nothing of a kept object is in flight any more, it ends at the loop's next turn. */
void object_end_kept(struct registry *registry, struct object *object);

/* --- object_end.c --- */

/* Starts the timer of an object that ends at a point in time. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status object_arm(struct registry *registry, struct object *object);

/*
 * Starts an object's time to live anew; @ttl_ns 0: none. Return: WW_OK; WW_ERR_NO_MEMORY (then it
 * has none).
 */
ww_status object_set_end(struct registry *registry, struct object *object, uint64_t now_ns,
	uint64_t ttl_ns);

/*
 * Ends an object: watchers are told @what, its descriptors are closed, but not its last will while
 * its creator may still run. While processes hold it, it stays as removed.
 */
void object_end(struct registry *registry, struct object *object, uint8_t what);

/* Ends an object that lives by being held and is not held. Frees a removed one. */
void object_settle(struct registry *registry, struct object *object);

/* Ends the escrows of an object, which may end by that. */
void object_end_escrows(struct registry *registry, struct object *object);

/* Closes and returns the last will that a removed object has kept. */
void object_drop_last_will(struct registry *registry, struct object *object);

/* --- object_creator_end.c --- */

/*
 * The creator says that all objects that are to stay inside of the outer object are there: no
 * escrow keeps that any longer.
 */
void object_complete(struct registry *registry, struct object *object);

/*
 * Ends an object with a last will, unless it has ended, and starts the exit wait of the last will.
 * But a member of another object stays until its creator has ended: a process that looks for
 * members late must see what the member has there, for it may use that until then. An object that
 * was put to stay stays too.
 */
void object_await_exit(struct registry *registry, struct object *object);

/*
 * Executes the last will of an object for the last time, and ends the object: its creator has
 * ended, or that will never be known. But if the owner of the outer object has not come to know a
 * member, the member lingers, for what it did is to be read in it: for a minute, or if it is
 * unknown whether the creator has ended, for good; unless the outer one ends before. An object that
 * was put to stay lingers as long as the outer one.
 * Return: false: that cannot be done at the moment; the exit wait tries again.
 */
bool object_retire(struct registry *registry, struct object *object);

/*
 * If an object lingers, adds it to the list of the one that it is inside of, or ends it if that has
 * ended, or without memory. Does nothing with other objects.
 */
void object_linger(struct registry *registry, struct object *object);

/*
 * The creator of the outer object releases an object. If that lingers only so that its creator's
 * end becomes known, ends it.
 */
void object_end_known(struct registry *registry, struct object *object,
	const struct holder *knower);

/*
 * The creator of an object with a last will has released it, so the last will is over. Ends the
 * object, unless it has ended. But one that was put to stay lingers as its creator left it.
 */
void object_unpublish(struct registry *registry, struct object *object);

/* --- object_put.c --- */

/*
 * Puts an object, with a hold of its creator. If it is ready, the object that has its name ends. If
 * it is being written, it waits for the name, and an object that waited so far ends.
 * @put:         checked
 * @fds:         borrowed, @fd_count of them
 * @host_bytes:  of the descriptors, as the kernel says
 * @gid:         its group
 * Return: WW_OK; WW_ERR_QUOTA; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_PEER_LOST (the supervisor is
 * gone).
 */
ww_status object_put(struct registry *registry, struct holder *creator,
	const struct ww_wire_put *put, const int *fds, size_t fd_count, uint64_t host_bytes,
	gid_t gid, struct object **out_object);

/* Whether a put says what the broker has of an object, and of one name of it. */
bool object_agrees(const struct registry *registry, const struct object *object,
	const struct ww_wire_put *put, gid_t gid);
bool name_agrees(const struct registry *registry, struct name name, const struct ww_wire_put *put);

/*
 * Gives the object other secrets and ends its escrows; the object may end by that. If the broker is
 * killed half way, some escrows stay; the client, which has no answer, repeats its request.
 * Return: WW_OK; WW_ERR_SYSTEM (then nothing has changed).
 */
ww_status object_revoke(struct registry *registry, struct object *object);

/* Ends writing. The object that it is to replace ends by that. */
void object_seal(struct registry *registry, struct object *object, uint32_t state);

/*
 * Charges an object that a former broker left, opens its last will, maps it and starts its timer.
 * Return: WW_OK; WW_ERR_NO_MEMORY; ...
 */
ww_status object_adopt(struct registry *registry, struct object *object);

/* --- object_name.c --- */

/*
 * A name is stored: the object that had it loses it, and watchers are told.
 * @is_new: watchers do not know of it
 */
void name_announce(struct registry *registry, struct name name, bool is_new);

/*
 * Gives an object, or a part of it, a name: what @put says of the name holds, and, if the object
 * has none, what it says of the object's mode and group, and but for a part, of its life and state.
 * Its descriptors and secrets stay. The object that has that name loses it as for a new object.
 * @owner: of the name
 * Return: WW_OK; WW_ERR_QUOTA (@owner has no room, or another user pays for the object, and its own
 * has no room); WW_ERR_LIMIT; WW_ERR_NO_MEMORY.
 */
ww_status object_add_name(struct registry *registry, struct object *object, uid_t owner,
	const struct ww_wire_put *put, gid_t gid);

/*
 * Takes a name from its object: watchers are told @what. A memory goes on without it; all other
 * objects end, and so does one without a name.
 */
void object_lose_name(struct registry *registry, struct name name, uint8_t what);

/* The parts of an object lose their names. */
void object_lose_parts(struct registry *registry, struct object *object);

/* Whether the object has lost the name with which it was put, and has no other one. */
bool object_has_lost_name(const struct registry *registry, const struct object *object);

/* If no process holds an object, it loses its names of life held, but is not looked at again. */
void object_lose_unheld_names(struct registry *registry, struct object *object);

/*
 * Of two objects that a former broker left under one name, the one that got it first loses it.
 * @name: of either
 */
void object_take_name(struct registry *registry, struct name name);

/* Adopts a further name that a former broker left. Return: as further_adopt(). */
ww_status name_adopt(struct registry *registry, uint32_t index);

/* --- object_payer.c --- */

/* A hold of the object exists from now on, or is about to end. Its record names its user. */
void object_count_hold(struct registry *registry, struct object *object, struct hold *hold);
void object_forget_hold(struct registry *registry, struct object *object, struct hold *hold);

/* Decides who pays for an object without a name. Return: false: nobody has room. */
bool object_find_payer(struct registry *registry, struct object *object);

/* The user of an object pays for it again. Return: WW_OK; WW_ERR_QUOTA. */
ww_status object_pay_again(struct registry *registry, struct object *object);

/* The user of a hold pays, as under the former broker, over the limits too. */
void object_adopt_payer(struct registry *registry, struct object *object, struct hold *hold);

#endif
