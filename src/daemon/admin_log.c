/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin_log.c - messages of the daemon for its administrator, see admin_log.h
 *
 * Each line is one write(2), so that lines of supervisor and broker do not mix.
 */
#include "daemon/admin_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

void admin_log(const char *format, ...)
{
	char line[512] = "warpwayd: ";
	size_t used = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
	va_end(arguments);
	used = strlen(line);
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		ww_log_debug("cannot write to standard error: %m");
}
