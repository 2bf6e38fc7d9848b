/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_owner.c - who cuts slices, and sends tokens of them to whoever is there
 */
#include <stdlib.h>
#include <time.h>

#include "crash/pool.h"

#define SLICES    16
#define ESCROW_NS (UINT64_C(100000000) * check_slowness())

/* What the owner has of its own slices. */
static struct {
	struct player player;
	ww_pool *pool;
	struct {
		ww_memory *memory;
		uint32_t word;
	} slices[SLICES];
} owner;

/* 256 bytes to 512 KiB, as often of each order of magnitude. */
static uint64_t draw_bytes(void)
{
	uint64_t most = UINT64_C(256) << draw_from(&owner.player.random, 12);

	return most / 2 + 1 + draw_from(&owner.player.random, most / 2);
}

static uint32_t draw_holder(void)
{
	return 1 + (uint32_t)draw_from(&owner.player.random, POOL_HOLDERS);
}

/* Return: whether there is room. */
static bool allocate(ww_memory **out_slice)
{
	ww_status status = ww_pool_alloc(owner.pool, draw_bytes(), 0, 0, NULL, out_slice);

	if (status == WW_ERR_LIMIT) {
		atomic_fetch_add(&owner.player.board->full, 1);
		return false;
	}
	MUST_OK(status);
	atomic_fetch_add(&owner.player.board->allocated, 1);
	return true;
}

/*
 * @uses:  0: the token is not for anybody
 * Return: whether there is a token; a broker that is away gives none.
 */
static bool export(ww_memory *slice, uint32_t uses, struct ww_token *out_token)
{
	ww_status status = ww_memory_export(slice, owner.player.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = uses ? ESCROW_NS : WW_ESCROW_NONE, .uses = uses),
		NULL, out_token);

	if (status < 0 && atomic_load(&owner.player.board->tolerates))
		return false;
	MUST_OK(status);
	return true;
}

/* For one process alone, which may write it. */
static void send_scratch(void)
{
	struct letter letter = {.is_scratch = 1};
	ww_memory *slice;

	if (!allocate(&slice))
		return;
	if (export(slice, 1, &letter.token)) {
		slice_fill(&owner.player, slice, word_of(&letter.token));
		letter_send(&owner.player, draw_holder(), &letter);
	}
	ww_memory_unref(slice);
}

/* For one or two, who read it while we have it or not. */
static void send_shared(void)
{
	size_t place = draw_from(&owner.player.random, SLICES);
	uint32_t uses = 1 + (uint32_t)draw_from(&owner.player.random, 2);
	struct letter letter = {.is_scratch = 0};
	ww_memory *slice;

	if (!allocate(&slice))
		return;
	if (!export(slice, uses, &letter.token)) {
		ww_memory_unref(slice);
		return;
	}
	slice_fill(&owner.player, slice, word_of(&letter.token));
	for (uint32_t i = 0; i < uses; i++)
		letter_send(&owner.player, draw_holder(), &letter);
	if (owner.slices[place].memory || draw_from(&owner.player.random, 2)) {
		ww_memory_unref(slice);
		return;
	}
	owner.slices[place].memory = slice;
	owner.slices[place].word = word_of(&letter.token);
}

/* Who gets it by its name reads it. The slice that had the name is nobody's from then on. */
static void publish(void)
{
	char name[POOL_NAME_BYTES];
	struct ww_token token;
	ww_status status;
	ww_memory *slice;

	if (!allocate(&slice))
		return;
	if (export(slice, 0, &token)) {
		slice_fill(&owner.player, slice, word_of(&token));
		pool_name(name, draw_from(&owner.player.random, POOL_NAMES));
		status = ww_memory_put(slice, owner.player.broker, name,
			WW_PARAMS(struct ww_put_params, .flags = WW_PUT_REPLACE), 0, NULL);
		if (status >= 0 || !atomic_load(&owner.player.board->tolerates))
			MUST_OK(status);
	}
	ww_memory_unref(slice);
}

/* Also those of an owner that was killed. */
static void remove_names(void)
{
	char name[POOL_NAME_BYTES];

	for (uint64_t i = 0; i < POOL_NAMES; i++) {
		ww_status status;

		pool_name(name, i);
		status = ww_broker_remove(owner.player.broker, name);
		if (status != WW_ERR_NOT_FOUND)
			MUST_OK(status);
	}
}

/* Nobody sees it; its stream writes it after it was let go of. */
static void use_alone(void)
{
	ww_memory *slice;

	if (allocate(&slice))
		slice_release_late(&owner.player, slice, (uint32_t)owner.player.random);
}

static void let_go(size_t place)
{
	if (!owner.slices[place].memory)
		return;
	slice_verify(&owner.player, owner.slices[place].memory, owner.slices[place].word);
	owner.slices[place].memory = ww_memory_unref(owner.slices[place].memory);
}

static void step(void)
{
	struct letter none;

	switch (draw_from(&owner.player.random, 10)) {
	case 8:
	case 9:
		publish();
		break;
	case 0:
	case 1:
		send_scratch();
		break;
	case 2:
	case 3:
		send_shared();
		break;
	case 4:
		use_alone();
		break;
	case 5:
		MUST_OK(ww_pool_trim(owner.pool, POOL_CHUNK, NULL));
		break;
	case 6:
		letter_receive(&owner.player, &none); /* nobody writes: a pause */
		break;
	default:
		let_go(draw_from(&owner.player.random, SLICES));
	}
}

/* Everybody else is gone: nothing is lost, so all of the pool is to be had. */
static void must_have_all(void)
{
	time_t end = time(NULL) + child_limit_ms() / 1000;
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);
	ww_memory *slices[POOL_BYTES / POOL_CHUNK];

	do
		MUST_OK(ww_pool_info_get(owner.pool, &info));
	while ((info.bytes_waiting || info.holder_count) && time(NULL) < end);
	MUST_EQUAL(0, info.bytes_used);
	MUST_EQUAL(0, info.bytes_waiting);
	MUST_EQUAL(0, info.waiting_count);
	MUST_EQUAL(0, info.holder_count);
	MUST_EQUAL(info.bytes_reserved, info.bytes_free);
	for (size_t i = 0; i < CHECK_COUNT(slices); i++)
		MUST_OK(ww_pool_alloc(owner.pool, POOL_CHUNK, 0, 0, NULL, &slices[i]));
	for (size_t i = 0; i < CHECK_COUNT(slices); i++)
		ww_memory_unref(slices[i]);
	MUST_OK(ww_pool_info_get(owner.pool, &info));
	MUST_EQUAL(POOL_BYTES, info.bytes_free);
}

/*
 * SEED; runs until the board says that it is over, then waits for the word that all others are
 * gone.
 */
ROLE(role_pool_owner)
{
	MUST_EQUAL(1, count);
	player_begin(&owner.player, 0, strtoull(arguments[0], NULL, 10));
	MUST_OK(ww_pool_create(owner.player.device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = POOL_BYTES, .chunk_bytes = POOL_CHUNK,
			.slices_max = 256),
		&owner.pool));
	while (!atomic_load(&owner.player.board->stops)) {
		step();
		atomic_fetch_add(&owner.player.board->steps[0], 1);
	}
	for (size_t i = 0; i < SLICES; i++)
		let_go(i);
	if (owner.player.lag)
		MUST_OK(ww_stream_synchronize(owner.player.lag, WW_FOREVER, NULL));
	role_hear("alone");
	remove_names();
	must_have_all();
	ww_pool_unref(owner.pool);
	player_end(&owner.player);
}
