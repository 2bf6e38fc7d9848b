/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the board, the loop of an actor, and the program's roles
 *
 *   soak --role names                                     the operations and statuses, for soak.py
 *   soak --role actor BOARD NUMBER SEED KILL_AT KILL_NS   operations until the round is over
 *   soak --role forger ...                                the same, as soak.h says
 *   soak --role hostile ...                               see hostile.c
 *   soak --role keep BOARD SEED, kept BOARD SEED          memories that outlive their process
 *
 * At operation KILL_AT (0: none) an actor arms a timer, by which the kernel kills it KILL_NS later.
 */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "soak/board.h"
#include "support/broker.h"
#include "support/leak_count.h"
#include "support/splitmix.h"
#include "support/timeline.h"

#define LET_GO_MOST  16
#define USER_HOSTILE 54323 /* no other test is this user: it has many descriptors in flight */

struct soak soak;

static struct soak_op *ops;
static uint32_t op_count;
static uint32_t weights;
static void (*let_go[LET_GO_MOST])(void);
static uint32_t let_go_count;
static struct board *board;
static uint32_t op_now;
static uint64_t state;

/* --- operations --- */

void soak_register(struct soak_op *op)
{
	struct soak_op **at = &ops;

	while (*at && strcmp((*at)->name, op->name) < 0)
		at = &(*at)->next;
	op->next = *at;
	*at = op;
	op_count++;
	weights += op->weight;
}

void soak_at_end(void (*function)(void))
{
	MUST(let_go_count < LET_GO_MOST);
	let_go[let_go_count++] = function;
}

uint64_t draw_number(void)
{
	return splitmix_next(&state);
}

uint32_t draw_below(uint32_t limit)
{
	return (uint32_t)(draw_number() % limit);
}

uint64_t draw_wait_ns(uint32_t most_ms)
{
	return draw_one_in(4) ? 0 : draw_below(most_ms * 1000 + 1) * UINT64_C(1000);
}

/* --- the board --- */

void board_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	MUST_CALL(fd);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(board != MAP_FAILED);
	close(fd);
}

bool soak_is_over(void)
{
	return __atomic_load_n(&board->is_over, __ATOMIC_RELAXED) || getppid() == 1;
}

static void count(ww_status status)
{
	uint32_t at = (uint32_t)(status + BOARD_STATUS_BIAS);

	MUST(at < BOARD_STATUSES);
	__atomic_fetch_add(&board->counts[op_now][at], 1, __ATOMIC_RELAXED);
}

ww_status soak_status(const char *file, int line, const char *call, uint64_t allowed,
	ww_status status)
{
	count(status);
	if (status != WW_OK && !(allowed & ALLOW(status)) && !soak.is_forger)
		check_status(file, line, call, WW_OK, status);
	return status;
}

/* An entry is written by one process; one that is killed meanwhile leaves it as it is. */
void soak_offer(enum soak_token kind, const struct ww_token *token, uint64_t value)
{
	struct board_token *entry = &board->tokens[kind][draw_below(BOARD_TOKENS)];
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_RELAXED);

	if (soak.is_forger || version % 2 ||
		!__atomic_compare_exchange_n(&entry->version, &version, version + 1, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	entry->offer = (struct soak_offer){*token, value, soak.number, 0};
	__atomic_store_n(&entry->version, version + 2, __ATOMIC_RELEASE);
}

bool soak_take(enum soak_token kind, struct soak_offer *out_offer)
{
	struct board_token *entry = &board->tokens[kind][draw_below(BOARD_TOKENS)];
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);

	if (version == 0 || version % 2)
		return false;
	*out_offer = entry->offer;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&entry->version, __ATOMIC_RELAXED) == version;
}

struct ww_token_params draw_token_params(void)
{
	return (struct ww_token_params){
		.struct_size = sizeof(struct ww_token_params),
		.uses = draw_below(3),
		.escrow_ns = draw_one_in(4) ? WW_ESCROW_NONE : (1 + draw_below(500)) * MS,
	};
}

/* --- names --- */

static void make_name(char name[NAME_BYTES], bool is_evil, const char *kind, uint32_t below)
{
	snprintf(name, NAME_BYTES, "%s/%s%u", is_evil ? "evil" : "soak", kind, draw_below(below));
}

void draw_name_to_make(char name[NAME_BYTES], const char *kind, uint32_t below)
{
	make_name(name, soak.is_forger, kind, below);
}

void draw_name_to_get(char name[NAME_BYTES], const char *kind, uint32_t below)
{
	make_name(name, draw_one_in(8), kind, below);
}

