/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reattach.h - a consumer that goes on with the next producer of its channel's name
 *
 * To go on, the consumer joins the new channel as a consumer of its own, and changes all that
 * belongs to one producer with it. The former one stays while frames of it are held, or while it is
 * not known whether one that was released was ever complete.
 */
#ifndef WW_CHANNEL_REATTACH_H
#define WW_CHANNEL_REATTACH_H

#include "channel/consumer.h"

/* Has a consumer go on after its producer. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_reattach_init(struct ww_consumer *consumer, ww_device *device, const char *name,
	const struct ww_consumer_params *params);

/*
 * Waits for the next producer, and joins its channel. All frames of the old channel are received.
 * Return: WW_OK; WW_TIMED_OUT; as ww_channel_get().
 */
ww_status ww_reattach_wait(struct ww_consumer *consumer, uint64_t deadline_ns);

/*
 * Whether another channel has the name, while the producer lives, and no frame of that is there
 * that was not received. Asks the broker once a second at most.
 */
bool ww_reattach_look(struct ww_consumer *consumer);

/*
 * Has an observer go on, if its producer has ended or was replaced, and another channel is there.
 * Nothing of any other side. Return: WW_OK; as ww_channel_get().
 */
ww_status ww_reattach_follow(struct ww_channel *channel);

/* Whether this side goes on after its producer. */
bool ww_reattach_is_wanted(struct ww_channel *channel);

/* Of the producer no frame comes any more. */
void ww_reattach_note_end(struct ww_consumer *consumer);

/* When a consumer that sleeps must look again; WW_NEVER. */
uint64_t ww_reattach_look_ns(const struct ww_consumer *consumer);

/* Frees former ones of which nothing is needed any more. */
void ww_reattach_forget_former(struct ww_consumer *consumer);

#endif
