/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_memory.c - the group `memory`: create, export, import + map, unmap, release
 *
 * Two kinds of turns in this process: create and release; and export, each time of memory that was never
 * exported before. Imports are measured in a second process, which gets a descriptor once and then imports
 * and unmaps in turns through the library and through raw calls: each import finds the memory
 * unknown to the process, so each is a first one.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "bench_raw.h"

#define WARM_UP_TURNS 3
#define NS_PER_SECOND UINT64_C(1000000000)

/* For an answer of the second process, beyond the time it measures. */
#define ANSWER_NS (60 * NS_PER_SECOND)

/* Two operations of our own and of the floor, measured in turns. */
struct pair {
	struct samples ours[2];
	struct samples floor[2];
};

static void own_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		samples_fini(&pair->ours[i]);
		samples_fini(&pair->floor[i]);
	}
}

/* What a turn works on. */
struct field {
	ww_device *device;
	struct raw *raw;
	uint64_t bytes; /* rounded as the device rounds */

	/* Of the second process. */
	int fd;
	struct ww_memory_description description;
};

/* Does something once and says how long its two parts took. */
typedef int (*turn_fn)(const struct field *field, uint64_t out_ns[2]);

static int ours_create_release(const struct field *field, uint64_t out_ns[2])
{
	const struct ww_memory_params params = {.size = sizeof(params), .bytes = field->bytes};
	ww_memory *memory;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (ww_memory_create(field->device, &params, &memory) != WW_OK)
		return complain_record("create");
	middle = link_now_ns();
	ww_memory_unref(memory);
	out_ns[0] = middle - start;
	out_ns[1] = link_now_ns() - middle;
	return 0;
}

static int raw_create_release(const struct field *field, uint64_t out_ns[2])
{
	struct raw_memory memory;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (field->raw->ops->create(field->raw, field->bytes, &memory))
		return -1;
	middle = link_now_ns();
	if (field->raw->ops->release(field->raw, &memory))
		return -1;
	out_ns[0] = middle - start;
	out_ns[1] = link_now_ns() - middle;
	return 0;
}

static int ours_export(const struct field *field, uint64_t out_ns[2])
{
	const struct ww_memory_params params = {.size = sizeof(params), .bytes = field->bytes};
	OWN(memory) ww_memory *memory = NULL;
	OWN(fd) int fd = -1;
	struct ww_memory_description description;
	uint64_t start;

	if (ww_memory_create(field->device, &params, &memory) != WW_OK)
		return complain_record("create");
	start = link_now_ns();
	if (ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description) != WW_OK)
		return complain_record("export");
	out_ns[0] = link_now_ns() - start;
	out_ns[1] = 0;
	return 0;
}

static int raw_export(const struct field *field, uint64_t out_ns[2])
{
	OWN(fd) int fd = -1;
	struct raw_memory memory;
	uint64_t start;
	int result;

	if (field->raw->ops->create(field->raw, field->bytes, &memory))
		return -1;
	start = link_now_ns();
	result = field->raw->ops->export_fd(field->raw, &memory, &fd);
	out_ns[0] = link_now_ns() - start;
	out_ns[1] = 0;
	return field->raw->ops->release(field->raw, &memory) ? -1 : result;
}

static int ours_import_unmap(const struct field *field, uint64_t out_ns[2])
{
	ww_memory *memory;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (ww_memory_import_fd(field->device, field->fd, &field->description, WW_ACCESS_WRITE,
		    &memory) != WW_OK)
		return complain_record("import");
	middle = link_now_ns();
	ww_memory_unref(memory);
	out_ns[0] = middle - start;
	out_ns[1] = link_now_ns() - middle;
	return 0;
}

static int raw_import_unmap(const struct field *field, uint64_t out_ns[2])
{
	struct raw_memory memory;
	uint64_t start = link_now_ns();
	uint64_t middle;

	if (field->raw->ops->import_map(field->raw, field->fd, field->bytes, &memory))
		return -1;
	middle = link_now_ns();
	if (field->raw->ops->unmap(field->raw, &memory))
		return -1;
	out_ns[0] = middle - start;
	out_ns[1] = link_now_ns() - middle;
	return 0;
}

static int record(struct samples samples[2], const uint64_t ns[2])
{
	return samples_add(&samples[0], ns[0]) || samples_add(&samples[1], ns[1]) ? -1 : 0;
}

/*
 * One turn of each. Who goes first follows no short period: memory that was just released is cleared by the
 * driver before it is given out again, and that has rhythms of its own.
 */
