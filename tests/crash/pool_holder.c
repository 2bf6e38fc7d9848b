/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_holder.c - who imports slices, looks at them, passes them on and lets go of them
 */
#include <stdlib.h>

#include "crash/pool.h"

#define SLICES 8

struct held {
	ww_memory *memory;
	uint32_t word;
	bool is_scratch;
};

static struct player player;
static struct held slices[SLICES];
static uint32_t index_of_me;

static void let_go(struct held *held)
{
	if (!held->memory)
		return;
	slice_verify(&player, held->memory, held->word);
	if (held->is_scratch && draw_from(&player.random, 2))
		slice_release_late(&player, held->memory, ~held->word);
	else if (player.lag && draw_from(&player.random, 2))
		MUST_OK(ww_pool_release(held->memory, player.lag));
	else
		ww_memory_unref(held->memory);
	held->memory = NULL;
}

/* Scratch is written again and again, each time with what the last look then finds. */
static void use(struct held *held)
{
	if (!held->memory)
		return;
	slice_verify(&player, held->memory, held->word);
	if (!held->is_scratch)
		return;
	held->word = held->word * 5 + 1;
	slice_fill(&player, held->memory, held->word);
}

/* To another holder, which may come too late: we let go whenever we like. */
static void pass_on(const struct held *held)
{
	static const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = WW_ACCESS_WRITE,
	};
	struct letter letter = {.is_scratch = 0};
	uint32_t to = 1 + (uint32_t)draw_from(&player.random, POOL_HOLDERS);

	if (!held->memory || held->is_scratch || to == index_of_me)
		return;
	MUST_OK(ww_memory_export(held->memory, NULL, &params, NULL, &letter.token));
	MUST_EQUAL(held->word, word_of(&letter.token));
	if (letter_send(&player, to, &letter))
		atomic_fetch_add(&player.board->passed, 1);
}

/* Whether it may be that the slice, or its pool, is gone meanwhile. */
static bool is_harmless(ww_status status)
{
	if (status == WW_ERR_NOT_FOUND) {
		atomic_fetch_add(&player.board->late, 1);
		return true;
	}
	/* A stream of ours has yet to let go of the same slice. */
	return status == WW_ERR_STATE || atomic_load(&player.board->tolerates);
}

static void import(const struct letter *letter)
{
	struct held *held = &slices[draw_from(&player.random, SLICES)];
	ww_status status;

	let_go(held);
	status = ww_memory_import(player.device, player.broker, &letter->token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &held->memory,
		NULL);
	if (status < 0 && is_harmless(status))
		return;
	MUST_OK(status);
	atomic_fetch_add(&player.board->imported, 1);
	held->word = word_of(&letter->token);
	held->is_scratch = letter->is_scratch;
	slice_verify(&player, held->memory, held->word);
}

/* The latest of a name; what it has all over, its number says. */
static void fetch(struct held *held)
{
	static const struct ww_export_params params = {.struct_size = sizeof(params)};
	char name[POOL_NAME_BYTES];
	struct ww_token token;
	ww_status status;

	let_go(held);
	pool_name(name, draw_from(&player.random, POOL_NAMES));
	status = ww_memory_get(player.device, player.broker, name,
		WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE), 0, NULL, &held->memory,
		NULL);
	if (status == WW_ERR_NOT_FOUND || (status < 0 && is_harmless(status)))
		return;
	MUST_OK(status);
	status = ww_memory_export(held->memory, NULL, &params, NULL, &token);
	if (status < 0 && is_harmless(status)) {
		held->memory = ww_memory_unref(held->memory);
		return;
	}
	MUST_OK(status);
	atomic_fetch_add(&player.board->fetched, 1);
	held->word = word_of(&token);
	held->is_scratch = false;
	slice_verify(&player, held->memory, held->word);
}

/* INDEX SEED */
ROLE(role_pool_holder)
{
	struct letter letter;

	MUST_EQUAL(2, count);
	index_of_me = (uint32_t)strtoul(arguments[0], NULL, 10);
	player_begin(&player, index_of_me, strtoull(arguments[1], NULL, 10));
	while (!atomic_load(&player.board->stops)) {
		struct held *held = &slices[draw_from(&player.random, SLICES)];

		if (letter_receive(&player, &letter))
			import(&letter);
		atomic_fetch_add(&player.board->steps[index_of_me], 1);
		switch (draw_from(&player.random, 5)) {
		case 4:
			fetch(held);
			break;
		case 0:
			use(held);
			break;
		case 1:
			pass_on(held);
			break;
		case 2:
			let_go(held);
			break;
		default:
			break;
		}
	}
	for (size_t i = 0; i < SLICES; i++)
		let_go(&slices[i]);
	player_end(&player);
}
