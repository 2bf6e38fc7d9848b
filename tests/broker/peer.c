/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - peers that do not read, do not speak, or are half gone; all others are served as if
 * these were not there
 */
#include "broker/suite.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/packet.h"

static uint64_t time_service(void *raw)
{
	struct ww_wire_condition condition;
	uint64_t began_ns = ww_clock_now_ns();

	for (int i = 0; i < 20; i++)
		MUST_OK(raw_condition(raw, &condition));
	return ww_clock_now_ns() - began_ns;
}

static void must_be_served_at_once(struct raw *raw)
{
	suite_must_be_at_once(time_service, raw);
}

/* Sends a request again and again until the daemon reads no more. */
static uint32_t fill(struct raw *raw, const void *packet, size_t bytes)
{
	uint32_t sent = 0;

	while (ww_packet_send(raw->socket, packet, bytes, NULL, 0) == WW_OK) {
		sent++;
		MUST(sent < 1000000);
	}
	return sent;
}

/* Asks for descriptors, for long answers, and for short ones, and reads none of them. */
CASE(peer_never_reads, 0)
{
	struct raw *owner = peer();
	struct raw *silent[3] = {peer(), peer(), peer()};
	const struct ww_wire_header header = {.serial = 1};
	const struct ww_wire_get get = {.access = WW_WIRE_ACCESS_READ, .name = "wanted"};
	const struct ww_wire_list list = {0};
	const struct ww_wire_cancel cancel = {0};
	struct ww_wire_put put = raw_object("wanted");
	struct ww_wire_condition condition;
	uint32_t sent[3];
	uint8_t packet[512];
	int fds[WW_WIRE_FDS];

	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		fds[i] = raw_memory(4096);
	MUST_OK(raw_put(owner, &put, fds, WW_WIRE_FDS));
	for (int i = 0; i < 70; i++)
		put_named(owner, "");
	sent[0] = fill(silent[0], packet,
		ww_wire_encode_get(&get, WW_WIRE_VERSION, &header, packet, sizeof(packet)));
	sent[1] = fill(silent[1], packet,
		ww_wire_encode_list(&list, WW_WIRE_VERSION, &header, packet, sizeof(packet)));
	sent[2] = fill(silent[2], packet,
		ww_wire_encode_cancel(&cancel, WW_WIRE_VERSION, &header, packet, sizeof(packet)));
	must_be_served_at_once(owner);
	/* None of their descriptors is held twice: what is granted stays in the socket. */
	MUST_OK(raw_condition(owner, &condition));
	MUST(condition.open_fds < 100);
	/* When they read at last, there is an answer to every request. */
	for (size_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < sent[i]; k++) {
			MUST_OK(raw_receive(silent[i]));
			MUST_OK(raw_refusal(silent[i]));
		}
		MUST_OK(raw_condition(silent[i], &condition));
	}
	/* And one that goes without having read leaves nothing behind. */
	fill(silent[0], packet,
		ww_wire_encode_get(&get, WW_WIRE_VERSION, &header, packet, sizeof(packet)));
	raw_close(silent[0]);
	for (size_t i = 0; i < WW_WIRE_FDS; i++)
		close(fds[i]);
}

CASE(peer_says_nothing, 0)
{
	struct raw *mute[50];
	struct raw *raw = peer();

	for (size_t i = 0; i < CHECK_COUNT(mute); i++)
		mute[i] = attacker();
	must_be_served_at_once(raw);
	/* They are no holders, and may still begin. */
	wait_for(raw, &(struct want){0, 1, 0, 0, 0});
	MUST_OK(raw_hello(mute[49]));
	wait_for(raw, &(struct want){0, 2, 0, 0, 0});
}

CASE(peer_half_closed, 0)
{
	struct raw *raw = peer();
	struct raw *half = peer();
	struct raw *deaf = peer();
	struct ww_wire_condition condition;

	put_named(half, "half");
	put_named(deaf, "deaf");
	/* It says nothing more: it has ended. */
	MUST_CALL(shutdown(half->socket, SHUT_WR));
	wait_for(raw, &(struct want){1, 2, 1, 0, 0});
	MUST_STATUS(WW_END, raw_receive(half));
	/* It hears nothing any more: that is noticed when there is something to tell it. */
	MUST_CALL(shutdown(deaf->socket, SHUT_RD));
	raw_ask_get(deaf, "nothing", WW_WIRE_ACCESS_READ);
	wait_for(raw, &(struct want){1, 2, 1, 0, 1});
	put_named(raw, "nothing");
	wait_for(raw, &(struct want){1, 1, 1, 0, 0});
	MUST_OK(raw_condition(raw, &condition));
	must_be_served_at_once(raw);
}

/*
 * More connections than the process has descriptors for: the last ones wait at the door, nobody
 * else does.
 */
CASE(peer_too_many_for_the_process, ONCE)
{
	struct raw *first;
	struct raw *late;
	struct raw *each[40];

	suite_start(NULL, 256);
	suite_want_small();
	first = peer();
	for (size_t i = 0; i < CHECK_COUNT(each); i++)
		each[i] = attacker();
	late = attacker();
	must_be_served_at_once(first);
	put_named(first, "served");
	for (size_t i = 0; i < CHECK_COUNT(each); i++)
		raw_close(each[i]);
	/* Refused or let in, but not left alone. */
	if (raw_hello(late) != WW_OK) {
		raw_close(late);
		late = peer();
	}
	must_be_served_at_once(late);
}
