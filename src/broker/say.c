/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - what the daemon tells its administrator, see say.h
 *
 * One write(2) a line, so that lines of keeper and broker do not mix.
 */
#include "broker/say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

void say(const char *format, ...)
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
		ww_log_debug("nobody reads standard error: %m");
}
