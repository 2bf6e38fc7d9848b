/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - what the daemon tells its administrator
 *
 * Lines on standard error, for whoever started it or for systemd's journal. A broker that was started by a client
 * has no standard error: it tells the client whether it serves, see starter.h, and nobody after that.
 */
#ifndef WW_BROKER_SAY_H
#define WW_BROKER_SAY_H

#include "base/error.h"

/* One line, without its newline. Allocates nothing; cut at 511 bytes. */
void say(const char *format, ...) WW_PRINTF(1, 2);

#endif
