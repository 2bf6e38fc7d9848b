/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd.h - the daemon as a service of systemd: socket activation and notifications
 *
 * Both protocols take a few lines: two variables and a descriptor, and a datagram of text.
 * libsystemd has more code than the supervisor, so it is not used.
 */
#ifndef WW_DAEMON_SUPERVISOR_SYSTEMD_H
#define WW_DAEMON_SUPERVISOR_SYSTEMD_H

#include <stddef.h>

#include "base/error.h"

/*
 * Finds the listening socket that systemd passed (sd_listen_fds(3)), and its path.
 * @out_listener:  -1: none was passed to this process
 * Return: WW_OK; WW_ERR_INVALID (more than one, or not a listening SOCK_SEQPACKET socket with a
 * path).
 */
ww_status systemd_listener(int *out_listener, char *out_path, size_t room);

/*
 * Tells systemd the state, in lines such as "READY=1" (sd_notify(3)). Does nothing if systemd did
 * not ask for it.
 */
void systemd_notify(const char *format, ...) WW_PRINTF(1, 2);

#endif
