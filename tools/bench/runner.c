/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner.c - runs the suites, which are tables of cases: see bench.h
 *
 * Ours and the raw calls take turns. The first turns are not counted; who goes first follows no
 * short period, since a driver that clears memory, for instance, has a rhythm of its own.
 *
 * A child is `bench-child SUITE ROLE DEVICE ADDRESS ITERATIONS BUDGET WORD`. It has the suite's
 * board and the driver's pool, where there are any, behind its socket.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "common/device.h"

#define ITERATIONS_AT_LEAST 5
#define WARM_UP_TURNS       2

/* The role of a child in which a case is measured; its word is the number of the case. */
#define MEASURE "measure"

/* No quota is in the way; a broker that was left behind by a kill goes soon. */
static const char settings[] = "[broker]\n"
			       "idle_s = 10\n"
			       "[limits]\n"
			       "host_bytes = 1024T\n"
			       "objects = 64M\n"
			       "fds = 64M\n"
			       "holds = 64M\n"
			       "connections = 1M\n"
			       "waits = 1M\n";

struct series {
	struct samples at[BENCH_SERIES_COUNT];
};

static void own_series(struct series *series)
{
	for (size_t i = 0; i < BENCH_SERIES_COUNT; i++)
		samples_fini(&series->at[i]);
}

int bench_expect(ww_status status, const char *what)
{
	if (status == WW_OK)
		return 0;
	return status > 0 ? complain("%s: no answer in time", what) : complain_record("%s", what);
}

int bench_memory_create(struct bench *bench, uint64_t bytes, ww_memory **out_memory)
{
	const struct ww_memory_params params = {.struct_size = sizeof(params), .bytes = bytes};

	return bench_expect(ww_memory_create(bench->device, &params, out_memory),
		"cannot make memory");
}

int bench_export(struct bench *bench, ww_memory *memory, struct ww_token *out_token)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = WW_ACCESS_WRITE,
	};

	return bench_expect(ww_memory_export(memory, bench->broker, &params, NULL, out_token),
		"cannot export memory");
}

int bench_import(struct bench *bench, const struct ww_token *token, ww_memory **out_memory)
{
	return bench_expect(ww_memory_import(bench->device, bench->broker, token,
				    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				    NULL, out_memory, NULL),
		"cannot import memory");
}

int bench_stream_finish(ww_stream *stream)
{
	return bench_expect(ww_stream_synchronize(stream, WW_FOREVER, NULL),
		"cannot wait for a stream");
}

uint64_t bench_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* --- turns --- */

void pace_start(struct pace *pace, uint64_t iterations, uint64_t budget_ns)
{
	pace->iterations = iterations;
	pace->deadline_ns = link_now_ns() + budget_ns;
}

bool pace_goes_on(const struct pace *pace, uint64_t done)
{
	if (done >= pace->iterations)
		return false;
	return done < ITERATIONS_AT_LEAST || link_now_ns() < pace->deadline_ns;
}

static int add_samples(struct samples at[], const uint64_t ns[], unsigned int parts)
{
	for (unsigned int part = 0; part < (parts ? parts : 1); part++) {
		if (samples_add(&at[part], ns[part]))
			return -1;
	}
	return 0;
}

/* One turn of each way. @series: NULL: it is not counted */
static int take_turns(struct bench *bench, const struct bench_case *bench_case, uint64_t number,
	struct series *series)
{
	unsigned int ways = 1;
	unsigned int first;

	while (ways < BENCH_WAYS_MAX && bench_case->turns[ways])
		ways++;
	first = bench_first(number, ways);
	for (unsigned int i = 0; i < ways; i++) {
		unsigned int way = (first + i) % ways;
		uint64_t ns[BENCH_PARTS_MAX] = {0};

		if ((bench_case->pool_ways >> way & 1) && !bench->has_pool)
			continue;
		bench->way = way;
		if (bench_case->turns[way](bench, ns))
			return -1;
		if (series &&
			add_samples(&series->at[(size_t)way * BENCH_PARTS_MAX], ns,
				bench_case->parts))
			return -1;
	}
	return 0;
}

static int measure(struct bench *bench, const struct bench_case *bench_case, struct series *series)
{
	uint64_t factor = bench_case->factor ? bench_case->factor : 1;
	uint64_t warm_up = bench_case->warm_up ? bench_case->warm_up
		: bench_case->is_kill          ? 0
					       : WARM_UP_TURNS;
	struct pace pace;

	for (uint64_t i = 0; i < warm_up; i++) {
		if (take_turns(bench, bench_case, i, NULL))
			return -1;
	}
	pace_start(&pace, factor * bench->iterations, bench->budget_ns);
	for (uint64_t i = 0; bench_case->is_kill ? i < bench->kills : pace_goes_on(&pace, i); i++) {
		if (take_turns(bench, bench_case, i, series))
			return -1;
	}
	return 0;
}

