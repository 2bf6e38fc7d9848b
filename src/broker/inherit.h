/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherit.h - what a process of the daemon is born with: descriptors, signals, limits
 *
 * The first one gets from its starter whatever that had; this makes it what the keeper expects, see keeper.h for
 * the numbers. The later ones get it from the keeper.
 */
#ifndef WW_BROKER_INHERIT_H
#define WW_BROKER_INHERIT_H

#include <stdint.h>

#include <warpway/base.h>

/* Standard streams that are closed become /dev/null, so that nothing else gets their numbers. */
ww_status inherit_streams(void);

/* No signal blocked, ignored or handled, but SIGPIPE ignored. */
void inherit_signals(void);

/*
 * Closes everything that the starter left open but the standard streams and two descriptors, which move up, out of
 * the way of the fixed numbers.
 * @listener, @ready:  -1: none; close-on-exec afterwards
 */
ww_status inherit_only(int *listener, int *ready);

/* Moves a descriptor above the fixed numbers, close-on-exec. -1 stays -1. Return: WW_OK; WW_ERR_LIMIT. */
ww_status inherit_aside(int *fd);

/*
 * Puts a descriptor at a fixed number, where it survives exec.
 * @fd:  one that is aside; closed, and -1 afterwards
 */
ww_status inherit_as(int *fd, int number);

/*
 * Raises the limit of open files as far as it goes, and divides it: the numbers of the vault and, below, what is left
 * for sockets.
 */
ww_status inherit_limits(uint32_t *out_vault_first, uint32_t *out_vault_limit);

/* A broker lowers its limit, see vault.c; a keeper needs all of it. */
ww_status inherit_files(uint32_t count);

/* Copies a file into memory, see KEEPER_CONFIG. @path: "": there is none, and the result is -1. */
ww_status inherit_config(const char *path, int *out_copy);

#endif
