/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor_check.c - which descriptors of clients the broker keeps, and how it closes the others
 *
 * Descriptors of users that are not trusted are of a kept kind already, since a receiver received
 * them (receiver.h). A thread of libuv's pool closes other kinds, of trusted users, and large
 * memory. Such a thread may hang for ever, and then the process hangs when it ends; see
 * supervisor.c.
 */
#include "daemon/broker/descriptor_check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/broker/server_state.h"
#include "daemon/descriptor_kind.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define BLOCK_BYTES UINT64_C(512) /* of st_blocks */

/*
 * The kernel allocates in pages, of this size where it may; st_blksize says when they are larger.
 */
#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

/* Whether one of the earlier descriptors is the same file: two descriptors may be of one memory. */
static bool memory_is_counted(const int *fds, size_t at, const struct stat *status)
{
	struct stat other;

	for (size_t i = 0; i < at; i++) {
		if (kind_is_memory(fds[i]) && fstat(fds[i], &other) == 0 &&
			other.st_ino == status->st_ino && other.st_dev == status->st_dev)
			return true;
	}
	return false;
}

/* Checks one of the descriptors, and adds its bytes. */
static ww_status descriptor_check_one(const int *fds, size_t at, size_t count, uint64_t *bytes)
{
	struct stat status;
	uint64_t allocated;
	uint64_t page;
	uint64_t size;

	if (kind_is_memory(fds[at]) && !kind_is_sealed(fds[at]))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %zu of %zu is memory that may grow; seal it first (F_SEAL_GROW)",
			at + 1, count);
	if (!kind_is_kept(fds[at]))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %zu of %zu is none that the broker keeps; send memory (a memfd that is "
			"sealed with F_SEAL_GROW), a device of the GPU driver or a pidfd",
			at + 1, count);
	if (!kind_is_memory(fds[at]))
		return WW_OK;
	/*
	 * The larger of a memory file's size and its allocated bytes is counted. Pages beyond the
	 * end can only be allocated before the file is sealed. If there are more of them than the
	 * last page of the size explains, the descriptor is refused.
	 */
	if (fstat(fds[at], &status) < 0 || status.st_size < 0)
		return ww_fail(WW_ERR_DESCRIPTOR, "the size of memory cannot be found out");
	size = (uint64_t)status.st_size;
	allocated = (uint64_t)status.st_blocks * BLOCK_BYTES;
	page = (uint64_t)status.st_blksize;
	if (page < HUGE_PAGE_BYTES)
		page = HUGE_PAGE_BYTES;
	if (allocated > size && allocated - size >= page)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"memory of %" PRIu64 " bytes has %" PRIu64
			" allocated; free what lies beyond its end, or do not allocate it "
			"(FALLOC_FL_KEEP_SIZE)",
			size, allocated);
	if (memory_is_counted(fds, at, &status))
		return WW_OK;
	if (__builtin_add_overflow(*bytes, allocated > size ? allocated : size, bytes))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"the memory of several descriptors is more than can be counted");
	return WW_OK;
}

ww_status descriptor_check(const int *fds, size_t count, uint64_t *out_bytes, bool *out_is_memory)
{
	*out_bytes = 0;
	*out_is_memory = count > 0;
	for (size_t i = 0; i < count; i++) {
		ww_try(descriptor_check_one(fds, i, count, out_bytes));
		*out_is_memory = *out_is_memory &&
			(kind_is_memory(fds[i]) || kind_is_process(fds[i]));
	}
	return WW_OK;
}

/* Whether a process that gets this descriptor can write by it. */
static bool descriptor_is_writable(int fd)
{
	return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY &&
		!(fcntl(fd, F_GET_SEALS) & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
}

ww_status descriptor_check_sealed(const int *fds, const uint8_t *fd_access, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((fd_access[i] & WW_WIRE_ACCESS_READ) && kind_is_memory(fds[i]) &&
			descriptor_is_writable(fds[i]))
			return ww_fail(WW_ERR_DESCRIPTOR,
				"descriptor %zu of %zu is for readers of a sealed object and lets them write; "
				"open it for reading (/proc/self/fd/N), or seal it with F_SEAL_WRITE",
				i + 1, count);
	}
	return WW_OK;
}

/* A descriptor that another thread closes. */
struct closing {
	uv_fs_t request;
	struct server *server;
	struct account *account;
};

static void on_closed(uv_fs_t *request)
{
	struct closing *closing = request->data;
	struct server *server = closing->server;

	uv_fs_req_cleanup(request);
	closing->account->closing--;
	server->closing_count--;
	account_put(&server->registry.accounts, closing->account);
	free(closing);
	if (server->has_stalled)
		server->calls->resume(server);
}

/* Closes in a thread of libuv's pool; where that fails, here. */
static void descriptor_close_aside(struct server *server, struct account *account, int fd)
{
	struct closing *closing = malloc(sizeof(*closing));

	if (closing) {
		closing->server = server;
		closing->account = account;
		closing->request.data = closing;
		if (uv_fs_close(&server->loop, &closing->request, fd, on_closed) == 0) {
			account->users++;
			account->closing++;
			server->closing_count++;
			return;
		}
	}
	free(closing);
	ww_fd_close(fd);
}

void descriptor_close_all(struct server *server, struct account *account, const int *fds,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		if (kind_is_kept(fds[i]) && !kind_is_large(fds[i]))
			ww_fd_close(fds[i]);
		else
			descriptor_close_aside(server, account, fds[i]);
	}
}

void descriptor_release(struct peer *peer)
{
	while (peer->fd_count > 0)
		ww_fd_close(peer->fds[--peer->fd_count]);
}

void descriptor_discard(struct peer *peer)
{
	descriptor_close_all(peer->server, peer->account, peer->fds, peer->fd_count);
	peer->fd_count = 0;
}

bool descriptor_is_flooded(const struct peer *peer)
{
	return peer->account->closing >= peer->server->waiting_fds;
}
