/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heatd.c - the heat daemon in C, which computes on the CPU
 *
 *   one thread:   step ──> step ──> ... ──> publish a frame ──> serve calls ──> step ...
 *
 * The field is in a kept memory of the broker, which has two copies of it: a step reads one and
 * writes the other, whose header then says that it is complete. So a daemon that is killed loses at
 * most the step that it computed, and the next one goes on from there. Calls run between steps, in
 * the same thread: there is no lock.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <warpway/warpway.h>

#include "field.h"
#include "heat.h"

#define NS_PER_SECOND  UINT64_C(1000000000)
#define SERVE_EVERY_NS 1000000  /* while it computes as fast as it can */
#define WAIT_MOST_NS   20000000 /* until it looks at signals */
#define PATIENCE_NS    UINT64_C(10000000000)
#define STABLE         0.9 /* of the longest time step that is stable */

_Static_assert(sizeof(struct heat_metadata) == HEAT_METADATA_BYTES, "as the interface says");
_Static_assert(sizeof(struct heat_state) <= HEAT_STATE_BYTES, "the field is behind it");

struct daemon {
	struct heat_config config;
	ww_broker *broker;
	ww_device *device;
	ww_memory *lock; /* its name says that a daemon runs */
	ww_memory *state_memory;
	ww_channel *channel;
	ww_service *service;
	uint8_t *copies[2];      /* in the kept memory */
	uint32_t current;        /* the newer complete one */
	struct heat_state state; /* as the current one, with what calls have changed since */
	uint64_t frames;
	uint64_t started_ns;
	uint64_t next_step_ns;
	uint64_t next_frame_ns;
	uint64_t next_serve_ns;
	uint64_t second_ns; /* when steps_per_second was measured, and the step then */
	uint64_t second_step;
	double steps_per_second;
	bool is_stopping;
	bool is_told; /* the log says already why it fails */
};

#define TRY(call)                         \
	do {                              \
		ww_status status_ = call; \
		if (status_ != WW_OK)     \
			return status_;   \
	} while (0)

/* --- the kept state --- */

static float *field_of(uint8_t *copy)
{
	return (float *)(void *)(copy + HEAT_STATE_BYTES);
}

static struct heat_state *header_of(uint8_t *copy)
{
	return (struct heat_state *)(void *)copy;
}

static const float *current_field(const struct daemon *daemon)
{
	return field_of(daemon->copies[daemon->current]);
}

static uint32_t state_checksum(const struct heat_state *state)
{
	struct heat_state copy = *state;

	copy.magic = 0;
	copy.checksum = 0;
	return heat_checksum(&copy, sizeof(copy));
}

static bool is_complete(const struct heat_state *state, uint64_t copy_bytes)
{
	return state->magic == HEAT_STATE_MAGIC && state->checksum == state_checksum(state) &&
		state->rows >= HEAT_CELLS_LEAST && state->columns >= HEAT_CELLS_LEAST &&
		state->rows <= HEAT_CELLS_MOST && state->columns <= HEAT_CELLS_MOST &&
		HEAT_STATE_BYTES + sizeof(float) * state->rows * state->columns <= copy_bytes;
}

/* The other copy, to be written: until it is committed it does not count. */
static float *begin_copy(struct daemon *daemon)
{
	uint8_t *copy = daemon->copies[1 - daemon->current];

	heat_store_magic(&header_of(copy)->magic, 0);
	return field_of(copy);
}

static void commit_copy(struct daemon *daemon)
{
	uint8_t *copy = daemon->copies[1 - daemon->current];
	struct heat_state next;

	daemon->state.sequence++;
	next = daemon->state;
	next.magic = 0;
	next.checksum = state_checksum(&next);
	*header_of(copy) = next;
	heat_store_magic(&header_of(copy)->magic, HEAT_STATE_MAGIC);
	daemon->current = 1 - daemon->current;
}

static size_t field_bytes(const struct daemon *daemon)
{
	return sizeof(float) * daemon->state.rows * daemon->state.columns;
}

/* Keeps what a call has changed, but for the field. */
static void commit_same_field(struct daemon *daemon)
{
	memcpy(begin_copy(daemon), current_field(daemon), field_bytes(daemon));
	commit_copy(daemon);
}