int bench_measure(struct bench *bench, const struct bench_case *bench_case,
	struct samples *out_samples)
{
	OWN(series) struct series series = {0};

	if (measure(bench, bench_case, &series))
		return -1;
	*out_samples = series.at[0];
	series.at[0] = (struct samples){0};
	return 0;
}

static int measure_here(struct bench *bench, const struct bench_case *bench_case,
	struct series *series)
{
	int result = bench_case->open ? bench_case->open(bench) : 0;

	if (!result)
		result = measure(bench, bench_case, series);
	if (bench_case->close && bench_case->close(bench))
		result = -1;
	return result;
}

/* Hands the memory of a case to the child that measures it. */
static int lend(struct bench *bench, const struct bench_case *bench_case, struct child *child)
{
	struct link_message message = {.kind = LINK_MEMORY, .numbers = {bench->size}};
	OWN(memory) ww_memory *memory = NULL;
	OWN(fd) int fd = -1;

	if (bench_case->lend(bench, &memory) ||
		bench_expect(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd,
				     &message.description),
			"cannot export memory"))
		return -1;
	return child_send(child, &message, fd);
}

/* Takes the samples of a child, which sends the number of each one's series with it. */
static int measure_in_child(struct bench *bench, const struct bench_case *bench_case,
	struct series *series)
{
	OWN(child) struct child child = CHILD_NONE;
	struct link_message message;
	char number[NUMBER_BYTES];

	snprintf(number, sizeof(number), "%zu", (size_t)(bench_case - bench->suite->cases));
	if (bench_spawn(bench, MEASURE, NULL, number, &child) || lend(bench, bench_case, &child) ||
		child_receive(&child, LINK_READY, &message, NULL))
		return -1;
	for (uint64_t left = message.numbers[0]; left > 0; left--) {
		if (child_receive(&child, LINK_SAMPLE, &message, NULL))
			return -1;
		if (message.numbers[0] >= BENCH_SERIES_COUNT)
			return complain("there is no such series");
		if (samples_add(&series->at[message.numbers[0]], message.numbers[1]))
			return -1;
	}
	return child_finish(&child, 0);
}

/* Another GPU that can be used. */
static bool find_second(struct bench *bench)
{
	struct ww_device_info *info = &bench->second;
	uint32_t count = 0;

	if (bench->info.backend != WW_BACKEND_CUDA ||
		ww_device_count(WW_BACKEND_CUDA, &count) != WW_OK)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		OWN(device) ww_device *device = NULL;
		char name[32];

		snprintf(name, sizeof(name), "cuda:%u", i);
		*info = WW_INIT(struct ww_device_info);
		if (i != bench->info.index && ww_device_open(name, &device) == WW_OK &&
			ww_device_info_get(device, info) == WW_OK && !device_unfit(info))
			return true;
	}
	return false;
}

/* Says why a case is left out, unless it needs a second GPU. */
static bool is_left_out(struct bench *bench, const struct bench_case *bench_case, const char *name)
{
	const char *lack = NULL;

	if (bench_case->is_for_two_gpus && !find_second(bench))
		return true;
	if (bench_case->capabilities & ~bench->info.capabilities)
		lack = bench_case->lack;
	if (bench_case->needs_pool && !bench->has_pool)
		lack = "its pools cannot be shared";
	if (bench_case->needs_kernel && !bench->raw->has_kernel)
		lack = "it runs no kernels";
	if (lack)
		say("%s is skipped on %s: %s", name, bench->info.selector, lack);
	return lack != NULL;
}

int bench_case_run(struct bench *bench, const struct bench_case *bench_case)
{
	OWN(series) struct series series = {0};
	const struct bench_row *row = bench_case->rows;
	char name[BENCH_NAME_BYTES];
	int result;

	snprintf(name, sizeof(name), "%s.%s", bench->suite->name, row->name);
	if (is_left_out(bench, bench_case, name))
		return 0;
	bench->context = bench_case->context;
	if (bench_case->run)
		result = bench_case->run(bench);
	else if (bench_case->lend)
		result = measure_in_child(bench, bench_case, &series);
	else
		result = measure_here(bench, bench_case, &series);
	for (; !bench_case->run && !result && row->name; row++) {
		struct samples *floor = row->floor ? &series.at[row->floor - 1] : NULL;

		result = bench_add_series(bench, row, &series.at[row->series ? row->series - 1 : 0],
			floor);
	}
	return result < 0 ? complain("measuring %s failed", name) : 0;
}

