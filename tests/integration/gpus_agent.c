/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_agent.c - what agents do on their GPU, see gpus.h
 */
#include <stdlib.h>
#include <string.h>

#include <warpway/warpway.h>

#include "integration/gpus.h"

struct gpus_agent gpus_agent;

static void uuid_must_be(const char *expected, const uint8_t uuid[WW_DEVICE_UUID_BYTES])
{
	char text[UUID_BYTES];

	uuid_print(uuid, text);
	if (strcmp(expected, text))
		FAIL("expected the GPU %s, got %s", expected, text);
}

/* --- memory --- */

COMMAND_BROKER(gpus, get_strict)
{
	MUST(!*agent_memory());
	return ww_memory_get(agent_device(), broker, agent_word(1),
		WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_NO_SLOW_ROUTE),
		0, NULL, agent_memory(), NULL);
}

COMMAND(gpus, device_is)
{
	struct ww_device_info info = device_info(agent_device());

	MUST_EQUAL(agent_number(1), info.index);
	uuid_must_be(agent_word(2), info.uuid);
	return WW_OK;
}

COMMAND(gpus, route_is)
{
	struct ww_memory_info info = memory_info(*agent_memory());

	MUST(info.device == agent_device());
	MUST_EQUAL(agent_number(1), info.route);
	uuid_must_be(agent_word(2), info.home_uuid);
	return WW_OK;
}

static char *bytes_at(size_t word)
{
	return (char *)ww_memory_pointer(*agent_memory()) + agent_number(word);
}

COMMAND(gpus, fill)
{
	ww_status status = ww_stream_fill(agent_stream(), bytes_at(1), (uint32_t)agent_number(3), 1,
		agent_number(2));

	return status ? status : ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL);
}

COMMAND(gpus, holds)
{
	uint64_t bytes = agent_number(2);
	OWN(heap) uint8_t *expected = malloc(bytes);
	OWN(heap) uint8_t *got = malloc(bytes);

	MUST(expected && got);
	memset(expected, (int)agent_number(3), bytes);
	memory_get(*agent_memory(), agent_number(1), got, bytes);
	MUST_MATCH(expected, got, bytes);
	return WW_OK;
}

COMMAND_DO(gpus, refuses_write,
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_stream_fill(agent_stream(), ww_memory_pointer(*agent_memory()), 0, 1, 1)))

COMMAND(gpus, works)
{
	OWN(memory) ww_memory *memory = memory_make(agent_device(), WW_MEMORY_VMM, 2 * MIB);
	OWN(stream) ww_stream *stream = stream_make(agent_device());
	ww_status status = ww_stream_fill(stream, ww_memory_pointer(memory), 0x5a, 1, 2 * MIB);

	if (!status)
		status = ww_stream_synchronize(stream, WW_FOREVER, NULL);
	if (!status)
		memory_must_be(memory, 0x5a);
	return status;
}

/* --- timelines --- */

COMMAND_BROKER(gpus, timeline_put)
{
	ww_timeline **own = &gpus_agent.timelines[0];

	MUST(!*own);
	MUST_OK(ww_timeline_create(NULL, own));
	return ww_timeline_put(*own, broker, agent_word(1), NULL, NULL);
}

COMMAND_BROKER(gpus, timeline_get)
{
	MUST(!gpus_agent.timelines[1]);
	return ww_timeline_get(broker, agent_word(1), WW_FOREVER, NULL, &gpus_agent.timelines[1]);
}

COMMAND_CALL(gpus, signal, ww_timeline_signal(gpus_agent.timelines[0], agent_number(1)))

COMMAND(gpus, stream_fill_signal)
{
	ww_memory *memory = *agent_memory();
	ww_status status = ww_stream_fill(agent_stream(), ww_memory_pointer(memory),
		(uint32_t)agent_number(1), 1, memory_info(memory).bytes);

	return status ? status
		      : ww_timeline_stream_signal(gpus_agent.timelines[0], agent_stream(),
				agent_number(2));
}

COMMAND_CALL(gpus, wait,
	ww_timeline_wait(gpus_agent.timelines[1], agent_number(1), WW_FOREVER, NULL))

COMMAND_CALL(gpus, stream_wait,
	ww_timeline_stream_wait(gpus_agent.timelines[1], agent_stream(), agent_number(1),
		agent_has_option("unsubmitted") ? WW_WAIT_UNSUBMITTED : 0, WW_FOREVER, NULL))

COMMAND_CALL(gpus, query, ww_timeline_query(gpus_agent.timelines[1], agent_number(1)))

COMMAND_DO(gpus, hold, agent_hold_stream())

COMMAND_CALL(gpus, sync, ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL))

/* --- the role --- */

static void let_go(void)
{
	gpus_agent.previous = ww_memory_unref(gpus_agent.previous);
	for (size_t i = 0; i < CHECK_COUNT(gpus_agent.timelines); i++)
		gpus_agent.timelines[i] = ww_timeline_unref(gpus_agent.timelines[i]);
}

AGENTS(gpus, let_go)
