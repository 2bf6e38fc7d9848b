/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pool_hand.c - a slice is handed to another process, which answers
 *
 *   this process                              the taker
 *   token of a slice -> board; asked = n ---> copies the token, imports it, has a pointer
 *   time stops       <----------------------- answered = n
 *                    <----------------------- lets go of it; released = n
 *
 * Both look at words in shared memory all the time. In turns the same is done with nothing but the words, and, on a GPU, with
 * an allocation of the driver's own pool; and the taker imports an ordinary memory that it has mapped already. Cutting
 * a slice and letting go of it are not in the time.
 */
#include <stdio.h>
#include <string.h>

#include "bench_pool.h"

#define ROOM_BYTES  (UINT64_C(16) << 20)
#define SLICE_BYTES 4096
#define BOARD_FD    (LINK_FD + 1)
#define POOL_FD     (LINK_FD + 2) /* the driver's; on host there is none */

#define WARM_UP_ROUNDS 20

/* These are short: so many times the iterations of longer ones. */
#define ROUNDS_FACTOR 50

enum hand_way {
	HAND_SLICE,
	HAND_BARE,
	HAND_DRIVER,
	HAND_MAPPED,
	HAND_END
};

struct board {
	struct mail_word asked;
	struct mail_word answered;
	struct mail_word released;

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

struct times {
	struct samples whole;
	struct samples export;
	struct samples import;
	struct samples release;
};

struct hand {
	struct pool_bench *pools;
	ww_pool *pool;
	ww_memory *ordinary;
	struct board *board;
	int fd;
	struct child taker;
	uint64_t round;
	struct times times[HAND_END];
};

static void own_hand(struct hand *hand)
{
	for (int way = 0; way < HAND_END; way++) {
		samples_fini(&hand->times[way].whole);
		samples_fini(&hand->times[way].export);
		samples_fini(&hand->times[way].import);
		samples_fini(&hand->times[way].release);
	}
	child_fini(&hand->taker);
	ww_memory_unref(hand->ordinary);
	ww_pool_unref(hand->pool);
	mail_close(hand->board, sizeof(*hand->board));
	own_fd(&hand->fd);
}

/* --- this process --- */

/* What a round hands over. */
struct good {
	ww_memory *slice;
	ww_CUdeviceptr address;
};

/* Where the CPU reaches a slice, the taker looks whether it got the right one. */
static int prepare(struct hand *hand, enum hand_way way, struct good *out_good)
{
	const struct pool_bench *pools = hand->pools;
	uint64_t *content;

	hand->board->way = way;
	hand->board->content = ++hand->round;
	if (way == HAND_DRIVER)
		return cuda_pool_alloc(&pools->cuda, pools->driver_pool, SLICE_BYTES,
			&out_good->address);
	if (way != HAND_SLICE)
		return 0;
	if (ww_pool_alloc(hand->pool, SLICE_BYTES, 0, &out_good->slice) != WW_OK)
		return complain_record("cannot cut a slice");
	content = ww_memory_host_pointer(out_good->slice);
	if (content)
		*content = hand->round;
	return 0;
}

static int export(struct hand *hand, enum hand_way way, const struct good *good)
{
	const struct pool_bench *pools = hand->pools;
	const struct ww_export_params params = {
		.size = sizeof(params),
		.access = WW_ACCESS_WRITE,
	};

	if (way == HAND_DRIVER)
		return CUDA_CALL(&pools->cuda, cuMemPoolExportPointer, &hand->board->data,
			good->address);
	if (way == HAND_SLICE &&
		ww_memory_export(good->slice, pools->broker, &params, &hand->board->token) != WW_OK)
		return complain_record("cannot export a slice");
	return 0;
}

static int give_back(struct hand *hand, struct good *good)
{
	const struct pool_bench *pools = hand->pools;

	ww_memory_unref(good->slice);
	return good->address ? cuda_pool_free(&pools->cuda, good->address) : 0;
}

/* One hand-over. @times: NULL: it is not counted */
static int run_round(struct hand *hand, enum hand_way way, struct times *times)
{
	struct board *board = hand->board;
	struct good good = {NULL};
	uint64_t start;
	uint64_t exported;
	uint64_t end;

	if (prepare(hand, way, &good))
		return -1;
	start = link_now_ns();
	if (export(hand, way, &good))
		return -1;
	exported = link_now_ns();
	mail_store(&board->asked, hand->round);
	if (mail_await(&board->answered, hand->round, hand->taker.socket))
		return -1;
	end = link_now_ns();
	if (mail_await(&board->released, hand->round, hand->taker.socket) || give_back(hand, &good))
		return -1;
	if (!times)
		return 0;
	return samples_add(&times->whole, end - start) ||
			samples_add(&times->export, exported - start) ||
			samples_add(&times->import, board->import_ns) ||
			samples_add(&times->release, board->release_ns)
		? -1
		: 0;
}

/* All ways in turns; who goes first changes without a short period. */
static int run_rounds(struct hand *hand, uint64_t number, bool counts)
{
	uint64_t first = (number * UINT64_C(0x9e3779b97f4a7c15) >> 62) % HAND_END;

	for (uint64_t i = 0; i < HAND_END; i++) {
		enum hand_way way = (enum hand_way)((first + i) % HAND_END);

		if (way == HAND_DRIVER && !hand->pools->has_driver)
			continue;
		if (run_round(hand, way, counts ? &hand->times[way] : NULL))
			return -1;
	}
	return 0;
}

static int measure(struct hand *hand)
{
	const struct bench *bench = hand->pools->bench;
	struct link_message message;
	struct pace pace;

	if (child_receive(&hand->taker, LINK_READY, &message, NULL))
		return -1;
	for (uint64_t i = 0; i < WARM_UP_ROUNDS; i++) {
		if (run_rounds(hand, i, false))
			return -1;
	}
	pace_start(&pace, ROUNDS_FACTOR * bench->iterations, 2 * bench->budget_ns);
	for (uint64_t i = 0; pace_goes_on(&pace, i); i++) {
		if (run_rounds(hand, i, true))
			return -1;
	}
	hand->board->way = HAND_END;
	mail_store(&hand->board->asked, ++hand->round);
	return child_finish(&hand->taker, 0);
}

static int open_hand(struct hand *hand)
{
	const struct pool_bench *pools = hand->pools;
	const struct ww_memory_params params = {.size = sizeof(params), .bytes = SLICE_BYTES};
	const struct ww_export_params grant = {.size = sizeof(grant), .access = WW_ACCESS_WRITE};
	void *start = NULL;

	if (pool_create(pools, ROOM_BYTES, &hand->pool) ||
		mail_create(sizeof(*hand->board), &hand->fd, &start))
		return -1;
	hand->board = start;
	if (ww_memory_create(pools->bench->device, &params, &hand->ordinary) != WW_OK ||
		ww_memory_export(hand->ordinary, pools->broker, &grant, &hand->board->mapped) !=
			WW_OK)
		return complain_record("cannot make memory and export it");
	return 0;
}

static int spawn_taker(struct hand *hand)
{
	const struct pool_bench *pools = hand->pools;
	struct child_plan plan = {
		.name = "the taker",
		.arguments = {"bench-child", "pool", "taker", pools->bench->info.selector,
			pools->nest.address, pools->has_driver ? "driver" : "alone"},
		.fds = {hand->fd},
		.fd_count = 1,
		.timeout_ns = POOL_ANSWER_NS,
	};

	if (pools->has_driver)
		plan.fds[plan.fd_count++] = pools->driver_fd;
	return child_spawn(&hand->taker, &plan);
}

static int add_results(struct hand *hand)
{
	struct pool_bench *pools = hand->pools;
	struct times *ours = &hand->times[HAND_SLICE];
	struct times *driver = &hand->times[HAND_DRIVER];
	bool has_driver = pools->has_driver;

	if (pool_add(pools, "hand_over", "us", &ours->whole, &hand->times[HAND_BARE].whole,
		    bench_hand_over_goal))
		return -1;
	if (has_driver &&
		pool_add(pools, "hand_over.driver", "us", &ours->whole, &driver->whole, NULL))
		return -1;
	if (pool_add(pools, "export", "ns", &ours->export, has_driver ? &driver->export : NULL,
		    NULL) ||
		pool_add(pools, "import", "ns", &ours->import, has_driver ? &driver->import : NULL,
			NULL) ||
		pool_add(pools, "release", "ns", &ours->release,
			has_driver ? &driver->release : NULL, NULL))
		return -1;
	return pool_add(pools, "import_mapped", "us", &hand->times[HAND_MAPPED].import, NULL,
		bench_mapped_goal);
}

int pool_hand(struct pool_bench *pools)
{
	OWN(hand) struct hand hand = {.pools = pools, .fd = -1, .taker = CHILD_NONE};

	if (open_hand(&hand) || spawn_taker(&hand) || measure(&hand))
		return complain("handing slices over failed");
	return add_results(&hand);
}

/* --- the taker --- */

struct taker {
	ww_device *device;
	ww_broker *broker;
	struct board *board;
	struct cuda cuda;
	ww_CUmemoryPool driver_pool;
	ww_memory *kept; /* the ordinary memory, mapped all the time */
	ww_memory *memory;
	ww_CUdeviceptr address;
};

static void own_taker(struct taker *taker)
{
	ww_memory_unref(taker->memory);
	ww_memory_unref(taker->kept);
	if (taker->driver_pool)
		taker->cuda.cuMemPoolDestroy(taker->driver_pool);
	cuda_close(&taker->cuda);
	mail_close(taker->board, sizeof(*taker->board));
	ww_broker_unref(taker->broker);
	ww_device_unref(taker->device);
}

/* A token is copied out of shared memory before it is read, as that of a stranger has to be. */
static int import(struct taker *taker, const struct ww_token *at, ww_memory **out_memory)
{
	struct ww_token token = *at;

	if (ww_memory_import(taker->device, taker->broker, &token, WW_ACCESS_WRITE, out_memory,
		    NULL) != WW_OK)
		return complain_record("cannot import");
	return 0;
}

static int take(struct taker *taker, enum hand_way way)
{
	struct board *board = taker->board;
	const uint64_t *content;

	if (way == HAND_BARE)
		return 0;
	if (way == HAND_DRIVER)
		return CUDA_CALL(&taker->cuda, cuMemPoolImportPointer, &taker->address,
			taker->driver_pool, &board->data);
	if (import(taker, way == HAND_SLICE ? &board->token : &board->mapped, &taker->memory))
		return -1;
	if (!ww_memory_pointer(taker->memory))
		return complain("what was imported has no address");
	content = way == HAND_SLICE ? ww_memory_host_pointer(taker->memory) : NULL;
	if (content && *content != board->content)
		return complain("a slice has %llu in it instead of %llu",
			(unsigned long long)*content, (unsigned long long)board->content);
	return 0;
}

static int release(struct taker *taker)
{
	taker->memory = ww_memory_unref(taker->memory);
	if (!taker->address)
		return 0;
	if (CUDA_CALL(&taker->cuda, cuMemFreeAsync, taker->address, taker->cuda.stream))
		return -1;
	taker->address = 0;
	return 0;
}

/* The owner of driver memory may free it only when the others have. */
static int settle(struct taker *taker, enum hand_way way)
{
	if (way != HAND_DRIVER)
		return 0;
	return CUDA_CALL(&taker->cuda, cuStreamSynchronize, taker->cuda.stream);
}

static int answer(struct taker *taker, enum hand_way way, uint64_t round)
{
	struct board *board = taker->board;
	uint64_t start = link_now_ns();
	uint64_t end;

	if (take(taker, way))
		return -1;
	end = link_now_ns();
	board->import_ns = end - start;
	mail_store(&board->answered, round);
	start = link_now_ns();
	if (release(taker))
		return -1;
	board->release_ns = link_now_ns() - start;
	if (settle(taker, way))
		return -1;
	mail_store(&board->released, round);
	return 0;
}

static int open_taker(struct taker *taker, const char *selector, const char *address,
	bool has_driver)
{
	struct ww_device_info info = {.size = sizeof(info)};
	void *start = NULL;

	if (pool_child_open(selector, address, &taker->device, &taker->broker) ||
		mail_open(BOARD_FD, sizeof(*taker->board), &start))
		return -1;
	taker->board = start;
	if (import(taker, &taker->board->mapped, &taker->kept))
		return -1;
	if (!has_driver)
		return 0;
	if (ww_device_info_get(taker->device, &info) != WW_OK)
		return complain_record("cannot describe the device");
	if (cuda_open(&taker->cuda, info.index))
		return -1;
	return cuda_pool_import(&taker->cuda, POOL_FD, &taker->driver_pool);
}

int pool_role_taker(const char *selector, const char *address, const char *word)
{
	OWN(taker) struct taker taker = {NULL};
	const struct link_message ready = {.kind = LINK_READY};

	if (open_taker(&taker, selector, address, !strcmp(word, "driver")))
		return -1;
	link_send(LINK_FD, &ready, -1, WW_FOREVER);
	for (uint64_t round = 1;; round++) {
		if (mail_await(&taker.board->asked, round, LINK_FD))
			return -1;
		if (taker.board->way == HAND_END)
			return 0;
		if (taker.board->way > HAND_END ||
			answer(&taker, (enum hand_way)taker.board->way, round))
			return -1;
	}
}