bool name_is_evil(const char *name)
{
	return !strncmp(name, "evil/", 5);
}

/* --- content: a head that says what it is, then a pattern of that --- */

#define CONTENT_MAGIC UINT64_C(0x736f616b636f6e74)

static void make_content(uint8_t bytes[CONTENT_BYTES], uint64_t value)
{
	const uint64_t head[2] = {CONTENT_MAGIC, value};

	pattern_make(bytes, CONTENT_BYTES, (uint32_t)(value ^ value >> 32));
	memcpy(bytes, head, sizeof(head));
}

void content_write(ww_memory *memory, uint64_t value)
{
	uint8_t bytes[CONTENT_BYTES];

	make_content(bytes, value);
	memory_put(memory, 0, bytes, sizeof(bytes));
}

static void fail_content(const uint8_t *expected, const uint8_t *got)
{
	size_t first = 0;
	size_t last = CONTENT_BYTES - 1;
	uint64_t words[2];

	while (expected[first] == got[first])
		first++;
	while (expected[last] == got[last])
		last--;
	memcpy(words, got + first / 8 * 8 - (first > CONTENT_BYTES - 16 ? 8 : 0), sizeof(words));
	FAIL("content %#llx is not whole: bytes %zu to %zu are others, they begin with %#llx %#llx",
		(unsigned long long)*(const uint64_t *)(got + 8), first, last,
		(unsigned long long)words[0], (unsigned long long)words[1]);
}

uint64_t content_verify(ww_memory *memory)
{
	uint8_t expected[CONTENT_BYTES];
	uint8_t got[CONTENT_BYTES];
	uint64_t head[2];

	memory_get(memory, 0, got, sizeof(got));
	memcpy(head, got, sizeof(head));
	make_content(expected, head[1]);
	if (!soak.is_forger && memcmp(expected, got, sizeof(got)))
		fail_content(expected, got);
	return head[1];
}

void content_must_be(ww_memory *memory, uint64_t value)
{
	uint64_t got = content_verify(memory);

	if (got != value && !soak.is_forger)
		FAIL("a memory has the content %#llx, not %#llx", (unsigned long long)got,
			(unsigned long long)value);
}

/* --- the stream --- */

ww_stream *soak_stream(void)
{
	if (ww_stream_query(soak.stream) == WW_ERR_PEER_LOST)
		MUST_OK(ww_stream_recover(soak.stream));
	return soak.stream;
}

ww_stream *draw_stream(void)
{
	return draw_one_in(3) ? soak_stream() : NULL;
}

/* --- the loop --- */

void board_note(uint32_t number, uint64_t index, uint32_t op)
{
	struct board_actor *own = &board->actors[number];

	op_now = op;
	own->pid = (uint32_t)getpid();
	own->op = op;
	own->index = index;
	__atomic_fetch_add(&own->ops, 1, __ATOMIC_RELAXED);
}

uint32_t board_find_op(const char *name)
{
	uint32_t at = 0;

	for (const struct soak_op *op = ops; op; op = op->next, at++)
		if (!strcmp(op->name, name))
			return at;
	FAIL("no operation is called %s", name);
}

void board_count_one(void)
{
	count(WW_OK);
}

void board_seed(uint64_t seed, uint64_t index)
{
	state = seed ^ index * UINT64_C(0xd1342543de82ef95);
	state = draw_number();
}

void board_plan_kill(const char *at, const char *after_ns, uint64_t index)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	uint64_t ns = strtoull(after_ns, NULL, 10);
	const struct itimerspec when = {
		.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000) + 1}};
	timer_t timer;

	if (index != strtoull(at, NULL, 10) || index == 0)
		return;
	MUST_CALL(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST_CALL(timer_settime(timer, 0, &when, NULL));
}

static void run_one(uint64_t index)
{
	const struct soak_op *op = ops;
	uint32_t left = draw_below(weights);
	uint32_t at = 0;

	while (left >= op->weight) {
		left -= op->weight;
		op = op->next;
		at++;
	}
	board_note(soak.number, index, at);
	op->run();
}

/* Another user, where this one may become it. */
void board_become_hostile(void)
{
	if (geteuid() != 0)
		return;
	MUST_CALL(setgroups(0, NULL));
	MUST_CALL(setresgid(USER_HOSTILE, USER_HOSTILE, USER_HOSTILE));
	MUST_CALL(setresuid(USER_HOSTILE, USER_HOSTILE, USER_HOSTILE));
}

static void begin(void)
{
	alarm(0); /* soak.py notices a hang, and says more of it */
	soak.device = subject_open();
	MUST_OK(broker_open_patient(NULL, &soak.broker));
	soak.stream = stream_make(soak.device);
	soak.lone_stream = stream_make(soak.device);
}

