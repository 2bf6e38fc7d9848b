/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry.c - the ends in time of objects and escrows, see expiry.h
 *
 * The loop's timers count in milliseconds from the loop's own idea of now, so a timer may fire a little early:
 * then it is set again.
 */
#include "broker/expiry.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

static void expired(uv_timer_t *timer);

static void set(struct expiry *expiry, uint64_t expires_ns)
{
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t left_ns = expires_ns > now_ns ? expires_ns - now_ns : 0;

	uv_update_time(expiry->registry->loop);
	uv_timer_start(&expiry->timer, expired, left_ns / 1000000 + (left_ns % 1000000 != 0), 0);
}

static uint64_t due(const struct expiry *expiry)
{
	if (expiry->object)
		return object_record(expiry->registry, expiry->object)->expires_ns;
	return hold_record(expiry->registry, expiry->hold)->expires_ns;
}

static void expired(uv_timer_t *timer)
{
	struct expiry *expiry = timer->data;

	if (due(expiry) > ww_clock_now_ns())
		set(expiry, due(expiry));
	else if (expiry->object)
		object_end(expiry->registry, expiry->object, WW_WIRE_WHAT_EXPIRED);
	else
		hold_drop(expiry->registry, expiry->hold);
}

ww_status expiry_start(struct registry *registry, struct object *object, struct hold *hold,
	uint64_t expires_ns, struct expiry **out_expiry)
{
	struct expiry *expiry = calloc(1, sizeof(*expiry));

	if (!expiry)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	expiry->registry = registry;
	expiry->object = object;
	expiry->hold = hold;
	uv_timer_init(registry->loop, &expiry->timer);
	expiry->timer.data = expiry;
	set(expiry, expires_ns);
	*out_expiry = expiry;
	return WW_OK;
}

static void closed(uv_handle_t *handle)
{
	free(handle->data);
}

void expiry_stop(struct expiry **expiry)
{
	if (!*expiry)
		return;
	uv_close((uv_handle_t *)&(*expiry)->timer, closed);
	*expiry = NULL;
}