/* --- what a suite needs --- */

static int open_pool(struct bench *bench)
{
	bench->has_pool = cuda_has_pools(&bench->cuda);
	if (!bench->has_pool) {
		say("no floor by the driver's pools: those of %s cannot be shared",
			bench->info.selector);
		return 0;
	}
	return cuda_pool_create(&bench->cuda, &bench->pool, &bench->pool_fd);
}

int bench_connect(struct bench *bench)
{
	const struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = bench->address,
	};

	return bench_expect(ww_broker_open(&params, &bench->broker),
		"cannot connect to the broker");
}

/* All but the device, and what only the bench's own process makes. */
static int open_common(struct bench *bench, unsigned int needs)
{
	bool is_gpu = bench->info.backend == WW_BACKEND_CUDA;

	/* The context is current from here on, for the library's calls too. */
	if ((needs & BENCH_NEED_RAW) && raw_open(&bench->info, &bench->raw))
		return -1;
	if ((needs & BENCH_NEED_CUDA) && is_gpu && cuda_open(&bench->cuda, bench->info.index))
		return -1;
	if ((needs & BENCH_NEED_BROKER) && bench_connect(bench))
		return -1;
	if (needs & BENCH_NEED_STREAM)
		return bench_expect(ww_stream_create(bench->device, &bench->stream),
			"cannot make a stream");
	return 0;
}

static int open_suite(struct bench *bench)
{
	const struct bench_suite *suite = bench->suite;

	if (suite->needs & BENCH_NEED_BROKER) {
		if (temp_broker_open(&bench->temp_broker, settings))
			return -1;
		bench->address = bench->temp_broker.address;
	}
	if (suite->board_bytes) {
		bench->board_fd = raw_memfd(suite->board_bytes);
		if (bench->board_fd < 0 ||
			mailbox_open(bench->board_fd, suite->board_bytes, &bench->board))
			return -1;
	}
	if (open_common(bench, suite->needs))
		return -1;
	if ((suite->needs & BENCH_NEED_POOL) && bench->cuda.context && open_pool(bench))
		return -1;
	return suite->open ? suite->open(bench) : 0;
}

/* Also what was opened in part. */
static void close_common(struct bench *bench)
{
	bench->stream = ww_stream_unref(bench->stream);
	bench->broker = ww_broker_unref(bench->broker);
	temp_broker_close(&bench->temp_broker);
	if (bench->pool)
		bench->cuda.cuMemPoolDestroy(bench->pool);
	own_fd(&bench->pool_fd);
	cuda_close(&bench->cuda);
	raw_close(bench->raw);
	mailbox_close(bench->board, bench->suite->board_bytes);
	own_fd(&bench->board_fd);
	bench->pool = NULL;
	bench->has_pool = false;
	bench->raw = NULL;
	bench->board = NULL;
	own_fd(&bench->lent_fd);
	bench->pool_fd = bench->board_fd = bench->lent_fd = -1;
}

int bench_cases_run(struct bench *bench)
{
	const struct bench_suite *suite = bench->suite;

	for (size_t i = 0; i < suite->case_count; i++) {
		if (bench_case_run(bench, &suite->cases[i]))
			return -1;
	}
	return 0;
}

int bench_suite_run(struct bench *bench, const struct bench_suite *suite)
{
	bool is_gpu = bench->info.backend == WW_BACKEND_CUDA;
	int result;

	bench->suite = suite;
	if ((suite->is_for_gpus && !is_gpu) || (suite->capabilities & ~bench->info.capabilities)) {
		say("%s.* is skipped on %s: %s", suite->name, bench->info.selector, suite->lack);
		bench->suites_skipped++;
		return 0;
	}
	result = open_suite(bench);
	if (!result)
		result = suite->run ? suite->run(bench) : bench_cases_run(bench);
	if (suite->close)
		suite->close(bench);
	close_common(bench);
	return result;
}

/* --- children --- */

int bench_spawn(struct bench *bench, const char *role, const char *selector, const char *word,
	struct child *out_child)
{
	char name[CHILD_NAME_BYTES];
	char iterations[NUMBER_BYTES];
	char budget[NUMBER_BYTES];
	struct child_plan plan = {
		.name = name,
		.arguments = {"bench-child", bench->suite->name, role,
			selector ? selector : bench->info.selector,
			bench->address ? bench->address : "", iterations, budget, word},
		.timeout_ns = BENCH_ANSWER_NS + bench->budget_ns,
	};

