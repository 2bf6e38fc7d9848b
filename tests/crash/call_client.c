/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_client.c - a process that calls, and looks at what it gets
 */
#include <stdlib.h>
#include <string.h>

#include "crash/call.h"
#include "support/leak_count.h"

#define IN_FLIGHT   32
#define LANES       4
#define LEAVE_TURN  4000 /* of so many calls one is the last before the client leaves */
#define CANCEL_TURN 32   /* of so many calls one is cancelled, as are the next ones */
#define LATE_TURN   32
#define DEPEND_TURN 16
#define LEFT_TURN   32

struct pending {
	ww_ticket *ticket;
	uint64_t at;
};

static struct {
	struct call_board *board;
	ww_broker *broker;
	ww_client *client;
	uint64_t random;
	uint32_t index;
	uint32_t functions[2];
	uint64_t last_call; /* number of the last one; 0: none */
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

/* --- the end of a call --- */

static void note_end(uint64_t at, enum call_end end)
{
	atomic_store(&own.board->ends[at], (uint8_t)end);
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
static bool means_not_run(ww_status status)
{
	return status == WW_CANCELLED || status == WW_TIMED_OUT ||
		status == WW_ERR_DEPENDENCY_FAILED;
}

/* Return: whether the server is there. */
static bool finish(struct pending *pending)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ww_status status = ww_ticket_wait(pending->ticket, limit_ns(), NULL);

	if (status == WW_NOT_READY)
		FAIL("the call at %llu hangs", (unsigned long long)pending->at);
	MUST_OK(ww_ticket_info_get(pending->ticket, &info));
	MUST_EQUAL(status, info.status);
	if (status == WW_OK)
		MUST_EQUAL(call_answer(pending->at), result_scalar(pending->ticket, 0));
	else if (!means_not_run(status))
		MUST_STATUS(WW_ERR_PEER_LOST, status);
	if (means_not_run(status))
		MUST(!info.has_started);
	if (status == WW_OK)
		note_end(pending->at, CALL_RUN);
	else
		note_end(pending->at, info.has_started ? CALL_MADE : CALL_NOT_RUN);
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

static ww_status submit(uint64_t at, ww_ticket **out_ticket)
{
	const struct ww_value values[] = {value_token(&own.board->array), value_u64(at)};
	const struct ww_submit_params params = {
		.struct_size = sizeof(params),
		.lane = (uint32_t)draw_from(&own.random, LANES),
		.deadline_ns = comes_up(LATE_TURN) ? 1 + draw_from(&own.random, 200000) : 0,
		.depends_on = comes_up(DEPEND_TURN) ? own.last_call : 0,
	};

	return ww_client_submit(own.client, own.functions[draw_from(&own.random, 2)], values, 2,
		&params, limit_ns(), NULL, out_ticket);
}

/* Return: as finish(). */
static bool call(void)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	struct pending *pending = &own.pending[own.pending_count];
	ww_status status;

	pending->at = atomic_fetch_add(&own.board->next, 1);
	MUST(pending->at < CALL_MOST);
	atomic_store(&own.board->ends[pending->at], CALL_MADE);
	status = submit(pending->at, &pending->ticket);
	if (status == WW_ERR_PEER_LOST) {
		note_end(pending->at, CALL_NOT_RUN);
		return false;
	}
	MUST_OK(status);
	MUST_OK(ww_ticket_info_get(pending->ticket, &info));
	own.last_call = info.number;
	if (comes_up(CANCEL_TURN))
		ww_ticket_cancel(pending->ticket);
	if (comes_up(LEFT_TURN)) {
		pending->ticket = ww_ticket_unref(pending->ticket);
		atomic_fetch_add(&own.board->left, 1);
		return true;
	}
	own.pending_count++;
	return own.pending_count < IN_FLIGHT / 2 || finish_one();
}

/* --- joining and leaving --- */

/* What a service that is being replaced, or has not started yet, may say. */
static bool may_come_later(ww_status status)
{
	return status == WW_TIMED_OUT || status == WW_ERR_NOT_FOUND || status == WW_ERR_PEER_LOST ||
		status == WW_ERR_UNAVAILABLE;
}

static bool find(const char *name, uint32_t *out_function)
{
	ww_status status = ww_client_find(own.client, name, NULL, CALL_TURN_NS, NULL, out_function);

	if (status != WW_OK && !may_come_later(status))
		MUST_OK(status);
	return status == WW_OK;
}

static void leave(void)
{
	for (uint32_t i = 0; i < own.pending_count; i++)
		ww_ticket_unref(own.pending[i].ticket);
	own.pending_count = 0;
	own.client = ww_client_unref(own.client);
}

static bool join(void)
{
	ww_status status = ww_client_open(own.broker, "calls", NULL, CALL_TURN_NS, NULL,
		&own.client);

	if (may_come_later(status))
		return false;
	MUST_OK(status);
	own.last_call = 0;
	if (find("mark", &own.functions[0]) && find("mark_later", &own.functions[1])) {
		atomic_fetch_add(&own.board->joins, 1);
		return true;
	}
	leave();
	return false;
}

static void play(void)
{
	bool is_there = true;

	while (is_there && !is_over() && !comes_up(LEAVE_TURN))
		is_there = call();
	if (!is_there || is_over() || comes_up(2))
		(void)finish_all();
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
	MUST_OK(broker_open_patient(NULL, &own.broker));
	census_take(&before);
	while (!is_over()) {
		if (join())
			play();
	}
	if (subject_is_countable())
		census_must_match(&before);
	ww_broker_unref(own.broker);
	call_board_unmap(own.board);
}