/* --- the computation --- */

static void step(struct daemon *daemon)
{
	struct heat_state *state = &daemon->state;
	double per_dx2 = (double)(state->columns - 1) * (state->columns - 1);
	double per_dy2 = (double)(state->rows - 1) * (state->rows - 1);
	double time_step = STABLE / (2 * state->diffusivity * (per_dx2 + per_dy2));
	float *next = begin_copy(daemon);

	field_diffuse(current_field(daemon), next, state->rows, state->columns,
		(float)(state->diffusivity * time_step * per_dx2),
		(float)(state->diffusivity * time_step * per_dy2));
	field_hold_sources(&daemon->state, next);
	state->step++;
	state->time += time_step;
	commit_copy(daemon);
}

static void change_resolution(struct daemon *daemon, uint32_t rows, uint32_t columns)
{
	float *next = begin_copy(daemon);

	field_resample(current_field(daemon), daemon->state.rows, daemon->state.columns, next, rows,
		columns);
	daemon->state.rows = rows;
	daemon->state.columns = columns;
	field_hold_sources(&daemon->state, next);
	commit_copy(daemon);
}

/* --- frames --- */

static uint32_t flags_of(const struct daemon *daemon)
{
	return (daemon->state.is_paused ? HEAT_IS_PAUSED : 0) |
		(daemon->is_stopping ? HEAT_IS_LAST : 0);
}

static void describe_frame(const struct daemon *daemon, const float *field,
	struct heat_metadata *out)
{
	const struct heat_state *state = &daemon->state;

	*out = (struct heat_metadata){
		.run = state->run,
		.step = state->step,
		.time = state->time,
		.diffusivity = state->diffusivity,
		.steps_per_second = state->is_paused ? 0 : daemon->steps_per_second,
		.checksum = heat_checksum(field, field_bytes(daemon)),
		.rows = state->rows,
		.columns = state->columns,
		.flags = flags_of(daemon),
		.restarts = state->restarts,
		.pid = (uint32_t)getpid(),
		.steps_per_second_max = state->steps_per_second_max,
	};
	field_measure(field, out);
	if (state->source_count) {
		const struct heat_source
			*last = &state->sources[(state->source_count - 1) % HEAT_SOURCES];

		out->source_x = last->x;
		out->source_y = last->y;
	}
}

static ww_status publish(struct daemon *daemon)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct heat_metadata metadata;

	TRY(ww_channel_acquire(daemon->channel, NULL, PATIENCE_NS, NULL, &frame));
	memcpy(frame.host_pointer, current_field(daemon), field_bytes(daemon));
	describe_frame(daemon, frame.host_pointer, &metadata);
	memcpy(frame.metadata, &metadata, sizeof(metadata));
	frame.bytes = field_bytes(daemon);
	frame.metadata_bytes = sizeof(metadata);
	frame.ndim = 2;
	frame.shape[0] = daemon->state.rows;
	frame.shape[1] = daemon->state.columns;
	TRY(ww_channel_publish(daemon->channel, &frame, NULL));
	daemon->frames++;
	return WW_OK;
}

/* --- functions of the service --- */

static ww_status refuse(struct daemon *daemon, ww_call *call)
{
	struct ww_call_info info = WW_INIT(struct ww_call_info);
	char text[HEAT_TEXT_BYTES];

	TRY(ww_call_info_get(call, &info));
	if (heat_may_steer(&daemon->config, info.uid, info.gid))
		return WW_OK;
	heat_refusal(&daemon->config, info.uid, text);
	return ww_call_fail(call, WW_ERR_ACCESS, text);
}

static ww_status get_number(ww_call *call, uint32_t index, double *out_number)
{
	struct ww_value value;

	TRY(ww_call_argument(call, index, &value));
	memcpy(out_number, &value.scalar, sizeof(*out_number));
	return WW_OK;
}

static ww_status give_number(ww_call *call, uint32_t index, double number)
{
	struct ww_value value = {.kind = WW_ARGUMENT_SCALAR, .dtype = {WW_DTYPE_FLOAT, 64, 1}};

	memcpy(&value.scalar, &number, sizeof(number));
	return ww_call_result(call, index, &value);
}

