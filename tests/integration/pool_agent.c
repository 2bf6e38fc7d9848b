/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_agent.c - what agents do with slices, and how cases speak to them, see pool.h
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "integration/pool.h"
#include "memory/memory.h"

static struct {
	ww_pool *pool;
	ww_pool *known; /* another process's */
	ww_memory *slices[16];
	ww_stream *stream;
	struct gate gate;
	void *noted; /* an address */
} own;

static ww_memory **slot(size_t word)
{
	size_t number = (size_t)atoi(agent_word(word));

	MUST(number < CHECK_COUNT(own.slices));
	return &own.slices[number];
}

COMMAND_DO(pool, pool,
	own.pool = pool_make(agent_device(), agent_number(1) * KIB, agent_option("slices")))

COMMAND_CALL(pool, alloc,
	ww_pool_alloc(own.pool, agent_number(2) * KIB, 0, agent_has_option("wait") ? WW_FOREVER : 0,
		NULL, slot(1)))

COMMAND_DO(pool, unref, *slot(1) = ww_memory_unref(*slot(1)))

COMMAND(pool, release)
{
	ww_status status = ww_pool_release(*slot(1), agent_stream());

	if (status == WW_OK)
		*slot(1) = NULL;
	return status;
}

COMMAND_BROKER(pool, export)
{
	const struct ww_export_params *params = WW_PARAMS(struct ww_export_params,
		.access = agent_access(), .uses = agent_option("uses"),
		.escrow_ns = agent_time_option("escrow_ms"),
		.flags = agent_has_option("delivery") ? WW_EXPORT_DELIVERY : 0);
	struct ww_token token;
	ww_status status = ww_memory_export(*slot(1), broker, params, NULL, &token);

	if (!status)
		agent_say(&token);
	return status;
}

COMMAND_CALL(pool, revoke, ww_memory_revoke(*slot(1), NULL, NULL))

COMMAND_BROKER(pool, drain)
{
	struct ww_token token = agent_heard();
	ww_status status = WW_OK;

	while (!status) {
		status = ww_memory_import(agent_device(), broker, &token,
			WW_PARAMS(struct ww_import_params, .access = agent_access()), NULL, slot(1),
			NULL);
		*slot(1) = ww_memory_unref(*slot(1));
	}
	return status;
}

/* A memory that comes from a pool is exactly what the token says. */
COMMAND(pool, import)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token = agent_heard();
	ww_broker *broker = NULL;
	ww_status status = WW_OK;

	MUST(!*slot(1));
	if (!agent_has_option("anywhere"))
		status = agent_broker(&broker);
	if (status)
		return status;
	status = ww_memory_import(agent_device(), broker, &token,
		WW_PARAMS(struct ww_import_params, .access = agent_access(),
			.flags = agent_has_option("strict") ? WW_IMPORT_NO_SLOW_ROUTE : 0),
		NULL, slot(1), &info);
	if (status)
		return status;
	MUST_EQUAL(info.span_bytes, memory_info(*slot(1)).bytes);
	MUST_EQUAL(0, info.offset);
	MUST(memory_info(*slot(1)).flags & WW_MEMORY_IS_SLICE);
	return WW_OK;
}

COMMAND_BROKER(pool, name)
{
	return ww_memory_put(*slot(1), broker, agent_word(2),
		WW_PARAMS(struct ww_put_params,
			.flags = agent_has_option("replace") ? WW_PUT_REPLACE : 0),
		0, NULL);
}

static ww_status fetch(const char *name, ww_memory **out_slice)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	if (!status)
		status = ww_memory_get(agent_device(), broker, name,
			WW_PARAMS(struct ww_get_params, .access = agent_access()),
			agent_time_option("wait_ms"), NULL, out_slice, &info);
	if (status)
		return status;
	MUST_EQUAL(WW_OBJECT_MEMORY, info.kind);
	MUST_EQUAL(info.span_bytes, memory_info(*out_slice).bytes);
	MUST_EQUAL(info.bytes, info.span_bytes);
	MUST_EQUAL(0, info.offset);
	MUST(memory_info(*out_slice).flags & WW_MEMORY_IS_SLICE);
	return WW_OK;
}

