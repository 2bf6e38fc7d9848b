/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer_view.c - a consumer as its channel's producer or an observer sees it, see consumers.h
 */
#include <stdlib.h>

#include "base/prefetch.h"
#include "channel/consumers.h"
#include "wire/signal_page.h"

void ww_consumers_init(struct ww_consumers *consumers)
{
	ww_group_init(&consumers->group);
}

void ww_consumer_view_free(struct ww_consumer_view *view)
{
	ww_attachments_fini(&view->request);
	ww_channel_marks_fini(&view->marks);
	ww_group_member_fini(&view->member);
	free(view);
}

void ww_consumers_fini(struct ww_consumers *consumers)
{
	struct ww_list *link;

	while ((link = consumers->group.members.next) != &consumers->group.members) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);

		ww_group_remove(&consumers->group, &view->member);
		ww_consumer_view_free(view);
	}
}

struct ww_consumer_view *ww_consumers_find(const struct ww_consumers *consumers, uint32_t number)
{
	struct ww_consumer_view *found = NULL;

	ww_list_for_each (link, &consumers->group.members) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);

		if (view->number == number && (!found || !view->is_evicted))
			found = view;
	}
	return found;
}

/* --- whether it has ended --- */

bool ww_consumer_view_has_reached(const struct ww_consumer_view *view, uint64_t value)
{
	struct ww_signal_look look;

	if (ww_group_member_has_ended(&view->member))
		return true;
	ww_signal_cell_look(view->member.cell, &look);
	return look.reached >= value;
}

void ww_consumers_look_at_processes(const struct ww_consumers *consumers)
{
	ww_list_for_each (link, &consumers->group.members)
		(void)ww_peer_process_look(ww_consumer_view_of(link)->member.process);
}

bool ww_consumers_has_any_ended(const struct ww_consumers *consumers)
{
	ww_list_for_each (link, &consumers->group.members) {
		if (ww_group_member_has_ended(&ww_consumer_view_of(link)->member))
			return true;
	}
	return false;
}

/* --- what they use --- */

static enum ww_slot_use view_use(const struct ww_consumer_view *view, uint32_t slot, uint64_t frame,
	bool is_owed)
{
	enum ww_slot_use use;
	uint64_t value;

	if (view->is_evicted && (view->is_ignored || frame > view->evicted_at))
		return WW_SLOT_UNUSED;
	use = ww_channel_marks_use(&view->marks, slot, frame,
		is_owed && ww_consumer_view_is_owed(view), &value);
	if (use == WW_SLOT_UNUSED || ww_group_member_has_ended(&view->member))
		return WW_SLOT_UNUSED;
	if (use == WW_SLOT_RELEASING && ww_consumer_view_has_reached(view, value))
		return WW_SLOT_UNUSED;
	return use == WW_SLOT_NEEDED && view->is_evicted ? WW_SLOT_WITHHELD : use;
}

void ww_consumers_prefetch(const struct ww_consumers *consumers)
{
	ww_list_for_each (link, &consumers->group.members) {
		const struct ww_channel_marks *marks = &ww_consumer_view_of(link)->marks;

		ww_prefetch_to_read(&marks->header->next);
		ww_prefetch_to_read(marks->at);
	}
}

uint64_t ww_consumers_first_owed(const struct ww_consumers *consumers)
{
	uint64_t first = WW_CHANNEL_NEVER;

	ww_list_for_each (link, &consumers->group.members) {
		const struct ww_consumer_view *view = ww_consumer_view_of(link);
		uint64_t next = __atomic_load_n(&view->marks.header->next, __ATOMIC_RELAXED);

		if (next != 0 && next < first && ww_consumer_view_is_owed(view))
			first = next;
	}
	return first;
}

enum ww_slot_use ww_consumers_use(const struct ww_consumers *consumers, uint32_t slot,
	uint64_t frame, bool is_owed, struct ww_consumer_view **out_view)
{
	enum ww_slot_use worst = WW_SLOT_UNUSED;

	*out_view = NULL;
	ww_list_for_each (link, &consumers->group.members) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);
		enum ww_slot_use use = view_use(view, slot, frame, is_owed);

		if (use > worst) {
			worst = use;
			*out_view = view;
		}
	}
	return worst;
}

void ww_consumers_wake(const struct ww_consumers *consumers, struct ww_ring *ring)
{
	ww_list_for_each (link, &consumers->group.members) {
		if (!ww_channel_marks_are_asleep(&ww_consumer_view_of(link)->marks))
			continue;
		ww_ring_wake(ring);
		return;
	}
}
