/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.c - the small text files in which the kernel tells things, see proc_file.h
 */
#include "base/proc_file.h"

#include <stdio.h>
#include <string.h>

bool ww_proc_file_read_line(const char *path, char *out, size_t bytes)
{
	FILE *file = fopen(path, "re");
	bool is_read;

	if (!file)
		return false;
	is_read = fgets(out, (int)bytes, file) != NULL;
	fclose(file);
	if (is_read)
		out[strcspn(out, "\n")] = '\0';
	return is_read;
}
