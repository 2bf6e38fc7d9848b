/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.h - the small text files in which the kernel tells things
 */
#ifndef WW_BASE_PROC_FILE_H
#define WW_BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the first line of a file, without its newline, cut at @bytes - 1.
 * Return: whether there was one. What cannot be read is no error: each caller can do without.
 */
bool ww_proc_file_read_line(const char *path, char *out, size_t bytes);

#endif
