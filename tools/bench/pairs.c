/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs.c - the suite `pairs`: one GPU and each other GPU of the machine
 *
 * The bench's own process is the owner, of memory of its device, GPU I. A child for each other GPU,
 * a viewer, has that memory mapped, by the library and by raw calls, and copies between it and
 * memory of its own GPU, J. What several viewers do at once takes as long as the slowest one needs.
 *
 *   read.I-J, write.I-J  us; a copy of 64 MiB that GPU J makes, out of the memory of I or into it
 *   signal.I-J           us; a round between a stream of I and one of J
 *   import.xN            us; N processes, each with a GPU of its own, map one memory at once
 *   frames.xN            us; a frame of 64 MiB of a channel reaches N GPUs, which copy it each;
 *                        raw: so many copies at once out of one memory
 *   publish.xN           ns; the calls by which the producer publishes such a frame
 */
#include <stdio.h>
#include <string.h>

#include "bench/sync.h"
#include "common/device.h"

#define COPY_BYTES   BENCH_PAIR_BYTES
#define COPIES       8 /* of a turn, which is timed as a whole */
#define FRAMES       8
#define SLOTS        4
#define VIEWERS_MAX  16
#define CHANNEL_NAME "bench/frames"

/* What a viewer is told to do. */
enum command {
	COMMAND_READ,
	COMMAND_WRITE,
	COMMAND_IMPORT,
	COMMAND_JOIN,
	COMMAND_LEAVE,
	COMMAND_FRAMES,
	COMMAND_COUNT
};

/* The owner. */
static struct owner {
	ww_memory *copied;   /* that all viewers have mapped */
	ww_memory *imported; /* that none has */
	ww_channel *channel;
	struct child viewers[VIEWERS_MAX];
	struct ww_device_info infos[VIEWERS_MAX];
	unsigned int count;
	unsigned int first, active; /* of the viewers that a case is about */
} owner;

/* A viewer. */
struct viewer {
	struct bench *bench;
	ww_memory *local;
	ww_memory *remote;
	struct raw_memory raw_local;
	struct raw_memory raw_remote;
	int imported_fd;
	struct ww_memory_description imported;
	ww_channel *channel;
};

/* --- the owner's side --- */

static struct child *active_viewers(void)
{
	return &owner.viewers[owner.first];
}

/* All active viewers do it at once. @out_ns: how long the slowest one needed; NULL: no matter */
static int tell(struct bench *bench, enum command command, uint64_t *out_ns)
{
	const struct link_message message = {.kind = LINK_GO, .numbers = {command, bench->way}};
	struct link_message done[VIEWERS_MAX];

	if (child_group_send(active_viewers(), owner.active, &message) ||
		child_group_receive(active_viewers(), owner.active, LINK_DONE, done))
		return -1;
	for (unsigned int i = 0; out_ns && i < owner.active; i++)
		*out_ns = done[i].numbers[0] > *out_ns ? done[i].numbers[0] : *out_ns;
	return 0;
}

static int read_turn(struct bench *bench, uint64_t out_ns[])
{
	return tell(bench, COMMAND_READ, &out_ns[0]);
}

static int write_turn(struct bench *bench, uint64_t out_ns[])
{
	return tell(bench, COMMAND_WRITE, &out_ns[0]);
}

static int import_turn(struct bench *bench, uint64_t out_ns[])
{
	return tell(bench, COMMAND_IMPORT, &out_ns[0]);
}

static int publish_all(struct bench *bench, uint64_t *out_ns)
{
	uint64_t at = link_now_ns();

	for (int i = 0; i < FRAMES; i++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		if (bench_expect(ww_channel_acquire(owner.channel, bench->stream, BENCH_ANSWER_NS,
					 NULL, &frame),
			    "cannot acquire a slot") ||
			bench_expect(ww_channel_publish(owner.channel, &frame, bench->stream),
				"cannot publish a frame"))
			return -1;
		/* A producer whose slots all have frames waits, which is no cost of its calls. */
		if (i < SLOTS)
			*out_ns = (link_now_ns() - at) / (uint64_t)(i + 1);
	}
	return 0;
}

