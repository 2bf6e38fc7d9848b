/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_cycle.c - a thousand times the same, and nothing is left behind
 *
 * What is counted is this process's own: descriptors, mappings, and what the fake driver knows that
 * it holds. A real GPU tells only how much of its memory is free, which other processes change. It
 * is asked where a leak would use up the GPU's memory, which one of imports does not: a leak then
 * shows in every run, and what others take does not in one of several.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/memory.h"
#include "support/driver.h"

#define CYCLES  1000
#define WARM_UP 10
#define TRIES   10

struct state {
	struct census census;
	struct fakecuda_live live;
	uint64_t bytes_free;
};

static void take_state(ww_device *device, struct state *out)
{
	const struct fake *fake = fake_get();

	memset(out, 0, sizeof(*out));
	out->bytes_free = device_free_bytes(device); /* first: this may make a context */
	census_take(&out->census);
	if (fake)
		fake->live(&out->live);
}

/*
 * All that is this process's own must be as before. Return: whether less than half of what would
 * have leaked is missing on a GPU.
 */
static bool is_as_before(ww_device *device, const struct state *before, uint64_t leak_bytes)
{
	struct state after;

	take_state(device, &after);
	census_must_match(&before->census);
	MUST_MATCH(&before->live, &after.live, sizeof(after.live));
	if (!subject_is_cuda() || !leak_bytes ||
		after.bytes_free + CYCLES * leak_bytes / 2 > before->bytes_free)
		return true;
	check_note("%llu bytes were free, now %llu", (unsigned long long)before->bytes_free,
		(unsigned long long)after.bytes_free);
	return false;
}

static bool cycle_once(ww_device *device, void (*once)(void *), void *context, uint64_t leak_bytes)
{
	struct state before;

	take_state(device, &before);
	for (int i = 0; i < CYCLES; i++)
		once(context);
	return is_as_before(device, &before, leak_bytes);
}

/*
 * Runs `once` CYCLES times, after a few that set up what stays.
 * @leak_bytes:  of a GPU, that each would take if it left behind what it makes; 0: none
 */
static void cycle(ww_device *device, void (*once)(void *), void *context, uint64_t leak_bytes)
{
	int tries = 1;

	for (int i = 0; i < WARM_UP; i++)
		once(context);
	while (!cycle_once(device, once, context, leak_bytes))
		MUST(++tries <= TRIES);
}

struct import {
	ww_device *device;
	int fd;
	struct ww_memory_description description;
	uint32_t access;
};

static void import_once(void *context)
{
	struct import *import = context;
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_memory_import_fd(import->device, import->fd, &import->description,
		WW_PARAMS(struct ww_import_params, .access = import->access), &memory));
}

/* Memory of another process, mapped and unmapped again and again; at the end it is still whole. */
static void cycle_imports(uint32_t kind, uint32_t access, ww_device *device)
{
	struct import import = {.device = device, .access = access};
	struct child child;
	ww_memory *memory;

	start_maker(&child, SOCK_SEQPACKET, kind, 2 * MIB, 1);
	packet_receive(child.socket, &import.description, sizeof(import.description), &import.fd);
	child_hear(&child, "sent");
	cycle(device, import_once, &import, 0);
	MUST_OK(ww_memory_import_fd(device, import.fd, &import.description,
		WW_PARAMS(struct ww_import_params, .access = access), &memory));
	pattern_verify(memory, 1);
	ww_memory_unref(memory);
	close(import.fd);
	child_tell(&child, "end");
	child_finish(&child);
	ww_device_unref(device);
}

CASE(cycle_import, NEEDS_EXPORT)
{
	cycle_imports(WW_MEMORY_VMM, WW_ACCESS_WRITE, subject_open());
}

CASE(cycle_import_read_only, NEEDS_EXPORT)
{
	cycle_imports(WW_MEMORY_VMM, WW_ACCESS_READ, subject_open());
}

CASE(cycle_import_host_kind, NEEDS_HOST_MEMORY)
{
	cycle_imports(WW_MEMORY_HOST, WW_ACCESS_WRITE, subject_open());
}

CASE(cycle_import_other_gpu, NEEDS_EXPORT | NEEDS_PEER)
{
	cycle_imports(WW_MEMORY_VMM, WW_ACCESS_WRITE, subject_open_other());
}

struct creation {
	ww_device *device;
	uint32_t kind;
};

static void create_once(void *context)
{
	struct creation *creation = context;
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory = memory_make(creation->device, creation->kind, 4096);
	OWN(fd) int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
}

CASE(cycle_create, NEEDS_EXPORT)
{
	struct creation creation = {.device = subject_open(), .kind = WW_MEMORY_VMM};

	cycle(creation.device, create_once, &creation, device_info(creation.device).granularity);
	ww_device_unref(creation.device);
}

CASE(cycle_create_host_kind, NEEDS_HOST_MEMORY)
{
	struct creation creation = {.device = subject_open(), .kind = WW_MEMORY_HOST};

	cycle(creation.device, create_once, &creation, 0);
	ww_device_unref(creation.device);
}

struct exchange {
	ww_device *device;
	ww_memory *memory;
	int sockets[2];
};

static void exchange_once(void *context)
{
	struct exchange *exchange = context;
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_memory_send(exchange->memory, WW_ACCESS_READ, exchange->sockets[0], WW_FOREVER,
		NULL));
	MUST_OK(ww_memory_receive(exchange->device, exchange->sockets[1], NULL, WW_FOREVER, NULL,
		&memory));
}

CASE(cycle_send_receive, NEEDS_EXPORT)
{
	struct exchange exchange = {.device = subject_open()};

	exchange.memory = memory_make(exchange.device, WW_MEMORY_VMM, 2 * MIB);
	packet_pair(SOCK_STREAM, exchange.sockets);
	cycle(exchange.device, exchange_once, &exchange, 0);
	close(exchange.sockets[0]);
	close(exchange.sockets[1]);
	ww_memory_unref(exchange.memory);
	ww_device_unref(exchange.device);
}

static void run(void *context)
{
	*(int *)context += 1;
}

static void stream_once(void *context)
{
	OWN(stream) ww_stream *stream = stream_make(context);
	static int count;
	int before = count;

	MUST_OK(ww_stream_call(stream, run, &count));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	MUST_EQUAL(before + 1, count);
}

CASE(cycle_streams, 0)
{
	OWN(device) ww_device *device = subject_open();

	cycle(device, stream_once, device, 0);
}

static void device_once(void *context)
{
	OWN(device) ww_device *device = subject_open();

	MUST(device == context);
}

CASE(cycle_devices, 0)
{
	OWN(device) ww_device *device = subject_open();

	cycle(device, device_once, device, 0);
}
