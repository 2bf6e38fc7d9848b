/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace.c - unshare(2), a fork, an empty root
 */
#include "support/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

/* Where the new root is made: a folder that every machine has. */
#define ROOT "/tmp"

static char reason[160];

static const char *refused(const char *what)
{
	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(errno));
	return reason;
}

static bool put_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_put = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return is_put;
}

static const char *enter_user(void)
{
	char uids[32];
	char gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", (unsigned)geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", (unsigned)getegid());
	if (unshare(CLONE_NEWUSER))
		return refused("no user namespace");
	if (!put_line("/proc/self/setgroups", "deny") || !put_line("/proc/self/uid_map", uids) ||
		!put_line("/proc/self/gid_map", gids))
		return refused("the user namespace takes no map");
	return NULL;
}

/* Waits for the process that goes on in this one's place, and ends as it does. */
static _Noreturn void stand_for(pid_t pid)
{
	int status = 0;

	for (int fd = 3; fd < 64; fd++)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		kill(getpid(), WTERMSIG(status));
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static const char *go_on_in_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return refused("no process in the new namespaces");
	if (pid > 0)
		stand_for(pid);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return refused("cannot be bound to its parent");
	return NULL;
}

static const char *bring_device(const char *path)
{
	char target[128];
	struct stat status;
	int fd;

	if (stat(path, &status) || !S_ISCHR(status.st_mode))
		return NULL;
	snprintf(target, sizeof(target), ROOT "%s", path);
	fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || close(fd) || mount(path, target, NULL, MS_BIND, NULL))
		return refused(target);
	return NULL;
}

/* What a container needs for GPUs, and is given: the driver's own devices, nothing else of /dev. */
static const char *bring_devices(void)
{
	const char *failure = NULL;
	glob_t devices;

	if (mkdir(ROOT "/dev", 0755))
		return refused("no /dev in the new root");
	if (glob("/dev/nvidia*", 0, NULL, &devices))
		return NULL; /* there are none */
	for (size_t i = 0; i < devices.gl_pathc && !failure; i++)
		failure = bring_device(devices.gl_pathv[i]);
	globfree(&devices);
	return failure;
}

static const char *fill_root(const char *folder, const char *inside)
{
	char target[64];
	char source[64];
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return refused(folder);
	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	snprintf(target, sizeof(target), "%s%s", ROOT, inside);
	if (mount("none", ROOT, "tmpfs", 0, "size=1m"))
		return refused("no tmpfs");
	if (mkdir(target, 0755) || mkdir(ROOT "/proc", 0755))
		return refused("no folder in the new root");
	if (mount(source, target, NULL, MS_BIND, NULL))
		return refused("no bind mount");
	if (mount("proc", ROOT "/proc", "proc", 0, NULL))
		return refused("no proc of its own");
	close(fd);
	return bring_devices();
}

static const char *enter_root(void)
{
	if (chdir(ROOT) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
		chdir("/"))
		return refused("no change of root");
	return NULL;
}

const char *namespace_enter(const struct namespace_plan *plan)
{
	int namespaces = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET;
	const char *failure = plan->other_user ? enter_user() : NULL;

	if (failure)
		return failure;
	if (unshare(namespaces | (plan->outside ? CLONE_NEWNS : 0)))
		return refused("no namespaces");
	failure = go_on_in_child();
	if (failure || !plan->outside)
		return failure;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return refused("mounts cannot be made private");
	failure = fill_root(plan->outside, plan->inside);
	return failure ? failure : enter_root();
}