COMMAND(pool, fetch)
{
	MUST(!*slot(1));
	return fetch(agent_word(2), slot(1));
}

static void must_be_uniform(ww_memory *slice)
{
	uint64_t bytes = memory_info(slice).bytes;
	uint8_t *copy = malloc(bytes);

	MUST(copy);
	MUST_OK(ww_memory_read(slice, 0, copy, bytes, WW_FOREVER, NULL));
	for (uint64_t i = 1; i < bytes; i++)
		MUST_EQUAL(copy[0], copy[i]);
	free(copy);
}

COMMAND(pool, chase)
{
	struct ww_object_info end = WW_INIT(struct ww_object_info);
	ww_status status = WW_OK;
	ww_memory *slice;

	while (!status && ww_broker_stat(NULL, agent_word(2), &end) == WW_ERR_NOT_FOUND) {
		status = fetch(agent_word(1), &slice);
		if (status)
			break;
		must_be_uniform(slice);
		ww_memory_unref(slice);
	}
	return status;
}

COMMAND_BROKER(pool, know)
{
	struct ww_token token = agent_heard();

	MUST(!own.known);
	return ww_pool_import(agent_has_option("map") ? agent_device() : NULL, broker, &token, NULL,
		&own.known);
}

COMMAND_BROKER(pool, tell)
{
	ww_pool *pool = own.known ? own.known : own.pool;
	struct ww_token token;
	ww_status status = ww_pool_export(pool, broker,
		WW_PARAMS(struct ww_export_params, .access = agent_access(),
			.uses = agent_option("uses")),
		NULL, &token);

	if (!status)
		agent_say(&token);
	return status;
}

COMMAND_DO(pool, forget, own.known = ww_pool_unref(own.known))

COMMAND_DO(pool, paint, pattern_write(*slot(1), (uint32_t)agent_number(2)))

COMMAND_DO(pool, look, pattern_verify(*slot(1), (uint32_t)agent_number(2)))

COMMAND(pool, fill)
{
	ww_status status = ww_stream_fill(agent_stream(), ww_memory_pointer(*slot(1)),
		(uint32_t)agent_number(2), 1, memory_info(*slot(1)).bytes);

	return status ? status : ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL);
}

COMMAND(pool, hold)
{
	gate_close(&own.gate, agent_stream());
	gate_reached(&own.gate);
	return WW_OK;
}

COMMAND(pool, go)
{
	gate_open(&own.gate);
	return ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL);
}

COMMAND_CALL(pool, same,
	ww_memory_pointer(*slot(1)) == ww_memory_pointer(*slot(2)) ? WW_OK : WW_NOT_READY)

COMMAND_CALL(pool, one, *slot(1) == *slot(2) ? WW_OK : WW_NOT_READY)

/* The address of the first leads to the second. */
COMMAND(pool, find)
{
	ww_memory *found = NULL;
	uint64_t offset;
	ww_status status = ww_memory_find(ww_memory_pointer(*slot(1)), &found, &offset);

	if (status)
		return status;
	status = found == *slot(2) ? WW_OK : WW_NOT_READY;
	MUST((char *)ww_memory_pointer(found) + offset == ww_memory_pointer(*slot(1)));
	ww_memory_unref(found);
	return status;
}

COMMAND_DO(pool, note, own.noted = ww_memory_pointer(*slot(1)))

COMMAND(pool, mapped)
{
	struct ww_mapping *mapping = NULL;
	bool is_mapped;

	MUST_OK(ww_mapping_find(own.noted, 1, WW_ACCESS_READ, &mapping));
	/* Another memory may be there by now. */
	is_mapped = mapping && ((struct ww_memory *)mapping->owner)->is_chunk;
	ww_mapping_unref(mapping);
	return is_mapped ? WW_OK : WW_NOT_READY;
}

/* No slice. */
COMMAND_DO(pool, make, *slot(1) = memory_make(agent_device(), WW_MEMORY_VMM, 1))

/* Slices of it that are in use keep it. */
COMMAND_DO(pool, close, own.pool = ww_pool_unref(own.pool))

