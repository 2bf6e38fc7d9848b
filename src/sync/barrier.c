/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.c - the round that N timelines make, see barrier.h
 *
 * A member's timeline has the number of the round it has arrived in. A member that waits sleeps on
 * the first member that is missing, which wakes it when it arrives; and looks at all of them every
 * 2 ms at most, since another one may have ended. A member that ended after it arrived does not
 * break the round.
 *
 * If another barrier was given the name, the broker stores that in the page of each member, so a
 * member looks at its own page, which no other member can write.
 */
#include "sync/barrier.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "sync/wait_result.h"

#define INFO_V1_BYTES sizeof(struct ww_barrier_info)
#define NOBODY        UINT32_MAX

struct ww_barrier *ww_barrier_new(uint32_t count)
{
	struct ww_barrier *barrier = calloc(1, sizeof(*barrier) + count * sizeof(void *));

	if (!barrier) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a barrier: out of memory");
		return NULL;
	}
	ww_ref_init(&barrier->ref);
	barrier->count = count;
	barrier->rank = NOBODY;
	barrier->broken_rank = NOBODY;
	return barrier;
}

ww_barrier *ww_barrier_ref(ww_barrier *barrier)
{
	if (barrier)
		ww_ref_get(&barrier->ref);
	return barrier;
}

ww_barrier *ww_barrier_unref(ww_barrier *barrier)
{
	if (!barrier || !ww_ref_put(&barrier->ref))
		return NULL;
	barrier->eventfd = ww_eventfd_free(barrier->eventfd);
	/* Members in the same process have references to it. */
	if (barrier->rank != NOBODY)
		ww_timeline_close(barrier->members[barrier->rank]);
	for (uint32_t i = 0; i < barrier->count; i++)
		ww_timeline_drop(barrier->members[i]);
	ww_attachments_fini(&barrier->object);
	free(barrier);
	ww_deferred_reclaim();
	return NULL;
}

static ww_status look_at(const struct ww_barrier *barrier, uint32_t rank, uint64_t round,
	struct ww_signal_look *out_look)
{
	ww_signal_cell_look(barrier->members[rank]->cell, out_look);
	return ww_wait_result_of(out_look, round);
}

struct missing {
	const struct ww_barrier *barrier;
	uint64_t round;
	uint32_t rank;   /* the missing member: all before have arrived */
	uint32_t broken; /* the member that will never come */
	bool is_replaced;
};

static bool is_replaced(const struct ww_barrier *barrier)
{
	return ww_signal_page_is_replaced(barrier->members[barrier->rank]->page->header);
}

/* Whether the missing one has come, or any other one never will. */
static enum ww_await_look look(void *context)
{
	struct missing *missing = context;
	struct ww_signal_look seen;

	if (look_at(missing->barrier, missing->rank, missing->round, &seen) == WW_OK)
		return WW_AWAIT_DONE;
	/* Before the others, which leave the barrier for that reason. */
	missing->is_replaced = is_replaced(missing->barrier);
	if (missing->is_replaced)
		return WW_AWAIT_DONE;
	for (uint32_t i = missing->rank; i < missing->barrier->count; i++) {
		if (look_at(missing->barrier, i, missing->round, &seen) < 0) {
			missing->broken = i;
			return WW_AWAIT_DONE;
		}
	}
	return WW_AWAIT_POLL;
}

static ww_status fail_replaced(void)
{
	return ww_fail(WW_ERR_PEER_LOST,
		"the barrier is broken: it was replaced, another barrier has its name; get that one");
}

static ww_status fail_broken(struct ww_barrier *barrier, uint32_t rank, uint64_t round)
{
	struct ww_timeline *member = barrier->members[rank];
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	barrier->broken_rank = rank;
	ww_try(ww_timeline_info_get(member, &info));
	return ww_fail(WW_ERR_PEER_LOST,
		"the barrier is broken: member %" PRIu32 ", %s, %s after round %" PRIu64
		" and will not come to round %" PRIu64 "; make a new barrier",
		rank, ww_wait_result_process(member->page, process),
		info.state == WW_TIMELINE_LOST ? "ended" : "left", info.completed, round);
}

static ww_status wait_for_all(struct ww_barrier *barrier, uint64_t round, uint64_t timeout_ns)
{
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct missing missing = {.barrier = barrier, .round = round, .broken = NOBODY};

	for (; missing.rank < barrier->count; missing.rank++) {
		const struct ww_timeline *member = barrier->members[missing.rank];
		ww_status status = ww_await(&member->cell->wakes, look, &missing, deadline_ns);

		if (status != WW_OK)
			return status;
		if (missing.broken != NOBODY)
			return fail_broken(barrier, missing.broken, round);
		if (missing.is_replaced)
			return fail_replaced();
	}
	return WW_OK;
}

