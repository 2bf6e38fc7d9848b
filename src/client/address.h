/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h - which broker is meant: the path of its socket, and who may answer there
 *
 * The order of broker.h: what the caller says, WARPWAY_BROKER, the machine's if its socket is
 * there, the user's own. Only the user's own may be started.
 *
 *   the address is   named by             proof, before anything is sent
 *   the user's own   anybody, or nobody   its folder is the user's, no other user may write in it,
 *                                         and the kernel
 *                                         names the user as who listens (SO_PEERCRED)
 *   the machine's    nobody               its folder is root's, and no other user may write in it;
 *                                         who listens is systemd, or a user of the daemon's own
 *   any other        caller, environment  none: in another user namespace the kernel cannot even
 *                                         say who listens
 *   any other        a token              the broker's id, which the token says: see token_import.c
 *
 * The folder is opened, what was opened is looked at, and connect(2) goes through it: whatever
 * happens to the path meanwhile, a socket in that folder was made by who may write there. So the
 * folders above do not count.
 */
#ifndef WW_CLIENT_ADDRESS_H
#define WW_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#include <warpway/token.h>

struct ww_address {
	char path[WW_ADDRESS_BYTES];
	bool is_own;     /* the user's own */
	bool is_machine; /* the machine's, which nobody named */
};

/*
 * @given:  from the caller or from a token; NULL: find it
 * Return: WW_OK; WW_ERR_INVALID (not absolute, or too long).
 */
ww_status ww_address_find(const char *given, struct ww_address *out_address);

/* The user's own, whatever the environment says of others. */
ww_status ww_address_own(struct ww_address *out_address);

/*
 * Makes the folder of the user's own address if it is missing. Return: WW_OK; WW_ERR_ACCESS;
 * WW_ERR_NO_BROKER.
 */
ww_status ww_address_make_folder(const struct ww_address *address);

/*
 * Opens the address's folder, if it proves anything, and looks whether it does.
 * @out_folder:  -1: there is nothing to prove
 * Return: WW_OK; WW_END (there is no such folder, so nobody listens there); WW_ERR_ACCESS (it is
 *         another user's, or others may write in it); WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_address_open_folder(const struct ww_address *address, int *out_folder);

/* For connect(2), through the folder; @folder: as it was opened, or -1. */
struct sockaddr_un ww_address_socket(const struct ww_address *address, int folder);

/*
 * What to do when nobody listens there, for an error's record; never the command that has just
 * failed.
 */
#define WW_ADVICE_BYTES 200
void ww_address_advise(const struct ww_address *address, char out_advice[WW_ADVICE_BYTES]);

/* @uid: of who listens. Return: WW_OK; WW_ERR_ACCESS. */
ww_status ww_address_check_peer(const struct ww_address *address, uint32_t uid);

#endif