	snprintf(name, sizeof(name), "the %s", role);
	snprintf(iterations, sizeof(iterations), "%llu", (unsigned long long)bench->iterations);
	snprintf(budget, sizeof(budget), "%llu", (unsigned long long)bench->budget_ns);
	if (bench->board_fd >= 0)
		plan.fds[plan.fd_count++] = bench->board_fd;
	if (bench->pool_fd >= 0)
		plan.fds[plan.fd_count++] = bench->pool_fd;
	return child_spawn(out_child, &plan);
}

int bench_child_ready(void)
{
	const struct link_message message = {.kind = LINK_READY};

	return parent_send(&message, -1);
}

int bench_child_wait(void)
{
	struct link_message message;

	if (bench_child_ready())
		return -1;
	link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER); /* never comes */
	return 0;
}

/* The pool that the parent shares; it has none where no descriptor was passed. */
static int import_pool(struct bench *bench)
{
	if (!bench->cuda.context || !cuda_has_pools(&bench->cuda))
		return 0;
	bench->has_pool = true;
	return cuda_pool_import(&bench->cuda, BENCH_POOL_FD, &bench->pool);
}

static int open_role(struct bench *bench, unsigned int needs)
{
	const struct bench_suite *suite = bench->suite;

	bench->info = WW_INIT(struct ww_device_info);
	if ((needs & BENCH_NEED_DEVICE) &&
		(bench_expect(ww_device_open(bench->device_name, &bench->device),
			 "cannot open the device") ||
			bench_expect(ww_device_info_get(bench->device, &bench->info),
				"cannot describe the device")))
		return -1;
	if (suite->board_bytes && mailbox_open(BENCH_BOARD_FD, suite->board_bytes, &bench->board))
		return -1;
	if (open_common(bench, needs))
		return -1;
	return needs & BENCH_NEED_POOL ? import_pool(bench) : 0;
}

static int send_series(const struct series *series)
{
	struct link_message message = {.kind = LINK_READY};

	for (size_t i = 0; i < BENCH_SERIES_COUNT; i++)
		message.numbers[0] += series->at[i].count;
	if (parent_send(&message, -1))
		return -1;
	message.kind = LINK_SAMPLE;
	for (size_t i = 0; i < BENCH_SERIES_COUNT; i++) {
		for (size_t n = 0; n < series->at[i].count; n++) {
			message.numbers[0] = i;
			message.numbers[1] = series->at[i].ns[n];
			if (parent_send(&message, -1))
				return -1;
		}
	}
	return 0;
}

static int role_measure(struct bench *bench, const char *word)
{
	OWN(series) struct series series = {0};
	struct link_message message;
	uint64_t number;

	if (!number_parse(word, 0, bench->suite->case_count - 1, &number) ||
		!bench->suite->cases[number].lend)
		return complain("there is no case %s", word);
	if (parent_receive(LINK_MEMORY, &message, &bench->lent_fd))
		return -1;
	bench->lent = message.description;
	bench->size = message.numbers[0];
	if (measure_here(bench, &bench->suite->cases[number], &series))
		return -1;
	return send_series(&series);
}

static int run_role(struct bench *bench, const struct bench_role *role, const char *word)
{
	int result = open_role(bench, role->needs);

	if (!result)
		result = role->run(bench, word);
	close_common(bench);
	ww_device_unref(bench->device);
	return result ? EXIT_FAILED : EXIT_DONE;
}

int bench_child_run(const struct bench_suite *suite, int argc, char *argv[])
{
	const struct bench_role measured = {
		MEASURE,
		(suite->needs & ~(unsigned int)BENCH_NEED_POOL) | BENCH_NEED_DEVICE,
		role_measure,
	};
	struct bench bench = {.suite = suite, BENCH_NONE_OPEN};

	if (argc < 6 || !number_parse(argv[4], 1, UINT64_MAX, &bench.iterations) ||
		!number_parse(argv[5], 1, UINT64_MAX, &bench.budget_ns))
		return refuse("this verb is for processes that `warpway bench` starts itself");
	bench.device_name = argv[2];
	bench.address = argv[3];
	if (!strcmp(argv[1], MEASURE))
		return run_role(&bench, &measured, argc > 6 ? argv[6] : "");
	for (size_t i = 0; i < suite->role_count; i++) {
		if (!strcmp(argv[1], suite->roles[i].name))
			return run_role(&bench, &suite->roles[i], argc > 6 ? argv[6] : "");
	}
	return refuse("there is no role '%s'", argv[1]);
}
