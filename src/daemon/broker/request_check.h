/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check.h - checks of several requests: names, and which processes may use and remove the
 * named objects
 *
 * A name may be inside an object (`@ID/...`). Only a process that holds the outer object can use
 * such a name.
 */
#ifndef WW_DAEMON_BROKER_REQUEST_CHECK_H
#define WW_DAEMON_BROKER_REQUEST_CHECK_H

#include "daemon/broker/peer.h"

/* A text that can be a name, on a connection of this version. Return: WW_OK; WW_ERR_INVALID. */
ww_status request_check_name(const struct peer *peer, const char *name);

/*
 * A process that uses a name inside an object must hold that object, with as much access.
 * Return: WW_OK, also for other names; WW_ERR_NOT_FOUND; WW_ERR_ACCESS.
 */
ww_status request_check_inside(const struct peer *peer, const char *name, uint8_t access);

/*
 * The same for a get. The creator of an object finds what is inside also after the object was
 * removed, as long as it holds that: it must see the members that came before, and that still use
 * what it writes.
 */
ww_status request_check_get_inside(const struct peer *peer, const char *name, uint8_t access);

/* The object that a name is inside of; NULL: none. */
struct object *request_find_outer(const struct peer *peer, const char *name);

/* Whether the process is the creator of the object that this one is inside of. */
bool request_is_creator_of_outer(const struct peer *peer,
	const struct ww_layout_object_record *record);

/*
 * An object can be removed by its user, by root, and by the creator of the object that it is inside
 * of; but a member only by its own process, while that lives.
 * @action:  "remove"
 * Return: WW_OK; WW_ERR_ACCESS; WW_ERR_STATE.
 */
ww_status request_check_remove(const struct peer *peer, struct name name, const char *action);

/*
 * No other process may hold an object of this id for writing if it is to be sealed.
 * Return: WW_OK; WW_ERR_STATE.
 */
ww_status request_check_no_writer(const struct peer *peer, const uint8_t id[16]);

/* What messages call an object that may have no name. */
const char *request_label(const struct registry *registry, struct name name);

ww_status request_fail_not_found(const char *name);

/* The name of an object is taken: the error record says which process put it. */
ww_status request_fail_taken(const struct registry *registry, struct name taken);

#endif
