/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_player.c - what the processes of the cast have in common: the board, and what frames are
 */
#include <string.h>
#include <sys/mman.h>

#include "crash/channel.h"

struct board *board_map(bool create)
{
	return scene_share(create, sizeof(struct board));
}

void board_unmap(struct board *board)
{
	munmap(board, sizeof(*board));
}

struct generation *board_generation(struct board *board, uint64_t generation)
{
	return &board->generations[generation % CHANNEL_GENERATIONS];
}

uint32_t channel_word(uint64_t generation, uint64_t number)
{
	uint64_t mixed = (generation << 40 ^ number) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32);
}

uint64_t channel_frame_bytes(uint64_t number)
{
	return 64 * (1 + number % (CHANNEL_SLOT_BYTES / 64));
}

void player_begin(struct player *player, uint32_t index, uint64_t seed)
{
	*player = (struct player){.random = seed, .index = index, .board = board_map(false)};
	player->device = subject_open();
	MUST_OK(broker_open_patient(NULL, &player->broker));
	player->stream = stream_make(player->device);
	player->has_values = device_info(player->device).capabilities & WW_CAP_STREAM_VALUE;
}

void player_end(struct player *player)
{
	ww_stream_unref(player->stream);
	ww_broker_unref(player->broker);
	ww_device_unref(player->device);
	board_unmap(player->board);
}

ww_stream *player_stream(struct player *player)
{
	return player->has_values && draw_from(&player->random, 8) == 0 ? player->stream : NULL;
}

bool channel_said_unfinished(void)
{
	return strstr(ww_error_last()->message, "never complete") != NULL;
}
