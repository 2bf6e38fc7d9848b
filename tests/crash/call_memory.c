/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_memory.c - memories that the server makes for a client: what is in them, and their end
 *
 * All calls for them are in one lane, so what each read must find is known when it is submitted. No
 * such call is cancelled or late, but some allocs: each succeeds, or its server has ended, and the
 * memories with it. The director looks whether all memories have left the broker.
 */
#include <stdio.h>
#include <string.h>

#include "crash/call.h"

#define MEMORIES  3
#define BYTES     512
#define IN_FLIGHT 4
#define LEFT_TURN 4

enum {
	COPY,
	FILL,
	READ,
	WRITE,
	ALLOC,
	FREE,
	FUNCTIONS
};

struct memory {
	bool is_there;
	struct ww_token token;
	uint8_t bytes[BYTES]; /* as they are when all calls that were made have been run */
};

struct pending {
	ww_ticket *ticket;
	uint64_t count; /* bytes that were read; 0: it was no read */
	uint8_t expected[BYTES];
};

static struct {
	struct call_board *board;
	ww_client *client; /* borrowed */
	uint64_t *random;
	uint32_t functions[FUNCTIONS];
	struct memory memories[MEMORIES];
	struct pending pending[IN_FLIGHT];
	uint32_t pending_count;
} own;

static uint64_t draw(uint64_t below)
{
	return draw_from(own.random, below);
}

static uint64_t limit_ns(void)
{
	return (uint64_t)child_limit_ms() * 1000000;
}

static struct ww_value value_u32(uint32_t value)
{
	return (struct ww_value){
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_UINT, 32, 1},
		.scalar = value,
	};
}

/* --- calls --- */

/* Return: whether the server is there. */
static bool finish(struct pending *pending)
{
	ww_status status = ww_ticket_wait(pending->ticket, limit_ns(), NULL);
	struct ww_value result;

	if (status == WW_OK && pending->count > 0) {
		MUST_OK(ww_ticket_result(pending->ticket, 0, &result));
		MUST_EQUAL(pending->count, result.bytes);
		MUST(!memcmp(pending->expected, result.data, result.bytes));
	}
	if (status != WW_OK)
		MUST_STATUS(WW_ERR_PEER_LOST, status);
	pending->ticket = ww_ticket_unref(pending->ticket);
	return status == WW_OK;
}

/* In any order. Return: as finish(). */
static bool finish_one(void)
{
	struct pending *pending = &own.pending[draw(own.pending_count)];
	bool is_there = finish(pending);

	*pending = own.pending[--own.pending_count];
	return is_there;
}

static ww_status submit(uint32_t function, const struct ww_value *values, uint32_t count,
	ww_ticket **out_ticket)
{
	ww_status status = ww_client_submit(own.client, own.functions[function], values, count,
		WW_PARAMS(struct ww_submit_params, .lane = CALL_MEMORY_LANE), limit_ns(), NULL,
		out_ticket);

	if (status != WW_OK)
		MUST_STATUS(WW_ERR_PEER_LOST, status);
	atomic_fetch_add(&own.board->memory_calls, 1);
	return status;
}

/* @expected: bytes that it reads, or NULL. Return: as finish(). */
static bool call(uint32_t function, const struct ww_value *values, uint32_t count,
	const uint8_t *expected, uint64_t bytes)
{
	struct pending *pending;

	if (!expected && draw(LEFT_TURN) == 0)
		return submit(function, values, count, NULL) == WW_OK;
	if (own.pending_count == IN_FLIGHT && !finish_one())
		return false;
	pending = &own.pending[own.pending_count];
	pending->count = expected ? bytes : 0;
	if (expected)
		memcpy(pending->expected, expected, bytes);
	if (submit(function, values, count, &pending->ticket) != WW_OK)
		return false;
	own.pending_count++;
	return true;
}

/* --- alloc and free --- */

static void take_memory(struct memory *memory, ww_ticket *ticket)
{
	struct ww_value result;

	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST_EQUAL(BYTES, result.array->shape[0]);
	memory->token = *result.token;
	memset(memory->bytes, 0, BYTES);
	memory->is_there = true;
}

