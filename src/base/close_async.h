/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close_async.h - closing descriptors that another process sent, without waiting for any process
 *
 * To close a file of some file systems (FUSE, NFS) waits until the process that serves it answers,
 * possibly for ever, and not even SIGKILL ends this wait. Every close() does, of a duplicate too,
 * and recvmsg(2) has put what came into this process's table before any code can check it. So what
 * is not known to close at once is closed by a thread of its own, which ends then. When
 * WW_CLOSE_ASYNC_MAX of them hang the process takes no more from processes that may send them.
 *
 * If the file stayed open instead, a later start of a program would hang: exec closes it too.
 * close() takes the descriptor out of the table before it waits, so a thread that hangs delays no
 * other thread until the process ends: its memory and its descriptors are given back when the
 * thread ends.
 */
#ifndef WW_BASE_CLOSE_ASYNC_H
#define WW_BASE_CLOSE_ASYNC_H

#include <stdbool.h>

#include <warpway/base.h>

#include "base/cleanup.h"

#define WW_CLOSE_ASYNC_MAX 64

/*
 * Whether close() certainly does not wait for another process: memory, devices, pipes, Unix
 * sockets, what the kernel serves itself, and files on a disk. Never waits itself.
 */
bool ww_close_async_is_local(int fd);

/* Closes @fd, aside if that may wait. Takes -1; errno stays as it was. Return: -1. */
int ww_close_async(int fd);

static inline void ww_close_async_p(int *fd)
{
	ww_close_async(*fd);
}

#define WW_AUTO_CLOSE_ASYNC WW_CLEANUP(ww_close_async_p)

/* Whether a peer that may send such descriptors may be listened to. Return: WW_OK; WW_ERR_LIMIT. */
ww_status ww_close_async_check_room(void);

#endif
