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

/* Between two looks at what is old. */
#define SELDOM_NS UINT64_C(1000000000)

/* Whose record is lost is taken for dead: nobody could say when he is. */
static bool is_over(const struct registry *registry, const struct holder *maker)
{
	return !maker || holder_is_over(registry, maker);
}

static bool is_due(const struct registry *registry, const struct testament *testament,
	uint64_t now_ns)
{
	const struct object *object = testament->object;

	return now_ns >= testament->until_ns &&
		(!holder_has_pidfd(registry, object->maker) ||
			!testament_is_shared(registry, object));
}

static void look_after(struct registry *registry, struct testament *testament, uint64_t now_ns)
{
	struct object *object = testament->object;
	struct holder *maker = object->maker;
	bool is_last = is_over(registry, maker) || is_due(registry, testament, now_ns);

	if (is_last && object_bury(registry, object)) {
		if (maker && ww_list_is_empty(&maker->pages))
			holder_end(registry, maker);
		return;
	}
	if (!is_last)
		testament->has_woken |= testament_execute(registry, object, !testament->has_woken);
	testament->look_ns = now_ns < testament->until_ns ? now_ns : now_ns + SELDOM_NS;
}

static void on_turn(uv_timer_t *timer);

/* At once, or when the next one is to be looked at; and not more often than one turn in TURN_MS. */
static void set_timer(struct registry *registry, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	uint64_t left_ms = TURN_MS;

	ww_list_for_each (link, &registry->mourned) {
		const struct testament *testament = ww_container(link, struct testament,
			of_mourned);

		if (testament->look_ns < next_ns)
			next_ns = testament->look_ns;
	}
	if (next_ns > now_ns && (next_ns - now_ns) / 1000000 > TURN_MS)
		left_ms = (next_ns - now_ns) / 1000000;
	uv_timer_start(&registry->mourning, on_turn, left_ms, 0);
}

static void on_turn(uv_timer_t *timer)
{
	struct registry *registry = timer->data;
	uint32_t left = registry->mourned_count;
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t bytes = 0;
	struct ww_list *link;

	while (left-- > 0 && bytes < TURN_BYTES &&
		(link = ww_list_take_first(&registry->mourned))) {
		struct testament *testament = ww_container(link, struct testament, of_mourned);

		ww_list_append(&registry->mourned, link);
		if (testament->look_ns > now_ns)
			continue;
		bytes += testament->bytes;
		look_after(registry, testament, now_ns);
	}
	if (registry->mourned_count > 0)
		set_timer(registry, now_ns);
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
	testament->look_ns = 0;
	if (ww_list_is_empty(&testament->of_mourned)) {
		testament->until_ns = ww_clock_now_ns() + MOURNING_NS;
		ww_list_append(&registry->mourned, &testament->of_mourned);
		registry->mourned_count++;
	}
	if (!uv_is_active((uv_handle_t *)&registry->mourning) ||
		uv_timer_get_due_in(&registry->mourning) > TURN_MS)
		uv_timer_start(&registry->mourning, on_turn, 0, 0);
}

void mourning_leave(struct registry *registry, struct testament *testament)
{
	if (ww_list_is_empty(&testament->of_mourned))
		return;
	ww_list_remove(&testament->of_mourned);
	if (--registry->mourned_count == 0)
		uv_timer_stop(&registry->mourning);
}
