/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.c - the descriptor of a channel for event loops, see notice.h
 */
#include "channel/notice.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"

static struct ww_channel_notice *notice_of(struct ww_notice *notice)
{
	return ww_container(notice, struct ww_channel_notice, notice);
}

static bool notice_look(struct ww_notice *notice, uint64_t now_ns, struct ww_await_sleep *sleep)
{
	return ww_readiness_look(&notice_of(notice)->readiness, now_ns, sleep);
}

static void notice_announce(struct ww_notice *notice)
{
	ww_readiness_announce(&notice_of(notice)->readiness);
}

static void notice_withdraw(struct ww_notice *notice)
{
	ww_readiness_withdraw(&notice_of(notice)->readiness);
}

static const struct ww_notice_class channel_class = {
	.look = notice_look,
	.announce = notice_announce,
	.withdraw = notice_withdraw,
};

static ww_status notice_create(struct ww_channel_notice **out_notice)
{
	struct ww_channel_notice *made = calloc(1, sizeof(*made));
	ww_status status;

	if (!made)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot make a descriptor of a channel: out of memory");
	status = ww_notice_init(&made->notice, &channel_class);
	if (status < 0) {
		free(made);
		return status;
	}
	*out_notice = made;
	return WW_OK;
}

static void notice_drop_readiness(struct ww_channel_notice *notice)
{
	if (notice->is_kept)
		ww_readiness_drop(&notice->readiness);
	notice->is_kept = false;
}

struct ww_channel_notice *ww_channel_notice_free(struct ww_channel_notice *notice)
{
	if (!notice)
		return NULL;
	ww_notice_fini(&notice->notice);
	notice_drop_readiness(notice);
	free(notice);
	return NULL;
}

static void notice_set(struct ww_channel_notice *notice, struct ww_channel *channel)
{
	struct ww_readiness readiness;
	struct ww_error record;
	ww_status status;

	ww_notice_pause(&notice->notice);
	notice_drop_readiness(notice);
	ww_error_save(&record);
	status = ww_readiness_of(channel, &readiness);
	ww_error_restore(&record);
	if (status != WW_OK || ww_readiness_is_now(&readiness)) {
		ww_notice_say(&notice->notice, status != WW_NOT_READY);
		return;
	}
	notice->readiness = readiness;
	ww_readiness_keep(&notice->readiness);
	notice->is_kept = true;
	ww_notice_arm(&notice->notice);
}

/* --- of a channel --- */

void ww_channel_pause_notice(struct ww_channel *channel)
{
	if (channel->notice)
		ww_notice_pause(&channel->notice->notice);
}

void ww_channel_set_notice(struct ww_channel *channel)
{
	if (channel->notice)
		notice_set(channel->notice, channel);
}

ww_status ww_channel_eventfd(ww_channel *channel, int *out_fd)
{
	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(channel && out_fd, "ww_channel_eventfd: channel or out_fd is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_readiness_check(channel));
	if (!channel->notice)
		ww_try(notice_create(&channel->notice));
	notice_set(channel->notice, channel);
	return ww_fd_duplicate(channel->notice->notice.fd, out_fd);
}
