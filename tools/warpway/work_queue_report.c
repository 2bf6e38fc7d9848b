/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue_report.c - what `warpway stat` and `warpway top` show of a work queue
 *
 * The program opens the queue for a moment, as a keeper: it is no member, and takes no frame. If it
 * ends, and all other processes have closed the queue meanwhile, the queue ends with it.
 */
#include "warpway/work_queue_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/number.h"
#include "warpway/format.h"

bool work_queue_report_is_possible(const struct ww_object_info *object)
{
	return object->kind == WW_OBJECT_WORK_QUEUE && object->state != WW_STATE_REMOVED &&
		object->access && object->name[0] && object->name[0] != '@';
}

ww_status work_queue_report_read(ww_broker *broker, const struct ww_object_info *object,
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

void work_queue_report_text(const struct ww_work_queue_info *info, struct work_queue_text *out)
{
	char missing[80] = "";

	if (info->uncounted)
		snprintf(missing, sizeof(missing),
			", without those of %u producers, of which the broker did not tell",
			info->uncounted);
	snprintf(out->members, sizeof(out->members), "%u of %u producers, %u of %u consumers",
		info->producers, info->producers_max, info->consumers, info->consumers_max);
	snprintf(out->frames, sizeof(out->frames), "%u available, %u claimed, %u failed and kept%s",
		info->available, info->claimed, info->failed, missing);
	snprintf(out->totals, sizeof(out->totals),
		"%" PRIu64 " published, %" PRIu64 " acknowledged, %" PRIu64 " repeated, %" PRIu64
		" failed, %" PRIu64 " dropped, %" PRIu64 " lost",
		info->published_total, info->acknowledged_total, info->repeated_total,
		info->failed_total, info->dropped_total, info->lost_total);
}

void work_queue_report_print(ww_broker *broker, const struct ww_object_info *object)
{
	struct ww_work_queue_info info;
	struct work_queue_text text;
	char id[FORMAT_ID_BYTES];
	char size[NUMBER_BYTES];
	ww_status status = work_queue_report_read(broker, object, &info);

	if (status != WW_OK) {
		print_why_not(status);
		return;
	}
	work_queue_report_text(&info, &text);
	number_size_text(info.slot_bytes, size);
	format_id(object->object_id, id);
	printf("work        %s\n",
		info.is_closed ? "closed: producers get no slot any more" : "open");
	printf("slots       %u of each producer, of %" PRIu64 " bytes (%s)\n", info.slots,
		info.slot_bytes, size);
	printf("members     %s, see warpway ls @%s/\n", text.members, id);
	printf("attempts    up to %u for each frame\n", info.attempts_max);
	printf("frames      %s\n", text.frames);
	printf("totals      %s\n", text.totals);
}

json_t *work_queue_report_json(ww_broker *broker, const struct ww_object_info *object)
{
	struct ww_work_queue_info info;

	if (work_queue_report_read(broker, object, &info) != WW_OK)
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