static ww_status give_count(ww_call *call, uint32_t index, uint8_t bits, uint64_t count)
{
	struct ww_value value = {
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_UINT, bits, 1},
		.scalar = count,
	};

	return ww_call_result(call, index, &value);
}

static ww_status run_status(void *context, ww_call *call)
{
	struct daemon *daemon = context;
	const struct heat_state *state = &daemon->state;
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	struct ww_value paused = {
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_BOOL, 8, 1},
		.scalar = state->is_paused,
	};
	struct ww_value backend = {.kind = WW_ARGUMENT_BYTES, .data = "c", .bytes = 1};

	TRY(ww_channel_info_get(daemon->channel, &info));
	TRY(give_count(call, HEAT_STATUS_RUN, 64, state->run));
	TRY(give_count(call, HEAT_STATUS_STEP, 64, state->step));
	TRY(give_number(call, HEAT_STATUS_TIME, state->time));
	TRY(give_count(call, HEAT_STATUS_ROWS, 32, state->rows));
	TRY(give_count(call, HEAT_STATUS_COLUMNS, 32, state->columns));
	TRY(give_number(call, HEAT_STATUS_DIFFUSIVITY, state->diffusivity));
	TRY(ww_call_result(call, HEAT_STATUS_PAUSED, &paused));
	TRY(give_number(call, HEAT_STATUS_STEPS_PER_SECOND,
		state->is_paused ? 0 : daemon->steps_per_second));
	TRY(give_count(call, HEAT_STATUS_RESTARTS, 32, state->restarts));
	TRY(give_count(call, HEAT_STATUS_FRAMES, 64, daemon->frames));
	TRY(give_count(call, HEAT_STATUS_WATCHERS, 32, info.consumers));
	TRY(give_count(call, HEAT_STATUS_WATCHERS_MAX, 32, info.consumers_max));
	TRY(give_count(call, HEAT_STATUS_PID, 32, (uint32_t)getpid()));
	TRY(give_count(call, HEAT_STATUS_STARTED_NS, 64, daemon->started_ns));
	return ww_call_result(call, HEAT_STATUS_BACKEND, &backend);
}

static ww_status run_pause(void *context, ww_call *call)
{
	struct daemon *daemon = context;
	struct ww_value paused;

	TRY(refuse(daemon, call));
	TRY(ww_call_argument(call, 0, &paused));
	daemon->state.is_paused = paused.scalar != 0;
	commit_same_field(daemon);
	daemon->next_step_ns = daemon->next_frame_ns = heat_now_ns();
	return WW_OK;
}

static ww_status run_source(void *context, ww_call *call)
{
	struct daemon *daemon = context;
	struct heat_source source;
	float *next;

	TRY(refuse(daemon, call));
	TRY(get_number(call, 0, &source.x));
	TRY(get_number(call, 1, &source.y));
	TRY(get_number(call, 2, &source.radius));
	TRY(get_number(call, 3, &source.temperature));
	if (!(source.x >= 0 && source.x <= 1 && source.y >= 0 && source.y <= 1))
		return ww_call_fail(call, WW_ERR_INVALID,
			"a source is on the plate: x and y are from 0 to 1");
	if (!(source.radius >= 0 && source.radius <= 1 && fabs(source.temperature) <= 1e6))
		return ww_call_fail(call, WW_ERR_INVALID,
			"the radius of a source is from 0 to 1, and its temperature from -1e6 to 1e6");
	daemon->state.sources[daemon->state.source_count++ % HEAT_SOURCES] = source;
	if (daemon->state.source_count == 2 * HEAT_SOURCES) /* the same places, for ever */
		daemon->state.source_count = HEAT_SOURCES;
	next = begin_copy(daemon);
	memcpy(next, current_field(daemon), field_bytes(daemon));
	field_hold_sources(&daemon->state, next);
	commit_copy(daemon);
	daemon->next_frame_ns = heat_now_ns();
	return WW_OK;
}

static ww_status run_clear_sources(void *context, ww_call *call)
{
	struct daemon *daemon = context;

	TRY(refuse(daemon, call));
	daemon->state.source_count = 0;
	memset(daemon->state.sources, 0, sizeof(daemon->state.sources));
	commit_same_field(daemon);
	return WW_OK;
}