/*
 * Calls about timelines and pools give back what those that are gone have left behind. A process
 * keeps what it mapped of a pool until the pool's owner has ended that, so the actors of a round
 * wait for each other here.
 */
static void settle(const struct census *before)
{
	uint64_t end_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * MS);
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);
	struct census now;
	ww_pool *pool;

	do {
		ww_timeline_unref(timeline_make(0, 0));
		MUST_OK(ww_pool_create(soak.device, NULL, &pool));
		(void)ww_pool_info_get(pool, &info);
		ww_pool_unref(pool);
		census_take(&now);
	} while ((now.descriptors > before->descriptors || now.mappings > before->mappings) &&
		ww_clock_now_ns() < end_ns);
}

/* The stream's work ends before what it uses is released; a wait for others ends with them. */
static void end(const struct census *before)
{
	while (ww_stream_synchronize(soak_stream(), (uint64_t)child_limit_ms() * MS, NULL) ==
		WW_ERR_PEER_LOST)
		;
	for (uint32_t i = let_go_count; i > 0; i--)
		let_go[i - 1]();
	soak.stream = ww_stream_unref(soak.stream);
	soak.lone_stream = ww_stream_unref(soak.lone_stream);
	if (before && subject_is_countable() && !soak.is_forger) {
		settle(before);
		census_must_match(before);
	}
	soak.broker = ww_broker_unref(soak.broker);
	soak.device = ww_device_unref(soak.device);
}

static void act(int count, char **arguments)
{
	struct census before;
	uint64_t seed;

	MUST_EQUAL(5, count);
	board_map(arguments[0]);
	soak.number = (uint32_t)strtoul(arguments[1], NULL, 10);
	MUST(soak.number < BOARD_ACTORS);
	seed = strtoull(arguments[2], NULL, 10);
	if (soak.is_forger)
		board_become_hostile();
	begin();
	census_take(&before);
	for (uint64_t index = 1; !soak_is_over(); index++) {
		board_seed(seed, index);
		board_plan_kill(arguments[3], arguments[4], index);
		run_one(index);
	}
	end(&before);
}

ROLE(actor)
{
	act(count, arguments);
}

ROLE(forger)
{
	soak.is_forger = true;
	act(count, arguments);
}

ROLE(names)
{
	MUST(op_count <= BOARD_OPS);
	for (const struct soak_op *op = ops; op; op = op->next)
		printf("op %s\n", op->name);
	for (int status = -BOARD_STATUS_BIAS; status < BOARD_STATUSES - BOARD_STATUS_BIAS; status++)
		printf("status %s\n", ww_status_name(status));
	printf("place board %zu\nplace actors %zu\nplace counts %zu\nplace ops %d\n"
	       "place statuses %d\nplace actors_most %d\n",
		sizeof(struct board), offsetof(struct board, actors),
		offsetof(struct board, counts), BOARD_OPS, BOARD_STATUSES, BOARD_ACTORS);
}

/* --- memories that stay while the broker is killed --- */

#define KEPT 12

static uint64_t begin_kept(int count, char **arguments)
{
	MUST_EQUAL(2, count);
	board_map(arguments[0]);
	begin();
	return strtoull(arguments[1], NULL, 10);
}

ROLE(keep)
{
	uint64_t seed = begin_kept(count, arguments);

	for (uint64_t i = 0; i < KEPT; i++) {
		ww_memory *memory = memory_make(soak.device, i % 3 ? WW_MEMORY_HOST : WW_MEMORY_VMM,
			CONTENT_BYTES);
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "kept/%llu", (unsigned long long)i);
		content_write(memory, seed + i);
		MUST_OK(ww_memory_put(memory, soak.broker, name,
			WW_PARAMS(struct ww_put_params, .life = WW_LIFE_KEPT), 0, NULL));
		ww_memory_unref(memory);
	}
	end(NULL);
}

ROLE(kept)
{
	uint64_t seed = begin_kept(count, arguments);

	for (uint64_t i = 0; i < KEPT; i++) {
		ww_memory *memory;
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "kept/%llu", (unsigned long long)i);
		MUST_OK(ww_memory_get(soak.device, soak.broker, name, NULL, 0, NULL, &memory,
			NULL));
		content_must_be(memory, seed + i);
		MUST_OK(ww_broker_remove(soak.broker, name));
		content_must_be(memory, seed + i);
		ww_memory_unref(memory);
	}
	end(NULL);
}

CHECK_MAIN(check_main, .name = "soak")
