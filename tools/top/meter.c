/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter.c - frames and calls per second, of the channels, work queues and services on the screen,
 * see top.h
 *
 * An observer maps the pages of a channel, or of a service, and looks; it is no consumer and no
 * client. It is given up as soon as its row is not shown any more, or what it looks at has ended:
 * else this program would be what keeps it in the broker. A work queue has no observers, so it is
 * opened for each look, as a keeper. What the user may not read has no rate.
 */
#include <string.h>

#include "common/child_link.h"
#include "top/top.h"
#include "warpway/work_queue_report.h"

#define METERS   64
#define LEAST_NS UINT64_C(50000000) /* between two looks that make a rate */

struct meter {
	bool is_used;
	bool is_wanted; /* asked for since the last sweep */
	bool is_barred; /* it cannot be read; not tried again while it is shown */
	uint8_t id[WW_OBJECT_ID_BYTES];
	ww_channel *channel;
	ww_client *client;
	uint64_t count;
	uint64_t at_ns; /* 0: not read yet */
	double rate;    /* negative: not known */
};

static struct meter meters[METERS];
static ww_device *host;

static void meter_end(struct meter *meter)
{
	ww_channel_unref(meter->channel);
	ww_client_unref(meter->client);
	*meter = (struct meter){.is_used = false};
}

static struct meter *meter_find(const struct ww_object_info *object)
{
	struct meter *empty = NULL;

	for (size_t i = 0; i < METERS; i++) {
		if (!meters[i].is_used)
			empty = &meters[i];
		else if (!memcmp(meters[i].id, object->object_id, sizeof(meters[i].id)))
			return &meters[i];
	}
	if (empty) {
		*empty = (struct meter){.is_used = true, .rate = -1};
		memcpy(empty->id, object->object_id, sizeof(empty->id));
	}
	return empty;
}

static bool open_channel(struct meter *meter, ww_broker *broker, const char *name)
{
	const struct ww_consumer_params params = {.struct_size = sizeof(params),
		.flags = WW_CONSUMER_OBSERVE};

	if (meter->channel)
		return true;
	if (!host && ww_device_open("host", &host) != WW_OK)
		return false;
	return ww_channel_get(host, broker, name, &params, 0, NULL, &meter->channel) == WW_OK;
}

static bool open_service(struct meter *meter, ww_broker *broker, const char *name)
{
	const struct ww_client_params params = {.struct_size = sizeof(params),
		.flags = WW_CLIENT_OBSERVE};

	return meter->client ||
		ww_client_open(broker, name, &params, 0, NULL, &meter->client) == WW_OK;
}

static bool read_channel(struct meter *meter, uint64_t *out_count)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	if (ww_channel_info_get(meter->channel, &info) != WW_OK || info.has_ended)
		return false;
	*out_count = info.published;
	return true;
}

static bool read_service(struct meter *meter, uint64_t *out_count)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	if (ww_client_service_info_get(meter->client, &info) != WW_OK)
		return false;
	*out_count = info.calls;
	return true;
}

static bool read_work_queue(ww_broker *broker, const struct ww_object_info *object,
	uint64_t *out_count)
{
	struct ww_work_queue_info info;

	if (work_queue_report_read(broker, object, &info) != WW_OK)
		return false;
	*out_count = info.published_total;
	return true;
}

static bool meter_read(struct meter *meter, ww_broker *broker, const struct ww_object_info *object,
	uint64_t *out_count)
{
	if (object->kind == WW_OBJECT_CHANNEL)
		return open_channel(meter, broker, object->name) && read_channel(meter, out_count);
	if (object->kind == WW_OBJECT_WORK_QUEUE)
		return read_work_queue(broker, object, out_count);
	return open_service(meter, broker, object->name) && read_service(meter, out_count);
}

/* The objects of a channel's consumers, and of a service's clients, are inside of it. */
static bool is_measured(const struct ww_object_info *object)
{
	return (object->kind == WW_OBJECT_CHANNEL || object->kind == WW_OBJECT_SERVICE ||
		       object->kind == WW_OBJECT_WORK_QUEUE) &&
		object->name[0] && object->name[0] != '@' && object->access &&
		(object->state == WW_STATE_SEALED || object->state == WW_STATE_SHARED);
}

double meter_rate(ww_broker *broker, const struct ww_object_info *object)
{
	struct meter *meter = is_measured(object) ? meter_find(object) : NULL;
	uint64_t now_ns = link_now_ns();
	uint64_t count = 0;

	if (!meter)
		return -1;
	meter->is_wanted = true;
	if (meter->at_ns && now_ns - meter->at_ns < LEAST_NS)
		return meter->rate;
	if (meter->is_barred || !meter_read(meter, broker, object, &count)) {
		meter_end(meter);
		*meter = (struct meter){.is_used = true,
			.is_wanted = true,
			.is_barred = true,
			.rate = -1};
		memcpy(meter->id, object->object_id, sizeof(meter->id));
		return -1;
	}
	if (meter->at_ns)
		meter->rate = (double)(count - meter->count) * 1e9 /
			(double)(now_ns - meter->at_ns);
	meter->count = count;
	meter->at_ns = now_ns;
	return meter->rate;
}

void meter_sweep(void)
{
	for (size_t i = 0; i < METERS; i++) {
		if (meters[i].is_used && !meters[i].is_wanted)
			meter_end(&meters[i]);
		meters[i].is_wanted = false;
	}
}

void meter_close(void)
{
	for (size_t i = 0; i < METERS; i++)
		meter_end(&meters[i]);
	host = ww_device_unref(host);
}
