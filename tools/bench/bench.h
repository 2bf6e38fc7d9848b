/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the suites of `warpway bench` are made of
 *
 * A suite is a table of cases. The runner (runner.c) opens what the suite needs, calls the turns of
 * a case one way and the other, within the time allowed, and adds one result for each row of the
 * case. A case can be measured in a second process. A result's name is stable: programs compare
 * runs by it.
 */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>

#include <warpway/warpway.h>

#include "bench/raw.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "bench/mailbox.h"
#include "common/number.h"
#include "common/plain_cuda.h"
#include "common/say.h"
#include "common/samples.h"
#include "common/temp_broker.h"

#define BENCH_NAME_BYTES 64
#define BENCH_SIZES_MAX  32
#define BENCH_ROWS_MAX   7 /* with the end */
#define BENCH_WAYS_MAX   4
#define BENCH_PARTS_MAX  4

/* In the process of a suite: where its rows go, as lines of JSON. */
#define BENCH_ROWS_FD LINK_FD

/* In a child of it. */
#define BENCH_BOARD_FD (LINK_FD + 1)
#define BENCH_POOL_FD  (LINK_FD + 2)

/* Of a copy of the suite pairs. */
#define BENCH_PAIR_BYTES (UINT64_C(64) << 20)

#define BENCH_ANSWER_NS (UINT64_C(120) * 1000000000)

/* What the open of a case returns where the case cannot be measured, and that is no failure. */
#define BENCH_LEFT_OUT 1

/* A number that is not there: no floor, no goal. */
#define BENCH_NONE NAN

struct bench_result {
	char name[BENCH_NAME_BYTES];
	const char *unit;
	double p50;
	double p99;
	double floor_p50;
	double goal;                   /* the largest p50 allowed; BENCH_NONE */
	const struct samples *samples; /* NULL, or sorted: they are part of the result */
};

/* Goals of rows: the table in goal.c says which p50 each of them allows. */
enum bench_goal {
	BENCH_GOAL_NONE,
	BENCH_GOAL_IMPORT_SMALL,
	BENCH_GOAL_IMPORT_LARGE,
	BENCH_GOAL_ROUND_TRIP,
	BENCH_GOAL_ENQUEUE,
	BENCH_GOAL_EXCHANGE,
	BENCH_GOAL_PUT,
	BENCH_GOAL_FURTHER,
	BENCH_GOAL_LOOKUP,
	BENCH_GOAL_LISTING,
	BENCH_GOAL_FOREIGN,
	BENCH_GOAL_SLICE,
	BENCH_GOAL_HAND_OVER,
	BENCH_GOAL_MAPPED,
	BENCH_GOAL_RELEASE,
	BENCH_GOAL_RESTART,
	BENCH_GOAL_OBJECT,
	BENCH_GOAL_WATCHED,
	BENCH_GOAL_RATE,
	BENCH_GOAL_ONE_WAY,
	BENCH_GOAL_ONE_WAY_STREAM,
	BENCH_GOAL_SIZE,
	BENCH_GOAL_SLOW,
	BENCH_GOAL_PUBLISH,
	BENCH_GOAL_PUBLISH_2,
	BENCH_GOAL_PUBLISH_4,
	BENCH_GOAL_PUBLISH_8,
	BENCH_GOAL_COPY,
	BENCH_GOAL_FRAMES,
	BENCH_GOAL_CALL,
	BENCH_GOAL_CALL_ASLEEP,
	BENCH_GOAL_CALL_RATE,
	BENCH_GOAL_CALL_STREAM,
	BENCH_GOAL_CALL_WAIT,
	BENCH_GOAL_IDLE,
	BENCH_GOAL_TURN,
	BENCH_GOAL_NO_MEMORY,
	BENCH_GOAL_PEER,
	BENCH_GOAL_MPI_NO_CONTEXT,
	BENCH_GOAL_MPI_BUFFER,
	BENCH_GOAL_MPI_REQUEST,
	BENCH_GOAL_MPI_SMALL,
	BENCH_GOAL_MPI_64K,
	BENCH_GOAL_MPI_1M,
	BENCH_GOAL_MPI_16M,
	BENCH_GOAL_MPI_PULL,
	BENCH_GOAL_MPI_ALLREDUCE,
	BENCH_GOAL_MPI_NCCL,
	BENCH_GOAL_LAST = BENCH_GOAL_MPI_NCCL
};