static int take_turns(const struct field *field, turn_fn ours, turn_fn floor, uint64_t turn,
	uint64_t out_ours[2], uint64_t out_floor[2])
{
	if (turn * UINT64_C(0x9e3779b97f4a7c15) >> 63)
		return ours(field, out_ours) || floor(field, out_floor) ? -1 : 0;
	return floor(field, out_floor) || ours(field, out_ours) ? -1 : 0;
}

static int measure(const struct field *field, turn_fn ours, turn_fn floor, const struct pace *pace,
	struct pair *out_pair)
{
	uint64_t our_ns[2] = {0};
	uint64_t floor_ns[2] = {0};

	for (uint64_t turn = 0; turn < WARM_UP_TURNS; turn++) {
		if (take_turns(field, ours, floor, turn, our_ns, floor_ns))
			return -1;
	}
	for (uint64_t turn = 0; pace_goes_on(pace, turn); turn++) {
		if (take_turns(field, ours, floor, turn, our_ns, floor_ns))
			return -1;
		if (record(out_pair->ours, our_ns) || record(out_pair->floor, floor_ns))
			return -1;
	}
	return 0;
}

static int add(struct bench *bench, const char *what, uint64_t bytes, struct pair *pair, int part,
	bench_goal *goal)
{
	char name[BENCH_NAME_BYTES];
	char size[NUMBER_BYTES];

	number_size_name(bytes, size);
	snprintf(name, sizeof(name), "memory.%s.%s", what, size);
	return bench_add(bench, name, &pair->ours[part], &pair->floor[part], goal);
}

static int measure_here(const struct bench *bench, const struct field *field, struct pair *out_made,
	struct pair *out_exported)
{
	struct pace pace;

	pace_start(&pace, bench->iterations, bench->budget_ns);
	if (measure(field, ours_create_release, raw_create_release, &pace, out_made))
		return -1;
	pace_start(&pace, bench->iterations, bench->budget_ns);
	return measure(field, ours_export, raw_export, &pace, out_exported);
}

static int spawn_importer(const struct bench *bench, struct child *out_child)
{
	char iterations[NUMBER_BYTES];
	char budget[NUMBER_BYTES];
	const struct child_plan plan = {
		.name = "the importer",
		.arguments = {"bench-child", "memory", bench->info.selector, iterations, budget},
		.timeout_ns = ANSWER_NS + bench->budget_ns,
	};

	snprintf(iterations, sizeof(iterations), "%llu", (unsigned long long)bench->iterations);
	snprintf(budget, sizeof(budget), "%llu", (unsigned long long)bench->budget_ns);
	return child_spawn(out_child, &plan);
}

/* Makes memory and hands its descriptor to the second process. */
static int hand_over(const struct field *field, struct child *child, ww_memory **out_memory)
{
	const struct ww_memory_params params = {.size = sizeof(params), .bytes = field->bytes};
	struct link_message message = {.kind = LINK_MEMORY, .numbers = {field->bytes}};
	OWN(fd) int fd = -1;

	if (ww_memory_create(field->device, &params, out_memory) != WW_OK)
		return complain_record("create");
	if (ww_memory_export_fd(*out_memory, WW_ACCESS_WRITE, &fd, &message.description) != WW_OK)
		return complain_record("export");
	return child_send(child, &message, fd);
}

static int take_samples(struct child *child, struct pair *out_pair)
{
	struct link_message message;
	uint64_t count;

	if (child_receive(child, LINK_READY, &message, NULL))
		return -1;
	count = message.numbers[0];
	for (uint64_t i = 0; i < count; i++) {
		if (child_receive(child, LINK_SAMPLE, &message, NULL))
			return -1;
		if (record(out_pair->ours, message.numbers) ||
			record(out_pair->floor, message.numbers + 2))
			return -1;
	}
	return child_finish(child, 0);
}

static int measure_imports(const struct bench *bench, const struct field *field,
	struct pair *out_imported)
{
	OWN(memory) ww_memory *memory = NULL;
	OWN(child) struct child child = CHILD_NONE;

	if (spawn_importer(bench, &child))
		return -1;
	if (hand_over(field, &child, &memory))
		return -1;
	return take_samples(&child, out_imported);
}

/* All of one size, in the order of a memory's life. */
static int measure_size(struct bench *bench, const struct field *field, uint64_t bytes)
{
	OWN(pair) struct pair made = {0};
	OWN(pair) struct pair exported = {0};
	OWN(pair) struct pair imported = {0};

	if (measure_here(bench, field, &made, &exported) ||
		measure_imports(bench, field, &imported))
		return -1;
	if (add(bench, "create", bytes, &made, 0, NULL) ||
		add(bench, "export", bytes, &exported, 0, NULL) ||
		add(bench, "import_map", bytes, &imported, 0,
			bench_import_goal(bench->info.backend, bytes)) ||
		add(bench, "unmap", bytes, &imported, 1, NULL))
		return -1;
	return add(bench, "release", bytes, &made, 1, NULL);
}

