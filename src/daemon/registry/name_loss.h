/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_loss.h - what is told of an object whose name was removed or given to another object
 *
 * The members of a channel, a service or a barrier learn it from signal pages: the broker stores
 * there that the name was lost, and how. A page belongs to an untrusted process, so it does not say
 * which process did it. The broker keeps that in the record of the removed object, for those who
 * ask (request `loss`).
 *
 * The pages are written while the object still has its name. If the broker is killed before the
 * object has ended, the next broker, or the client that repeats its request, does all of it again.
 * The record is written when the object has ended: if the broker is killed just before that, nobody
 * knows the process.
 */
#ifndef WW_DAEMON_REGISTRY_NAME_LOSS_H
#define WW_DAEMON_REGISTRY_NAME_LOSS_H

#include "daemon/registry/registry.h"

struct holder;

/*
 * The object is about to lose its name, or to end. Stores in its page how; if it has no
 * descriptors, in the pages that its holders have put inside of it. A page whose last will is
 * closed is left alone.
 * @what:  of WW_WIRE_WHAT_...: stores nothing unless it was replaced or removed
 */
void name_loss_tell(const struct registry *registry, const struct object *object, uint8_t what);

/*
 * A part of an object may have lost a name: counts that on the object's page, if it is a pool with
 * one.
 */
void name_loss_count_part(const struct registry *registry, const struct object *object);

/* How the name of an object is lost: by a process; or to an object, whose creator it is. */
struct ww_layout_name_loss name_loss_by(const struct registry *registry,
	const struct holder *holder);
struct ww_layout_name_loss name_loss_to(const struct registry *registry,
	const struct object *object);

/* Keeps that with the object of an id, if it has ended by it and processes hold it. */
void name_loss_keep(struct registry *registry, const uint8_t id[WW_WIRE_ID_BYTES],
	const struct ww_layout_name_loss *loss);

/* Return: what is kept with the object of an id that ended last; NULL: nothing. */
const struct ww_layout_name_loss *name_loss_find(const struct registry *registry,
	const uint8_t id[WW_WIRE_ID_BYTES]);

#endif
