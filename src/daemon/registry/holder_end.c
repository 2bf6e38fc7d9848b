/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder_end.c - the end of a process, as the registry sees it, see holder.h
 *
 * First the last wills of the process are executed, so that all waits for it end. Then its objects
 * end, and it releases what it holds. While its process may still run, the exit wait (exit_wait.h)
 * calls here for each last will in turn.
 */
#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/delivery.h"
#include "daemon/registry/exit_wait.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"

/* Between two looks at a last will whose exit wait has lasted EXIT_WAIT_NS. */
#define SELDOM_NS UINT64_C(1000000000)

void holder_await_exit(struct registry *registry, struct holder *holder)
{
	if (ww_list_is_empty(&holder->signal_pages))
		return;
	if (!holder_awaits_exit(registry, holder))
		holder_begin_exit_wait(registry, holder);
	ww_list_for_each (link, &holder->signal_pages) {
		if (last_will_is_enough(registry))
			return;
		(void)last_will_execute(registry, ww_container(link, struct object, of_creator),
			false);
	}
}

/*
 * The process has ended, so no store of it can come any more: retires its last wills, as many as
 * one turn of the loop allows. The pidfd fires again for the others. But if one could not be
 * retired, the pidfd is no longer polled, or it would fire all the time: the exit wait tries again.
 */
static void holder_retire_signal_pages(struct registry *registry, struct holder *holder)
{
	struct ww_list *link = holder->signal_pages.next;

	while (link != &holder->signal_pages && !last_will_is_enough(registry)) {
		struct object *object = ww_container(link, struct object, of_creator);

		link = link->next;
		if (!object_retire(registry, object) && holder->exit_poll)
			uv_poll_stop(holder->exit_poll);
	}
}

/* The objects with last wills end; their last wills stay and await the exit. */
static void holder_end_signal_pages(struct registry *registry, struct holder *holder)
{
	struct ww_list *link = holder->signal_pages.next;

	while (link != &holder->signal_pages) {
		struct object *object = ww_container(link, struct object, of_creator);

		link = link->next;
		object_await_exit(registry, object);
	}
}

void holder_end(struct registry *registry, struct holder *holder)
{
	/* Asked first: what is executed after that is the last word. */
	bool is_over = holder_is_over(registry, holder);
	struct ww_list *link;

	ww_assert(ww_list_is_empty(&holder->peers));
	if (!holder_awaits_exit(registry, holder))
		holder_await_exit(registry, holder);
	if (is_over)
		holder_retire_signal_pages(registry, holder);
	delivery_exporter_ended(registry, holder);
	holder_end_signal_pages(registry, holder);
	/* The objects lose their creator. Those that live with it, or were not finished, end. */
	while ((link = ww_list_take_first(&holder->put))) {
		struct object *object = ww_container(link, struct object, of_creator);
		struct ww_layout_object_record *record = object_record(registry, object);

		object->creator = NULL;
		record->maker = 0;
		if (record->state == WW_WIRE_STATE_WRITING)
			object_end(registry, object, WW_WIRE_WHAT_LOST);
		else if (object_ends_with_creator(record))
			object_end(registry, object, WW_WIRE_WHAT_GONE);
		else
			object_linger(registry,
				/* the former broker was killed while it retired the object */
				object);
	}
	while (!ww_list_is_empty(&holder->holds))
		hold_drop(registry, ww_container(holder->holds.next, struct hold, of_holder));
	if (holder->has_reservation)
		account_return(&registry->accounts, holder->account, &holder->reservation);
	holder->has_reservation = false;
	if (ww_list_is_empty(&holder->signal_pages))
		holder_free(registry, holder);
}

void holder_end_done(struct registry *registry)
{
	while (!ww_list_is_empty(&registry->done))
		holder_end(registry, ww_container(registry->done.next, struct holder, of_done));
}

/* A creator whose record is lost counts as ended, since its end could not be noticed. */
static bool creator_is_over(const struct registry *registry, const struct holder *creator)
{
	return !creator || holder_is_over(registry, creator);
}

static bool last_will_is_due(const struct registry *registry, const struct last_will *last_will,
	uint64_t now_ns)
{
	const struct object *object = last_will->object;

	return now_ns >= last_will->until_ns &&
		(!holder_has_pidfd(registry, object->creator) ||
			!last_will_has_readers(registry, object));
}

void holder_look_after(struct registry *registry, struct last_will *last_will, uint64_t now_ns)
{
	struct object *object = last_will->object;
	struct holder *creator = object->creator;
	bool is_last = creator_is_over(registry, creator) ||
		last_will_is_due(registry, last_will, now_ns);

	if (is_last && object_retire(registry, object)) {
		if (creator && ww_list_is_empty(&creator->signal_pages))
			holder_end(registry, creator);
		return;
	}
	if (!is_last)
		last_will->has_woken |= last_will_execute(registry, object, !last_will->has_woken);
	last_will->look_ns = now_ns < last_will->until_ns ? now_ns : now_ns + SELDOM_NS;
}
