/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_any.c - one wait over several channels
 *
 * The calling thread sleeps on the futex words of all of them (readiness.h), and says so in the
 * files of all. Of those that can go on it names the one that was named longest ago.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "channel/eventfd.h"

#define NONE UINT32_MAX

struct waiting {
	ww_channel *const *channels;
	struct ww_readiness *of; /* one for each channel */
	uint32_t count;
	uint32_t found; /* NONE: no channel can go on */
	bool is_hopeless;
};

/* --- looking --- */

static void find(struct waiting *waiting, uint32_t at)
{
	if (waiting->found == NONE ||
		waiting->channels[at]->named_ns < waiting->channels[waiting->found]->named_ns)
		waiting->found = at;
}

/* By the channels' own state. */
static void look_at_all(struct waiting *waiting)
{
	waiting->found = NONE;
	waiting->is_hopeless = true;
	for (uint32_t i = 0; i < waiting->count; i++) {
		struct ww_readiness *readiness = &waiting->of[i];
		ww_status status;

		ww_channel_check_deadline(waiting->channels[i]);
		status = ww_channel_readiness_get(waiting->channels[i], readiness);
		if (status == WW_NOT_READY) {
			readiness->look = NULL; /* not before the caller gives one back */
			continue;
		}
		waiting->is_hopeless = false;
		if (status < 0)
			ww_readiness_set_now(readiness); /* its next call says why */
		if (ww_readiness_is_now(readiness))
			find(waiting, i);
	}
}

static enum ww_await_look look_again(void *context)
{
	struct waiting *waiting = context;

	for (uint32_t i = 0; i < waiting->count; i++) {
		if (waiting->of[i].look && ww_readiness_is_now(&waiting->of[i]))
			find(waiting, i);
	}
	return waiting->found == NONE ? WW_AWAIT_SLEEP : WW_AWAIT_DONE;
}

/* --- sleeping --- */

/* Return: false: a channel can go on. */
static bool prepare_sleep(struct waiting *waiting, struct ww_await_sleep *sleep)
{
	uint64_t now_ns = ww_clock_now_ns();

	sleep->count = 0;
	for (uint32_t i = 0; i < waiting->count; i++) {
		if (!waiting->of[i].look)
			continue;
		ww_readiness_announce(&waiting->of[i]);
		if (ww_readiness_look(&waiting->of[i], now_ns, sleep))
			return false;
	}
	return true;
}

/* Until something may have changed. */
static void sleep_for_all(struct waiting *waiting, uint64_t deadline_ns)
{
	struct ww_await_sleep sleep = {
		.until_ns = ww_clock_sooner_ns(WW_PEER_LOOK_NS, deadline_ns)};

	for (uint32_t i = 0; i < waiting->count; i++)
		sleep.until_ns = ww_channel_next_late_ns(waiting->channels[i], sleep.until_ns);
	if (ww_await_spin(look_again, waiting, deadline_ns))
		return;
	if (prepare_sleep(waiting, &sleep))
		ww_await_any(sleep.words, sleep.count, ww_cancel_sleep_end_ns(sleep.until_ns));
	for (uint32_t i = 0; i < waiting->count; i++) {
		if (waiting->of[i].look)
			ww_readiness_withdraw(&waiting->of[i]);
	}
}

static ww_status wait_for_any(struct waiting *waiting, uint64_t deadline_ns)
{
	for (;;) {
		ww_status status;

		look_at_all(waiting);
		if (waiting->found != NONE)
			return WW_OK;
		if (waiting->is_hopeless)
			return ww_fail(WW_ERR_STATE,
				"none of the %" PRIu32
				" channels can go on: this process holds as many frames "
				"of each as it may; release, publish or discard one",
				waiting->count);
		status = ww_cancel_check(deadline_ns);
		if (status != WW_OK)
			return status;
		sleep_for_all(waiting, deadline_ns);
	}
}

/* --- the call --- */

static ww_status check_channels(ww_channel *const *channels, uint32_t count)
{
	if (count == 0 || count > WW_CHANNEL_WAIT_MAX)
		return ww_fail(WW_ERR_INVALID,
			"ww_channel_wait_any: one wait is for 1 to %d channels, not %" PRIu32,
			WW_CHANNEL_WAIT_MAX, count);
	for (uint32_t i = 0; i < count; i++) {
		ww_require(channels[i], "ww_channel_wait_any: a channel is NULL");
		ww_try(ww_ref_check(&channels[i]->ref, "a channel"));
		ww_try(ww_channel_readiness_check(channels[i]));
		for (uint32_t j = 0; j < i; j++)
			ww_require(channels[j] != channels[i],
				"ww_channel_wait_any: a channel is there twice");
	}
	return WW_OK;
}

ww_status ww_channel_wait_any(ww_channel *const *channels, uint32_t count, uint64_t timeout_ns,
	ww_cancel *cancel, uint32_t *out_index)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct waiting waiting = {.channels = channels, .count = count};
	ww_status status;

	ww_clear(out_index, 0);
	ww_try(ww_process_enter());
	ww_require(channels && out_index, "ww_channel_wait_any: channels or out_index is NULL");
	ww_try(check_channels(channels, count));
	waiting.of = calloc(count, sizeof(*waiting.of));
	if (!waiting.of)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot wait for channels: out of memory");
	for (uint32_t i = 0; i < count; i++)
		ww_eventfd_pause(channels[i]->eventfd);
	status = wait_for_any(&waiting, ww_clock_deadline_ns(timeout_ns));
	for (uint32_t i = 0; i < count; i++)
		ww_channel_eventfd_set(channels[i]);
	free(waiting.of);
	if (status != WW_OK)
		return status;
	*out_index = waiting.found;
	channels[waiting.found]->named_ns = ww_clock_now_ns();
	return WW_OK;
}
