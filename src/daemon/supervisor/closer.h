/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closer.h - a thread of the supervisor that closes large memory
 *
 * The last close() of a large memory frees it, which takes 45 us for each MiB, and an unknown time
 * for GPU memory. The supervisor closes last, and a broker that keeps a new descriptor must not
 * wait for that. So a thread does it.
 *
 * A process has one such thread, until it ends. The thread uses no other state of the supervisor.
 */
#ifndef WW_DAEMON_SUPERVISOR_CLOSER_H
#define WW_DAEMON_SUPERVISOR_CLOSER_H

/*
 * Starts the thread; signals that it must not get are blocked by the caller. If it fails,
 * closer_close() closes by itself.
 */
void closer_open(void);

/* Closes a descriptor later. @fd: close-on-exec */
void closer_close(int fd);

#endif