static ww_status run_reset(void *context, ww_call *call)
{
	struct daemon *daemon = context;
	float *next;

	TRY(refuse(daemon, call));
	next = begin_copy(daemon);
	memset(next, 0, field_bytes(daemon));
	commit_copy(daemon);
	daemon->next_frame_ns = heat_now_ns();
	return WW_OK;
}

static ww_status run_parameters(void *context, ww_call *call)
{
	struct daemon *daemon = context;
	double diffusivity;
	double rate;

	TRY(refuse(daemon, call));
	TRY(get_number(call, 0, &diffusivity));
	TRY(get_number(call, 1, &rate));
	if (rate == HEAT_RATE_SAME)
		rate = daemon->state.steps_per_second_max;
	if (!(diffusivity >= 1e-9 && diffusivity <= 1e9 && rate >= 0 && rate <= 1e9))
		return ww_call_fail(call, WW_ERR_INVALID,
			"the diffusivity is from 1e-9 to 1e9, and steps_per_second_max from 0 (as fast "
			"as it can) to 1e9, or -1 (as it is)");
	daemon->state.diffusivity = diffusivity;
	daemon->state.steps_per_second_max = rate;
	commit_same_field(daemon);
	daemon->next_step_ns = heat_now_ns();
	return WW_OK;
}

static ww_status run_resolution(void *context, ww_call *call)
{
	struct daemon *daemon = context;
	const struct heat_config *config = &daemon->config;
	struct ww_value rows;
	struct ww_value columns;
	char text[HEAT_TEXT_BYTES];

	TRY(refuse(daemon, call));
	TRY(ww_call_argument(call, 0, &rows));
	TRY(ww_call_argument(call, 1, &columns));
	if (rows.scalar < HEAT_CELLS_LEAST || rows.scalar > config->rows_max ||
		columns.scalar < HEAT_CELLS_LEAST || columns.scalar > config->columns_max) {
		snprintf(text, sizeof(text),
			"rows are from %u to %u, and columns from %u to %u: the most is in the "
			"daemon's configuration",
			HEAT_CELLS_LEAST, config->rows_max, HEAT_CELLS_LEAST, config->columns_max);
		return ww_call_fail(call, WW_ERR_INVALID, text);
	}
	change_resolution(daemon, (uint32_t)rows.scalar, (uint32_t)columns.scalar);
	daemon->next_frame_ns = heat_now_ns();
	return WW_OK;
}

static ww_status run_stop(void *context, ww_call *call)
{
	struct daemon *daemon = context;

	TRY(refuse(daemon, call));
	daemon->is_stopping = true;
	return WW_OK;
}

/* --- starting --- */

static void name_of(const struct daemon *daemon, const char *what, char *out_name)
{
	snprintf(out_name, WW_NAME_BYTES, "%s/%s", daemon->config.name, what);
}

/* One daemon for one name: the name of a memory which ends with the process that put it. */
static ww_status take_lock(struct daemon *daemon)
{
	char name[WW_NAME_BYTES];
	ww_status status;

	name_of(daemon, "daemon", name);
	TRY(ww_memory_create(daemon->device,
		WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = 1),
		&daemon->lock));
	do {
		status = ww_memory_put(daemon->lock, daemon->broker, name,
			WW_PARAMS(struct ww_put_params, .life = WW_LIFE_OWNER), PATIENCE_NS, NULL);
	} while (status == WW_ERR_EXISTS &&
		heat_wait_for_name(daemon->broker, daemon->config.name) == 0);
	daemon->is_told = status == WW_ERR_EXISTS;
	return status;
}

/* Two copies, each in whole pages. */
static uint64_t bytes_for(uint32_t rows, uint32_t columns)
{
	uint64_t bytes = HEAT_STATE_BYTES + sizeof(float) * rows * columns;

	return 2 * ((bytes + HEAT_STATE_BYTES - 1) / HEAT_STATE_BYTES * HEAT_STATE_BYTES);
}

static void map_copies(struct daemon *daemon, uint64_t bytes)
{
	daemon->copies[0] = ww_memory_host_pointer(daemon->state_memory);
	daemon->copies[1] = daemon->copies[0] + bytes / 2;
}

