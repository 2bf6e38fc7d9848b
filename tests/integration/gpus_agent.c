/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_agent.c - what agents do on their GPU, see gpus.h
 */
#include <stdlib.h>
#include <string.h>

#include <warpway/warpway.h>

#include "integration/gpus.h"
#include "support/stream_gate.h"

struct gpus_agent gpus_agent;

static struct gate gate;
static bool is_closed; /* the gate */

uint64_t gpus_number(size_t word)
{
	return agent_number(word);
}

ww_stream *gpus_stream(void)
{
	if (!gpus_agent.stream)
		gpus_agent.stream = stream_make(agent_device());
	return gpus_agent.stream;
}

static void uuid_must_be(const char *expected, const uint8_t uuid[WW_DEVICE_UUID_BYTES])
{
	char text[UUID_BYTES];

	uuid_print(uuid, text);
	if (strcmp(expected, text))
		FAIL("expected the GPU %s, got %s", expected, text);
}

/* --- memory --- */

static ww_status obey_get_strict(void)
{
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!*agent_memory());
	return status ? status
		      : ww_memory_get(agent_device(), broker, agent_word(1),
				WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE,
					.flags = WW_IMPORT_NO_SLOW_ROUTE),
				0, NULL, agent_memory(), NULL);
}

static ww_status obey_device_is(void)
{
	struct ww_device_info info = device_info(agent_device());

	MUST_EQUAL(gpus_number(1), info.index);
	uuid_must_be(agent_word(2), info.uuid);
	return WW_OK;
}

static ww_status obey_route_is(void)
{
	struct ww_memory_info info = memory_info(*agent_memory());

	MUST(info.device == agent_device());
	MUST_EQUAL(gpus_number(1), info.route);
	uuid_must_be(agent_word(2), info.home_uuid);
	return WW_OK;
}

static char *bytes_at(size_t word)
{
	return (char *)ww_memory_pointer(*agent_memory()) + gpus_number(word);
}

static ww_status obey_fill(void)
{
	ww_status status = ww_stream_fill(gpus_stream(), bytes_at(1), (uint32_t)gpus_number(3), 1,
		gpus_number(2));

	return status ? status : ww_stream_synchronize(gpus_stream(), WW_FOREVER, NULL);
}

static ww_status obey_holds(void)
{
	uint64_t bytes = gpus_number(2);
	OWN(heap) uint8_t *expected = malloc(bytes);
	OWN(heap) uint8_t *got = malloc(bytes);

	MUST(expected && got);
	memset(expected, (int)gpus_number(3), bytes);
	memory_get(*agent_memory(), gpus_number(1), got, bytes);
	MUST_MATCH(expected, got, bytes);
	return WW_OK;
}

static ww_status obey_refuses_write(void)
{
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_stream_fill(gpus_stream(), ww_memory_pointer(*agent_memory()), 0, 1, 1));
	return WW_OK;
}

static ww_status obey_works(void)
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

static ww_status obey_timeline_put(void)
{
	ww_timeline **own = &gpus_agent.timelines[0];
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!*own);
	if (!status)
		status = ww_timeline_create(NULL, own);
	return status ? status : ww_timeline_put(*own, broker, agent_word(1), NULL, NULL);
}

static ww_status obey_timeline_get(void)
{
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!gpus_agent.timelines[1]);
	return status ? status
		      : ww_timeline_get(broker, agent_word(1), WW_FOREVER, NULL,
				&gpus_agent.timelines[1]);
}

static ww_status obey_signal(void)
{
	return ww_timeline_signal(gpus_agent.timelines[0], gpus_number(1));
}

static ww_status obey_stream_fill_signal(void)
{
	ww_memory *memory = *agent_memory();
	ww_status status = ww_stream_fill(gpus_stream(), ww_memory_pointer(memory),
		(uint32_t)gpus_number(1), 1, memory_info(memory).bytes);

	return status
		? status
		: ww_timeline_stream_signal(gpus_agent.timelines[0], gpus_stream(), gpus_number(2));
}

static ww_status obey_wait(void)
{
	return ww_timeline_wait(gpus_agent.timelines[1], gpus_number(1), WW_FOREVER, NULL);
}

static ww_status obey_stream_wait(void)
{
	return ww_timeline_stream_wait(gpus_agent.timelines[1], gpus_stream(), gpus_number(1),
		agent_has_option("unsubmitted") ? WW_WAIT_UNSUBMITTED : 0, WW_FOREVER, NULL);
}

static ww_status obey_query(void)
{
	return ww_timeline_query(gpus_agent.timelines[1], gpus_number(1));
}

static ww_status obey_hold(void)
{
	gate_close(&gate, gpus_stream());
	is_closed = true;
	return WW_OK;
}

static ww_status obey_go(void)
{
	gate_open(&gate);
	is_closed = false;
	return WW_OK;
}

static ww_status obey_sync(void)
{
	return ww_stream_synchronize(gpus_stream(), WW_FOREVER, NULL);
}

/* --- the role --- */

static void let_go(void)
{
	if (is_closed)
		gate_open(&gate);
	gpus_agent.stream = ww_stream_unref(gpus_agent.stream);
	gpus_agent.previous = ww_memory_unref(gpus_agent.previous);
	for (size_t i = 0; i < CHECK_COUNT(gpus_agent.timelines); i++)
		gpus_agent.timelines[i] = ww_timeline_unref(gpus_agent.timelines[i]);
}

ROLE(gpus_agent)
{
	static const struct agent_command commands[] = {
		{"get_strict", obey_get_strict},
		{"device_is", obey_device_is},
		{"route_is", obey_route_is},
		{"fill", obey_fill},
		{"holds", obey_holds},
		{"refuses_write", obey_refuses_write},
		{"works", obey_works},
		{"timeline_put", obey_timeline_put},
		{"timeline_get", obey_timeline_get},
		{"signal", obey_signal},
		{"stream_fill_signal", obey_stream_fill_signal},
		{"wait", obey_wait},
		{"stream_wait", obey_stream_wait},
		{"query", obey_query},
		{"hold", obey_hold},
		{"go", obey_go},
		{"sync", obey_sync},
		{"previous", obey_previous},
		{"ring", obey_ring},
	};

	agent_extend(commands, CHECK_COUNT(commands), let_go);
	agent_serve();
}
