/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mourning.c - testaments between a connection's end and its process's end, see mourning.h
 *
 * One timer for all, while there are any. The testaments take turns, and a turn of the timer looks at so many bytes of
 * pages only: however many a user leaves, others are served. None has to be looked at in time, since the last
 * look, when the pidfd fires, is at all of a process's.
 */
#include "broker/mourning.h"

#include "base/clock.h"
#include "broker/registry_items.h"

#define TURN_MS    20
#define TURN_BYTES (UINT64_C(512) << 10) /* about 1 ms */

static bool is_due(const struct registry *registry, const struct testament *testament)
{
	const struct object *object = testament->object;
	bool has_pidfd = holder_record(registry, object->maker)->pidfd != NO_PIDFD;

	return ww_clock_now_ns() >= testament->until_ns && (object->holders == 0 || !has_pidfd);
}

static void look_after(struct registry *registry, struct testament *testament)
{
	struct object *object = testament->object;
	struct holder *maker = object->maker;

	if (!holder_is_over(registry, maker)) {
		testament_execute(registry, object, !testament->has_woken);
		testament->has_woken = true;
		if (!is_due(registry, testament))
			return;
	}
	object_bury(registry, object);
	if (ww_list_is_empty(&maker->pages))
		holder_end(registry, maker);
}

static void on_turn(uv_timer_t *timer)
{
	struct registry *registry = timer->data;
	uint32_t left = registry->mourned_count;
	uint64_t bytes = 0;
	struct ww_list *link;

	while (left-- > 0 && bytes < TURN_BYTES &&
		(link = ww_list_take_first(&registry->mourned))) {
		struct testament *testament = ww_container(link, struct testament, of_mourned);

		ww_list_append(&registry->mourned, link);
		bytes += testament->bytes;
		look_after(registry, testament);
	}
}

void mourning_open(struct registry *registry)
{
	ww_list_init(&registry->mourned);
	uv_timer_init(registry->loop, &registry->mourning);
	registry->mourning.data = registry;
}

void mourning_close(struct registry *registry)
{
	uv_close((uv_handle_t *)&registry->mourning, NULL);
}

void mourning_join(struct registry *registry, struct testament *testament)
{
	if (!ww_list_is_empty(&testament->of_mourned))
		return;
	testament->until_ns = ww_clock_now_ns() + MOURNING_NS;
	ww_list_append(&registry->mourned, &testament->of_mourned);
	if (registry->mourned_count++ == 0)
		uv_timer_start(&registry->mourning, on_turn, 0, TURN_MS);
}

void mourning_leave(struct registry *registry, struct testament *testament)
{
	if (ww_list_is_empty(&testament->of_mourned))
		return;
	ww_list_remove(&testament->of_mourned);
	if (--registry->mourned_count == 0)
		uv_timer_stop(&registry->mourning);
}
