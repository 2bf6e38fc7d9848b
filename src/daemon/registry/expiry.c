/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry.c - timers that end objects and escrows, see expiry.h
 *
 * The loop's timers count in milliseconds from the loop's own idea of now, so a timer may fire a
 * little early. Then it is started again.
 */
#include "daemon/registry/expiry.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

static void on_expiry(uv_timer_t *timer);

static void expiry_set_timer(struct expiry *expiry)
{
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t left_ns = *expiry->expires_ns > now_ns ? *expiry->expires_ns - now_ns : 0;

	uv_update_time(expiry->timer.loop);
	uv_timer_start(&expiry->timer, on_expiry, left_ns / 1000000 + (left_ns % 1000000 != 0), 0);
}

static void on_expiry(uv_timer_t *timer)
{
	struct expiry *expiry = timer->data;

	if (*expiry->expires_ns > ww_clock_now_ns())
		expiry_set_timer(expiry);
	else
		expiry->end(expiry->registry, expiry->item);
}

ww_status expiry_start(uv_loop_t *loop, const uint64_t *expires_ns, expiry_end end,
	struct registry *registry, void *item, struct expiry **out_expiry)
{
	struct expiry *expiry = calloc(1, sizeof(*expiry));

	if (!expiry)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	expiry->expires_ns = expires_ns;
	expiry->end = end;
	expiry->registry = registry;
	expiry->item = item;
	uv_timer_init(loop, &expiry->timer);
	expiry->timer.data = expiry;
	expiry_set_timer(expiry);
	*out_expiry = expiry;
	return WW_OK;
}

void expiry_hasten(struct expiry *expiry)
{
	expiry_set_timer(expiry);
}

static void free_expiry(uv_handle_t *handle)
{
	free(handle->data);
}

void expiry_stop(struct expiry **expiry)
{
	if (!*expiry)
		return;
	uv_close((uv_handle_t *)&(*expiry)->timer, free_expiry);
	*expiry = NULL;
}

uint64_t expiry_point(uint64_t now_ns, uint64_t left_ns)
{
	uint64_t end_ns;

	if (left_ns == 0 || __builtin_add_overflow(now_ns, left_ns, &end_ns))
		return EXPIRY_NEVER;
	return end_ns;
}
