/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.h - descriptors that survive this process, because the keeper has them too
 *
 * A descriptor in the vault has a number, and is open under that very number in the broker and in the keeper.
 * The registry's records name the numbers. A new broker is a child of the keeper and inherits its descriptors, so
 * it finds them where the records say; what no record names is closed, on both sides.
 *
 * Numbers begin at `first`, above those that the kernel gives out for sockets, which are always the lowest free ones.
 * The two never meet: this process's soft limit of open files is `first`, but for the moment in which a number of the
 * vault is taken.
 *
 * Keeping is one message to the keeper and no answer: once it is in the socket's queue the descriptors live there,
 * whatever happens to this process. Should the keeper be slow, keeping waits for it.
 */
#ifndef WW_BROKER_VAULT_H
#define WW_BROKER_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

struct vault {
	int keeper;     /* the socket to it, borrowed */
	uint32_t first; /* lowest number */
	uint32_t limit; /* numbers are below this */
	uint64_t hard;  /* the hard limit of open files */
	uint32_t next;  /* the lowest number never given out */
	uint32_t *free; /* a stack of numbers that came back */
	uint32_t free_count;
	uint32_t free_room;
	uint8_t *adopted; /* bits, while adopting */
	uint32_t used;    /* numbers in use */
};

/* A broker's first act. @keeper: the socket. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status vault_open(struct vault *vault, int keeper, uint32_t first, uint32_t limit);

/* Frees memory and lifts the soft limit again, as a keeper needs it; closes nothing. */
void vault_close(struct vault *vault);

/* After a restart: says that a number a record names is in use. Return: WW_OK; WW_ERR_DESCRIPTOR (it is not open, or
 * was adopted before). */
ww_status vault_adopt(struct vault *vault, uint32_t number);

/* Undoes that: the record is none. */
void vault_forget(struct vault *vault, uint32_t number);

/*
 * Ends adoption: everything at or above `first` that was not adopted is closed here and in the keeper. From here on the
 * kernel gives out numbers below `first` only.
 */
ww_status vault_adopted(struct vault *vault);

/*
 * Keeps duplicates of some descriptors.
 * @fds:  borrowed, 1 to 8
 * Return: WW_OK; WW_ERR_LIMIT (no number left); WW_ERR_PEER_LOST (the keeper is gone); WW_ERR_SYSTEM. On failure nothing
 *         is kept on either side.
 */
ww_status vault_keep(struct vault *vault, const int *fds, size_t count, uint32_t *out_numbers);

/*
 * ww_packet_send() with descriptors. The kernel counts those in flight against the sender's soft limit, so it is
 * lifted for that moment.
 */
ww_status vault_send(const struct vault *vault, int socket, const void *bytes, size_t count,
	const int *fds, size_t fd_count);

/* Tells the keeper that this broker serves, behind everything it was told before. Return: as vault_keep(). */
ww_status vault_ready(const struct vault *vault);

/* Closes some, here and in the keeper. */
void vault_drop(struct vault *vault, const uint32_t *numbers, size_t count);

#endif
