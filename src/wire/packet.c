/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - one packet with its descriptors in one call of the kernel's, see packet.h
 *
 * There is room for the descriptors a packet may have and no more (scm_rights.h), so the kernel
 * drops what is beyond them by itself and says so (MSG_CTRUNC). It says the same when the table of
 * open files is full; the two are told apart by how many descriptors came: as many as there is room
 * for, or fewer.
 *
 * A socket that was told to deliver credentials, security labels or pidfds too puts them into the
 * same room. They are skipped; where they took the room of descriptors, that is named as the
 * reason.
 *
 * Descriptors that came are not closed here, whatever is wrong with their packet: closing a file of
 * some file systems waits for the process that serves them, and only the caller knows when it may
 * wait.
 */
#include "wire/packet.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/close_async.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/scm_rights.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

_Static_assert(WW_PACKET_FDS <= WW_SCM_FDS_MAX, "a packet's descriptors travel together");

ww_status ww_packet_send(int socket, const void *bytes, size_t count, const int *fds,
	size_t fd_count)
{
	ssize_t sent;
	const char *remedy = NULL;

	ww_assert(count > 0 && fd_count <= WW_PACKET_FDS);
	sent = ww_scm_send(socket, bytes, count, fds, fd_count);
	if (sent >= 0)
		return WW_OK;
	if (errno == EAGAIN)
		return WW_NOT_READY;
	if (errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED)
		remedy = "the other process has closed its end or died";
	else if (errno == ETOOMANYREFS)
		remedy = "too many descriptors of this user are in flight; let them be received first";
	return ww_fail_errno(errno, remedy,
		"cannot send a packet of %zu bytes and %zu descriptors over socket %d", count,
		fd_count, socket);
}

/* Return: the option that makes this socket deliver more than descriptors, or NULL. */
static const char *other_items(int socket)
{
	static const struct {
		int option;
		const char *name;
	} options[] = {{SO_PASSCRED, "SO_PASSCRED"}, {SO_PASSSEC, "SO_PASSSEC"},
		{SO_PASSPIDFD, "SO_PASSPIDFD"}};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int value = 0;
		socklen_t length = sizeof(value);

		if (getsockopt(socket, SOL_SOCKET, options[i].option, &value, &length) == 0 &&
			value != 0)
			return options[i].name;
	}
	return NULL;
}

static ww_status check(int socket, const struct ww_scm_arrival *arrival, size_t count, size_t room)
{
	if (arrival->flags & MSG_TRUNC)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a packet of more than %zu bytes from socket %d", room, socket);
	if (arrival->flags & MSG_CTRUNC) {
		const char *option = other_items(socket);

		/* Why the kernel dropped descriptors. */
		if (arrival->fd_count >= WW_PACKET_FDS)
			return ww_fail(WW_ERR_PROTOCOL,
				"refused a packet from socket %d with more than %d descriptors",
				socket, WW_PACKET_FDS);
		if (option)
			return ww_fail(WW_ERR_DESCRIPTOR,
				"lost descriptors of a packet from socket %d: %s took their room; switch it off",
				socket, option);
		return ww_fail_errno(EMFILE, NULL, "lost descriptors of a packet from socket %d",
			socket);
	}
	if (count == 0 && ww_scm_is_end(socket, arrival))
		return WW_END;
	if (count == 0)
		return ww_fail(WW_ERR_PROTOCOL, "refused an empty packet from socket %d", socket);
	return WW_OK;
}

ww_status ww_packet_receive(int socket, void *buffer, size_t room, size_t *out_bytes,
	int out_fds[WW_PACKET_FDS], size_t *out_fd_count)
{
	struct ww_scm_arrival arrival = {.fds = out_fds, .fd_room = WW_PACKET_FDS};
	ssize_t count = ww_scm_receive(socket, buffer, room, false, &arrival);
	ww_status adopted = WW_OK;
	ww_status status;
	size_t kept = 0;

	*out_bytes = 0;
	*out_fd_count = 0;
	if (count < 0) {
		if (errno == EAGAIN)
			return WW_NOT_READY;
		if (errno == ECONNRESET)
			return WW_END;
		return ww_fail_errno(errno, NULL, "cannot receive from socket %d", socket);
	}
	/* The standard streams are not ours to be: see fd.h. */
	for (size_t i = 0; i < arrival.fd_count; i++) {
		int fd = arrival.fds[i];

		/*
		 * To adopt closes it, which may wait for ever; the code that asked for the packet
		 * refuses such a packet.
		 */
		if (fd <= 2 && ww_close_async_is_local(fd) && ww_fd_adopt(&fd) != WW_OK)
			adopted = WW_ERR_LIMIT;
		else
			arrival.fds[kept++] = fd;
	}
	arrival.fd_count = kept;
	*out_fd_count = arrival.fd_count;
	status = check(socket, &arrival, (size_t)count, room);
	if (status == WW_OK)
		status = adopted;
	if (status == WW_OK)
		*out_bytes = (size_t)count;
	return status;
}
