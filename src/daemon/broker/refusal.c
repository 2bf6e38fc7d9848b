/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal.c - requests and connections that are refused, see refusal.h
 */
#include "daemon/broker/refusal.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/admin_log.h"
#include "daemon/broker/server_state.h"

#define WINDOW_NS   UINT64_C(10000000000)
#define REASON_MOST 300

static bool is_to_be_logged(ww_status status)
{
	switch (status) {
	case WW_ERR_NO_MEMORY:
	case WW_ERR_LIMIT:
	case WW_ERR_ACCESS:
	case WW_ERR_DESCRIPTOR:
	case WW_ERR_PROTOCOL:
	case WW_ERR_TRUNCATED:
	case WW_ERR_VERSION:
	case WW_ERR_SYSTEM:
	case WW_ERR_QUOTA:
		return true;
	default:
		return false;
	}
}

/* Whether a line of at most 4096 bytes can be written without waiting. */
static bool log_has_room(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) > 0 && (out.revents & POLLOUT);
}

static bool logged_is_recent(const struct logged_refusal *logged, uint64_t now_ns)
{
	return logged->at_ns && now_ns - logged->at_ns < WINDOW_NS;
}

/*
 * Whether the limits of the user and of all users leave a line. All users have as many as are
 * remembered, so a user's last line is among these as long as it matters.
 */
static bool log_may_write(struct server *server, uid_t uid)
{
	struct logged_refusal *oldest = &server->logged[server->logged_next];
	uint64_t now_ns = ww_clock_now_ns();

	if (logged_is_recent(oldest, now_ns))
		return false;
	for (size_t i = 0; i < REFUSALS_LOGGED; i++) {
		if (server->logged[i].uid == uid && logged_is_recent(&server->logged[i], now_ns))
			return false;
	}
	if (!log_has_room())
		return false;
	*oldest = (struct logged_refusal){.at_ns = now_ns, .uid = uid};
	server->logged_next = (server->logged_next + 1) % REFUSALS_LOGGED;
	return true;
}

static void refusal_log(const struct peer *peer, const char *what, ww_status status)
{
	struct server *server = peer->server;
	char reason[REASON_MOST];
	const struct ww_error *record;
	size_t length = 0;

	if (!is_to_be_logged(status))
		return;
	if (!log_may_write(server, peer->uid)) {
		server->unlogged++;
		return;
	}
	/* A reason may quote a client: characters that are not printable ASCII are replaced. */
	record = ww_error_last();
	if (record->status == status) {
		for (; length < REASON_MOST - 1 && record->message[length]; length++) {
			char letter = record->message[length];

			reason[length] = letter;
			if (letter < ' ' || letter > '~')
				reason[length] = '?';
		}
	}
	reason[length] = '\0';
	admin_log("refused: uid %" PRIu32 " pid %" PRIu32 " %s %s: %s (not logged so far: %" PRIu64
		  ")",
		(uint32_t)peer->uid, peer->pid, what, ww_status_name(status), reason,
		server->unlogged);
}

void refusal_count_request(const struct peer *peer, uint16_t code)
{
	request_counts_came(&peer->server->requests, code);
	request_counts_came(&peer->account->requests, code);
}

void refusal_note(const struct peer *peer, uint16_t code, ww_status status)
{
	const char *name = code == 0 ? NULL : ww_wire_name(code);

	request_counts_refused(&peer->server->requests, code, status);
	request_counts_refused(&peer->account->requests, code, status);
	refusal_log(peer, name ? name : "packet", status);
}

void refusal_note_connection(const struct peer *peer, ww_status status)
{
	peer->server->refused_connections++;
	refusal_log(peer, "connection", status);
}
