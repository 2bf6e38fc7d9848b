/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_log.h - messages of the daemon for its administrator
 *
 * The messages are lines on standard error, which a terminal or systemd's journal shows. A broker
 * that was started by a client has no standard error: it tells that client whether it serves
 * (start_notice.h), and logs nothing after that.
 */
#ifndef WW_DAEMON_ADMIN_LOG_H
#define WW_DAEMON_ADMIN_LOG_H

#include "base/error.h"

/* Writes one line; @format has no newline. Allocates nothing; the line is cut at 511 bytes. */
void admin_log(const char *format, ...) WW_PRINTF(1, 2);

#endif