COMMAND(pool, quit)
{
	_exit(EXIT_SUCCESS);
}

COMMAND(pool, exit)
{
	exit(EXIT_SUCCESS);
}

static void let_go(void)
{
	for (size_t i = 0; i < CHECK_COUNT(own.slices); i++)
		own.slices[i] = ww_memory_unref(own.slices[i]);
	own.known = ww_pool_unref(own.known);
	own.pool = ww_pool_unref(own.pool);
}

AGENTS(pool, let_go)

/* --- a pool of this process --- */

ww_pool *pool_make(ww_device *device, uint64_t bytes_max, uint32_t slices)
{
	ww_pool *pool;

	MUST_OK(ww_pool_create(device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = bytes_max, .chunk_bytes = CHUNK,
			.slices_max = slices),
		&pool));
	return pool;
}

struct ww_pool_info pool_info(ww_pool *pool)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	MUST_OK(ww_pool_info_get(pool, &info));
	MUST_EQUAL(info.bytes_reserved, info.bytes_used + info.bytes_waiting + info.bytes_free);
	return info;
}

void pool_must_be(ww_pool *pool, uint64_t used, uint64_t waiting)
{
	struct ww_pool_info info = pool_info(pool);

	MUST_EQUAL(used, info.bytes_used);
	MUST_EQUAL(waiting, info.bytes_waiting);
}

/* Each question to the broker gives others time. */
void pool_comes_to(ww_pool *pool, uint64_t used, uint64_t waiting)
{
	struct ww_pool_info info;

	(void)COMES_TRUE((scene_info(), info = pool_info(pool),
		info.bytes_used == used && info.bytes_waiting == waiting));
	pool_must_be(pool, used, waiting);
}

ww_memory *slice_make(ww_pool *pool, uint64_t bytes, uint32_t seed)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, bytes, 0, 0, NULL, &slice));
	MUST_EQUAL(bytes, memory_info(slice).bytes);
	pattern_write(slice, seed);
	return slice;
}

static struct ww_token token_with(ww_memory *slice, const struct ww_export_params *params)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(slice, scene.broker, params, NULL, &token));
	return token;
}

struct ww_token slice_token(ww_memory *slice, uint32_t access)
{
	return token_with(slice, WW_PARAMS(struct ww_export_params, .access = access));
}

struct ww_token slice_token_for(ww_memory *slice, uint32_t uses, uint64_t escrow_ns)
{
	return token_with(slice,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .uses = uses,
			.escrow_ns = escrow_ns));
}

void pool_has_no_room(ww_pool *pool, uint64_t bytes, const char *word)
{
	ww_memory *slice;

	MUST_REFUSE(WW_ERR_LIMIT, word, ww_pool_alloc(pool, bytes, 0, 0, NULL, &slice));
	MUST(!slice);
}

void pool_end(ww_pool *pool)
{
	child_end_all();
	pool_comes_to(pool, 0, 0);
	MUST(!ww_pool_unref(pool));
}

/* --- agents --- */

void pool_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "pool", options);
}

void pool_give(struct child *agent, const struct ww_token *token, int slice, ww_status expected)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	bool writes = ww_token_info_get(token, &info) == WW_OK && info.access == WW_ACCESS_WRITE;

	agent_send_token(agent, token);
	agent_must(agent, expected, "import %d%s", slice, writes ? " write" : "");
}

void pool_lend(struct child *agent, ww_memory *slice, uint32_t access, int number)
{
	const struct ww_token token = slice_token(slice, access);

	pool_give(agent, &token, number, WW_OK);
}

void pool_show(struct child *agent, const struct ww_token *token, int slice, uint32_t seed)
{
	pool_give(agent, token, slice, WW_OK);
	agent_must(agent, WW_OK, "look %d %u", slice, seed);
	agent_must(agent, WW_OK, "unref %d", slice);
}

void pool_be_patient(void)
{
	ww_broker_unref(scene.broker);
	MUST_OK(ww_broker_open(WW_PARAMS(struct ww_broker_params,
				       .timeout_ns = UINT64_C(3600000) * MS),
		&scene.broker));
}