/* Two parts: of a frame's way to all viewers, and of the producer's calls. */
static int frames_turn(struct bench *bench, uint64_t out_ns[])
{
	const struct link_message message = {.kind = LINK_GO,
		.numbers = {COMMAND_FRAMES, bench->way}};
	struct link_message answers[VIEWERS_MAX];
	uint64_t at;

	if (child_group_send(active_viewers(), owner.active, &message) ||
		child_group_receive(active_viewers(), owner.active, LINK_READY, answers))
		return -1;
	at = link_now_ns();
	if (child_group_send(active_viewers(), owner.active, &message) ||
		(bench->way == BENCH_OURS && publish_all(bench, &out_ns[1])) ||
		child_group_receive(active_viewers(), owner.active, LINK_DONE, answers))
		return -1;
	out_ns[0] = bench_lap(&at) / FRAMES;
	return bench_stream_finish(bench->stream);
}

static int frames_open(struct bench *bench)
{
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = COPY_BYTES,
		.slots = SLOTS,
		.consumers_max = VIEWERS_MAX,
		.flags = WW_PUT_REPLACE,
	};

	if (bench_expect(ww_channel_create(bench->device, bench->broker, CHANNEL_NAME, &params,
				 NULL, &owner.channel),
		    "cannot make a channel") ||
		tell(bench, COMMAND_JOIN, NULL))
		return -1;
	return bench_expect(ww_channel_wait_consumers(owner.channel, owner.active, BENCH_ANSWER_NS,
				    NULL),
		"no consumer came");
}

static int frames_close(struct bench *bench)
{
	int result = owner.channel ? tell(bench, COMMAND_LEAVE, NULL) : 0;

	owner.channel = ww_channel_unref(owner.channel);
	return result;
}

/* --- a viewer --- */

static int viewer_finish(struct viewer *viewer)
{
	struct bench *bench = viewer->bench;

	return bench->way == BENCH_RAW
		? CUDA_CALL(&bench->cuda, cuStreamSynchronize, bench->cuda.stream)
		: bench_stream_finish(bench->stream);
}

static int copy_ours(struct viewer *viewer, void *destination, const void *source)
{
	return bench_expect(ww_stream_copy(viewer->bench->stream, destination, source, COPY_BYTES),
		"cannot copy");
}

static int copy_raw(struct viewer *viewer, uint64_t destination, uint64_t source)
{
	struct cuda *cuda = &viewer->bench->cuda;

	return CUDA_CALL(cuda, cuMemcpyAsync, destination, source, COPY_BYTES, cuda->stream);
}

static int copy_once(struct viewer *viewer, bool is_write)
{
	void *local = ww_memory_pointer(viewer->local);
	void *remote = ww_memory_pointer(viewer->remote);

	if (viewer->bench->way == BENCH_RAW)
		return is_write
			? copy_raw(viewer, viewer->raw_remote.address, viewer->raw_local.address)
			: copy_raw(viewer, viewer->raw_local.address, viewer->raw_remote.address);
	return is_write ? copy_ours(viewer, remote, local) : copy_ours(viewer, local, remote);
}

static int copy_often(struct viewer *viewer, bool is_write, uint64_t *out_ns)
{
	uint64_t at = link_now_ns();

	for (int i = 0; i < COPIES; i++) {
		if (copy_once(viewer, is_write))
			return -1;
	}
	if (viewer_finish(viewer))
		return -1;
	*out_ns = bench_lap(&at) / COPIES;
	return 0;
}

static int import_once(struct viewer *viewer, uint64_t *out_ns)
{
	struct raw *raw = viewer->bench->raw;
	struct raw_memory raw_memory;
	uint64_t at = link_now_ns();
	OWN(memory) ww_memory *memory = NULL;

	if (viewer->bench->way == BENCH_OURS) {
		if (bench_expect(ww_memory_import_fd(viewer->bench->device, viewer->imported_fd,
					 &viewer->imported,
					 WW_PARAMS(struct ww_import_params,
						 .access = WW_ACCESS_WRITE),
					 &memory),
			    "cannot import memory"))
			return -1;
		*out_ns = bench_lap(&at);
		return 0;
	}
	if (raw->ops->import_map(raw, viewer->imported_fd, COPY_BYTES, &raw_memory))
		return -1;
	*out_ns = bench_lap(&at);
	return raw->ops->unmap(raw, &raw_memory);
}

static int view_frame(struct viewer *viewer)
{
	ww_stream *stream = viewer->bench->stream;
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (bench_expect(ww_channel_receive(viewer->channel, stream, BENCH_ANSWER_NS, NULL, &frame),
		    "cannot receive a frame") ||
		copy_ours(viewer, ww_memory_pointer(viewer->local), frame.pointer))
		return -1;
	return bench_expect(ww_channel_release(viewer->channel, &frame, stream),
		"cannot release a frame");
}

