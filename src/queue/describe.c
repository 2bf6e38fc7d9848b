/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - a work queue, as a member sees it
 *
 * A producer counts the frames of its own ring, a consumer those of the rings that it knows. A
 * keeper knows no ring: it gets what each producer shows, counts, and keeps nothing of it. The
 * totals are in the roster and in the bell, which all have.
 */
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "queue/rings.h"

#define INFO_V1_BYTES offsetof(struct ww_work_queue_info, published_total)

/* Return: WW_OK; WW_NOT_READY (the broker did not answer, so the frames are not known). */
static ww_status count_producer(struct ww_work_queue *queue, uint64_t member,
	struct ww_work_queue_info *info, struct ww_queue_counts *counts)
{
	WW_CLEANUP(ww_queue_ring_free_p) struct ww_queue_ring *ring = NULL;
	ww_status status;

	if (ww_clock_now_ns() < queue->newcomers.ask_again_ns)
		return WW_NOT_READY;
	status = ww_queue_ring_get(queue, member, &ring);
	if (status == WW_OK) {
		ww_queue_ring_count(ring, counts);
		info->producers++;
	}
	if (status == WW_OK || ww_group_is_no_member(status))
		return WW_OK;
	if (status == WW_ERR_NO_BROKER || status > 0) /* nor would it answer for the next one */
		queue->newcomers.ask_again_ns = ww_clock_deadline_ns(WW_GROUP_PAUSE_NS);
	return WW_NOT_READY;
}

static void count_as_keeper(struct ww_work_queue *queue, struct ww_work_queue_info *info,
	struct ww_queue_counts *counts)
{
	struct ww_error record;

	ww_error_save(&record);
	for (uint32_t i = 0; i < queue->roster.count; i++) {
		uint64_t member = ww_queue_entry_look(&queue->roster.producers[i]);

		if (member)
			info->uncounted += count_producer(queue, member, info, counts) != WW_OK;
	}
	ww_error_restore(&record);
}

/* @asks: of a keeper: the broker, about each producer */
static void describe_frames(struct ww_work_queue *queue, struct ww_work_queue_info *info, bool asks)
{
	struct ww_queue_counts counts = {0};

	if (queue->role == WW_WORK_QUEUE_KEEPER && asks)
		count_as_keeper(queue, info, &counts);
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

static void describe_totals(const struct ww_work_queue *queue, struct ww_work_queue_info *info)
{
	const struct ww_queue_roster *roster = &queue->roster;
	const struct ww_queue_bell *bell = &queue->bell;

	for (uint32_t i = 0; i < roster->count; i++)
		info->published_total += ww_queue_total(&roster->totals[i].published);
	for (uint32_t i = 0; i < bell->count; i++) {
		info->acknowledged_total += ww_queue_total(&bell->totals[i].acknowledged);
		info->repeated_total += ww_queue_total(&bell->totals[i].repeated);
	}
	info->failed_total = ww_queue_total(&bell->header->failed);
	info->dropped_total = ww_queue_total(&bell->header->dropped);
	info->lost_total = ww_queue_total(&bell->header->lost);
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
	for (uint32_t i = 0; i < queue->bell.count; i++)
		ours.consumers += ww_queue_entry_look(&queue->bell.consumers[i]) != 0;
	ours.producers_max = queue->form.producers_max;
	ours.consumers_max = queue->form.consumers_max;
	ours.attempts_max = queue->form.attempts_max;
	ours.failed_max = queue->form.failed_max;
	ours.held_max = queue->form.held_max;
	ours.slot_bytes = queue->form.slot_bytes;
	ours.metadata_bytes = queue->form.metadata_bytes;
	memcpy(ours.metadata_type, queue->form.metadata_type, sizeof(ours.metadata_type));
	ours.has_array = queue->frame_form.has_array;
	ours.array = queue->frame_form.array;
	/* A program that was built before the totals expects of a keeper that it never asks. */
	describe_frames(queue, &ours, info->struct_size > INFO_V1_BYTES);
	describe_totals(queue, &ours);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_work_queue_info");
}
