/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standard_streams.h - descriptors 0 to 2 at the begin and the end of each program
 */
#ifndef TOOLS_COMMON_STANDARD_STREAMS_H
#define TOOLS_COMMON_STANDARD_STREAMS_H

/*
 * Those that are closed become /dev/null: else a socket would get the number, and this program's
 * lines.
 */
void standard_streams_open(void);

/* Writes what is buffered. Return: @code; EXIT_FAILED where standard output cannot be written. */
int standard_streams_flush(int code);

#endif