static int view_frames(struct viewer *viewer)
{
	struct link_message message;

	if (bench_child_ready() || parent_receive(LINK_GO, &message, NULL))
		return -1;
	for (int i = 0; i < FRAMES; i++) {
		if (viewer->bench->way == BENCH_RAW ? copy_once(viewer, false) : view_frame(viewer))
			return -1;
	}
	return viewer_finish(viewer);
}

static int join(struct viewer *viewer)
{
	return bench_expect(ww_channel_get(viewer->bench->device, viewer->bench->broker,
				    CHANNEL_NAME, NULL, BENCH_ANSWER_NS, NULL, &viewer->channel),
		"cannot join the channel");
}

static int obey(struct viewer *viewer, enum command command, uint64_t *out_ns)
{
	switch (command) {
	case COMMAND_READ:
		return copy_often(viewer, false, out_ns);
	case COMMAND_WRITE:
		return copy_often(viewer, true, out_ns);
	case COMMAND_IMPORT:
		return import_once(viewer, out_ns);
	case COMMAND_JOIN:
		return join(viewer);
	case COMMAND_LEAVE:
		viewer->channel = ww_channel_unref(viewer->channel);
		return 0;
	case COMMAND_FRAMES:
		return view_frames(viewer);
	case COMMAND_COUNT:
		break;
	}
	return complain("there is no command %d", (int)command);
}

static int obey_next(struct viewer *viewer)
{
	struct link_message message;
	struct link_message done = {.kind = LINK_DONE};

	if (parent_receive(LINK_GO, &message, NULL))
		return -1;
	if (message.numbers[0] >= COMMAND_COUNT || message.numbers[1] > BENCH_RAW)
		return complain("there is no such command");
	viewer->bench->way = (unsigned int)message.numbers[1];
	if (obey(viewer, (enum command)message.numbers[0], &done.numbers[0]))
		return -1;
	return parent_send(&done, -1);
}

/* What it copies, mapped both ways; and what it is to import again and again. */
static int viewer_open(struct viewer *viewer)
{
	struct bench *bench = viewer->bench;
	struct raw *raw = bench->raw;
	struct link_message message;
	OWN(fd) int fd = -1;

	if (parent_receive(LINK_MEMORY, &message, &fd) ||
		bench_expect(ww_memory_import_fd(bench->device, fd, &message.description,
				     WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				     &viewer->remote),
			"cannot import memory") ||
		raw->ops->import_map(raw, fd, COPY_BYTES, &viewer->raw_remote) ||
		raw->ops->create(raw, COPY_BYTES, &viewer->raw_local) ||
		bench_memory_create(bench, COPY_BYTES, &viewer->local) ||
		parent_receive(LINK_MEMORY, &message, &viewer->imported_fd))
		return -1;
	viewer->imported = message.description;
	return bench_child_ready();
}

/* Ends by being killed. */
static int role_viewer(struct bench *bench, const char *word)
{
	static struct viewer viewer;

	(void)word;
	viewer.bench = bench;
	if (viewer_open(&viewer))
		return -1;
	while (obey_next(&viewer) == 0)
		;
	return -1;
}

/* --- the viewers of all other GPUs --- */

static int lend(struct child *viewer, ww_memory *memory)
{
	struct link_message message = {.kind = LINK_MEMORY};
	OWN(fd) int fd = -1;

	if (bench_expect(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &message.description),
		    "cannot export memory"))
		return -1;
	return child_send(viewer, &message, fd);
}

static int start_viewer(struct bench *bench, const struct ww_device_info *info)
{
	struct child *viewer = &owner.viewers[owner.count];
	struct link_message message;

	owner.infos[owner.count++] = *info;
	if (bench_spawn(bench, "viewer", info->selector, "", viewer) ||
		lend(viewer, owner.copied) || lend(viewer, owner.imported))
		return -1;
	return child_receive(viewer, LINK_READY, &message, NULL);
}

static int start_viewers(struct bench *bench)
{
	uint32_t count = 0;

	if (bench_expect(ww_device_count(WW_BACKEND_CUDA, &count), "cannot count the GPUs"))
		return -1;
	for (uint32_t i = 0; i < count && owner.count < VIEWERS_MAX; i++) {
		struct ww_device_info info = WW_INIT(struct ww_device_info);
		OWN(device) ww_device *device = NULL;
		char name[32];

		snprintf(name, sizeof(name), "cuda:%u", i);
		if (i == bench->info.index || ww_device_open(name, &device) != WW_OK ||
			ww_device_info_get(device, &info) != WW_OK || device_unfit(&info))
			continue;
		if (start_viewer(bench, &info))
			return -1;
	}
	return 0;
}

