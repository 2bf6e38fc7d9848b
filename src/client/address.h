/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.h - the path of a broker's socket, and which process may listen there
 *
 * The address is found in the order of broker.h: the caller's, WARPWAY_BROKER, the machine's if its
 * socket exists, the user's own. Only the user's own broker may be started.
 *
 *   address          named by             check before anything is sent
 *   the user's own   (any way)            its folder is the user's, and no other user may write in
 *                                         it; the process that listens is the user's (SO_PEERCRED)
 *   the machine's    default              its folder is root's, and no other user may write in it;
 *                                         systemd listens, or the user of the daemon
 *   another          caller, environment  none: the kernel cannot name users of another user
 *                                         namespace
 *   another          a token              the broker has the id in the token: see token_import.c
 *
 * The folder is opened and checked, and connect(2) goes through its descriptor. So if the path
 * changes meanwhile, the socket is still in the folder that was checked, and only a user that may
 * write there has made it. The parent folders need no check.
 */
#ifndef WW_CLIENT_ADDRESS_H
#define WW_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#include <warpway/token.h>

struct ww_address {
	char path[WW_ADDRESS_BYTES];
	bool is_own;     /* the user's own */
	bool is_machine; /* the machine's, found by default */
};

/*
 * @given:  from the caller or from a token; NULL: find it
 * Return: WW_OK; WW_ERR_INVALID (not absolute, or too long).
 */
ww_status ww_address_find(const char *given, struct ww_address *out_address);

/* The user's own address; the environment's WARPWAY_BROKER does not count. */
ww_status ww_address_own(struct ww_address *out_address);

/*
 * Makes the folder of the user's own address if it is missing. Return: WW_OK; WW_ERR_ACCESS;
 * WW_ERR_NO_BROKER.
 */
ww_status ww_address_make_folder(const struct ww_address *address);

/*
 * Opens and checks the folder of an address that has such a check.
 * @out_folder:  -1: the address has none
 * Return: WW_OK; WW_END (there is no such folder, so no broker listens there); WW_ERR_ACCESS (it is
 *         another user's, or others may write in it); WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_address_open_folder(const struct ww_address *address, int *out_folder);

/* For connect(2). @folder: as it was opened, or -1. */
struct sockaddr_un ww_address_socket(const struct ww_address *address, int folder);

/*
 * The advice in the error record when no broker listens at the address. It is never the command
 * that has just failed.
 */
#define WW_ADVICE_BYTES 200
void ww_address_advise(const struct ww_address *address, char out_advice[WW_ADVICE_BYTES]);

/* Checks the process that listens. @uid: its user. Return: WW_OK; WW_ERR_ACCESS. */
ww_status ww_address_check_peer(const struct ww_address *address, uint32_t uid);

#endif