static void init_state(struct daemon *daemon)
{
	const struct heat_config *config = &daemon->config;

	daemon->state = (struct heat_state){
		.run = heat_random(),
		.diffusivity = config->diffusivity,
		.steps_per_second_max = config->steps_per_second_max,
		.rows = config->rows,
		.columns = config->columns,
	};
}

/* A new kept memory with a field of zeros, or with that of a former one, which this replaces. */
static ww_status make_state(struct daemon *daemon, const char *name, const uint8_t *former)
{
	const struct heat_config *config = &daemon->config;
	uint64_t bytes = bytes_for(config->rows_max, config->columns_max);
	const struct heat_state *state = (const struct heat_state *)(const void *)former;
	float *field;

	TRY(ww_memory_create(daemon->device,
		WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_HOST, .bytes = bytes),
		&daemon->state_memory));
	map_copies(daemon, bytes);
	if (state) {
		field = begin_copy(daemon);
		daemon->state.rows = state->rows < config->rows_max ? state->rows
								    : config->rows_max;
		daemon->state.columns = state->columns < config->columns_max ? state->columns
									     : config->columns_max;
		field_resample((const float *)(const void *)(former + HEAT_STATE_BYTES),
			state->rows, state->columns, field, daemon->state.rows,
			daemon->state.columns);
	}
	commit_copy(daemon);
	return ww_memory_put(daemon->state_memory, daemon->broker, name,
		WW_PARAMS(struct ww_put_params, .life = WW_LIFE_KEPT, .state = WW_STATE_SHARED,
			.mode = 0600, .flags = WW_PUT_REPLACE),
		PATIENCE_NS, NULL);
}

/* The newer complete copy of a kept memory; -1: there is none. */
static int find_newer(uint8_t *const *copies, uint64_t copy_bytes)
{
	int newer = -1;

	for (int i = 0; i < 2; i++) {
		const struct heat_state *state = header_of(copies[i]);

		if (is_complete(state, copy_bytes) &&
			(newer < 0 || state->sequence > header_of(copies[newer])->sequence))
			newer = i;
	}
	return newer;
}

/* Goes on with the kept simulation, or begins one. */
static ww_status open_state(struct daemon *daemon)
{
	const struct heat_config *config = &daemon->config;
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct ww_get_params params = {
		.struct_size = sizeof(params),
		.access = WW_ACCESS_WRITE,
		.flags = WW_GET_FROM_OWNER,
		.owner = geteuid(),
	};
	ww_memory *former;
	char name[WW_NAME_BYTES];
	ww_status status;
	int newer = -1;

	name_of(daemon, "state", name);
	init_state(daemon);
	status = ww_memory_get(daemon->device, daemon->broker, name, &params, 0, NULL, &former,
		NULL);
	if (status == WW_ERR_NOT_FOUND)
		return make_state(daemon, name, NULL);
	TRY(status);
	daemon->state_memory = former;
	TRY(ww_memory_info_get(former, &info));
	map_copies(daemon, info.bytes);
	if (!config->starts_anew)
		newer = find_newer(daemon->copies, info.bytes / 2);
	if (newer >= 0) {
		daemon->current = (uint32_t)newer;
		daemon->state = *header_of(daemon->copies[newer]);
		daemon->state.restarts++;
	}
	if (newer >= 0 && info.bytes == bytes_for(config->rows_max, config->columns_max) &&
		daemon->state.rows <= config->rows_max &&
		daemon->state.columns <= config->columns_max) {
		commit_same_field(daemon);
		return WW_OK;
	}
	status = make_state(daemon, name, newer < 0 ? NULL : daemon->copies[newer]);
	ww_memory_unref(former);
	return status;
}

static ww_status open_channel(struct daemon *daemon)
{
	const struct heat_config *config = &daemon->config;
	const int64_t shape[] = {config->rows_max, config->columns_max};
	struct ww_array array;
	struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = WW_CHANNEL_LATEST,
		.slot_bytes = sizeof(float) * config->rows_max * config->columns_max,
		.consumers_max = WW_CHANNEL_CONSUMERS_MAX,
		.held_max = 1,
		.metadata_bytes = HEAT_METADATA_BYTES,
		.kind = WW_MEMORY_HOST,
		.mode = config->gid ? 0640 : 0600,
		.gid = config->gid,
		.flags = WW_PUT_REPLACE,
		.metadata_type = HEAT_METADATA_TYPE,
		.array = &array,
		.consumers_per_uid_max = config->consumers_per_uid_max,
	};
	char name[WW_NAME_BYTES];

	name_of(daemon, "field", name);
	TRY(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0));
	return ww_channel_create(daemon->device, daemon->broker, name, &params, NULL,
		&daemon->channel);
}

