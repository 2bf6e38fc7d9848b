/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher.c - a verb that is the producer of a channel
 *
 * A producer that waits long for a slot says for whom, once for each time, since nothing else on
 * the screen would.
 */
#include "warpway/publisher.h"

#include <stdio.h>
#include <string.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "common/number.h"
#include "warpway/channel_text.h"
#include "warpway/format.h"
#include "warpway/open_broker.h"

#define LONG_WAIT_NS (UINT64_C(3) * 1000000000)

/* --- making the channel --- */

static void apply(const struct publisher_plan *plan, struct ww_channel_params *params)
{
	bool on_host = !plan->device_name || !strcmp(plan->device_name, "host");

	params->struct_size = sizeof(*params);
	params->kind = on_host ? WW_MEMORY_HOST : WW_MEMORY_VMM; /* pages of 4 KiB, not of 2 MiB */
	params->mode = plan->mode;
	params->gid = plan->gid;
	params->flags = plan->flags;
	params->evict_after_ns = plan->evict_after_ns;
	if (plan->policy)
		params->policy = plan->policy;
	if (plan->slots)
		params->slots = (uint32_t)plan->slots;
	if (plan->consumers)
		params->consumers_max = (uint32_t)plan->consumers;
	if (plan->held)
		params->held_max = (uint32_t)plan->held;
	if (!plan->slots && (plan->policy || plan->consumers || plan->held))
		params->slots = 0; /* what was recorded may be too few for it */
}

static int create(struct publisher *publisher, const struct publisher_plan *plan,
	const struct ww_channel_params *params, ww_broker *broker)
{
	const char *device_name = plan->device_name ? plan->device_name : "host";
	ww_status status;

	if (ww_device_open(device_name, &publisher->device) != WW_OK)
		return refuse("device '%s': %s", device_name, ww_error_last()->message);
	status = ww_channel_create(publisher->device, broker, publisher->name, params,
		interrupt_cancel(), &publisher->channel);
	if (status != WW_OK)
		return broker_fail(status, "cannot make the channel %s", publisher->name);
	publisher->stage.device = publisher->device;
	publisher->info.struct_size = sizeof(publisher->info);
	if (ww_channel_info_get(publisher->channel, &publisher->info) != WW_OK)
		return complain_record("cannot ask how %s is", publisher->name);
	return 0;
}

/* --- waiting for consumers --- */

static int await_consumers(const struct publisher *publisher, uint32_t count)
{
	ww_status status = ww_channel_wait_consumers(publisher->channel, count, WW_FOREVER,
		interrupt_cancel());

	if (status == WW_OK || status == WW_CANCELLED)
		return 0;
	return complain_record("cannot wait for consumers of %s", publisher->name);
}

static void tell_start(const struct publisher *publisher, const struct publisher_plan *plan)
{
	char text[CHANNEL_TEXT_BYTES];

	channel_text(&publisher->info, text);
	say("%s: %s", publisher->name, text);
	if (plan->wait_consumers)
		say("waiting for %llu consumer%s", (unsigned long long)plan->wait_consumers,
			plan->wait_consumers == 1 ? "" : "s");
}

int publisher_open(struct publisher *publisher, const struct publisher_plan *plan,
	struct ww_channel_params *params, struct request *request)
{
	int code;

	*publisher = (struct publisher){.name = request->words[0]};
	apply(plan, params);
	code = interrupt_open();
	if (code == 0)
		code = broker_reach(request->address, 0, &request->broker);
	if (code == 0)
		code = create(publisher, plan, params, request->broker);
	if (code)
		return code;
	if (!request->json)
		tell_start(publisher, plan);
	if (plan->wait_consumers && await_consumers(publisher, (uint32_t)plan->wait_consumers))
		return -1;
	publisher->started_ns = link_now_ns();
	return 0;
}

/* --- frames --- */

enum publisher_next publisher_begin(struct publisher *publisher, struct ww_frame *out_frame,
	void **out_bytes)
{
	ww_status status = WW_TIMED_OUT;
	bool told = false;

	*out_frame = (struct ww_frame){.struct_size = sizeof(*out_frame)};
	while (status == WW_TIMED_OUT && !interrupt_came()) {
		status = ww_channel_acquire(publisher->channel, NULL, LONG_WAIT_NS,
			interrupt_cancel(), out_frame);
		if (status == WW_TIMED_OUT && !told) {
			(void)complain_record("waits");
			told = true;
		}
	}
	if (status == WW_CANCELLED || status == WW_TIMED_OUT)
		return PUBLISHER_END;
	if (status != WW_OK)
		return (enum publisher_next)complain_record("cannot get a slot of %s",
			publisher->name);
	*out_bytes = frame_stage_begin(&publisher->stage, out_frame);
	return *out_bytes ? PUBLISHER_GO : PUBLISHER_FAILED;
}

int publisher_publish(struct publisher *publisher, struct ww_frame *frame)
{
	if (frame_stage_write(&publisher->stage, frame))
		return -1;
	if (ww_channel_publish(publisher->channel, frame, NULL) != WW_OK)
		return complain_record("cannot publish a frame of %s", publisher->name);
	publisher->frames++;
	publisher->bytes += frame->bytes;
	return 0;
}

int publisher_tell(const struct publisher *publisher, bool json)
{
	const struct channel_rate rate = {
		.frames = publisher->frames,
		.bytes = publisher->bytes,
		.ns = link_now_ns() - publisher->started_ns,
	};
	char text[CHANNEL_TEXT_BYTES];

	if (json)
		return report_json(channel_rate_json(publisher->name, &rate),
			JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	channel_rate_text(&rate, text);
	say("published %s", text);
	return EXIT_DONE;
}

void publisher_fini(struct publisher *publisher)
{
	frame_stage_fini(&publisher->stage);
	publisher->channel = ww_channel_unref(publisher->channel);
	publisher->device = ww_device_unref(publisher->device);
}
