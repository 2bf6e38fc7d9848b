/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - a work queue, as a member sees it
 */
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "queue/rings.h"

#define INFO_V1_BYTES sizeof(struct ww_work_queue_info)

static uint32_t count_consumers(const struct ww_queue_bell *bell)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bell->count; i++)
		count += ww_queue_entry_look(&bell->consumers[i]) != 0;
	return count;
}

static void describe_frames(struct ww_work_queue *queue, struct ww_work_queue_info *info)
{
	struct ww_queue_counts counts = {0};

	ww_list_for_each (link, &queue->rings) {
		ww_queue_ring_count(ww_queue_ring_of(link), &counts);
		info->producers += ww_queue_is_consumer(queue);
	}
	info->available = counts.available;
	info->claimed = counts.claimed;
	info->failed = counts.failed;
	info->published = queue->published;
	info->dropped = queue->dropped;
	info->received = queue->received;
	info->lost = queue->lost;
	info->held = queue->held;
}

ww_status ww_work_queue_info_get(ww_work_queue *queue, struct ww_work_queue_info *info)
{
	struct ww_work_queue_info ours = {0};

	ww_try(ww_process_enter());
	ww_require(queue && info, "ww_work_queue_info_get: queue or info is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	ours.role = queue->role;
	ours.is_closed = ww_queue_roster_is_closed(&queue->roster);
	ours.slots = queue->form.slot_count;
	ours.consumers = count_consumers(&queue->bell);
	ours.producers_max = queue->form.producers_max;
	ours.consumers_max = queue->form.consumers_max;
	ours.attempts_max = queue->form.attempts_max;
	ours.failed_max = queue->form.failed_max;
	ours.held_max = queue->form.held_max;
	ours.slot_bytes = queue->form.slot_bytes;
	ours.metadata_bytes = queue->form.metadata_bytes;
	memcpy(ours.metadata_type, queue->form.metadata_type, sizeof(ours.metadata_type));
	ours.has_array = queue->has_array;
	ours.array = queue->array;
	describe_frames(queue, &ours);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_work_queue_info");
}
