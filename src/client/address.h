/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h - which broker is meant: the path of its socket
 *
 * The order of broker.h: what the caller says, WARPWAY_BROKER, the machine's if its socket is there, the user's
 * own. Only the user's own may be started, and only in a folder that belongs to the user: under /tmp
 * anybody could have made it first.
 */
#ifndef WW_CLIENT_ADDRESS_H
#define WW_CLIENT_ADDRESS_H

#include <stdbool.h>

#include <warpway/token.h>

struct ww_address {
	char path[WW_ADDRESS_BYTES];
	bool is_own; /* the user's own */
};

/*
 * @given:  from the caller or from a token; NULL: find it
 * Return: WW_OK; WW_ERR_INVALID (not absolute, or too long).
 */
ww_status ww_address_find(const char *given, struct ww_address *out_address);

/* The user's own, whatever the environment says of others. */
ww_status ww_address_own(struct ww_address *out_address);

/*
 * Whether nobody but the user decides what listens at the user's own address. A folder that is not there is fine.
 * @may_make:  make the folder if it is missing
 * Return: WW_OK; WW_ERR_ACCESS (it is another user's, or others may write in it); WW_ERR_NO_BROKER (it cannot be made).
 */
ww_status ww_address_check_own(const struct ww_address *address, bool may_make);

#endif