/* On a GPU the second process needs room for its context; the CPU's memory is others' too. */
static int check_room(struct bench *bench, uint64_t bytes, bool *out_has_room)
{
	struct ww_device_info info = {.size = sizeof(info)};
	char size[NUMBER_BYTES];
	char available[NUMBER_BYTES];
	uint64_t limit;

	if (ww_device_info_get(bench->device, &info) != WW_OK)
		return complain_record("cannot ask %s for its free memory", bench->info.selector);
	limit = info.backend == WW_BACKEND_HOST ? info.bytes_free / 4
						: info.bytes_free - info.bytes_free / 8;
	*out_has_room = bytes <= limit;
	if (*out_has_room)
		return 0;
	bench->goals_skipped += bench_import_goal(info.backend, bytes) != NULL;
	number_size_name(bytes, size);
	number_size_text(info.bytes_free, available);
	say("memory.*.%s is skipped: %s has %s free, of which %s is used at most", size,
		info.selector, available, info.backend == WW_BACKEND_HOST ? "a quarter" : "7/8");
	return 0;
}

static uint64_t round_up(uint64_t bytes, uint64_t granularity)
{
	return granularity ? (bytes + granularity - 1) / granularity * granularity : bytes;
}

int bench_memory(struct bench *bench)
{
	OWN(raw) struct raw *raw = NULL;
	struct field field = {.device = bench->device};

	if (raw_open(&bench->info, &raw))
		return -1;
	field.raw = raw;
	for (size_t i = 0; i < bench->size_count; i++) {
		uint64_t bytes = bench->sizes[i];
		bool has_room = false;

		if (check_room(bench, bytes, &has_room))
			return -1;
		if (!has_room)
			continue;
		field.bytes = round_up(bytes, bench->info.granularity);
		if (measure_size(bench, &field, bytes))
			return complain("measuring memory of %llu bytes failed",
				(unsigned long long)bytes);
	}
	return 0;
}

static int report_samples(const struct pair *pair)
{
	struct link_message message = {.kind = LINK_READY, .numbers = {pair->ours[0].count}};
	enum link_result result = link_send(LINK_FD, &message, -1, WW_FOREVER);

	message.kind = LINK_SAMPLE;
	for (size_t i = 0; i < pair->ours[0].count && result == LINK_OK; i++) {
		message.numbers[0] = pair->ours[0].ns[i];
		message.numbers[1] = pair->ours[1].ns[i];
		message.numbers[2] = pair->floor[0].ns[i];
		message.numbers[3] = pair->floor[1].ns[i];
		result = link_send(LINK_FD, &message, -1, WW_FOREVER);
	}
	return result == LINK_OK ? 0 : complain("cannot report: %s", link_result_text(result));
}

static int run_importer(struct field *field, uint64_t iterations, uint64_t budget_ns)
{
	OWN(pair) struct pair imported = {0};
	struct link_message message;
	struct pace pace;
	enum link_result result = link_receive(LINK_FD, LINK_MEMORY, &message, &field->fd,
		WW_FOREVER);

	if (result != LINK_OK)
		return complain("cannot receive a descriptor: %s", link_result_text(result));
	field->bytes = message.numbers[0];
	field->description = message.description;
	pace_start(&pace, iterations, budget_ns);
	if (measure(field, ours_import_unmap, raw_import_unmap, &pace, &imported))
		return -1;
	return report_samples(&imported);
}

int bench_memory_importer(int argc, char *argv[])
{
	OWN(device) ww_device *device = NULL;
	OWN(raw) struct raw *raw = NULL;
	struct ww_device_info info = {.size = sizeof(info)};
	struct field field = {.fd = -1};
	uint64_t iterations;
	uint64_t budget_ns;
	int result;

	if (argc != 4 || !number_parse(argv[2], 1, UINT64_MAX, &iterations) ||
		!number_parse(argv[3], 1, UINT64_MAX, &budget_ns))
		return refuse("this verb is for processes that `warpway bench` starts itself");
	if (ww_device_open(argv[1], &device) != WW_OK ||
		ww_device_info_get(device, &info) != WW_OK) {
		complain_record("cannot open device %s", argv[1]);
		return EXIT_FAILED;
	}
	if (raw_open(&info, &raw))
		return EXIT_FAILED;
	field.device = device;
	field.raw = raw;
	result = run_importer(&field, iterations, budget_ns);
	own_fd(&field.fd);
	return result ? EXIT_FAILED : EXIT_DONE;
}
