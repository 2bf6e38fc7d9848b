/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - what the kernel lets this process do: limits, files in memory, sockets, processes
 *
 * Each is tried. Files have no name, so nothing is left behind however this ends.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "common/packet.h"

#define FILE_BYTES       4096
#define FILES_FEW        1024
#define LOCKED_FEW       (UINT64_C(64) << 20)
#define ADDRESSES_NEEDED (UINT64_C(256) << 30) /* CUDA reserves a multiple of all memory */
#define SHM_FEW          (UINT64_C(128) << 20) /* containers get 64 MiB */

/* The number of a limit; "no limit" for that. */
static void limit_text(rlim_t limit, bool is_bytes, char out_text[NUMBER_BYTES])
{
	if (limit == RLIM_INFINITY)
		snprintf(out_text, NUMBER_BYTES, "no limit");
	else if (is_bytes)
		number_size_text(limit, out_text);
	else
		snprintf(out_text, NUMBER_BYTES, "%llu", (unsigned long long)limit);
}

static void check_limit(struct doctor *doctor, const char *check, int resource, bool is_bytes,
	rlim_t few)
{
	struct rlimit limit;
	char soft[NUMBER_BYTES];
	char hard[NUMBER_BYTES];

	if (getrlimit((__rlimit_resource_t)resource, &limit)) {
		result_add(&doctor->results, check, STATE_SKIPPED, NULL, "%s", strerror(errno));
		return;
	}
	limit_text(limit.rlim_cur, is_bytes, soft);
	limit_text(limit.rlim_max, is_bytes, hard);
	result_add(&doctor->results, check, limit.rlim_cur < few ? STATE_LIMITED : STATE_WORKS,
		NULL, "%s (at most %s)", soft, hard);
}

static void check_addresses(struct doctor *doctor)
{
	void *at = mmap(NULL, ADDRESSES_NEEDED, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char needed[NUMBER_BYTES];

	number_size_text(ADDRESSES_NEEDED, needed);
	if (at == MAP_FAILED) {
		result_add(&doctor->results, "address-space", STATE_FAILS, NULL,
			"cannot reserve %s of addresses: %s", needed, strerror(errno));
		return;
	}
	munmap(at, ADDRESSES_NEEDED);
	result_add(&doctor->results, "address-space", STATE_WORKS, NULL, "%s reserved", needed);
}

static void check_shm(struct doctor *doctor)
{
	char size[NUMBER_BYTES];
	struct statvfs system;
	struct stat folder;
	OWN(fd) int fd = -1;
	uint64_t bytes;

	if (stat("/dev/shm", &folder) || statvfs("/dev/shm", &system)) {
		result_add(&doctor->results, "shm", STATE_FAILS, "missing", "/dev/shm: %s",
			strerror(errno));
		return;
	}
	fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, FILE_BYTES)) {
		result_add(&doctor->results, "shm", STATE_FAILS,
			errno == EROFS ? "read-only" : "mode",
			"no file can be made in /dev/shm, mode %04o: %s",
			(unsigned int)(folder.st_mode & 07777), strerror(errno));
		return;
	}
	bytes = (uint64_t)system.f_blocks * system.f_frsize;
	number_size_text(bytes, size);
	result_add(&doctor->results, "shm", bytes < SHM_FEW ? STATE_LIMITED : STATE_WORKS, NULL,
		"%s, mode %04o", size, (unsigned int)(folder.st_mode & 07777));
}

