/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_report.c - what `warpway stat` prints of a work queue
 *
 * The command opens the queue for a moment, as a keeper: it is no member, and takes no frame. If it
 * ends, and all other processes have closed the queue meanwhile, the queue ends with it.
 */
#include "warpway/work_queue_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "warpway/format.h"

/* Return: WW_OK; WW_ERR_ACCESS; WW_ERR_PROTOCOL: it is a part of a queue; another error. */
static ww_status find_queue(ww_broker *broker, const struct ww_object_info *object,
	struct ww_work_queue_info *out_info)
{
	const struct ww_work_member_params params = {
		.struct_size = sizeof(params),
		.role = WW_WORK_QUEUE_KEEPER,
	};
	OWN(device) ww_device *host = NULL;
	OWN(work_queue) ww_work_queue *queue = NULL;
	ww_status status = ww_device_open("host", &host);

	*out_info = WW_INIT(struct ww_work_queue_info);
	if (status == WW_OK)
		status = ww_work_queue_get(host, broker, object->name, &params, 0, NULL, &queue);
	return status == WW_OK ? ww_work_queue_info_get(queue, out_info) : status;
}

static void print_why_not(ww_status status)
{
	if (status == WW_ERR_ACCESS)
		printf("frames      not shown to this user\n");
	else if (status != WW_ERR_PROTOCOL)
		printf("frames      not known: %s\n",
			status < 0 ? ww_error_last()->message : ww_status_text(status));
}

static void print_frames(const struct ww_work_queue_info *info)
{
	printf("frames      %u available, %u claimed, %u failed and kept", info->available,
		info->claimed, info->failed);
	if (info->uncounted)
		printf(", without those of %u producers, of which the broker did not tell",
			info->uncounted);
	printf("\ntotals      %" PRIu64 " published, %" PRIu64 " acknowledged, %" PRIu64
	       " repeated, %" PRIu64 " failed, %" PRIu64 " dropped, %" PRIu64 " lost\n",
		info->published_total, info->acknowledged_total, info->repeated_total,
		info->failed_total, info->dropped_total, info->lost_total);
}

void work_queue_report_print(ww_broker *broker, const struct ww_object_info *object)
{
	struct ww_work_queue_info info;
	char id[FORMAT_ID_BYTES];
	char size[NUMBER_BYTES];
	ww_status status = find_queue(broker, object, &info);

	if (status != WW_OK) {
		print_why_not(status);
		return;
	}
	number_size_text(info.slot_bytes, size);
	format_id(object->object_id, id);
	printf("work        %s\n",
		info.is_closed ? "closed: producers get no slot any more" : "open");
	printf("slots       %u of each producer, of %" PRIu64 " bytes (%s)\n", info.slots,
		info.slot_bytes, size);
	printf("members     %u of %u producers, %u of %u consumers, see warpway ls @%s/\n",
		info.producers, info.producers_max, info.consumers, info.consumers_max, id);
	printf("attempts    up to %u for each frame\n", info.attempts_max);
	print_frames(&info);
}

json_t *work_queue_report_json(ww_broker *broker, const struct ww_object_info *object)
{
	struct ww_work_queue_info info;

	if (find_queue(broker, object, &info) != WW_OK)
		return json_null();
	return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I, s:I}",
		"is_closed", (int)(info.is_closed != 0), "slots", (json_int_t)info.slots,
		"slot_bytes", (json_int_t)info.slot_bytes, "producers", (json_int_t)info.producers,
		"producers_max", (json_int_t)info.producers_max, "consumers",
		(json_int_t)info.consumers, "consumers_max", (json_int_t)info.consumers_max,
		"attempts_max", (json_int_t)info.attempts_max, "available",
		(json_int_t)info.available, "claimed", (json_int_t)info.claimed, "failed",
		(json_int_t)info.failed, "uncounted", (json_int_t)info.uncounted, "published_total",
		(json_int_t)info.published_total, "acknowledged_total",
		(json_int_t)info.acknowledged_total, "repeated_total",
		(json_int_t)info.repeated_total, "failed_total", (json_int_t)info.failed_total,
		"dropped_total", (json_int_t)info.dropped_total, "lost_total",
		(json_int_t)info.lost_total);
}
