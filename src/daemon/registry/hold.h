/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.h - holds: uses of an object by processes, and escrows
 *
 * A hold keeps its object. A process holds an object once, with the most access that it ever was
 * granted. An escrow is a hold without a holder: it keeps an object that a token names until the
 * token is used, and ends at a point in time. A delivery is an escrow whose time starts when its
 * exporter, a holder, ends; see delivery.h.
 *
 * Two files: hold.c finds, takes and unlinks holds; hold_drop.c is what a hold's end means to its
 * object, and the escrows, which end by themselves.
 */
#ifndef WW_DAEMON_REGISTRY_HOLD_H
#define WW_DAEMON_REGISTRY_HOLD_H

#include "daemon/registry/registry.h"

struct delivery;
struct expiry;
struct holder;
struct object;

struct hold {
	union {
		struct {                          /* by a process */
			struct item_node by_pair; /* of that and the object */
			struct holder *holder;
			struct ww_list of_holder;
		};
		struct { /* an escrow */
			struct ww_list of_object;
			struct expiry *expiry;     /* NULL: not started */
			struct delivery *delivery; /* NULL: it is none */
		};
	};
	uint32_t index;
	uint32_t newer, older; /* 1 + the indexes of holds of the same object; 0: none */
	bool is_escrow;
	bool is_confirmed; /* named since the holder reconnected */
};

static inline struct ww_layout_hold_record *hold_record(const struct registry *registry,
	const struct hold *hold)
{
	return table_record(&registry->hold_table, hold->index);
}

/* Whether a process holds the object for writing. */
static inline bool hold_is_writer(const struct registry *registry, const struct hold *hold)
{
	return !hold->is_escrow && hold_record(registry, hold)->access == WW_WIRE_ACCESS_WRITE;
}

/* The object that is held. */
static inline struct object *hold_object(const struct registry *registry, const struct hold *hold)
{
	return table_item(&registry->object_table, hold_record(registry, hold)->object);
}

/* --- hold.c --- */

/* Return: NULL when the process does not hold the object. */
struct hold *hold_find(const struct registry *registry, const struct holder *holder,
	const struct object *object);

/* By the object's id, of removed objects too. */
struct hold *hold_find_id(const struct registry *registry, const struct holder *holder,
	const uint8_t id[16]);

/* Return: NULL when an object has no creator (any more), or is not held by it. */
struct hold *hold_find_of_creator(const struct registry *registry, const struct object *object);

/*
 * A hold for writing by another process than @holder: of an object of this id, or of a removed one
 * that is still held. Return: NULL when there is none.
 */
struct hold *hold_find_writer(const struct registry *registry, const struct holder *holder,
	const uint8_t id[16]);

/*
 * Has a holder hold an object; once is enough, with the most access that it ever was granted.
 * Return: WW_OK; WW_ERR_QUOTA; WW_ERR_LIMIT; WW_ERR_NO_MEMORY.
 */
ww_status hold_take(struct registry *registry, struct holder *holder, struct object *object,
	uint8_t access);

/*
 * Makes a record and its item, and charges the account. The record's state is stored by the caller,
 * when it is filled.
 * @holder:  NULL: an escrow
 * Return: as hold_take().
 */
ww_status hold_make(struct registry *registry, struct account *account, struct object *object,
	struct holder *holder, uint64_t expires_ns, struct hold **out_hold);

/* Makes the item of a filled record, and links it. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status hold_item(struct registry *registry, uint32_t index, struct object *object,
	struct holder *holder, struct hold **out_hold);

/* One of an object's escrows; NULL: it has none. */
struct hold *hold_first_escrow(const struct object *object);

/* Ends a hold without a look at what that means to its object. */
void hold_unlink(struct registry *registry, struct hold *hold);

/* Adds an escrow whose record is filled to its object's lists. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status hold_link_escrow(struct registry *registry, struct hold *hold);

/* As hold_escrow(), for an object that ends at this point in time itself: starts no timer. */
ww_status hold_add_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns, struct hold **out_hold);

/* --- hold_drop.c --- */

/* Releases the object, which may end by that. */
void hold_drop(struct registry *registry, struct hold *hold);

/*
 * Makes an escrow, which keeps an object until a point in time. @account: is charged. Return: as
 * hold_take().
 */
ww_status hold_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns);

/* Counts an import against the oldest escrow for this access whose uses are counted. */
void hold_use_escrow(struct registry *registry, struct object *object, uint8_t access);

/* As hold_link_escrow(); starts its timer too, if it ends at a point in time. */
ww_status hold_arm(struct registry *registry, struct hold *hold);

/* Starts the timer of an escrow. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status hold_start_timer(struct registry *registry, struct hold *hold);

#endif