/* Return: NULL: it works; else what does not. */
static const char *try_memfd(void)
{
	OWN(fd) int fd = memfd_create("warpway-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *at;

	if (fd < 0)
		return "memfd_create";
	if (ftruncate(fd, FILE_BYTES))
		return "ftruncate";
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		return "F_ADD_SEALS";
	errno = 0;
	at = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	munmap(at, FILE_BYTES);
	return "a sealed file was mapped for writing";
}

static void check_memfd(struct doctor *doctor)
{
	const char *failed = try_memfd();

	if (failed)
		result_add(&doctor->results, "memfd", STATE_FAILS, NULL, "%s: %s", failed,
			strerror(errno));
	else
		result_add(&doctor->results, "memfd", STATE_WORKS, NULL,
			"made, sealed, and refused to a writer");
}

/* Return: likewise. */
static const char *try_sockets(void)
{
	OWN(fd) int ours = -1;
	OWN(fd) int theirs = -1;
	OWN(fd) int passed = -1;
	struct ucred peer;
	socklen_t length = sizeof(peer);
	char byte = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return "socketpair";
	ours = pair[0];
	theirs = pair[1];
	if (packet_send(ours, &byte, 1, theirs, 0))
		return "sending a descriptor";
	if (packet_receive(theirs, &byte, 1, &passed, MSG_DONTWAIT) != 1 || passed < 0)
		return "receiving a descriptor";
	if (getsockopt(ours, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return "SO_PEERCRED";
	errno = 0;
	if (peer.pid != getpid() || peer.uid != geteuid())
		return "SO_PEERCRED names another process";
	return NULL;
}

static void check_sockets(struct doctor *doctor)
{
	const char *failed = try_sockets();

	if (failed)
		result_add(&doctor->results, "sockets", STATE_FAILS, NULL, "%s: %s", failed,
			strerror(errno));
	else
		result_add(&doctor->results, "sockets", STATE_WORKS, NULL,
			"a descriptor was passed, and its sender is known");
}

/* Runs a function in a child, which gets a pipe's end. Return: its pid; -1 with errno. */
static pid_t fork_child(int (*run)(void))
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(run());
	return pid;
}

static int end_at_once(void)
{
	return 0;
}

static void check_pidfd(struct doctor *doctor)
{
	pid_t pid = fork_child(end_at_once);
	OWN(fd) int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	int error = errno;
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	int seen = fd < 0 ? 0 : poll(&entry, 1, 5000);

	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (seen == 1)
		result_add(&doctor->results, "pidfd", STATE_WORKS, NULL,
			"the end of a process was noticed");
	else
		result_add(&doctor->results, "pidfd", STATE_FAILS, NULL, "%s",
			fd < 0 ? strerror(error) : "the end of a process was not noticed");
}

static int ptrace_probe = 4711;

/* In the child: reads the parent's memory, where that is at the same address. */
static int read_parent(void)
{
	int copy = 0;
	struct iovec local = {&copy, sizeof(copy)};
	struct iovec remote = {&ptrace_probe, sizeof(ptrace_probe)};

	if (process_vm_readv(getppid(), &local, 1, &remote, 1, 0) != (ssize_t)sizeof(copy))
		return errno;
	return 0;
}

static bool has_scope(void)
{
	char scope = '0';
	OWN(fd) int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &scope, 1) == 1 && scope != '0';
}

static void check_ptrace(struct doctor *doctor)
{
	pid_t pid = fork_child(read_parent);
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		result_add(&doctor->results, "ptrace", STATE_SKIPPED, NULL,
			"no process could be started");
		return;
	}
	if (WEXITSTATUS(status) == 0)
		result_add(&doctor->results, "ptrace", STATE_WORKS, NULL,
			"a process read another one's memory");
	else
		result_add(&doctor->results, "ptrace", STATE_LIMITED, has_scope() ? NULL : "denied",
			"process_vm_readv: %s%s", strerror(WEXITSTATUS(status)),
			has_scope() ? " (kernel.yama.ptrace_scope is not 0)" : "");
}

void doctor_machine(struct doctor *doctor)
{
	check_ptrace(doctor);
	check_limit(doctor, "open-files", RLIMIT_NOFILE, false, FILES_FEW);
	check_limit(doctor, "locked-memory", RLIMIT_MEMLOCK, true, LOCKED_FEW);
	check_addresses(doctor);
	check_shm(doctor);
	check_memfd(doctor);
	check_sockets(doctor);
	check_pidfd(doctor);
}
