/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.h - the descriptor of a work queue for event loops (base/notifier.h)
 *
 * The notifier looks at the ww_work_queue itself, not at a copy. So each call that changes what the
 * look reads pauses the notice first. The look asks no broker: if it finds a claim of a consumer
 * that is not known yet, the descriptor becomes readable, and the next call asks.
 */
#ifndef WW_QUEUE_NOTICE_H
#define WW_QUEUE_NOTICE_H

#include "base/notifier.h"
#include "queue/queue.h"

struct ww_queue_notice {
	struct ww_notice notice;
	struct ww_work_queue *queue; /* it owns this */
	uint64_t since_ns;           /* when it was armed */
};

/* Without a descriptor it does nothing. */
void ww_queue_notice_end(struct ww_work_queue *queue);

/* Around each call of a producer or consumer. Without a descriptor they are one load. */
void ww_queue_notice_pause(struct ww_work_queue *queue);
void ww_queue_notice_set(struct ww_work_queue *queue);

/* --- consumer.c and producer.c: whether a call without a stream would wait --- */

enum ww_await_look ww_queue_consumer_look(struct ww_work_queue *queue, uint64_t now_ns);
enum ww_await_look ww_queue_producer_look(struct ww_work_queue *queue);

#endif
