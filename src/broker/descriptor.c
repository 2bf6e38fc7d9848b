/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor.c - which descriptors of strangers the broker keeps
 *
 * A descriptor may lead to a file system that is served by the stranger itself (FUSE), where a mere fstat() or close()
 * waits for it as long as it likes. So a descriptor is asked only what the kernel answers alone, and kept only if it
 * is memory without a file system behind it, a device, or an object of the kernel without a name: eventfd, sync file.
 * Everything else is closed by another thread, and while too many of a user's descriptors wait for that, nothing more is
 * read from that user.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "broker/server_parts.h"

/* Memory files alone have seals. */
static bool is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

/* A device, or what has no type of file at all. STATX from memory: no file system is asked. */
static bool is_device_or_nameless(int fd)
{
	struct statx status;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH)) /* a name, which opens nothing */
		return false;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0)
		return false;
	return S_ISCHR(status.stx_mode) || (status.stx_mode & S_IFMT) == 0;
}

/* What can grow could outgrow what it was charged as. */
static bool is_sealed(int fd)
{
	return fcntl(fd, F_GET_SEALS) & F_SEAL_GROW;
}

/* Of a memory file that is not counted yet: two descriptors may stand for one. */
static uint64_t memory_bytes(const int *fds, size_t at)
{
	struct stat status;
	struct stat other;

	if (fstat(fds[at], &status) < 0 || status.st_size < 0)
		return 0;
	for (size_t i = 0; i < at; i++) {
		if (is_memory(fds[i]) && fstat(fds[i], &other) == 0 &&
			other.st_ino == status.st_ino && other.st_dev == status.st_dev)
			return 0;
	}
	return (uint64_t)status.st_size;
}

/* One of them. */
static ww_status check_one(const int *fds, size_t at, size_t count, uint64_t *bytes)
{
	if (!is_memory(fds[at])) {
		if (is_device_or_nameless(fds[at]))
			return WW_OK;
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %zu of %zu is none that the broker keeps; send memory (a memfd), a "
			"device's descriptor or an eventfd",
			at + 1, count);
	}
	if (!is_sealed(fds[at]))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %zu of %zu is memory that may grow; seal it first (F_SEAL_GROW)",
			at + 1, count);
	if (__builtin_add_overflow(*bytes, memory_bytes(fds, at), bytes))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"the memory of %zu descriptors is more than can be counted", count);
	return WW_OK;
}

ww_status descriptor_check(const int *fds, size_t count, uint64_t *out_bytes, bool *out_is_memory)
{
	*out_bytes = 0;
	*out_is_memory = count > 0;
	for (size_t i = 0; i < count; i++) {
		ww_try(check_one(fds, i, count, out_bytes));
		*out_is_memory = *out_is_memory && is_memory(fds[i]);
	}
	return WW_OK;
}

/* A descriptor that another thread closes. */
struct closing {
	uv_fs_t request;
	struct server *server;
	struct account *account;
};

static void closed(uv_fs_t *request)
{
	struct closing *closing = request->data;
	struct server *server = closing->server;

	uv_fs_req_cleanup(request);
	closing->account->closing--;
	account_put(&server->registry.accounts, closing->account);
	free(closing);
	if (server->has_stalled)
		peer_resume_all(server);
}

/* Closes in a thread of libuv's pool; where that fails, here. */
static void close_aside(struct server *server, struct account *account, int fd)
{
	struct closing *closing = malloc(sizeof(*closing));

	if (closing) {
		closing->server = server;
		closing->account = account;
		closing->request.data = closing;
		if (uv_fs_close(&server->loop, &closing->request, fd, closed) == 0) {
			account->users++;
			account->closing++;
			return;
		}
	}
	free(closing);
	ww_fd_close(fd);
}

void descriptor_discard(struct peer *peer)
{
	for (size_t i = 0; i < peer->fd_count; i++) {
		if (is_memory(peer->fds[i]) || is_device_or_nameless(peer->fds[i]))
			ww_fd_close(peer->fds[i]);
		else
			close_aside(peer->server, peer->account, peer->fds[i]);
	}
	peer->fd_count = 0;
}

bool descriptor_is_flooded(const struct peer *peer)
{
	return peer->account->closing >= peer->server->waiting_fds;
}
