/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.c - the descriptor of a work queue for event loops: when it becomes readable
 *
 * See notice.h.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"
#include "queue/notice.h"

static struct ww_work_queue *queue_of(struct ww_notice *notice)
{
	return ww_container(notice, struct ww_queue_notice, notice)->queue;
}

/* What others wake this member by. */
static const uint32_t *wakes_of(const struct ww_work_queue *queue)
{
	return ww_queue_is_consumer(queue) ? &queue->bell.header->wakes
					   : &ww_queue_own_ring(queue)->claims.header->wakes;
}

static bool notice_look(struct ww_notice *notice, uint64_t now_ns, struct ww_await_sleep *sleep)
{
	struct ww_work_queue *queue = queue_of(notice);
	const uint32_t *wakes = wakes_of(queue), *own = &queue->timeline->cell->wakes;
	uint32_t seen = __atomic_load_n(wakes, __ATOMIC_ACQUIRE);
	uint32_t own_seen = __atomic_load_n(own, __ATOMIC_ACQUIRE);
	enum ww_await_look look = ww_queue_is_consumer(queue)
		? ww_queue_consumer_look(queue, now_ns)
		: ww_queue_producer_look(queue);

	if (look == WW_AWAIT_DONE)
		return true;
	if (look == WW_AWAIT_POLL)
		ww_await_sleep_until(sleep, ww_await_poll_ns(queue->notice->since_ns, now_ns));
	ww_await_sleep_for(sleep, wakes, seen);
	ww_await_sleep_for(sleep, own, own_seen);
	return false;
}

static void notice_announce(struct ww_notice *notice)
{
	struct ww_work_queue *queue = queue_of(notice);

	if (ww_queue_is_consumer(queue))
		ww_queue_bell_announce(&queue->bell, queue->number);
	else
		__atomic_store_n(&ww_queue_own_ring(queue)->ring.header->is_asleep, 1,
			__ATOMIC_SEQ_CST);
}

static void notice_withdraw(struct ww_notice *notice)
{
	struct ww_work_queue *queue = queue_of(notice);

	if (ww_queue_is_consumer(queue))
		ww_queue_bell_withdraw(&queue->bell, queue->number);
	else
		__atomic_store_n(&ww_queue_own_ring(queue)->ring.header->is_asleep, 0,
			__ATOMIC_RELAXED);
}

static const struct ww_notice_class queue_class = {
	.look = notice_look,
	.announce = notice_announce,
	.withdraw = notice_withdraw,
};

/* Return: as ww_notice_init(). */
static ww_status make_notice(struct ww_work_queue *queue)
{
	struct ww_queue_notice *made = calloc(1, sizeof(*made));
	ww_status status;

	if (!made)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor of a work queue: out of memory");
	status = ww_notice_init(&made->notice, &queue_class);
	if (status < 0) {
		free(made);
		return status;
	}
	made->queue = queue;
	queue->notice = made;
	return WW_OK;
}

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
	if (!queue->notice)
		ww_try(make_notice(queue));
	ww_queue_notice_set(queue);
	return ww_fd_duplicate(queue->notice->notice.fd, out_fd);
}
