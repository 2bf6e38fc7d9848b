/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen_address.h - the address on which one broker listens, protected by a lock and its folder
 *
 * The process that holds the lock on the file "<socket>.lock" owns the address. The lock belongs to
 * an open file that supervisor and broker share. So it is held while either of them lives, and the
 * kernel releases it when both have ended. Only the process that has the lock removes a socket that
 * a dead broker left, binds and listens. The lock's file is never removed: otherwise two processes
 * could lock two files of one name.
 *
 * The socket's folder must belong to the user or to root, and no other user may write to it.
 */
#ifndef WW_DAEMON_SUPERVISOR_LISTEN_ADDRESS_H
#define WW_DAEMON_SUPERVISOR_LISTEN_ADDRESS_H

#include <sys/types.h>

#include <warpway/base.h>

/*
 * Takes the address: makes the folder if it is missing, locks, binds, listens.
 * @address:       absolute, at most 107 bytes
 * @mode:          of the socket: which users may connect
 * @out_listener:  nonblocking; -1 unless WW_OK
 * @out_lock:      likewise
 *
 * May block: up to 5 s, while another process has the lock and does not listen.
 *
 * Return: WW_OK; WW_END (a broker serves the address already); WW_ERR_ACCESS (of the folder, or of
 *         what exists there); WW_ERR_EXISTS (another file is there, or another process has the
 *         lock); WW_ERR_SYSTEM; WW_ERR_LIMIT.
 */
ww_status listen_address_claim(const char *address, mode_t mode, int *out_listener, int *out_lock);

/*
 * Removes the socket's path, if @lock, which the caller holds, is still the lock of that address.
 */
void listen_address_remove(const char *address, int lock);

#endif