/*
 * What the runner opens, in this order, for a suite in its own process, and for a role in a child.
 */
enum bench_need {
	BENCH_NEED_DEVICE = 1, /* in a child; the bench's own process has it always */
	BENCH_NEED_RAW = 2,
	BENCH_NEED_CUDA = 4, /* on a GPU */
	BENCH_NEED_POOL = 8, /* the driver's pool that processes can share, where there is one */
	BENCH_NEED_BROKER = 16,
	BENCH_NEED_STREAM = 32
};

struct bench {
	const char *device_name; /* as asked for; NULL: the best */
	uint64_t sizes[BENCH_SIZES_MAX];
	size_t size_count;
	bool has_sizes;      /* the user has named them */
	uint64_t iterations; /* at most, of each case */
	uint64_t budget_ns;  /* for each case, once the fewest iterations are done */
	uint64_t objects;    /* of the suite broker */
	uint64_t clients;    /* likewise */
	uint64_t kills;      /* likewise */
	uint64_t slices;     /* that the suite pool passes on */
	uint64_t ranks;      /* of the suite mpi */
	const char *mpi;     /* likewise; NULL: all that are installed */
	const char *sizes_text;
	const char *output; /* the file that grows with each row; NULL: none */
	const char *html;   /* the page that is written at the end; NULL: none */
	const char *from;   /* the file that is shown in place of a run; NULL: none */
	bool json;
	bool check;
	bool quick;
	bool compare; /* two files */

	ww_device *device;
	struct ww_device_info info;
	struct bench_result *results;
	size_t count;
	size_t capacity;
	size_t goals_skipped;  /* sizes that have a goal and no room */
	size_t suites_skipped; /* that have nothing to measure on this device */
	int rows_fd;           /* where results go; -1: nowhere, they are only kept */

	/* Of the suite that runs; in a child, of its role. */
	const struct bench_suite *suite;
	struct raw *raw;
	struct cuda cuda;
	bool has_pool;
	ww_CUmemoryPool pool;
	int pool_fd; /* -1: none */
	struct temp_broker temp_broker;
	const char *address; /* of that broker */
	ww_broker *broker;
	ww_stream *stream;
	void *board; /* shared with the children, see struct bench_suite */
	int board_fd;
	void *state;                  /* of the suite, or of the role */
	struct ww_device_info second; /* another GPU, see struct bench_case */
	const void *context;
	unsigned int way; /* of the turn that is taken */
	uint64_t size;    /* of memory, as asked for, where sizes matter */
	int lent_fd;      /* in a child in which a case is measured: what was lent; else -1 */
	struct ww_memory_description lent;
	const char *variant; /* NULL, or the end of the names of all results */
};

#define BENCH_NONE_OPEN \
	.pool_fd = -1, .board_fd = -1, .lent_fd = -1, .rows_fd = -1, .temp_broker = TEMP_BROKER_NONE

/* Who does the work of a turn. A case may have more ways of its own. */
enum bench_way {
	BENCH_OURS,
	BENCH_RAW
};

/*
 * Does something once; @out_ns: how long each part of it took. Return: 0, or -1 after saying what
 * went wrong.
 */
typedef int bench_turn(struct bench *bench, uint64_t out_ns[BENCH_PARTS_MAX]);

/* How long it is since *@at, which becomes now. */
static inline uint64_t bench_lap(uint64_t *at)
{
	uint64_t before = *at;

	*at = link_now_ns();
	return *at - before;
}

/* The series of a part of one way. 0 is none. */
#define BENCH_SERIES(way, part) (1 + (way)*BENCH_PARTS_MAX + (part))
#define BENCH_SERIES_COUNT      ((size_t)BENCH_WAYS_MAX * BENCH_PARTS_MAX)

struct bench_row {
	const char *name; /* without the suite's */
	const char *unit; /* "us", "ns" or "ms" */
	enum bench_goal goal;
	uint32_t series;    /* 0: the first */
	uint32_t floor;     /* left out where it was not measured */
	bool is_import;     /* the goal is bench_import_goal() */
	bool is_slowest;    /* the largest value, in place of p50 and p99 */
	bool is_with_floor; /* left out where the floor was not measured */
	bool has_samples;   /* the samples are part of the result, for a histogram */
};

