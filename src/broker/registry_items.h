/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_items.h - what the parts of the registry know of each other
 */
#ifndef WW_BROKER_REGISTRY_ITEMS_H
#define WW_BROKER_REGISTRY_ITEMS_H

#include "broker/registry.h"

/* In a holder's record. */
#define NO_PIDFD UINT32_MAX

uint64_t registry_hash_id(const uint8_t id[16]);
uint64_t registry_hash_name(const char *name);
uint64_t registry_hash_number(uint64_t number);

/* Makes the item of a filled record, with its account; in no map yet. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status object_item(struct registry *registry, uint32_t index, struct object **out_object);
ww_status holder_item(struct registry *registry, uint32_t index, struct holder **out_holder);
ww_status hold_item(struct registry *registry, uint32_t index, struct object *object,
	struct holder *holder, struct hold **out_hold);

/* Links an object to its maker. */
void object_belongs(struct registry *registry, struct object *object, struct holder *maker);

/* Enters what a former broker left: maps, charges, timers. */
ww_status object_adopt(struct registry *registry, struct object *object);

/* Takes an object from its maker, if it has one. */
void object_disown(struct registry *registry, struct object *object);

/* What an object costs its account: until it is removed, and then what its testament costs. */
struct charge object_charge(const struct ww_layout_object_record *record);

/* Starts the timer of an object that has an end. */
ww_status object_arm(struct registry *registry, struct object *object);

/* One without a name is kept for its maker only, which was about to name it: nobody else could remove it. */
bool object_ends_with_maker(const struct ww_layout_object_record *record);

/*
 * What becomes of an object without a testament that its maker does not hold (any more), although that may live on: it is
 * lost if nobody else can end writing it; and what lives with its maker is gone if it has no descriptors, for then it is
 * nothing but what its maker says of itself, or no name, for then nobody else could remove it.
 * Return: of enum what; 0: nothing.
 */
uint8_t object_without_maker(const struct ww_layout_object_record *record);

/* Ends an object that lives by being held and is not, and forgets a removed one. */
void object_settle(struct registry *registry, struct object *object);

/*
 * Ends an object with a testament, if that is left, and has the testament looked after. But one that is a member of
 * another object, inside of it and counted on its page, stays until its maker has ended: who learns of it late must see
 * what it has there, for it may use that until then.
 */
void object_mourn(struct registry *registry, struct object *object);

/*
 * Executes the testament of an object for the last time, and is through with it: its maker has ended, or nobody will ever
 * know. But a member that the owner of the outer object has not come to know remains, for what it did is to be read in it:
 * for a minute, or if nobody knows whether it has ended, for good; unless the outer one ends before.
 * Return: false: that cannot be done at the moment, it is mourned over instead.
 */
bool object_bury(struct registry *registry, struct object *object);

/* Enters an object among the remains if it is one. */
void object_remains(struct registry *registry, struct object *object);

/* Ends the remains inside of objects that are there no more. */
void object_end_lost_remains(struct registry *registry);

/* There is nothing (more) to say for the maker of an object with a testament. Ends it, if it is left, as one without. */
void object_resign(struct registry *registry, struct object *object);

/* Whether the kernel says that the process has ended; and whether it ever will. */
bool holder_is_over(const struct registry *registry, const struct holder *holder);
bool holder_has_pidfd(const struct registry *registry, const struct holder *holder);

/* Starts the timer of an escrow. */
ww_status hold_arm(struct registry *registry, struct hold *hold);

/* Takes a hold away without a look at what that means to its object. */
void hold_unlink(struct registry *registry, struct hold *hold);

#endif