ww_status ww_barrier_check(struct ww_barrier *barrier)
{
	struct ww_signal_look seen;

	for (uint32_t i = 0; i < barrier->count; i++) {
		if (barrier->members[i] && look_at(barrier, i, 1, &seen) < 0)
			return fail_broken(barrier, i, 1);
	}
	return WW_OK;
}

static ww_status arrive_and_wait(struct ww_barrier *barrier, uint64_t timeout_ns)
{
	struct ww_timeline_info own = WW_INIT(struct ww_timeline_info);
	uint64_t round = barrier->round + 1;
	ww_status status;

	ww_try(ww_timeline_info_get(barrier->members[barrier->rank], &own));
	if (own.submitted < round) { /* else it arrived in a call that timed out */
		if (is_replaced(barrier))
			return fail_replaced();
		ww_try(ww_timeline_signal(barrier->members[barrier->rank], round));
	}
	status = wait_for_all(barrier, round, timeout_ns);
	if (status == WW_OK)
		barrier->round = round;
	return status;
}

ww_status ww_barrier_wait(ww_barrier *barrier, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(barrier, "ww_barrier_wait: barrier is NULL");
	ww_try(ww_ref_check(&barrier->ref, "a barrier"));
	ww_eventfd_pause(barrier->eventfd);
	status = arrive_and_wait(barrier, timeout_ns);
	if (barrier->eventfd)
		ww_eventfd_arm(barrier->eventfd);
	return status;
}

/* --- event loops --- */

/*
 * This member is one of those that must have arrived. The missing one wakes the thread when it
 * arrives or ends, and the broker if the barrier is replaced, by the own word; the end of others is
 * seen when the thread looks again.
 */
static bool barrier_look(void *context, uint64_t now_ns, struct ww_await_sleep *sleep)
{
	const struct ww_barrier *barrier = context;
	struct missing missing = {
		.barrier = barrier,
		.round = barrier->round + 1,
		.broken = NOBODY,
	};
	const uint32_t *own = &barrier->members[barrier->rank]->cell->wakes;
	uint32_t own_seen = __atomic_load_n(own, __ATOMIC_ACQUIRE);

	(void)now_ns;
	for (; missing.rank < barrier->count; missing.rank++) {
		const uint32_t *wakes = &barrier->members[missing.rank]->cell->wakes;
		uint32_t seen = __atomic_load_n(wakes, __ATOMIC_ACQUIRE);

		if (look(&missing) != WW_AWAIT_DONE) {
			ww_await_sleep_for(sleep, own, own_seen);
			ww_await_sleep_for(sleep, wakes, seen);
			return false;
		}
		if (missing.broken != NOBODY || missing.is_replaced)
			break;
	}
	return true;
}

ww_status ww_barrier_eventfd(ww_barrier *barrier, int *out_fd)
{
	static const struct ww_eventfd_class class = {.look = barrier_look};

	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(barrier && out_fd, "ww_barrier_eventfd: barrier or out_fd is NULL");
	ww_try(ww_ref_check(&barrier->ref, "a barrier"));
	if (!barrier->eventfd)
		ww_try(ww_eventfd_create(&class, barrier, &barrier->eventfd));
	ww_eventfd_pause(barrier->eventfd);
	ww_eventfd_arm(barrier->eventfd);
	return ww_eventfd_duplicate(barrier->eventfd, out_fd);
}

ww_status ww_barrier_info_get(ww_barrier *barrier, struct ww_barrier_info *info)
{
	struct ww_barrier_info ours = {0};
	struct ww_signal_look seen;

	ww_try(ww_process_enter());
	ww_require(barrier && info, "ww_barrier_info_get: barrier or info is NULL");
	ww_try(ww_ref_check(&barrier->ref, "a barrier"));
	ours.count = barrier->count;
	ours.rank = barrier->rank;
	ours.round = barrier->round;
	ours.broken_rank = barrier->broken_rank;
	for (uint32_t i = 0; i < barrier->count; i++) {
		ww_status status = look_at(barrier, i, ours.round + 1, &seen);

		ours.arrived += status == WW_OK;
		if (status < 0 && ours.broken_rank == NOBODY)
			ours.broken_rank = i;
	}
	ours.is_broken = ours.broken_rank != NOBODY || is_replaced(barrier);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_barrier_info");
}
