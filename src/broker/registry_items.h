/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_items.h - what the parts of the registry know of each other
 */
#ifndef WW_BROKER_REGISTRY_ITEMS_H
#define WW_BROKER_REGISTRY_ITEMS_H

#include "broker/registry.h"

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

/* What an object costs its account until it is removed. */
struct charge object_charge(const struct ww_layout_object_record *record);

/* Starts the timer of an object that has an end. */
ww_status object_arm(struct registry *registry, struct object *object);

/* One without a name is kept for its maker only, which was about to name it: nobody else could remove it. */
bool object_ends_with_maker(const struct ww_layout_object_record *record);

/* Ends an object that lives by being held and is not, and forgets a removed one. */
void object_settle(struct registry *registry, struct object *object);

/* Starts the timer of an escrow. */
ww_status hold_arm(struct registry *registry, struct hold *hold);

/* Takes a hold away without a look at what that means to its object. */
void hold_unlink(struct registry *registry, struct hold *hold);

#endif
