/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_broker_library.c - the same through the library: what a program sees
 *
 * A put is of memory that was made before. A get maps the memory, unless this process has it mapped already: then it
 * is the round trip and a look into the cache. The memory to get is another process's.
 */
#include <errno.h>
#include <string.h>

#include "bench_broker.h"
#include "bench_packet.h"

#define MEMORY_BYTES (UINT64_C(2) << 20)
#define NAME         "bench/library"

/* Each turn is some round trips and perhaps a mapping. */
#define TURNS_FACTOR 2

static int create(ww_device *device, ww_memory **out_memory)
{
	const struct ww_memory_params params = {.size = sizeof(params), .bytes = MEMORY_BYTES};

	if (ww_memory_create(device, &params, out_memory) != WW_OK)
		return complain_record("cannot make memory");
	return 0;
}

static int put(struct arena *arena, uint64_t *out_ns)
{
	OWN(memory) ww_memory *memory = NULL;
	uint64_t start;

	if (create(arena->bench->device, &memory))
		return -1;
	start = link_now_ns();
	if (ww_memory_put(memory, arena->broker, NAME "/put", NULL) != WW_OK)
		return complain_record("put");
	*out_ns = link_now_ns() - start;
	return 0;
}

static int get(struct arena *arena, uint64_t *out_ns)
{
	OWN(memory) ww_memory *memory = NULL;
	uint64_t start = link_now_ns();

	if (ww_memory_get(arena->bench->device, arena->broker, NAME, NULL, &memory, NULL) != WW_OK)
		return complain_record("get");
	*out_ns = link_now_ns() - start;
	return 0;
}

static int measure(struct arena *arena, const char *name,
	int (*turn)(struct arena *arena, uint64_t *out_ns))
{
	OWN(samples) struct samples samples = {0};
	struct pace pace;
	uint64_t ns = 0;

	if (turn(arena, &ns))
		return -1;
	pace_start(&pace, TURNS_FACTOR * arena->bench->iterations, arena->bench->budget_ns);
	for (uint64_t done = 0; pace_goes_on(&pace, done); done++) {
		if (turn(arena, &ns) || samples_add(&samples, ns))
			return -1;
	}
	return broker_add(arena, name, "us", &samples, BENCH_NONE, BENCH_NONE);
}

int broker_library(struct arena *arena)
{
	OWN(child) struct child maker = CHILD_NONE;
	OWN(memory) ww_memory *mapped = NULL;
	struct link_message message;

	if (broker_spawn(arena, "maker", arena->bench->info.selector, &maker) ||
		child_receive(&maker, LINK_READY, &message, NULL))
		return -1;
	if (measure(arena, "library.put", put) || measure(arena, "library.get", get))
		return -1;
	if (ww_memory_get(arena->bench->device, arena->broker, NAME, NULL, &mapped, NULL) != WW_OK)
		return complain_record("get");
	return measure(arena, "library.get_mapped", get);
}

/* The other process: it puts memory and waits for its end. */
int broker_role_maker(const char *address, const char *word)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};
	struct link_message message = {.kind = LINK_READY};
	OWN(device) ww_device *device = NULL;
	OWN(memory) ww_memory *memory = NULL;
	OWN(broker) ww_broker *broker = NULL;

	if (ww_device_open(word, &device) != WW_OK)
		return complain_record("cannot open device %s", word);
	if (ww_broker_open(&params, &broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	if (create(device, &memory))
		return -1;
	if (ww_memory_put(memory, broker, NAME, NULL) != WW_OK)
		return complain_record("put");
	link_send(LINK_FD, &message, -1, WW_FOREVER);
	link_receive(LINK_FD, LINK_GO, &message, NULL, WW_FOREVER); /* never comes */
	return 0;
}
