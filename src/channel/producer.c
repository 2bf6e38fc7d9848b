/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producer.c - the producer's side of a channel: what it has
 */
#include "channel/producer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/request.h"
#include "group/group.h"

#define ASK_NS         UINT64_C(1000000000)
#define REPLACER_BYTES 96

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Frames that follow each other are in slots far apart. If they were side by side, a consumer's
 * processor would fetch the next slot too while the producer writes it, and each would wait for the
 * other.
 */
static void fill_free_slots(struct ww_producer *producer)
{
	uint32_t count = producer->channel.form.slot_count;
	uint32_t step = count * UINT64_C(5) / 8;
	uint32_t slot = 0;

	while (greatest_divisor(step, count) != 1)
		step++;
	for (uint32_t i = 0; i < count; i++) {
		ww_list_append(&producer->free_slots, &producer->slots[slot].link);
		slot = (slot + step) % count;
	}
}

ww_status ww_producer_new(const struct ww_wire_channel_ref *form, uint32_t ahead_max,
	struct ww_producer **out_producer)
{
	struct ww_producer *producer = calloc(1, sizeof(*producer));

	if (producer)
		producer->slots = calloc(form->slot_count, sizeof(*producer->slots));
	if (!producer || !producer->slots) {
		free(producer);
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a channel: out of memory");
	}
	ww_ref_init(&producer->channel.ref);
	producer->channel.is_producer = true;
	producer->channel.generation = 1;
	producer->channel.form = *form;
	producer->ahead_max = ahead_max;
	ww_consumers_init(&producer->channel.consumers);
	ww_list_init(&producer->free_slots);
	ww_list_init(&producer->published_slots);
	ww_list_init(&producer->withheld_slots);
	fill_free_slots(producer);
	*out_producer = producer;
	return WW_OK;
}

/* --- another channel was given the name --- */

/*
 * The page says only that: it belongs to a process, and the broker knows which one did it. Return:
 * whether the broker has said so; else @out is as it was. A call that was called off, or that may
 * not wait, has no answer.
 */
static bool ask_for_replacer(const struct ww_channel *channel, char *out, size_t bytes)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_wire_loss message;
	struct ww_wire_lost lost;
	struct ww_error record;
	bool is_answered;

	memcpy(message.id, channel->form.channel_id, sizeof(message.id));
	ww_request_init(&request, WW_WIRE_LOSS, WW_WIRE_LOST, &message);
	request.starts_none = true;
	ww_error_save(&record);
	ww_request_limit_all(ww_clock_deadline_ns(ASK_NS));
	is_answered = ww_broker_client_ask(channel->broker, &request) == WW_OK &&
		ww_wire_decode_lost(request.answer, request.answer_bytes, request.version, &lost) ==
			WW_OK;
	if (is_answered)
		snprintf(out, bytes, "process %" PRIu32 " (%s) of user %" PRIu32, lost.pid,
			lost.program, lost.uid);
	ww_error_restore(&record);
	return is_answered;
}

ww_status ww_producer_check_name(struct ww_producer *producer)
{
	char replacer[REPLACER_BYTES] = "another process";

	if (!ww_signal_page_is_replaced(producer->channel.timeline->page->header))
		return WW_OK;
	if (!producer->replacer && ask_for_replacer(&producer->channel, replacer, sizeof(replacer)))
		producer->replacer = strdup(replacer);
	return ww_fail(WW_ERR_NOT_FOUND,
		"the channel '%.100s' was replaced by %s: consumers get no more frames of this one",
		producer->name ? producer->name : "",
		producer->replacer ? producer->replacer : replacer);
}

void ww_producer_free(struct ww_producer *producer)
{
	const struct ww_channel *channel = &producer->channel;
	uint8_t id[WW_WIRE_ID_BYTES];

	if (producer->channel.ring.mapping) {
		ww_ring_close(&producer->channel.ring);
		ww_ring_wake(&producer->channel.ring);
	}
	/*
	 * The process may hold the channel on, as a consumer of it; then its name would stay.
	 * Another channel that has the name by now keeps it. A broker that does not answer in time
	 * is no error.
	 */
	if (producer->name && channel->timeline &&
		ww_hold_ref_find(&channel->timeline->attachments, channel->broker, id))
		(void)ww_group_take_out(channel->broker, producer->name, id);
	ww_channel_fini(&producer->channel);
	free(producer->name);
	free(producer->replacer);
	free(producer->slots);
	free(producer);
}
