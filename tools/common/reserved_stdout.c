/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserved_stdout.c - keeps standard output for results
 */
#include "common/reserved_stdout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/report.h"

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