struct bench_case {
	struct bench_row rows[BENCH_ROWS_MAX]; /* ended by one without a name */
	uint64_t capabilities;                 /* that the device must have */
	const char *lack;                      /* what it is without them */
	bool is_for_two_gpus;                  /* the other one is bench->second; else left out */
	bool needs_pool;                       /* the driver's; else the case is left out */
	bool needs_kernel;                     /* struct raw has one; likewise */
	unsigned int parts;                    /* 0: one */
	const void *context;                   /* bench->context of its turns */

	bench_turn *turns[BENCH_WAYS_MAX];
	unsigned int pool_ways; /* bit N: way N needs the driver's pool */
	unsigned int warm_up;   /* turns of each way that are not counted; 0: two, or no kill */
	unsigned int factor;    /* so many times the iterations of others; 0: one */
	bool is_kill;           /* as often as --kills says */

	/*
	 * Before and after; NULL: nothing. close is called whatever open and the turns returned.
	 * Where open returns BENCH_LEFT_OUT, the case is left out; open has said why.
	 */
	int (*open)(struct bench *bench);
	int (*close)(struct bench *bench);

	/*
	 * Where the case is measured in a child, with open and close there: the memory of which the
	 * child gets a descriptor. @out_memory: the caller's
	 */
	int (*lend)(struct bench *bench, ww_memory **out_memory);

	/* In place of all that: measures something else and adds its results. */
	int (*run)(struct bench *bench);
};

/* What a child of a suite does. @word: of bench_spawn() */
struct bench_role {
	const char *name;
	unsigned int needs;
	int (*run)(struct bench *bench, const char *word);
};

struct bench_suite {
	const char *name;
	const char *summary;
	unsigned int needs;
	bool is_for_gpus;
	uint64_t capabilities; /* that the device must have; else the suite is left out */
	const char *lack;      /* what it is without them */
	uint64_t board_bytes;  /* of memory that all its processes share; 0: none */
	const struct bench_role *roles;
	size_t role_count;
	const struct bench_case *cases;
	size_t case_count;
	int (*open)(struct bench *bench);
	void (*close)(struct bench *bench);
	int (*run)(struct bench *bench); /* in place of the cases one after the other */
};

extern const struct bench_suite bench_memory, bench_broker, bench_sync, bench_pool, bench_foreign,
	bench_channel, bench_calls, bench_mpi, bench_pairs, bench_python;

/* In the order in which they run; how many seconds each takes about, to foretell the rest. */
struct bench_step {
	const struct bench_suite *suite;
	double seconds;
	double quick_seconds;
};

#define BENCH_SUITE_COUNT 10
extern const struct bench_step bench_steps[BENCH_SUITE_COUNT];

const struct bench_suite *bench_find_suite(const char *name);

/* The options that are whole numbers. */
struct bench_number {
	const char *name;
	size_t offset; /* in struct bench */
	uint64_t usual;
	uint64_t quick;
	const char *help;
};

#define BENCH_NUMBER_COUNT 6
extern const struct bench_number bench_numbers[BENCH_NUMBER_COUNT];

static inline uint64_t *bench_number_of(struct bench *bench, const struct bench_number *number)
{
	return (uint64_t *)(void *)((char *)bench + number->offset);
}

#define BENCH_LIST(array, field, number) \
	.field = (array), .number = sizeof(array) / sizeof((array)[0])

/* All of these return 0, or -1 after saying what went wrong. */

/*
 * Opens what the suite needs, runs it, and closes everything. bench_cases_run: all cases of the
 * suite that runs; bench_case_run: one case.
 */
int bench_suite_run(struct bench *bench, const struct bench_suite *suite);
int bench_cases_run(struct bench *bench);
int bench_case_run(struct bench *bench, const struct bench_case *bench_case);

/* The turns of a case that has one way. @out_samples: the caller's, all zero before */
int bench_measure(struct bench *bench, const struct bench_case *bench_case,
	struct samples *out_samples);

/* How long a measurement goes on. */
struct pace {
	uint64_t iterations;
	uint64_t deadline_ns;
};

