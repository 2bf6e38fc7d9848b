/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leave.c - leaving a work queue, see leave.h; and closing it for producers
 */
#include "queue/leave.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "queue/claimants.h"
#include "queue/rings.h"

static void leave_consumers(struct ww_work_queue *queue)
{
	for (uint32_t i = 0; i < queue->form.held_max; i++) {
		struct ww_queue_held *held = &queue->frames[i];

		if (held->ring)
			(void)ww_queue_give_back(queue, held->ring, held->slot, &held->claim);
		held->ring = NULL;
	}
	/* If its streams have yet to reach a value, others must still see its page. */
	if (ww_timeline_reached(queue->timeline) >= queue->value) {
		ww_queue_remove_member(queue, "consumer", queue->member);
		if (queue->number != WW_QUEUE_NOBODY)
			(void)ww_queue_entry_replace(&queue->bell.consumers[queue->number],
				queue->member, 0);
	}
	ww_queue_bell_ring(&queue->bell);
}

static void leave_producers(struct ww_work_queue *queue)
{
	struct ww_queue_ring *own = ww_queue_own_ring(queue);
	struct ww_queue_counts counts = {0};

	ww_ring_close(&own->ring);
	ww_queue_ring_count(own, &counts);
	if (counts.available + counts.claimed + counts.failed == 0) {
		ww_queue_remove_member(queue, "producer", queue->member);
		for (uint32_t i = 0; i < queue->roster.count; i++)
			(void)ww_queue_entry_replace(&queue->roster.producers[i], queue->member, 0);
	}
	ww_queue_bell_ring(&queue->bell);
}

static void leave(struct ww_work_queue *queue)
{
	struct ww_error record;

	if (!queue->is_member)
		return;
	ww_error_save(&record);
	if (ww_queue_is_consumer(queue))
		leave_consumers(queue);
	else
		leave_producers(queue);
	ww_error_restore(&record);
}

void ww_queue_free(struct ww_work_queue *queue)
{
	struct ww_list *link;

	if (!queue)
		return;
	queue->eventfd = ww_eventfd_free(queue->eventfd);
	leave(queue);
	ww_timeline_drop(queue->timeline);
	while ((link = ww_list_take_first(&queue->rings)))
		ww_queue_ring_free(ww_queue_ring_of(link));
	ww_queue_claimants_fini(queue);
	ww_queue_bell_fini(&queue->bell);
	ww_queue_roster_fini(&queue->roster);
	ww_attachments_fini(&queue->shared);
	ww_attachments_fini(&queue->object);
	ww_broker_unref(queue->broker);
	ww_device_unref(queue->device);
	free(queue->frames);
	free(queue->slots);
	free(queue);
}

ww_work_queue *ww_work_queue_ref(ww_work_queue *queue)
{
	if (queue)
		ww_ref_get(&queue->ref);
	return queue;
}

ww_work_queue *ww_work_queue_unref(ww_work_queue *queue)
{
	if (queue && ww_ref_put(&queue->ref)) {
		ww_queue_free(queue);
		ww_deferred_reclaim();
	}
	return NULL;
}

/* --- closing --- */

ww_status ww_work_queue_close(ww_work_queue *queue)
{
	ww_try(ww_process_enter());
	ww_require(queue, "ww_work_queue_close: queue is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	if (!queue->may_produce)
		return ww_fail(WW_ERR_ACCESS,
			"cannot shut the work queue down: this process opened it to consume; let the "
			"process that made it do that, or a producer");
	ww_queue_roster_close(&queue->roster);
	ww_queue_bell_ring(&queue->bell);
	ww_queue_eventfd_set(queue);
	return WW_OK;
}
