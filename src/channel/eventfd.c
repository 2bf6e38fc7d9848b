/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.c - the descriptor of a channel for event loops, see eventfd.h
 */
#include "channel/eventfd.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/producer.h"

ww_status ww_channel_readiness_check(const struct ww_channel *channel)
{
	if (!channel->is_observer)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot wait for frames: this is an observer of the channel, which receives none; "
		"ww_channel_next_event() waits for events");
}

ww_status ww_channel_readiness_get(struct ww_channel *channel, struct ww_readiness *out_readiness)
{
	memset(out_readiness, 0, sizeof(*out_readiness));
	out_readiness->since_ns = ww_clock_now_ns();
	out_readiness->again_ns = WW_NEVER;
	return channel->is_producer ? ww_producer_readiness(ww_producer_of(channel), out_readiness)
				    : ww_consumer_readiness(ww_consumer_of(channel), out_readiness);
}

static bool readiness_look(void *context, uint64_t now_ns, struct ww_await_sleep *sleep)
{
	return ww_readiness_look(context, now_ns, sleep);
}

static void readiness_announce(void *context)
{
	ww_readiness_announce(context);
}

static void readiness_withdraw(void *context)
{
	ww_readiness_withdraw(context);
}

static const struct ww_eventfd_class readiness_class = {
	.look = readiness_look,
	.announce = readiness_announce,
	.withdraw = readiness_withdraw,
};

void ww_channel_eventfd_end(struct ww_channel *channel)
{
	channel->eventfd = ww_eventfd_free(channel->eventfd);
	ww_readiness_drop(&channel->shown);
}

void ww_channel_eventfd_set(struct ww_channel *channel)
{
	struct ww_readiness readiness;
	struct ww_error record;
	ww_status status;

	if (!channel->eventfd)
		return;
	ww_eventfd_pause(channel->eventfd);
	ww_readiness_drop(&channel->shown);
	ww_error_save(&record);
	status = ww_channel_readiness_get(channel, &readiness);
	ww_error_restore(&record);
	if (status != WW_OK || ww_readiness_is_now(&readiness)) {
		ww_eventfd_say(channel->eventfd, status != WW_NOT_READY);
		return;
	}
	channel->shown = readiness;
	ww_readiness_keep(&channel->shown);
	ww_eventfd_arm(channel->eventfd);
}

ww_status ww_channel_eventfd(ww_channel *channel, int *out_fd)
{
	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(channel && out_fd, "ww_channel_eventfd: channel or out_fd is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_channel_readiness_check(channel));
	if (!channel->eventfd)
		ww_try(ww_eventfd_create(&readiness_class, &channel->shown, &channel->eventfd));
	ww_channel_eventfd_set(channel);
	return ww_eventfd_duplicate(channel->eventfd, out_fd);
}
