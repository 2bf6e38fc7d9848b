/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standard_streams.c - descriptors 0 to 2 at the begin and the end of each program, see
 * standard_streams.h
 */
#include "common/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/report.h"

void standard_streams_open(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int standard_streams_flush(int code)
{
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write to standard output: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return code;
}
