/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.h - the address: one broker serves it, and nobody can plant anything there
 *
 * Who holds the lock on the file "<socket>.lock" owns the address. The lock belongs to an open file that keeper and
 * broker share, so it is held as long as either of them lives, and the kernel lets go of it when both are gone.
 * Only its owner removes a socket that a dead broker left, binds and listens. The lock's file stays
 * where it is: removing it would let two processes lock two files of one name.
 *
 * The socket's folder must be the user's or root's and not for others to write to.
 */
#ifndef WW_BROKER_SOCKET_H
#define WW_BROKER_SOCKET_H

#include <sys/types.h>

#include <warpway/base.h>

/*
 * Takes the address: makes the folder if it is missing, locks, binds, listens.
 * @address:       absolute, at most 107 bytes
 * @mode:          of the socket: who may connect
 * @out_listener:  does not block; -1 unless WW_OK
 * @out_lock:      likewise
 *
 * May block: up to 5 s, while somebody else has the lock and does not listen.
 *
 * Return: WW_OK; WW_END (somebody serves there already); WW_ERR_ACCESS (folder, or mode of what is there);
 *         WW_ERR_EXISTS (something else is there, or has the lock); WW_ERR_SYSTEM; WW_ERR_LIMIT.
 */
ww_status socket_claim(const char *address, mode_t mode, int *out_listener, int *out_lock);

/* Removes the socket's path, if @lock, which the caller holds, is still the lock of that address. */
void socket_remove(const char *address, int lock);

#endif
