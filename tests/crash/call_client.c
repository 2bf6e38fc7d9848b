/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_client.c - a process that calls, and looks at what it gets
 */
#include <stdlib.h>
#include <string.h>

#include "crash/call.h"
#include "support/leak_count.h"

#define IN_FLIGHT   32
#define LANES       CALL_MEMORY_LANE
#define LEAVE_TURN  4000 /* of so many calls one is the last before the client leaves */
#define CANCEL_TURN 32   /* of so many calls one is cancelled, as are the next ones */
#define LATE_TURN   32
#define DEPEND_TURN 16
#define LEFT_TURN   32
#define AFTER_TURN  8
#define ENDED_TURN  128 /* of so many calls one starts after a timeline that ends */
#define AGAIN_TURN  64
#define MEMORY_TURN 8
#define FUNCTIONS   4

struct pending {
	ww_ticket *ticket;
	uint64_t at;
	bool is_after_ended; /* the timeline that it starts after has ended */
};

/* A call that starts after a value which was not signalled. */
struct gated {
	uint64_t at;
	uint64_t value;
};

static struct {
	struct call_board *board;
	ww_broker *broker;
	ww_client *client;
	uint64_t random;
	uint32_t index;
	uint32_t functions[FUNCTIONS]; /* the last one is idempotent */
	uint32_t read;
	uint32_t write;
	uint64_t last_call; /* number of the last one; 0: none */
	uint64_t run_at;    /* place of one that was run once; UINT64_MAX: none */
	ww_timeline *timeline;
	struct ww_token timeline_token;
	uint64_t signalled;
	uint64_t awaited; /* highest value that a call starts after */
	struct gated gated[IN_FLIGHT];
	uint32_t gated_count;
	struct pending pending[IN_FLIGHT];
	uint32_t pending_count;
} own;

static bool is_over(void)
{
	return atomic_load(&own.board->stops) != CALL_GOES_ON;
}

static bool comes_up(uint64_t turn)
{
	return draw_from(&own.random, turn) == 0;
}

static uint64_t limit_ns(void)
{
	return (uint64_t)child_limit_ms() * 1000000;
}

/* --- timelines that calls start after --- */

static void export(ww_timeline *timeline, struct ww_token *out_token)
{
	MUST_OK(ww_timeline_export(timeline, own.broker,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, out_token));
}

/* Opens the gates first. */
static void signal_to(uint64_t value)
{
	uint32_t left = 0;

	if (value <= own.signalled)
		return;
	for (uint32_t i = 0; i < own.gated_count; i++) {
		if (own.gated[i].value <= value)
			atomic_store(&own.board->places[own.gated[i].at].gate, CALL_OPEN);
		else
			own.gated[left++] = own.gated[i];
	}
	own.gated_count = left;
	own.signalled = value;
	MUST_OK(ww_timeline_signal(own.timeline, value));
}

/* A value that was signalled, or that will be. */
static void start_after_value(uint64_t at, struct ww_submit_params *params)
{
	bool is_new = own.signalled == own.awaited || comes_up(2);

	if (own.signalled > 0 && comes_up(4)) {
		params->after_value = own.signalled;
	} else {
		if (own.gated_count == IN_FLIGHT)
			signal_to(own.awaited);
		params->after_value = is_new ? ++own.awaited : own.awaited;
		if (params->after_value > own.signalled) {
			own.gated[own.gated_count++] = (struct gated){at, params->after_value};
			atomic_store(&own.board->places[at].gate, CALL_SHUT);
		}
	}
	if (comes_up(2))
		params->after = own.timeline;
	else
		params->after_token = &own.timeline_token;
	atomic_fetch_add(&own.board->gated, 1);
}

/* A timeline that has a token, and ends when it is released. */
static ww_timeline *start_after_ended(uint64_t at, struct ww_token *token,
	struct ww_submit_params *params)
{
	ww_timeline *timeline;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	export(timeline, token);
	params->after_token = token;
	params->after_value = 1;
	atomic_store(&own.board->places[at].gate, CALL_SHUT);
	return timeline;
}

/* --- the end of a call --- */

static void note_end(uint64_t at, enum call_end end)
{
	atomic_store(&own.board->places[at].end, (uint8_t)end);
	atomic_fetch_add(&own.board->ended, 1);
	atomic_fetch_add(&own.board->steps[own.index], 1);
	if (end == CALL_RUN)
		atomic_fetch_add(&own.board->run, 1);
	else if (end == CALL_NOT_RUN)
		atomic_fetch_add(&own.board->not_run, 1);
	else
		atomic_fetch_add(&own.board->lost, 1);
}

/* Statuses of calls that were not started. */
static bool means_not_run(const struct pending *pending, ww_status status)
{
	return status == WW_CANCELLED || status == WW_TIMED_OUT ||
		status == WW_ERR_DEPENDENCY_FAILED ||
		(status == WW_ERR_NOT_FOUND && pending->is_after_ended);
}

