/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery.h - deliveries: escrows that last as long as their exporter lives, and some time longer
 *
 * A delivery is an escrow (hold.h) with a number, an exporter and a secret of its own:
 *
 *   - The exporter is the holder that asked for the delivery. While it lives, the delivery has no
 *     end. When it ends, the time of the delivery starts.
 *   - The secret opens the object for as many imports as the delivery expects, whether or not the
 *     importing process holds the object already. Then the delivery has ended, and with it the
 *     secret.
 *   - The exporter can end its deliveries.
 *
 * The record says by one field whether the time has started (expires_ns), so a broker that is
 * killed leaves either a delivery of an exporter that lives or one that ends at a point in time. If
 * the exporter's record is gone, the next broker starts the time.
 *
 * Two files: delivery.c makes, uses and recalls deliveries; delivery_item.c links and finds them.
 */
#ifndef WW_DAEMON_REGISTRY_DELIVERY_H
#define WW_DAEMON_REGISTRY_DELIVERY_H

#include "daemon/registry/registry.h"

struct hold;
struct holder;
struct object;

/* How many one call of delivery_recall() ends at most. */
#define DELIVERIES_AT_ONCE 1024

struct delivery {
	struct ww_map_node by_secret;
	struct ww_map_node by_number;
	struct ww_list of_exporter;
	struct hold *hold;
	struct holder *exporter; /* NULL: it has ended */
	uint64_t bytes;          /* of the object, as counted in the exporter and the account */
	struct account *account; /* that is charged for the hold */
};

/* --- delivery.c --- */

/*
 * Makes a delivery, or finds the one that has this secret already, by this exporter and for this
 * object: then the request was sent again.
 * Return: WW_OK; WW_ERR_LIMIT (the message names the exporter's oldest one); WW_ERR_INVALID (the
 * secret is zero, or is another delivery's); as hold_take().
 */
ww_status delivery_make(struct registry *registry, struct holder *exporter, struct object *object,
	const struct ww_wire_export *export, struct hold **out_hold);

/* Links a delivery whose record a former broker left. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status delivery_adopt(struct registry *registry, struct hold *hold);

/* Return: the delivery of an object that this secret opens; NULL: there is none. */
struct hold *delivery_find(const struct registry *registry, const struct object *object,
	const uint8_t secret[WW_WIRE_ID_BYTES]);

/* Counts an import by @user; after the last one the delivery ends. */
void delivery_use(struct registry *registry, struct hold *hold, const struct holder *user);

/* Whether the last import that was counted is of this process. */
bool delivery_was_used_by(const struct registry *registry, const struct hold *hold,
	const struct holder *user);

/* Starts the time of all deliveries of a holder that ends. */
void delivery_exporter_ended(struct registry *registry, struct holder *exporter);

/* Which deliveries of a holder to end, see the request; and what that came to. */
struct recall {
	const struct ww_wire_recall *wanted;
	struct ww_wire_recalled done;
};

void delivery_recall(struct registry *registry, struct holder *exporter, struct recall *recall);

/* --- delivery_item.c --- */

/*
 * Makes the item of a delivery whose record is filled, and links it.
 * @exporter: NULL: it has ended
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status delivery_item(struct registry *registry, struct hold *hold, struct holder *exporter);

/* Its exporter does not count it any more. */
void delivery_leave_exporter(struct registry *registry, struct delivery *delivery);

/* The hold ends. One that is no delivery: nothing happens. */
void delivery_forget(struct registry *registry, struct hold *hold);

/* Return: NULL: there is none. */
struct hold *delivery_find_secret(const struct registry *registry,
	const uint8_t secret[WW_WIRE_ID_BYTES]);
struct hold *delivery_find_number(const struct registry *registry, uint64_t number);

/* Return: NULL: the exporter has none in flight. */
struct hold *delivery_find_oldest(const struct registry *registry, struct holder *exporter);

#endif