void pace_start(struct pace *pace, uint64_t iterations, uint64_t budget_ns);

/* Is there a turn @done, counted from 0? */
bool pace_goes_on(const struct pace *pace, uint64_t done);

/* An order that follows no short period: a number below @count for turn @number. */
static inline unsigned int bench_first(uint64_t number, unsigned int count)
{
	return (unsigned int)(number * UINT64_C(0x9e3779b97f4a7c15) >> 62) * count / 4;
}

/* Connects to the broker at @bench->address. */
int bench_connect(struct bench *bench);

/*
 * Starts a child in a role of the suite. @selector: of its device; NULL: the bench's. @word: for it
 */
int bench_spawn(struct bench *bench, const char *role, const char *selector, const char *word,
	struct child *out_child);

/* Child: says LINK_READY. Then waits to be killed. */
int bench_child_ready(void);
int bench_child_wait(void);

/* What a child that bench_spawn() started does: the exit code. */
int bench_child_run(const struct bench_suite *suite, int argc, char *argv[]);

/* Adds a result of a series. */
int bench_add_series(struct bench *bench, const struct bench_row *row, struct samples *series,
	struct samples *floor);

/* Copies a result; @name: without the suite's, which takes the place of the name in it. */
int bench_add_result(struct bench *bench, const char *name, const struct bench_result *result);

/* A result that is one number; @floor, @goal: BENCH_NONE if there is none */
int bench_add_number(struct bench *bench, const char *name, const char *unit, double number,
	double floor, double goal);

/* As complain(), for a status of the library that is not WW_OK. */
int bench_expect(ww_status status, const char *what);

/* Memory of the device; a token for reading and writing of a memory; what such a token names. */
int bench_memory_create(struct bench *bench, uint64_t bytes, ww_memory **out_memory);
int bench_export(struct bench *bench, ww_memory *memory, struct ww_token *out_token);
int bench_import(struct bench *bench, const struct ww_token *token, ww_memory **out_memory);

/* Until a stream of the library has done everything. */
int bench_stream_finish(ww_stream *stream);

/* The next of a series of numbers without a pattern; @state: any but 0. */
uint64_t bench_random(uint64_t *state);

/* Whether --mpi may name it. */
bool bench_mpi_is_known(const char *name);

/* The largest p50 allowed; BENCH_NONE. */
double bench_goal_value(enum bench_goal goal, uint32_t backend, double floor_p50);

/* The goal of the first import of so many bytes. */
enum bench_goal bench_import_goal(uint64_t bytes);

/* 1: the goal is met, 0: it is not, -1: there is none. */
int bench_met(const struct bench_result *result);

/* The exit code of a run that came to its end, after saying what speaks against success. */
int bench_verdict(const struct bench *bench);

/* The unit of that name, which lives for ever; NULL: there is none, or @name is NULL. */
const char *bench_unit(const char *name);

/* A result as a row of the file; NULL: no memory. */
json_t *bench_result_json(const struct bench_result *result);

/* In the process of a suite: a line of JSON for the bench. @message: consumed; NULL: no memory */
int bench_send(struct bench *bench, json_t *message);

/* Takes a row, which has been checked, as a result that bench_verdict() sees. */
int bench_take_row(struct bench *bench, const json_t *row);

/*
 * Runs suites, each in a process of its own, and takes their rows; what cannot be measured is
 * entered with the reason, and the rest goes on.
 * @names: of suites; none: all of them, and the suite pairs from each GPU
 * @run:   the document, see run_file.h; also that of a run that fails or is interrupted
 * Return: 0; EXIT_FAILED or EXIT_CANNOT after saying why.
 */
int bench_run_suites(struct bench *bench, char *names[], int count, json_t *run);

/* Prints a run: as a table, or as JSON. */
int bench_report(json_t *run, bool is_json);

/* A run as a page of HTML; the caller's; NULL: no memory. */
char *bench_page_text(const json_t *run);

/* Writes that page. Return: 0, EXIT_FAILED or EXIT_CANNOT. */
int bench_page(const json_t *run, const char *path);

/* Compares the runs of two files. Return: the exit code. */
int bench_compare(const char *path_a, const char *path_b, bool is_json);

#endif
