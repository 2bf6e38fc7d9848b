/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd.h - being a service: the listening socket it hands over, and what it wants to hear
 *
 * The two protocols are a few lines each: two variables and a descriptor, and a datagram of text. libsystemd would
 * bring more code than the keeper has.
 */
#ifndef WW_BROKER_SYSTEMD_H
#define WW_BROKER_SYSTEMD_H

#include <stddef.h>

#include "base/error.h"

/*
 * The socket that systemd listens on for us (sd_listen_fds(3)), and its path.
 * @out_listener:  -1: this process was not started for one
 * Return: WW_OK; WW_ERR_INVALID (more than one, or not a listening SOCK_SEQPACKET socket with a path).
 */
ww_status systemd_listener(int *out_listener, char *out_path, size_t room);

/* Tells systemd about our state, in lines such as "READY=1" (sd_notify(3)); nothing where nobody asked for it. */
void systemd_notify(const char *format, ...) WW_PRINTF(1, 2);

#endif
