/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscription.c - a verb that is a consumer of a channel
 */
#include "warpway/subscription.h"

#include <stdio.h>

#include "common/interrupt.h"
#include "warpway/format.h"
#include "warpway/open_broker.h"

static ww_status get_on(struct subscription *subscription, ww_broker *broker,
	const char *device_name)
{
	const struct ww_consumer_params params = {
		.struct_size = sizeof(params),
		.history = subscription->plan->history,
	};
	ww_status status = ww_device_open(device_name, &subscription->device);

	if (status == WW_OK)
		status = ww_channel_get(subscription->device, broker, subscription->name, &params,
			subscription->plan->timeout_ns, interrupt_cancel(), &subscription->channel);
	if (status != WW_OK)
		subscription->device = ww_device_unref(subscription->device);
	return status;
}

/* By the device that has the slots, which is not the CPU. */
static ww_status get_at_home(struct subscription *subscription, ww_broker *broker)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);
	char uuid[FORMAT_UUID_BYTES];
	char device_name[FORMAT_UUID_BYTES + 8];
	ww_status status = ww_broker_stat(broker, subscription->name, &object);

	if (status != WW_OK)
		return status;
	format_uuid(object.home_uuid, uuid);
	snprintf(device_name, sizeof(device_name), "cuda:%s", uuid);
	return get_on(subscription, broker, device_name);
}

static bool is_channel(ww_broker *broker, const char *name)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);

	return ww_broker_stat(broker, name, &object) == WW_OK && object.kind == WW_OBJECT_CHANNEL;
}

static int fail_to_get(const struct subscription *subscription, ww_broker *broker, ww_status status)
{
	if (status == WW_TIMED_OUT)
		return complain("cannot get %s: it was not there in time", subscription->name);
	if (status == WW_CANCELLED)
		return complain("interrupted before %s was there", subscription->name);
	if (status == WW_ERR_UNSUPPORTED && !is_channel(broker, subscription->name))
		return complain("cannot get %s: it is no channel; `warpway stat %s` says what it is",
			subscription->name, subscription->name);
	return broker_fail(status, "cannot get %s", subscription->name);
}

/* A name that is waited for may come to a broker that does not run yet. */
static int find_broker(const struct subscription *subscription, struct request *request)
{
	if (subscription->plan->timeout_ns)
		return broker_reach(request->address, 0, &request->broker);
	return broker_find_object(request->address, subscription->name, &request->broker);
}

int subscription_open(struct subscription *subscription, const struct subscription_plan *plan,
	struct request *request)
{
	const char *first = plan->device_name ? plan->device_name : "host";
	ww_status status;
	int code;

	*subscription = (struct subscription){.plan = plan, .name = request->words[0]};
	code = interrupt_open();
	if (code == 0)
		code = find_broker(subscription, request);
	if (code)
		return code;
	status = get_on(subscription, request->broker, first);
	if (status == WW_ERR_UNSUPPORTED && !plan->device_name &&
		is_channel(request->broker, subscription->name))
		status = get_at_home(subscription, request->broker);
	if (status != WW_OK)
		return fail_to_get(subscription, request->broker, status);
	subscription->stage.device = subscription->device;
	subscription->info.struct_size = sizeof(subscription->info);
	if (ww_channel_info_get(subscription->channel, &subscription->info) != WW_OK)
		return complain_record("cannot ask how %s is", subscription->name);
	return 0;
}

static enum subscription_end end_of(ww_status status)
{
	switch (status) {
	case WW_END:
		return SUBSCRIPTION_CLOSED;
	case WW_CANCELLED:
		return SUBSCRIPTION_INTERRUPTED;
	case WW_ERR_PEER_LOST:
		return SUBSCRIPTION_LOST;
	default:
		return SUBSCRIPTION_FAILED;
	}
}

static void count(struct subscription *subscription, const struct ww_frame *frame)
{
	if (subscription->frames++ > 0)
		subscription->skipped += frame->number - subscription->number - 1;
	subscription->number = frame->number;
	subscription->bytes += frame->bytes;
}

bool subscription_receive(struct subscription *subscription, struct ww_frame *out_frame)
{
	ww_status status;

	subscription->end = SUBSCRIPTION_COUNTED;
	if (subscription->plan->count && subscription->frames == subscription->plan->count)
		return false;
	/* A call that need not wait would go on. */
	subscription->end = SUBSCRIPTION_INTERRUPTED;
	if (interrupt_came())
		return false;
	*out_frame = (struct ww_frame){.struct_size = sizeof(*out_frame)};
	status = ww_channel_receive(subscription->channel, NULL, WW_FOREVER, interrupt_cancel(),
		out_frame);
	if (status == WW_OK) {
		count(subscription, out_frame);
		return true;
	}
	subscription->end = end_of(status);
	if (status < 0)
		complain_record("no more frames of %s", subscription->name);
	return false;
}

int subscription_release(struct subscription *subscription, const struct ww_frame *frame)
{
	if (ww_channel_release(subscription->channel, frame, NULL) == WW_OK)
		return 0;
	return complain_record("cannot release frame %llu", (unsigned long long)frame->number);
}

uint64_t subscription_dropped(struct subscription *subscription)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	if (subscription->info.policy == WW_CHANNEL_LATEST)
		return subscription->skipped;
	return ww_channel_info_get(subscription->channel, &info) == WW_OK ? info.dropped : 0;
}

const char *subscription_end_name(enum subscription_end end)
{
	static const char *const names[] = {
		[SUBSCRIPTION_COUNTED] = "count",
		[SUBSCRIPTION_INTERRUPTED] = "interrupted",
		[SUBSCRIPTION_CLOSED] = "closed",
		[SUBSCRIPTION_LOST] = "lost",
		[SUBSCRIPTION_FAILED] = "failed",
	};

	return names[end];
}

int subscription_exit(enum subscription_end end)
{
	return end < SUBSCRIPTION_LOST ? EXIT_DONE : EXIT_FAILED;
}

void subscription_fini(struct subscription *subscription)
{
	frame_stage_fini(&subscription->stage);
	subscription->channel = ww_channel_unref(subscription->channel);
	subscription->device = ww_device_unref(subscription->device);
}
