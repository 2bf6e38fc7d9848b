/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor_check.h - which descriptors of clients the broker keeps, and how it closes the others
 *
 * The broker keeps memory, devices of the GPU driver and pidfds (descriptor_kind.h). Whatever may
 * take long to close is closed by another thread. While too many of a user's descriptors wait for
 * that, nothing more is read from that user.
 */
#ifndef WW_DAEMON_BROKER_DESCRIPTOR_CHECK_H
#define WW_DAEMON_BROKER_DESCRIPTOR_CHECK_H

#include "daemon/registry/account.h"

struct peer;
struct server;

/*
 * Looks at descriptors that an untrusted process sent, by calls that no file system serves.
 * @out_bytes:      of the memory among them: the larger of its size and what the kernel has
 *                  allocated
 * @out_is_memory:  there are some, and all are memory, or pidfds
 * Return: WW_OK; WW_ERR_DESCRIPTOR (one that the broker does not keep).
 */
ww_status descriptor_check(const int *fds, size_t count, uint64_t *out_bytes, bool *out_is_memory);

/*
 * Whether the descriptors for the readers of a sealed object are for reading only. For a GPU's
 * memory that is unknown: every descriptor of it can be mapped for writing.
 * @fd_access:  as in a put
 * Return: WW_OK; WW_ERR_DESCRIPTOR.
 */
ww_status descriptor_check_sealed(const int *fds, const uint8_t *fd_access, size_t count);

/* Closes what came with a packet and is kept: no memory is freed by that, so it takes no time. */
void descriptor_release(struct peer *peer);

/* Closes what came with a packet; what may take long, by another thread. */
void descriptor_discard(struct peer *peer);
void descriptor_close_all(struct server *server, struct account *account, const int *fds,
	size_t count);

/* Whether so many of the user's descriptors wait to be closed that no more may be received. */
bool descriptor_is_flooded(const struct peer *peer);

#endif
