/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fdstore.h - descriptors that survive the broker, because the supervisor has them too
 *
 * A descriptor in the fdstore has a number, and is open under the same number in the broker and in
 * the supervisor. The registry's records name the numbers. A new broker is a child of the
 * supervisor and inherits its descriptors, so it finds them where the records say. A number that no
 * record names is closed, on both sides.
 *
 * Numbers begin at `first`, above those that the kernel gives out for sockets, which are always the
 * lowest free ones. The two ranges never overlap: the broker's soft limit of open files is `first`,
 * except while a number of the fdstore is taken.
 *
 * To keep a descriptor takes one message to the supervisor and no answer: once the message is in
 * the socket's queue, the descriptors live there, even if the broker ends. If the supervisor is
 * slow, the broker waits until there is room.
 */
#ifndef WW_DAEMON_REGISTRY_FDSTORE_H
#define WW_DAEMON_REGISTRY_FDSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

struct fdstore {
	int supervisor; /* the socket to it, borrowed */
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

/* Called first in a broker. @supervisor: the socket. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status fdstore_open(struct fdstore *fdstore, int supervisor, uint32_t first, uint32_t limit);

/* Frees memory and lifts the soft limit again, as a supervisor needs it; closes nothing. */
void fdstore_close(struct fdstore *fdstore);

/*
 * After a restart: says that a number a record names is in use. Return: WW_OK; WW_ERR_DESCRIPTOR
 * (it is not open, or was adopted before).
 */
ww_status fdstore_adopt(struct fdstore *fdstore, uint32_t number);

/* Undoes fdstore_adopt(): the record was dropped. */
void fdstore_forget(struct fdstore *fdstore, uint32_t number);

/*
 * Ends adoption: everything at or above `first` that was not adopted is closed here and in the
 * supervisor. From here on the kernel gives out numbers below `first` only.
 */
ww_status fdstore_adopted(struct fdstore *fdstore);

/*
 * Keeps duplicates of some descriptors.
 * @fds:  borrowed, 1 to 8
 * Return: WW_OK; WW_ERR_LIMIT (no number left); WW_ERR_PEER_LOST (the supervisor is gone);
 *         WW_ERR_SYSTEM. On failure nothing is kept on either side.
 */
ww_status fdstore_keep(struct fdstore *fdstore, const int *fds, size_t count,
	uint32_t *out_numbers);

/*
 * ww_packet_send() with descriptors. The kernel counts those in flight against the sender's soft
 * limit, so it is lifted for that moment.
 */
ww_status fdstore_send(const struct fdstore *fdstore, int socket, const void *bytes, size_t count,
	const int *fds, size_t fd_count);

/*
 * Tells the supervisor that this broker serves, after all earlier messages. Return: as
 * fdstore_keep().
 */
ww_status fdstore_ready(const struct fdstore *fdstore);

/* Closes some, here and in the supervisor. */
void fdstore_drop(struct fdstore *fdstore, const uint32_t *numbers, size_t count);

#endif
