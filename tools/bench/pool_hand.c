/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_hand.c - a slice is handed to another process, which answers
 *
 *   this process                              the taker
 *   token of a slice -> board; asked = n ---> copies the token, imports it, has a pointer
 *   time stops       <----------------------- answered = n
 *                    <----------------------- lets go of it; released = n
 *
 * Both look at words in shared memory all the time. In turns the same is done with nothing but the
 * words, and, on a GPU, with an allocation of the driver's own pool; and the taker imports an
 * ordinary memory that it has mapped already. Allocating a slice and freeing it are not in the
 * time.
 */
#include "bench/pool.h"

#define ROOM_BYTES  (UINT64_C(16) << 20)
#define SLICE_BYTES 4096

struct board {
	struct mailbox_word asked;
	struct mailbox_word answered;
	struct mailbox_word released;

	/* Written before @asked. */
	uint64_t way;
	uint64_t content;
	struct ww_token token;
	struct ww_token mapped; /* of the ordinary memory */
	ww_CUmemPoolPtrExportData data;

	/* Written before @answered and @released. */
	_Alignas(128) uint64_t import_ns;
	uint64_t release_ns;
};

_Static_assert(sizeof(struct board) <= POOL_BOARD_BYTES, "the board has room");

/* --- this process --- */

/* One at a time: of the case that runs. */
static struct hand {
	ww_pool *pool;
	ww_memory *ordinary;
	struct child taker;
	uint64_t round;
} hand;

/* Hands over what was prepared. */
static int hand_prepared(struct bench *bench, ww_memory *slice, ww_CUdeviceptr address,
	uint64_t out_ns[])
{
	struct board *board = bench->board;
	uint64_t start = link_now_ns();
	uint64_t at = start;

	if (address && CUDA_CALL(&bench->cuda, cuMemPoolExportPointer, &board->data, address))
		return -1;
	if (slice && bench_export(bench, slice, &board->token))
		return -1;
	out_ns[POOL_HAND_EXPORT] = bench_lap(&at);
	mailbox_store(&board->asked, hand.round);
	if (mailbox_await(&board->answered, hand.round, hand.taker.socket))
		return -1;
	out_ns[POOL_HAND_WHOLE] = bench_lap(&start);
	if (mailbox_await(&board->released, hand.round, hand.taker.socket))
		return -1;
	out_ns[POOL_HAND_IMPORT] = board->import_ns;
	out_ns[POOL_HAND_RELEASE] = board->release_ns;
	return 0;
}

/* Where the CPU reaches a slice, the taker looks whether it got the right one. */
int pool_hand(struct bench *bench, uint64_t out_ns[])
{
	struct board *board = bench->board;
	OWN(memory) ww_memory *slice = NULL;
	ww_CUdeviceptr address = 0;
	uint64_t *content;

	board->way = bench->way;
	board->content = ++hand.round;
	if (bench->way == POOL_HAND_DRIVER &&
		cuda_pool_alloc(&bench->cuda, bench->pool, SLICE_BYTES, &address))
		return -1;
	if (bench->way == POOL_HAND_SLICE && pool_cut(hand.pool, SLICE_BYTES, &slice))
		return -1;
	content = slice ? ww_memory_host_pointer(slice) : NULL;
	if (content)
		*content = hand.round;
	if (hand_prepared(bench, slice, address, out_ns))
		return -1;
	return address ? cuda_pool_free(&bench->cuda, address) : 0;
}

int pool_hand_open(struct bench *bench)
{
	struct board *board = bench->board;
	struct link_message message;

	hand = (struct hand){.taker = CHILD_NONE};
	if (pool_create(bench, ROOM_BYTES, &hand.pool) ||
		bench_memory_create(bench, SLICE_BYTES, &hand.ordinary) ||
		bench_export(bench, hand.ordinary, &board->mapped) ||
		bench_spawn(bench, "taker", NULL, NULL, &hand.taker))
		return -1;
	return child_receive(&hand.taker, LINK_READY, &message, NULL);
}

int pool_hand_close(struct bench *bench)
{
	struct board *board = bench->board;
	int result = 0;

	if (hand.taker.pid) {
		board->way = POOL_HAND_END;
		mailbox_store(&board->asked, ++hand.round);
		result = child_finish(&hand.taker, 0);
	}
	child_fini(&hand.taker);
	ww_memory_unref(hand.ordinary);
	ww_pool_unref(hand.pool);
	return result;
}

/* --- the taker --- */

/* What it has of a round. */
struct taken {
	ww_memory *memory;
	ww_CUdeviceptr address;
};

/*
 * A token is copied out of shared memory before it is read, as that of an untrusted process has to
 * be.
 */
static int import(struct bench *bench, const struct ww_token *at, ww_memory **out_memory)
{
	struct ww_token token = *at;

	return bench_import(bench, &token, out_memory);
}

static int take(struct bench *bench, struct taken *taken)
{
	struct board *board = bench->board;
	bool is_slice = board->way == POOL_HAND_SLICE;
	const uint64_t *content;

	if (board->way == POOL_HAND_BARE)
		return 0;
	if (board->way == POOL_HAND_DRIVER)
		return CUDA_CALL(&bench->cuda, cuMemPoolImportPointer, &taken->address, bench->pool,
			&board->data);
	if (import(bench, is_slice ? &board->token : &board->mapped, &taken->memory))
		return -1;
	if (!ww_memory_pointer(taken->memory))
		return complain("what was imported has no address");
	content = is_slice ? ww_memory_host_pointer(taken->memory) : NULL;
	if (content && *content != board->content)
		return complain("a slice has %llu in it instead of %llu",
			(unsigned long long)*content, (unsigned long long)board->content);
	return 0;
}

/*
 * The owner of driver memory may free it only when the others have, so the stream is waited for,
 * outside the time.
 */
static int answer(struct bench *bench, uint64_t round)
{
	struct board *board = bench->board;
	struct taken taken = {NULL};
	uint64_t at = link_now_ns();

	if (take(bench, &taken))
		return -1;
	board->import_ns = bench_lap(&at);
	mailbox_store(&board->answered, round);
	at = link_now_ns();
	ww_memory_unref(taken.memory);
	if (taken.address &&
		CUDA_CALL(&bench->cuda, cuMemFreeAsync, taken.address, bench->cuda.stream))
		return -1;
	board->release_ns = bench_lap(&at);
	if (taken.address && CUDA_CALL(&bench->cuda, cuStreamSynchronize, bench->cuda.stream))
		return -1;
	mailbox_store(&board->released, round);
	return 0;
}

int pool_role_taker(struct bench *bench, const char *word)
{
	struct board *board = bench->board;
	OWN(memory) ww_memory *kept = NULL; /* the ordinary memory, mapped all the time */

	(void)word;
	if (import(bench, &board->mapped, &kept) || bench_child_ready())
		return -1;
	for (uint64_t round = 1;; round++) {
		if (mailbox_await(&board->asked, round, LINK_FD))
			return -1;
		if (board->way == POOL_HAND_END)
			return 0;
		if (board->way > POOL_HAND_END || answer(bench, round))
			return -1;
	}
}
