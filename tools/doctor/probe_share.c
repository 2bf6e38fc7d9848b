/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_share.c - two processes share by the library: by name, by timeline, by token
 *
 * The broker is the doctor's own; WARPWAY_BROKER names it in both processes.
 */
#include "doctor/probe.h"

#include <stdio.h>
#include <string.h>

static void own_pool(ww_pool **pool)
{
	ww_pool_unref(*pool);
}

static int answer_memory(ww_memory *memory)
{
	struct span span = {.elements = PROBE_ELEMENTS, .memory = memory};

	return span_verify(&span, probe_question) || span_write(&span, probe_answer) ? -1 : 0;
}

static int write_question(ww_memory *memory)
{
	const struct span span = {.elements = PROBE_ELEMENTS, .memory = memory};

	return span_write(&span, probe_question);
}

static int see_answer(ww_memory *memory)
{
	struct span span = {.elements = PROBE_ELEMENTS, .memory = memory};

	return span_verify(&span, probe_answer);
}

/* --- memory with a name --- */

int probe_share(struct probe *probe)
{
	OWN(memory) ww_memory *memory = NULL;
	char name[64];

	probe_name(probe, "memory", name);
	snprintf(probe->found, sizeof(probe->found),
		"two processes read and wrote one memory, found by its name");
	if (probe_open_library(probe))
		return -1;
	if (ww_memory_create(probe->device,
		    WW_PARAMS(struct ww_memory_params, .bytes = PROBE_BYTES), &memory) != WW_OK)
		return complain_record("cannot make memory");
	if (write_question(memory))
		return -1;
	if (ww_memory_put(memory, probe->broker, name,
		    WW_PARAMS(struct ww_put_params, .state = WW_STATE_SHARED), 0, NULL) != WW_OK)
		return complain_record("cannot put memory into the broker");
	return peer_do(probe, PEER_SHARE, NULL, 0, -1) || see_answer(memory) ? -1 : 0;
}

int peer_share(struct probe *probe, const struct peer_message *message, int fd)
{
	OWN(memory) ww_memory *memory = NULL;
	char name[64];

	(void)message;
	(void)fd;
	probe_name(probe, "memory", name);
	if (probe_open_library(probe))
		return -1;
	if (ww_memory_get(probe->device, probe->broker, name,
		    WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE), 0, NULL, &memory,
		    NULL) != WW_OK)
		return complain_record("cannot get memory by its name");
	return answer_memory(memory);
}

/* --- a timeline --- */

int probe_timeline(struct probe *probe)
{
	OWN(timeline) ww_timeline *timeline = NULL;
	char name[64];

	probe_name(probe, "timeline", name);
	snprintf(probe->found, sizeof(probe->found),
		"a stream waited for a stream of another process");
	if (probe_open_library(probe))
		return -1;
	if (ww_timeline_create(NULL, &timeline) != WW_OK ||
		ww_timeline_put(timeline, probe->broker, name, NULL, NULL) != WW_OK)
		return complain_record("cannot share a timeline");
	if (ww_timeline_stream_signal(timeline, probe->stream, 1) != WW_OK ||
		ww_stream_synchronize(probe->stream, WW_FOREVER, NULL) != WW_OK)
		return complain_record("a stream cannot signal");
	return peer_do(probe, PEER_TIMELINE, NULL, 0, -1);
}

int peer_timeline(struct probe *probe, const struct peer_message *message, int fd)
{
	OWN(timeline) ww_timeline *timeline = NULL;
	char name[64];

	(void)message;
	(void)fd;
	probe_name(probe, "timeline", name);
	if (probe_open_library(probe))
		return -1;
	if (ww_timeline_get(probe->broker, name, 0, NULL, &timeline) != WW_OK)
		return complain_record("cannot get a timeline by its name");
	if (ww_timeline_stream_wait(timeline, probe->stream, 1, 0, WW_FOREVER, NULL) != WW_OK ||
		ww_stream_synchronize(probe->stream, WW_FOREVER, NULL) != WW_OK)
		return complain_record("a stream cannot wait");
	return 0;
}

/* --- a slice --- */

int probe_slice(struct probe *probe)
{
	OWN(pool) ww_pool *pool = NULL;
	OWN(memory) ww_memory *slice = NULL;
	struct ww_token token;

	snprintf(probe->found, sizeof(probe->found),
		"two processes read and wrote one slice, found by its token");
	if (probe_open_library(probe))
		return -1;
	if (ww_pool_create(probe->device,
		    WW_PARAMS(struct ww_pool_params, .chunk_bytes = PROBE_BYTES), &pool) != WW_OK ||
		ww_pool_alloc(pool, PROBE_BYTES, 0, 0, NULL, &slice) != WW_OK)
		return complain_record("cannot allocate from a pool");
	if (write_question(slice))
		return -1;
	if (ww_memory_export(slice, probe->broker,
		    WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE), NULL,
		    &token) != WW_OK)
		return complain_record("cannot make a token");
	return peer_do(probe, PEER_SLICE, &token, sizeof(token), -1) || see_answer(slice) ? -1 : 0;
}

int peer_slice(struct probe *probe, const struct peer_message *message, int fd)
{
	OWN(memory) ww_memory *slice = NULL;
	struct ww_token token;

	(void)fd;
	memcpy(&token, message->bytes, sizeof(token));
	if (probe_open_library(probe))
		return -1;
	if (ww_memory_import(probe->device, probe->broker, &token,
		    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &slice,
		    NULL) != WW_OK)
		return complain_record("cannot import a slice");
	return answer_memory(slice);
}
