/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - where the program `warpwayd` is
 */
#ifndef TOOLS_DAEMON_H
#define TOOLS_DAEMON_H

#include <stddef.h>

#define DAEMON            "warpwayd"
#define DAEMON_PATH_BYTES 4200

/* As the library looks for it: WARPWAYD, beside this program, else the name alone, for a search of PATH. */
void daemon_find(char *out_path, size_t room);

#endif
