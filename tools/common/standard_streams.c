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

#include "common/say.h"

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
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	complain("cannot write to standard output: %s", strerror(errno));
	return EXIT_FAILED;
}

int reserved_stdout_start(struct reserved_stdout *reserved)
{
	fflush(stdout);
	reserved->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (reserved->saved >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return 0;
	return complain("cannot keep standard output for the results: %s", strerror(errno));
}

void reserved_stdout_end(struct reserved_stdout *reserved)
{
	if (reserved->saved < 0)
		return;
	fflush(stdout);
	dup2(reserved->saved, STDOUT_FILENO);
	close(reserved->saved);
	reserved->saved = -1;
}
