/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - the protocol of /dev/fuse, as far as one file needs it
 */
#include "support/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

/* What the server is told, and what it tells. */
#define MUTE    'm'
#define RELEASE 'r'
#define FLUSHED 'f'

#define FILE_NODE     2
#define FILE_BYTES    4096
#define REQUEST_BYTES (64 * 1024)
#define WAITING_MAX   4096

/* In the server. */
struct server {
	int device;
	int control;
	bool is_mute;
	bool is_released;
	uint64_t waiting[WAITING_MAX]; /* requests without an answer */
	size_t waiting_count;
};

static void answer(const struct server *self, uint64_t request, int error, const void *body,
	size_t bytes)
{
	char packet[512];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + bytes),
		.error = -error,
		.unique = request,
	};

	memcpy(packet, &header, sizeof(header));
	if (bytes > 0)
		memcpy(packet + sizeof(header), body, bytes);
	/* ENOENT: who asked does not wait any more. */
	if (write(self->device, packet, header.len) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr entry = {.ino = node, .nlink = 1, .blksize = FILE_BYTES};

	entry.mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0755;
	entry.size = node == FILE_NODE ? FILE_BYTES : 0;
	return entry;
}

static void answer_init(const struct server *self, uint64_t request)
{
	const struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_write = FILE_BYTES,
	};

	answer(self, request, 0, &out, sizeof(out));
}

/* The times for which the kernel may remember what it was told are zero: it asks each time. */
static void answer_asked(const struct server *self, const struct fuse_in_header *asked)
{
	const struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
	const struct fuse_attr_out attr = {.attr = attributes(asked->nodeid)};
	const struct fuse_statfs_out whole = {.st.bsize = FILE_BYTES};
	const struct fuse_open_out open = {.fh = 1};

	switch (asked->opcode) {
	case FUSE_INIT:
		answer_init(self, asked->unique);
		break;
	case FUSE_LOOKUP:
		answer(self, asked->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(self, asked->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(self, asked->unique, 0, &open, sizeof(open));
		break;
	case FUSE_STATFS:
		answer(self, asked->unique, 0, &whole, sizeof(whole));
		break;
	case FUSE_READ: /* the end of the file */
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(self, asked->unique, 0, NULL, 0);
		break;
	default:
		answer(self, asked->unique, ENOSYS, NULL, 0);
	}
}

static bool is_to_wait(const struct server *self, const struct fuse_in_header *asked)
{
	if (self->is_released)
		return false;
	return self->is_mute || asked->opcode == FUSE_FLUSH || asked->opcode == FUSE_RELEASE;
}

static void serve_one(struct server *self)
{
	static char packet[REQUEST_BYTES];
	const struct fuse_in_header *asked = (const struct fuse_in_header *)packet;
	const char flushed = FLUSHED;

	if (read(self->device, packet, sizeof(packet)) < (ssize_t)sizeof(*asked)) {
		if (errno == EINTR || errno == ENOENT || errno == EAGAIN)
			return;
		_exit(errno == ENODEV ? 0 : 1); /* ENODEV: it is mounted no more */
	}
	if (asked->opcode == FUSE_FORGET || asked->opcode == FUSE_BATCH_FORGET ||
		asked->opcode == FUSE_INTERRUPT)
		return; /* these have no answer */
	if (asked->opcode == FUSE_FLUSH && write(self->control, &flushed, 1) < 0)
		_exit(0);
	if (!is_to_wait(self, asked))
		answer_asked(self, asked);
	else if (self->waiting_count < WAITING_MAX)
		self->waiting[self->waiting_count++] = asked->unique;
	else
		_exit(1);
}

static void take_order(struct server *self)
{
	char order = 0;

	if (read(self->control, &order, 1) <= 0)
		_exit(0); /* stopped, or the case's process is gone */
	self->is_mute = order == MUTE;
	if (order != RELEASE)
		return;
	self->is_released = true;
	/* An error for what should have had a body: the case that asked is over. */
	while (self->waiting_count > 0)
		answer(self, self->waiting[--self->waiting_count], 0, NULL, 0);
}

/* In the child: nothing is open but the two, so that it keeps nothing of the case alive. */
static _Noreturn void serve(int device, int control)
{
	static struct server self = {.device = 0, .control = 1};
	struct pollfd entries[] = {{.fd = 0, .events = POLLIN}, {.fd = 1, .events = POLLIN}};

	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	alarm(FUSE_LIMIT_S * check_slowness());
	if (dup2(device, self.device) < 0 || dup2(control, self.control) < 0 ||
		close_range(2, ~0U, 0) < 0)
		_exit(1);
	for (;;) {
		if (poll(entries, 2, -1) < 0)
			continue;
		if (entries[1].revents)
			take_order(&self);
		if (entries[0].revents)
			serve_one(&self);
	}
}

/* Return: a descriptor of the mount; -1 with errno. */
static int make_mount(int device)
{
	char number[16];
	int system = fsopen("fuse", FSOPEN_CLOEXEC);
	int mount = -1;

	snprintf(number, sizeof(number), "%d", device);
	if (system < 0)
		return -1;
	if (!fsconfig(system, FSCONFIG_SET_STRING, "fd", number, 0) &&
		!fsconfig(system, FSCONFIG_SET_STRING, "rootmode", "40000", 0) &&
		!fsconfig(system, FSCONFIG_SET_STRING, "user_id", "0", 0) &&
		!fsconfig(system, FSCONFIG_SET_STRING, "group_id", "0", 0) &&
		!fsconfig(system, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) &&
		!fsconfig(system, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = fsmount(system, FSMOUNT_CLOEXEC, 0);
	close(system);
	return mount;
}

void fuse_start(struct fuse *self)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int ends[2];

	if (device < 0)
		check_skip("no /dev/fuse: %s", strerror(errno));
	self->mount = make_mount(device);
	if (self->mount < 0) {
		int error = errno;

		close(device);
		check_skip("no file system of one's own: %s", strerror(error));
	}
	MUST_CALL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	self->control = ends[0];
	MUST_CALL(self->server = fork());
	if (self->server == 0)
		serve(device, ends[1]);
	/* The server alone has the device: its end ends the file system, whoever hangs in it. */
	close(device);
	close(ends[1]);
}

int fuse_open(const struct fuse *self)
{
	int fd;

	MUST_CALL(fd = openat(self->mount, "file", O_RDWR | O_CLOEXEC));
	return fd;
}

static void order(const struct fuse *self, char what)
{
	MUST_CALL(send(self->control, &what, 1, MSG_NOSIGNAL));
}

void fuse_mute(const struct fuse *self)
{
	order(self, MUTE);
}

void fuse_await_flush(const struct fuse *self)
{
	char what = 0;

	MUST(recv(self->control, &what, 1, 0) == 1);
	MUST(what == FLUSHED);
}

void fuse_release(const struct fuse *self)
{
	order(self, RELEASE);
}

void fuse_stop(struct fuse *self)
{
	int status = 0;

	close(self->control);
	MUST_CALL(waitpid(self->server, &status, 0));
	close(self->mount);
	MUST(!WIFSIGNALED(status)); /* SIGALRM: something hung until the server gave up */
	MUST_EQUAL(0, WEXITSTATUS(status));
}
