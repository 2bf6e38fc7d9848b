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
 * lost if nobody else can end writing it; and what lives with its maker and has no descriptors is nothing but what
 * its maker says of itself, so it is gone.
 * Return: of enum what; 0: nothing.
 */
uint8_t object_without_maker(const struct ww_layout_object_record *record);

/* Ends an object that lives by being held and is not, and forgets a removed one. */
void object_settle(struct registry *registry, struct object *object);

/* Executes the testament of an object whose maker has ended, for the last time, and ends the object if that is left. */
void object_bury(struct registry *registry, struct object *object);

/* The maker let go of an object with a testament: it has closed the page, so there is nothing to say for it. */
void object_resign(struct registry *registry, struct object *object);

/* Whether the kernel says that the process has ended. */
bool holder_is_over(const struct registry *registry, const struct holder *holder);

/* Starts the timer of an escrow. */
ww_status hold_arm(struct registry *registry, struct hold *hold);

/* Takes a hold away without a look at what that means to its object. */
void hold_unlink(struct registry *registry, struct hold *hold);

#endif