static const struct function {
	const char *name;
	const char *signature;
	ww_service_fn run;
} functions[] = {
	{"status", HEAT_STATUS_SIGNATURE, run_status},
	{"pause", "bool paused", run_pause},
	{"source", "f64 x, f64 y, f64 radius, f64 temperature", run_source},
	{"clear_sources", "", run_clear_sources},
	{"reset", "", run_reset},
	{"parameters", "f64 diffusivity, f64 steps_per_second_max = -1", run_parameters},
	{"resolution", "u32 rows, u32 columns", run_resolution},
	{"stop", "", run_stop},
};

static ww_status open_service(struct daemon *daemon)
{
	struct ww_service_params params = {
		.struct_size = sizeof(params),
		.mode = daemon->config.gid ? 0660 : 0600,
		.gid = daemon->config.gid,
		.flags = WW_PUT_REPLACE,
		.version = HEAT_SERVICE_VERSION,
	};
	char name[WW_NAME_BYTES];

	name_of(daemon, "steer", name);
	TRY(ww_service_create(daemon->device, daemon->broker, name, &params, NULL,
		&daemon->service));
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		TRY(ww_service_offer(daemon->service, functions[i].name, functions[i].signature,
			functions[i].run, daemon, NULL));
	return ww_service_start(daemon->service);
}

static ww_status open_all(struct daemon *daemon)
{
	struct ww_broker_params params = {
		.struct_size = sizeof(params),
		.address = daemon->config.broker[0] ? daemon->config.broker : NULL,
	};

	TRY(ww_device_open("host", &daemon->device));
	TRY(ww_broker_open(&params, &daemon->broker));
	heat_broker_is_lost(daemon->broker, 0, 0); /* which broker it is */
	TRY(take_lock(daemon));
	TRY(open_state(daemon));
	TRY(open_channel(daemon));
	return open_service(daemon);
}

/* Consumers receive the last frame, and then the end; calls that have come are run. */
static void close_all(struct daemon *daemon)
{
	ww_channel_unref(daemon->channel);
	ww_service_unref(daemon->service);
	ww_memory_unref(daemon->state_memory);
	ww_memory_unref(daemon->lock);
	ww_broker_unref(daemon->broker);
	ww_device_unref(daemon->device);
}

/* --- running --- */

static void reload(struct daemon *daemon)
{
	const struct heat_config former = daemon->config;
	struct heat_config *config = &daemon->config;

	heat_notify_reloading();
	if (heat_config_reload(config) == 0) {
		if (config->diffusivity != former.diffusivity)
			daemon->state.diffusivity = config->diffusivity;
		if (config->steps_per_second_max != former.steps_per_second_max)
			daemon->state.steps_per_second_max = config->steps_per_second_max;
		commit_same_field(daemon);
		daemon->next_step_ns = daemon->next_frame_ns = heat_now_ns();
		heat_say(HEAT_LOG_NOTICE, "the configuration was read again");
	}
	heat_notify("READY=1");
}

/* When the next of something is due that should come @rate times a second. */
static uint64_t next_after(uint64_t due_ns, uint64_t now_ns, double rate)
{
	uint64_t period_ns = (uint64_t)((double)NS_PER_SECOND / rate);

	return due_ns + period_ns < now_ns ? now_ns : due_ns + period_ns;
}

static void step_if_due(struct daemon *daemon, uint64_t now_ns)
{
	double rate = daemon->state.steps_per_second_max;

	if (daemon->state.is_paused || now_ns < daemon->next_step_ns)
		return;
	step(daemon);
	if (rate > 0)
		daemon->next_step_ns = next_after(daemon->next_step_ns, now_ns, rate);
	if (daemon->config.frames_per_second <= 0)
		daemon->next_frame_ns = 0;
}

