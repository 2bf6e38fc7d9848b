/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_player.c - what owners and holders have in common: the post, and slices' content
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "crash/pool.h"

#define LAG_MOST_NS 2000000

struct board *board_map(bool create)
{
	return scene_share(create, sizeof(struct board));
}

void board_unmap(struct board *board)
{
	munmap(board, sizeof(*board));
}

/* --- the post --- */

static struct sockaddr_un box_of(uint32_t index)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	scene_path(address.sun_path, sizeof(address.sun_path), "post", index);
	return address;
}

static void open_post(struct player *player, uint32_t index)
{
	struct sockaddr_un box = box_of(index);

	player->post = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	MUST_CALL(player->post);
	unlink(box.sun_path); /* of who was killed */
	MUST_CALL(bind(player->post, (struct sockaddr *)&box, sizeof(box)));
}

bool letter_send(struct player *player, uint32_t to, const struct letter *letter)
{
	struct sockaddr_un box = box_of(to);
	ssize_t sent = sendto(player->post, letter, sizeof(*letter), 0, (struct sockaddr *)&box,
		sizeof(box));

	if (sent == (ssize_t)sizeof(*letter))
		return true;
	MUST(errno == EAGAIN || errno == ECONNREFUSED || errno == ENOENT || errno == ENOBUFS);
	return false;
}

bool letter_receive(struct player *player, struct letter *out_letter)
{
	struct pollfd waiting = {.fd = player->post, .events = POLLIN};

	(void)poll(&waiting, 1, 2);
	return recv(player->post, out_letter, sizeof(*out_letter), 0) ==
		(ssize_t)sizeof(*out_letter);
}

/* --- content --- */

uint32_t word_of(const struct ww_token *token)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	MUST_OK(ww_token_info_get(token, &info));
	MUST(info.slice != 0);
	return (uint32_t)(info.slice ^ info.slice >> 12) ^ info.object_id[0] * UINT32_C(0x01010101);
}

void pool_name(char out[POOL_NAME_BYTES], uint64_t number)
{
	snprintf(out, POOL_NAME_BYTES, "version-%u", (unsigned int)number);
}

void slice_fill(struct player *player, ww_memory *slice, uint32_t word)
{
	MUST_OK(ww_stream_fill(player->stream, ww_memory_pointer(slice), word, sizeof(word),
		memory_info(slice).bytes / sizeof(word)));
	MUST_OK(ww_stream_synchronize(player->stream, WW_FOREVER, NULL));
}

void slice_verify(struct player *player, ww_memory *slice, uint32_t word)
{
	uint64_t bytes = memory_info(slice).bytes;

	MUST(bytes <= SLICE_MOST);
	MUST_OK(ww_stream_copy(player->stream, player->buffer, ww_memory_pointer(slice), bytes));
	MUST_OK(ww_stream_synchronize(player->stream, WW_FOREVER, NULL));
	for (uint64_t i = 0; i < bytes / sizeof(word); i++) {
		if (player->buffer[i] != word)
			FAIL("a slice of %llu bytes has %08x at word %llu, not %08x: it was handed out "
			     "twice, or written after it was let go",
				(unsigned long long)bytes, player->buffer[i], (unsigned long long)i,
				word);
	}
	atomic_fetch_add(&player->board->verified, 1);
}

/* What a GPU's long work would be. */
static void lag_behind(void *pause_ns)
{
	const struct timespec pause = {.tv_nsec = (long)(uintptr_t)pause_ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

void slice_release_late(struct player *player, ww_memory *slice, uint32_t word)
{
	uintptr_t pause_ns = draw_from(&player->random, LAG_MOST_NS);
	uint64_t words = memory_info(slice).bytes / sizeof(word);

	if (!player->lag) {
		ww_memory_unref(slice);
		return;
	}
	/* Streams that lag too far behind would let nobody have anything. */
	if (draw_from(&player->random, 8) == 0)
		MUST_OK(ww_stream_synchronize(player->lag, WW_FOREVER, NULL));
	MUST_OK(ww_stream_call(player->lag, lag_behind, (void *)pause_ns));
	MUST_OK(ww_stream_fill(player->lag, ww_memory_pointer(slice), word, sizeof(word), words));
	MUST_OK(ww_pool_release(slice, player->lag));
	atomic_fetch_add(&player->board->streamed, 1);
}

/* --- coming and going --- */

void player_begin(struct player *player, uint32_t index, uint64_t seed)
{
	*player = (struct player){.random = seed, .board = board_map(false)};
	open_post(player, index);
	player->device = subject_open();
	MUST_OK(broker_open_patient(NULL, &player->broker));
	player->stream = stream_make(player->device);
	if (device_info(player->device).capabilities & WW_CAP_STREAM_VALUE)
		player->lag = stream_make(player->device);
	player->buffer = malloc(SLICE_MOST);
	MUST(player->buffer);
}

void player_end(struct player *player)
{
	if (player->lag)
		MUST_OK(ww_stream_synchronize(player->lag, WW_FOREVER, NULL));
	ww_stream_unref(player->lag);
	ww_stream_unref(player->stream);
	ww_broker_unref(player->broker);
	ww_device_unref(player->device);
	free(player->buffer);
	close(player->post);
	board_unmap(player->board);
}
