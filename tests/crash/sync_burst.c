/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_burst.c - stores of the dead that come after the poison
 *
 * A GPU stores on for a while when its process is killed. Here it is another process, with the
 * signaller's own writable descriptor, which stores one value into every cell as fast as it can,
 * and counts how often it overwrote the poison. For the broker the signaller lives: its connection
 * is gone, its pidfd has not fired. So waiters may be held up as long as the burst lasts, and not
 * longer; and what the burst stores is success for nobody.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "crash/sync.h"
#include "support/packet.h"
#include "wire/signal_page.h"

#define UNDONE_LEAST 5
#define STORED       SYNC_GATED /* submitted, so there is a wait for it, and not reached */

static struct ww_layout_signal_page *map_page(uint64_t *out_bytes)
{
	struct ww_layout_signal_page *page;
	char word[sizeof("page")];
	OWN(fd) int fd;

	packet_receive(CHILD_SOCKET, word, sizeof(word), &fd);
	*out_bytes = WW_SIGNAL_PAGE_BYTES;
	page = mmap(NULL, *out_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(page != MAP_FAILED);
	return page;
}

/* Into the lost ones. Return: how often there was poison. */
static uint64_t store_into_all(struct ww_layout_signal_page *page, uint64_t bytes)
{
	uint64_t undone = 0;

	for (uint32_t i = 0; i < ww_signal_page_cells(bytes); i++) {
		struct ww_layout_signal_cell *cell = ww_signal_page_cell(page, bytes,
			sizeof(*page) + i * sizeof(*cell));

		if (__atomic_load_n(&cell->state, __ATOMIC_ACQUIRE) != WW_WIRE_CELL_STATE_LOST)
			continue;
		undone += __atomic_exchange_n(&cell->completed, STORED, __ATOMIC_RELEASE) ==
			WW_SIGNAL_POISON;
	}
	return undone;
}

/* role_burster: stores until it has undone the poison often enough */
ROLE(role_burster)
{
	struct ww_layout_signal_page *page;
	uint64_t undone = 0;
	uint64_t bytes;

	page = map_page(&bytes);
	role_tell("ready");
	while (undone < (uint64_t)UNDONE_LEAST * ww_signal_page_cells(bytes))
		undone += store_into_all(page, bytes);
	role_tell("done");
	role_hear("never");
}

static void start_burster(struct child *burster)
{
	const struct child_options seqpacket = {.type = SOCK_SEQPACKET};
	char word[sizeof("page")];
	int fd;

	child_start(burster, "role_burster", &seqpacket);
	child_tell(&cast.signaller, "page");
	packet_receive(cast.signaller.control, word, sizeof(word), &fd);
	packet_send(burster->socket, word, sizeof(word), &fd, 1);
	close(fd);
	child_hear(burster, "ready");
}

CASE(stores_after_the_poison, 0)
{
	uint32_t count = kills_wanted() > 20 ? kills_wanted() / 20 : 1;

	cast_begin();
	cast.is_timed = false;
	for (uint32_t i = 0; i < count; i++) {
		struct child burster;

		round_begin(true);
		start_burster(&burster);
		child_tell(&cast.signaller, "cut");
		child_hear(&cast.signaller, "cut");
		child_hear(&burster, "done");
		round_released();
		round_kill();
		child_kill(&burster);
		round_end();
	}
	cast_end("undone");
}