static int open_owner(struct bench *bench)
{
	for (unsigned int i = 0; i < VIEWERS_MAX; i++)
		owner.viewers[i] = (struct child)CHILD_NONE;
	owner.count = 0;
	if (bench_memory_create(bench, COPY_BYTES, &owner.copied) ||
		bench_memory_create(bench, COPY_BYTES, &owner.imported))
		return -1;
	return start_viewers(bench);
}

static void close_owner(struct bench *bench)
{
	(void)bench;
	for (unsigned int i = 0; i < owner.count; i++)
		child_fini(&owner.viewers[i]);
	owner.copied = ww_memory_unref(owner.copied);
	owner.imported = ww_memory_unref(owner.imported);
	owner.channel = ww_channel_unref(owner.channel);
}

#define FLOOR .floor = BENCH_SERIES(BENCH_RAW, 0)

/* For each other GPU. */
static const struct bench_case pair_cases[] = {
	{.rows = {{"read", "us", BENCH_GOAL_COPY, FLOOR}}, .turns = {read_turn, read_turn}},
	{.rows = {{"write", "us", BENCH_GOAL_COPY, FLOOR}}, .turns = {write_turn, write_turn}},
	{.rows = {{"signal", "us", BENCH_GOAL_ROUND_TRIP, FLOOR}},
		.turns = {sync_stream_rounds, sync_stream_rounds},
		.open = sync_open_second,
		.close = sync_close_second},
};

/* For several of them at once. */
static const struct bench_case group_cases[] = {
	{.rows = {{"import", "us", BENCH_GOAL_FOREIGN, FLOOR}},
		.turns = {import_turn, import_turn}},
	{.rows = {{"frames", "us", BENCH_GOAL_FRAMES, FLOOR},
		 {"publish", "ns", .series = BENCH_SERIES(BENCH_OURS, 1)}},
		.turns = {frames_turn, frames_turn},
		.parts = 2,
		.open = frames_open,
		.close = frames_close},
};

static int run_cases(struct bench *bench, const struct bench_case cases[], size_t count,
	const char *variant)
{
	int result = 0;

	bench->variant = variant;
	for (size_t i = 0; i < count && !result; i++)
		result = bench_case_run(bench, &cases[i]);
	bench->variant = NULL;
	return result;
}

static int run_pair(struct bench *bench, unsigned int which)
{
	char variant[32];

	owner.first = which;
	owner.active = 1;
	bench->second = owner.infos[which];
	snprintf(variant, sizeof(variant), "%u-%u", bench->info.index, bench->second.index);
	return run_cases(bench, pair_cases, sizeof(pair_cases) / sizeof(pair_cases[0]), variant);
}

/* With one viewer, and so on up to all. */
static int run_group(struct bench *bench, unsigned int count)
{
	char variant[32];

	owner.first = 0;
	owner.active = count;
	snprintf(variant, sizeof(variant), "x%u", count);
	return run_cases(bench, group_cases, sizeof(group_cases) / sizeof(group_cases[0]), variant);
}

static int run_pairs(struct bench *bench)
{
	if (owner.count == 0) {
		say("pairs.* is skipped: there is no other GPU");
		bench->suites_skipped++;
		return 0;
	}
	for (unsigned int i = 0; i < owner.count; i++) {
		if (run_pair(bench, i))
			return -1;
	}
	for (unsigned int count = 1; count <= owner.count; count++) {
		if (run_group(bench, count))
			return -1;
	}
	return 0;
}

static const struct bench_role roles[] = {
	{"viewer",
		BENCH_NEED_DEVICE | BENCH_NEED_RAW | BENCH_NEED_CUDA | BENCH_NEED_BROKER |
			BENCH_NEED_STREAM,
		role_viewer},
	{"partner", BENCH_NEED_DEVICE | BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
		sync_role_partner},
};

const struct bench_suite bench_pairs = {
	.name = "pairs",
	.summary = "a GPU and each other one: copies, signals, imports, frames",
	.needs = BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
	.is_for_gpus = true,
	.capabilities = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY | WW_CAP_EXPORT,
	.lack = "it has no other GPU, or its streams cannot wait for values in memory",
	BENCH_LIST(roles, roles, role_count),
	.open = open_owner,
	.close = close_owner,
	.run = run_pairs,
};