/* Return: whether the server is there. */
static bool finish(struct pending *pending)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ww_status status;

	signal_to(own.awaited);
	status = ww_ticket_wait(pending->ticket, limit_ns(), NULL);
	if (status == WW_NOT_READY)
		FAIL("the call at %llu hangs", (unsigned long long)pending->at);
	MUST_OK(ww_ticket_info_get(pending->ticket, &info));
	MUST_EQUAL(status, info.status);
	if (status == WW_OK)
		MUST_EQUAL(call_answer(pending->at), result_scalar(pending->ticket, 0));
	else if (!means_not_run(pending, status))
		MUST_STATUS(WW_ERR_PEER_LOST, status);
	if (means_not_run(pending, status))
		MUST(!info.has_started);
	if (status == WW_OK) {
		own.run_at = pending->at;
		note_end(pending->at, CALL_RUN);
	} else {
		note_end(pending->at, info.has_started ? CALL_MADE : CALL_NOT_RUN);
	}
	pending->ticket = ww_ticket_unref(pending->ticket);
	return status != WW_ERR_PEER_LOST;
}

/* All that are in flight. Return: as finish(). */
static bool finish_all(void)
{
	bool is_there = true;

	for (uint32_t i = 0; i < own.pending_count; i++)
		is_there = finish(&own.pending[i]) && is_there;
	own.pending_count = 0;
	return is_there;
}

/* In any order: the replies wait. Return: as finish(). */
static bool finish_one(void)
{
	uint32_t chosen = (uint32_t)draw_from(&own.random, own.pending_count);
	struct pending pending = own.pending[chosen];

	own.pending[chosen] = own.pending[--own.pending_count];
	return finish(&pending);
}

/* --- calls --- */

static uint64_t take_place(enum call_kind kind)
{
	uint64_t at = atomic_fetch_add(&own.board->next, 1);

	MUST(at < CALL_MOST);
	atomic_store(&own.board->places[at].kind, (uint8_t)kind);
	atomic_store(&own.board->places[at].end, CALL_MADE);
	return at;
}

static ww_status submit(struct pending *pending)
{
	const struct ww_value values[] = {value_token(&own.board->array), value_u64(pending->at)};
	uint32_t function = own.functions[draw_from(&own.random, FUNCTIONS)];
	struct ww_submit_params *params = WW_PARAMS(struct ww_submit_params,
		.lane = (uint32_t)draw_from(&own.random, LANES),
		.deadline_ns = comes_up(LATE_TURN) ? 1 + draw_from(&own.random, 200000) : 0,
		.depends_on = comes_up(DEPEND_TURN) ? own.last_call : 0);
	ww_timeline *ending = NULL;
	struct ww_token token;
	ww_status status;

	if (comes_up(AFTER_TURN))
		start_after_value(pending->at, params);
	else if (comes_up(ENDED_TURN))
		ending = start_after_ended(pending->at, &token, params);
	pending->is_after_ended = ending;
	status = ww_client_submit(own.client, function, values, 2, params, limit_ns(), NULL,
		&pending->ticket);
	ww_timeline_unref(ending);
	return status;
}

/* Return: as finish(). */
static bool call(void)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	struct pending *pending = &own.pending[own.pending_count];
	ww_status status;

	pending->at = take_place(CALL_ADDS);
	status = submit(pending);
	if (status == WW_ERR_PEER_LOST) {
		note_end(pending->at, CALL_NOT_RUN);
		return false;
	}
	MUST_OK(status);
	MUST_OK(ww_ticket_info_get(pending->ticket, &info));
	own.last_call = info.number;
	if (comes_up(CANCEL_TURN))
		ww_ticket_cancel(pending->ticket);
	if (comes_up(2) && own.signalled < own.awaited)
		signal_to(own.signalled + 1);
	if (comes_up(LEFT_TURN)) {
		pending->ticket = ww_ticket_unref(pending->ticket);
		atomic_fetch_add(&own.board->left, 1);
		return true;
	}
	own.pending_count++;
	return own.pending_count < IN_FLIGHT / 2 || finish_one();
}

/* --- calls that are repeated --- */

/*
 * Of any server: it may be the next one, or the one after that. Those that the director has
 * started meanwhile have run it once each, at most.
 */
static ww_status repeat(uint32_t function, const struct ww_value *values, uint32_t count,
	uint64_t at, ww_ticket **out_ticket)
{
	uint64_t servers = atomic_load(&own.board->servers);
	bool is_late = at != UINT64_MAX && comes_up(LATE_TURN);
	const struct ww_submit_params *params = WW_PARAMS(struct ww_submit_params,
		.flags = WW_SUBMIT_REPEAT, .lane = (uint32_t)draw_from(&own.random, LANES),
		.deadline_ns = is_late ? 1 + draw_from(&own.random, 200000) : 0,
		.after = own.timeline, .after_value = comes_up(AFTER_TURN) ? own.signalled : 0);
	ww_status status;

	signal_to(own.awaited); /* for those before it in the lane */
	status = ww_client_call(own.client, function, values, count, params, limit_ns(), NULL,
		out_ticket);
	if (status != WW_OK && !(is_late && status == WW_TIMED_OUT))
		MUST_OK(status);
	atomic_fetch_add(&own.board->asked_to_repeat, 1);
	if (at == UINT64_MAX)
		return status;
	servers = 1 + atomic_load(&own.board->servers) - servers;
	atomic_store(&own.board->places[at].most, servers < UINT8_MAX ? servers : 0);
	note_end(at, status == WW_OK ? CALL_RUN : CALL_MADE);
	return status;
}

