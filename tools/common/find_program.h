/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_program.h - where the project's other programs are
 */
#ifndef TOOLS_COMMON_FIND_PROGRAM_H
#define TOOLS_COMMON_FIND_PROGRAM_H

#include <stddef.h>

#define DAEMON             "warpwayd"
#define PROGRAM_PATH_BYTES 4200

/* Beside this program, as installed or as built; else the name alone, for a search of PATH. */
void program_find(const char *name, char *out_path, size_t room);

/* The broker's program, as the library looks for it: WARPWAYD, else as above. */
void daemon_find(char *out_path, size_t room);

#endif