static ww_status publish_if_due(struct daemon *daemon, uint64_t now_ns)
{
	double rate = daemon->state.is_paused ? 1 : daemon->config.frames_per_second;

	if (now_ns < daemon->next_frame_ns)
		return WW_OK;
	daemon->next_frame_ns = rate > 0 ? next_after(daemon->next_frame_ns, now_ns, rate)
					 : UINT64_MAX;
	return publish(daemon);
}

static void measure(struct daemon *daemon, uint64_t now_ns)
{
	if (now_ns - daemon->second_ns < NS_PER_SECOND)
		return;
	daemon->steps_per_second = (double)(daemon->state.step - daemon->second_step) *
		(double)NS_PER_SECOND / (double)(now_ns - daemon->second_ns);
	daemon->second_ns = now_ns;
	daemon->second_step = daemon->state.step;
}

/* Runs calls: those that are there, or, if there is nothing to compute, until there is. */
static ww_status serve(struct daemon *daemon, uint64_t now_ns)
{
	uint64_t due_ns = daemon->next_frame_ns;
	uint64_t wait_ns = 0;
	ww_status status;

	if (!daemon->state.is_paused && daemon->next_step_ns < due_ns)
		due_ns = daemon->next_step_ns;
	if (due_ns > now_ns)
		wait_ns = due_ns - now_ns < WAIT_MOST_NS ? due_ns - now_ns : WAIT_MOST_NS;
	else if (now_ns < daemon->next_serve_ns)
		return WW_OK;
	daemon->next_serve_ns = now_ns + SERVE_EVERY_NS;
	status = ww_service_serve(daemon->service, wait_ns, NULL);
	return status == WW_TIMED_OUT ? WW_OK : status;
}

static ww_status run(struct daemon *daemon)
{
	uint64_t now_ns = heat_now_ns();
	ww_status status = WW_OK;
	int signals;

	daemon->next_step_ns = daemon->next_frame_ns = daemon->second_ns = now_ns;
	daemon->second_step = daemon->state.step;
	while (status == WW_OK && !daemon->is_stopping) {
		signals = heat_signals();
		daemon->is_told = heat_broker_is_lost(daemon->broker, daemon->state.step,
			NS_PER_SECOND);
		if (daemon->is_told || (signals & HEAT_SIGNAL_STOP))
			break;
		if (signals & HEAT_SIGNAL_RELOAD)
			reload(daemon);
		heat_notify_alive();
		now_ns = heat_now_ns();
		measure(daemon, now_ns);
		step_if_due(daemon, now_ns);
		status = publish_if_due(daemon, now_ns);
		if (status == WW_OK)
			status = serve(daemon, heat_now_ns());
	}
	return status;
}

/* A last frame for all, then the end. */
static ww_status drain(struct daemon *daemon)
{
	ww_status status;

	heat_notify("STOPPING=1");
	if (!daemon->is_told)
		daemon->is_told = heat_broker_is_lost(daemon->broker, daemon->state.step, 0);
	if (!daemon->is_told)
		heat_log_end(daemon->broker, &daemon->config, &daemon->state);
	daemon->is_stopping = true;
	TRY(publish(daemon));
	TRY(ww_service_drain(daemon->service));
	status = ww_service_serve(daemon->service, NS_PER_SECOND, NULL);
	return status == WW_END || status == WW_TIMED_OUT ? WW_OK : status;
}

static ww_status work(struct daemon *daemon)
{
	TRY(open_all(daemon));
	daemon->started_ns = heat_real_ns();
	heat_log_begin(&daemon->config, &daemon->state);
	heat_notify("READY=1");
	TRY(run(daemon));
	return drain(daemon);
}

int main(int argc, char **argv)
{
	static struct daemon daemon;
	int code = heat_command(argc, (const char *const *)argv, &daemon.config);
	ww_status status;

	if (code >= 0)
		return code;
	if (!strcmp(daemon.config.backend, "gpu"))
		heat_say(HEAT_LOG_WARNING,
			"the daemon in C computes on the CPU only: backend = gpu "
			"needs the one in Fortran");
	heat_signals_start();
	status = work(&daemon);
	if (status != WW_OK && !daemon.is_told)
		heat_say(HEAT_LOG_ERROR,
			status < 0 ? ww_error_last()->message : ww_status_text(status));
	close_all(&daemon);
	return status == WW_OK && !daemon.is_told ? 0 : 1;
}
