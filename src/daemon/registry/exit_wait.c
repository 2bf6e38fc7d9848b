/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_wait.c - repeats last wills until their processes exit, see exit_wait.h
 *
 * One timer serves all last wills, in turns. A turn of the timer covers a bounded number of bytes
 * of pages, so others are served however many pages a user leaves. No last will depends on the time
 * of its turn, since all of a process are executed once more when its pidfd fires.
 */
#include "daemon/registry/exit_wait.h"

#include "base/clock.h"

#define TURN_MS    20
#define TURN_BYTES (UINT64_C(512) << 10) /* about 1 ms */

static void on_exit_wait_turn(uv_timer_t *timer);

/* At once, or when the next one is to be looked at; and not more often than one turn in TURN_MS. */
static void exit_wait_set_timer(struct registry *registry, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	uint64_t left_ms = TURN_MS;

	ww_list_for_each (link, &registry->exit_waits) {
		const struct last_will *last_will = ww_container(link, struct last_will,
			of_exit_waits);

		if (last_will->look_ns < next_ns)
			next_ns = last_will->look_ns;
	}
	if (next_ns > now_ns && (next_ns - now_ns) / 1000000 > TURN_MS)
		left_ms = (next_ns - now_ns) / 1000000;
	uv_timer_start(&registry->exit_wait_timer, on_exit_wait_turn, left_ms, 0);
}

static void on_exit_wait_turn(uv_timer_t *timer)
{
	struct registry *registry = timer->data;
	uint32_t left = registry->exit_wait_count;
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t bytes = 0;
	struct ww_list *link;

	while (left-- > 0 && bytes < TURN_BYTES &&
		(link = ww_list_take_first(&registry->exit_waits))) {
		struct last_will *last_will = ww_container(link, struct last_will, of_exit_waits);

		ww_list_append(&registry->exit_waits, link);
		if (last_will->look_ns > now_ns)
			continue;
		bytes += last_will->bytes;
		registry->exit_wait_look(registry, last_will, now_ns);
	}
	if (registry->exit_wait_count > 0)
		exit_wait_set_timer(registry, now_ns);
}

void exit_wait_open(struct registry *registry, registry_look look)
{
	registry->exit_wait_look = look;
	ww_list_init(&registry->exit_waits);
	uv_timer_init(registry->loop, &registry->exit_wait_timer);
	registry->exit_wait_timer.data = registry;
}

void exit_wait_close(struct registry *registry)
{
	uv_close((uv_handle_t *)&registry->exit_wait_timer, NULL);
}

void exit_wait_add(struct registry *registry, struct last_will *last_will)
{
	last_will->look_ns = 0;
	if (ww_list_is_empty(&last_will->of_exit_waits)) {
		last_will->until_ns = ww_clock_now_ns() + EXIT_WAIT_NS;
		ww_list_append(&registry->exit_waits, &last_will->of_exit_waits);
		registry->exit_wait_count++;
	}
	if (!uv_is_active((uv_handle_t *)&registry->exit_wait_timer) ||
		uv_timer_get_due_in(&registry->exit_wait_timer) > TURN_MS)
		uv_timer_start(&registry->exit_wait_timer, on_exit_wait_turn, 0, 0);
}

void exit_wait_remove(struct registry *registry, struct last_will *last_will)
{
	if (ww_list_is_empty(&last_will->of_exit_waits))
		return;
	ww_list_remove(&last_will->of_exit_waits);
	if (--registry->exit_wait_count == 0)
		uv_timer_stop(&registry->exit_wait_timer);
}