static void mark_again(void)
{
	uint64_t at = take_place(CALL_MAY_REPEAT);
	const struct ww_value values[] = {value_token(&own.board->array), value_u64(at)};
	OWN(ticket) ww_ticket *ticket;

	if (repeat(own.functions[FUNCTIONS - 1], values, 2, at, &ticket) == WW_OK)
		MUST_EQUAL(call_answer(at), result_scalar(ticket, 0));
}

static void write_again(void)
{
	const uint8_t written = CALL_WRITTEN;
	uint64_t at = take_place(CALL_WRITES);
	const struct ww_value values[] = {value_token(&own.board->array), value_bytes(&written, 1),
		value_u64(at)};

	(void)repeat(own.write, values, 3, at, NULL);
}

/* What was run once, whatever became of its server. */
static void read_again(void)
{
	const struct ww_value values[] = {value_token(&own.board->array), value_u64(1),
		value_u64(own.run_at)};
	struct ww_value result;
	OWN(ticket) ww_ticket *ticket;

	MUST_OK(repeat(own.read, values, 3, UINT64_MAX, &ticket));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST_EQUAL(1, result.bytes);
	MUST_EQUAL(1, *(const uint8_t *)result.data);
}

static void call_again(void)
{
	mark_again();
	write_again();
	if (own.run_at != UINT64_MAX)
		read_again();
}

/* --- joining and leaving --- */

/* What a service that is being replaced, or has not started yet, may say. */
static bool may_come_later(ww_status status)
{
	return status == WW_TIMED_OUT || status == WW_ERR_NOT_FOUND || status == WW_ERR_PEER_LOST ||
		status == WW_ERR_UNAVAILABLE;
}

bool call_find(ww_client *client, const char *name, uint32_t *out_function)
{
	ww_status status = ww_client_find(client, name, NULL, CALL_TURN_NS, NULL, out_function);

	if (status != WW_OK && !may_come_later(status))
		MUST_OK(status);
	return status == WW_OK;
}

static void leave(void)
{
	for (uint32_t i = 0; i < own.pending_count; i++)
		ww_ticket_unref(own.pending[i].ticket);
	own.pending_count = 0;
	call_memories_drop();
	own.client = ww_client_unref(own.client);
}

static bool find_all(void)
{
	return call_find(own.client, "mark", &own.functions[0]) &&
		call_find(own.client, "mark_later", &own.functions[1]) &&
		call_find(own.client, "mark_together", &own.functions[2]) &&
		call_find(own.client, "mark_again", &own.functions[3]) &&
		call_find(own.client, "warpway.read", &own.read) &&
		call_find(own.client, "warpway.write", &own.write) &&
		call_memories_begin(own.board, own.client, &own.random);
}

static bool join(void)
{
	ww_status status = ww_client_open(own.broker, "calls", NULL, CALL_TURN_NS, NULL,
		&own.client);

	if (may_come_later(status))
		return false;
	MUST_OK(status);
	own.last_call = 0;
	if (find_all()) {
		atomic_fetch_add(&own.board->joins, 1);
		return true;
	}
	leave();
	return false;
}

/* Return: as finish(). */
static bool turn(void)
{
	if (comes_up(AGAIN_TURN))
		call_again();
	if (comes_up(MEMORY_TURN) && !call_memories_turn())
		return false;
	return call();
}

static void play(void)
{
	bool is_there = true;

	while (is_there && !is_over() && !comes_up(LEAVE_TURN))
		is_there = turn();
	if (!is_there || is_over() || comes_up(2)) {
		(void)finish_all();
		(void)call_memories_end();
	}
	leave();
}

/* role_call_client SEED INDEX: runs until the board says that it is over */
ROLE(role_call_client)
{
	struct census before;

	MUST_EQUAL(2, count);
	own.random = strtoull(arguments[0], NULL, 10);
	own.index = (uint32_t)strtoul(arguments[1], NULL, 10);
	own.board = call_board_map(false);
	own.run_at = UINT64_MAX;
	MUST_OK(broker_open_patient(NULL, &own.broker));
	MUST_OK(ww_timeline_create(NULL, &own.timeline));
	export(own.timeline, &own.timeline_token);
	census_take(&before);
	while (!is_over()) {
		if (join())
			play();
	}
	if (subject_is_countable())
		census_must_match(&before);
	ww_timeline_unref(own.timeline);
	ww_broker_unref(own.broker);
	call_board_unmap(own.board);
}
