/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.c - the descriptor of a work queue for event loops (base/eventfd.h)
 *
 * The thread looks at the ww_work_queue itself, not at a copy. So each call that changes what the
 * look reads pauses the descriptor first. The look asks no broker: if it finds a claim of a
 * consumer that is not known yet, the descriptor becomes readable, and the next call asks.
 */
#include "base/error.h"
#include "base/process.h"
#include "queue/queue.h"

static bool queue_look(void *context, uint64_t now_ns, struct ww_await_sleep *sleep)
{
	struct ww_work_queue *queue = context;
	const uint32_t *wakes = ww_queue_is_consumer(queue)
		? &queue->bell.header->wakes
		: &ww_queue_own_ring(queue)->claims.header->wakes;
	const uint32_t *own = &queue->timeline->cell->wakes;
	uint32_t seen = __atomic_load_n(wakes, __ATOMIC_ACQUIRE);
	uint32_t own_seen = __atomic_load_n(own, __ATOMIC_ACQUIRE);
	enum ww_await_look look = ww_queue_is_consumer(queue)
		? ww_queue_consumer_look(queue, now_ns)
		: ww_queue_producer_look(queue);

	if (look == WW_AWAIT_DONE)
		return true;
	if (look == WW_AWAIT_POLL)
		ww_await_sleep_until(sleep, ww_await_poll_ns(queue->armed_ns, now_ns));
	ww_await_sleep_for(sleep, wakes, seen);
	ww_await_sleep_for(sleep, own, own_seen);
	return false;
}

static void queue_announce(void *context)
{
	struct ww_work_queue *queue = context;

	if (ww_queue_is_consumer(queue))
		ww_queue_bell_announce(&queue->bell, queue->number);
	else
		__atomic_store_n(&ww_queue_own_ring(queue)->ring.header->is_asleep, 1,
			__ATOMIC_SEQ_CST);
}

static void queue_withdraw(void *context)
{
	struct ww_work_queue *queue = context;

	if (ww_queue_is_consumer(queue))
		ww_queue_bell_withdraw(&queue->bell, queue->number);
	else
		__atomic_store_n(&ww_queue_own_ring(queue)->ring.header->is_asleep, 0,
			__ATOMIC_RELAXED);
}

static const struct ww_eventfd_class queue_class = {
	.look = queue_look,
	.announce = queue_announce,
	.withdraw = queue_withdraw,
};

ww_status ww_work_queue_eventfd(ww_work_queue *queue, int *out_fd)
{
	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(queue && out_fd, "ww_work_queue_eventfd: queue or out_fd is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	if (queue->role == WW_WORK_QUEUE_KEEPER)
		return ww_fail(WW_ERR_ACCESS,
			"cannot wait for frames: the work queue was opened to keep it, not as a producer "
			"or consumer");
	if (!queue->eventfd)
		ww_try(ww_eventfd_create(&queue_class, queue, &queue->eventfd));
	ww_queue_eventfd_set(queue);
	return ww_eventfd_duplicate(queue->eventfd, out_fd);
}