/* Half of them have names; some are not waited for, some cancelled. Return: as finish(). */
static bool alloc(struct memory *memory)
{
	char name[32];
	uint64_t number = atomic_fetch_add(&own.board->memories, 1);
	int length = snprintf(name, sizeof(name), "calls/%llu", (unsigned long long)number);
	const struct ww_value values[] = {value_u64(BYTES), value_bytes(name, (uint64_t)length)};
	bool is_cancelled = draw(8) == 0;
	ww_ticket *ticket = NULL;
	ww_status status = submit(ALLOC, values, 1 + (uint32_t)draw(2),
		draw(8) == 0 ? NULL : &ticket);

	if (status != WW_OK || !ticket)
		return status == WW_OK;
	if (is_cancelled)
		ww_ticket_cancel(ticket);
	status = ww_ticket_wait(ticket, limit_ns(), NULL);
	if (status == WW_OK)
		take_memory(memory, ticket);
	else if (!(is_cancelled && status == WW_CANCELLED))
		MUST_STATUS(WW_ERR_PEER_LOST, status);
	ww_ticket_unref(ticket);
	return status != WW_ERR_PEER_LOST;
}

static bool free_memory(struct memory *memory)
{
	const struct ww_value values[] = {value_token(&memory->token)};

	memory->is_there = false;
	return call(FREE, values, 1, NULL, 0);
}

/* --- bytes --- */

static bool write_bytes(struct memory *memory, uint64_t at, uint64_t count)
{
	const struct ww_value values[] = {value_token(&memory->token),
		value_bytes(&memory->bytes[at], count), value_u64(at)};

	for (uint64_t i = 0; i < count; i++)
		memory->bytes[at + i] = (uint8_t)draw(256);
	return call(WRITE, values, 3, NULL, 0);
}

static bool fill_bytes(struct memory *memory, uint64_t at, uint64_t count)
{
	uint8_t value = (uint8_t)draw(256);
	const struct ww_value values[] = {value_token(&memory->token), value_u32(value),
		value_u64(count), value_u32(1), value_u64(at)};

	memset(&memory->bytes[at], value, count);
	return call(FILL, values, 5, NULL, 0);
}

static bool read_bytes(struct memory *memory, uint64_t at, uint64_t count)
{
	const struct ww_value values[] = {value_token(&memory->token), value_u64(count),
		value_u64(at)};

	return call(READ, values, 3, &memory->bytes[at], count);
}

/* From another one that is there. */
static bool copy_bytes(struct memory *memory, uint64_t at, uint64_t count)
{
	struct memory *source = &own.memories[draw(MEMORIES)];
	uint64_t source_at = draw(BYTES - count + 1);
	const struct ww_value values[] = {value_token(&source->token), value_token(&memory->token),
		value_u64(count), value_u64(source_at), value_u64(at)};

	if (source == memory || !source->is_there)
		return read_bytes(memory, at, count);
	memcpy(&memory->bytes[at], &source->bytes[source_at], count);
	return call(COPY, values, 5, NULL, 0);
}

/* --- turns --- */

bool call_memories_begin(struct call_board *board, ww_client *client, uint64_t *random)
{
	static const char *const names[FUNCTIONS] = {"warpway.copy", "warpway.fill", "warpway.read",
		"warpway.write", "warpway.alloc", "warpway.free"};

	memset(&own, 0, sizeof(own));
	own.board = board;
	own.client = client;
	own.random = random;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		if (!call_find(client, names[i], &own.functions[i]))
			return false;
	}
	return true;
}

bool call_memories_turn(void)
{
	struct memory *memory = &own.memories[draw(MEMORIES)];
	uint64_t at = draw(BYTES);
	uint64_t count = 1 + draw(BYTES - at);

	if (!memory->is_there)
		return alloc(memory);
	switch (draw(16)) {
	case 0:
		return free_memory(memory);
	case 1 ... 3:
		return write_bytes(memory, at, count);
	case 4 ... 6:
		return fill_bytes(memory, at, count);
	case 7 ... 10:
		return copy_bytes(memory, at, count);
	default:
		return read_bytes(memory, at, count);
	}
}

bool call_memories_end(void)
{
	bool is_there = true;

	while (own.pending_count > 0)
		is_there = finish(&own.pending[--own.pending_count]) && is_there;
	return is_there;
}

void call_memories_drop(void)
{
	while (own.pending_count > 0)
		ww_ticket_unref(own.pending[--own.pending_count].ticket);
}
