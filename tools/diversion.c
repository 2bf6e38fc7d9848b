/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diversion.c - keeps standard output for results
 */
#include "diversion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "voice.h"

int diversion_start(struct diversion *diversion)
{
	fflush(stdout);
	diversion->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (diversion->saved >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return 0;
	return complain("cannot keep standard output for the results: %s", strerror(errno));
}

void diversion_end(struct diversion *diversion)
{
	if (diversion->saved < 0)
		return;
	fflush(stdout);
	dup2(diversion->saved, STDOUT_FILENO);
	close(diversion->saved);
	diversion->saved = -1;
}
