/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry.h - timers that end objects and escrows
 *
 * An object or escrow that ends at a point in time has one timer, which is freed when it is stopped
 * or the item ends. When the point has come, a function of the item's kind is called.
 */
#ifndef WW_DAEMON_REGISTRY_EXPIRY_H
#define WW_DAEMON_REGISTRY_EXPIRY_H

#include <stdint.h>
#include <uv.h>

#include <warpway/base.h>

#define EXPIRY_NEVER UINT64_MAX

struct registry;

/* Ends the item; it calls expiry_stop(). */
typedef void (*expiry_end)(struct registry *registry, void *item);

struct expiry {
	uv_timer_t timer;
	const uint64_t *expires_ns;
	expiry_end end;
	struct registry *registry;
	void *item;
};

/*
 * Starts a timer.
 * @expires_ns:  CLOCK_MONOTONIC, borrowed until expiry_stop(): the value in the item's record,
 *               which may be changed to a later one; the past: at the loop's next turn
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status expiry_start(uv_loop_t *loop, const uint64_t *expires_ns, expiry_end end,
	struct registry *registry, void *item, struct expiry **out_expiry);

/* The value is the past now: the item ends at the loop's next turn. */
void expiry_hasten(struct expiry *expiry);

/* @expiry: may point at NULL, and does afterwards. The memory is freed at the loop's next turn. */
void expiry_stop(struct expiry **expiry);

/* The point in time @left_ns after @now_ns; @left_ns 0, or too many to count: EXPIRY_NEVER. */
uint64_t expiry_point(uint64_t now_ns, uint64_t left_ns);

#endif
