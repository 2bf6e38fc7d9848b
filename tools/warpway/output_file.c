/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.c - what `get` writes: a file that appears whole, or standard output
 */
#include "warpway/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/say.h"

_Static_assert(SINK_PATH_BYTES >= PATH_MAX, "realpath() writes up to PATH_MAX bytes");

static int open_output(struct sink *sink)
{
	sink->name = "standard output";
	if (isatty(STDOUT_FILENO))
		return refuse("an object's bytes are nothing for a terminal; name a FILE, or "
			      "redirect the output");
	sink->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (sink->fd >= 0)
		return 0;
	return complain("cannot use standard output: %s", strerror(errno));
}

static int fail_to_write(const struct sink *sink)
{
	return complain("cannot write %s: %s", sink->name, strerror(errno));
}

static int open_directly(struct sink *sink, const char *path)
{
	sink->path[0] = 0;
	sink->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return sink->fd >= 0 ? 0 : fail_to_write(sink);
}

static void put_signals_off(struct sink *sink)
{
	sigset_t ending;

	signal(SIGXFSZ, SIG_IGN); /* writing fails then, too */
	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, &sink->before);
}

static mode_t new_file_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* @mode: of the file that is replaced, or that a new one gets. */
static int open_beside(struct sink *sink, mode_t mode)
{
	put_signals_off(sink);
	snprintf(sink->unfinished, sizeof(sink->unfinished), "%s.XXXXXX", sink->path);
	sink->fd = mkostemp(sink->unfinished, O_CLOEXEC);
	if (sink->fd >= 0 && !fchmod(sink->fd, mode))
		return 0;
	if (sink->fd < 0)
		sink->unfinished[0] = 0;
	return fail_to_write(sink);
}

int sink_open(struct sink *sink, const char *path)
{
	struct stat status;

	*sink = (struct sink)SINK_NONE;
	sigprocmask(SIG_BLOCK, NULL, &sink->before);
	if (!path || !strcmp(path, "-"))
		return open_output(sink);
	sink->name = path;
	if (realpath(path, sink->path)) {
		if (stat(sink->path, &status) || access(sink->path, W_OK))
			return fail_to_write(sink);
		if (!S_ISREG(status.st_mode))
			return open_directly(sink, path);
		return open_beside(sink, status.st_mode & 0777);
	}
	if (errno != ENOENT || strlen(path) >= sizeof(sink->path))
		return fail_to_write(sink);
	if (!lstat(path, &status))
		return complain("cannot write %s: it is a link to a file that is not there",
			sink->name);
	snprintf(sink->path, sizeof(sink->path), "%s", path);
	return open_beside(sink, new_file_mode());
}

int sink_finish(struct sink *sink)
{
	int fd = sink->fd;

	sink->fd = -1;
	if (close(fd) || (sink->unfinished[0] && rename(sink->unfinished, sink->path)))
		return fail_to_write(sink);
	sink->unfinished[0] = 0;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (sink->fd >= 0)
		close(sink->fd);
	sink->fd = -1;
	if (sink->unfinished[0])
		unlink(sink->unfinished);
	sink->unfinished[0] = 0;
	sigprocmask(SIG_SETMASK, &sink->before, NULL);
}
