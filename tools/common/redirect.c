/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redirect.c - keeps standard output for results
 */
#include "common/redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/report.h"

int redirect_start(struct redirect *redirect)
{
	fflush(stdout);
	redirect->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (redirect->saved >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return 0;
	return complain("cannot keep standard output for the results: %s", strerror(errno));
}

void redirect_end(struct redirect *redirect)
{
	if (redirect->saved < 0)
		return;
	fflush(stdout);
	dup2(redirect->saved, STDOUT_FILENO);
	close(redirect->saved);
	redirect->saved = -1;
}
