/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry.h - the ends in time of objects and escrows
 */
#ifndef WW_BROKER_EXPIRY_H
#define WW_BROKER_EXPIRY_H

#include "broker/registry.h"

/*
 * Ends an object, or a hold, at a point in time; one of the two is NULL.
 * @expires_ns:  CLOCK_MONOTONIC; the past: at the loop's next turn
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status expiry_start(struct registry *registry, struct object *object, struct hold *hold,
	uint64_t expires_ns, struct expiry **out_expiry);

/* @expiry: may point at NULL, and does afterwards. The memory is freed at the loop's next turn. */
void expiry_stop(struct expiry **expiry);

#endif
