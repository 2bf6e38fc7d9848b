/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscription.h - a verb that is a consumer of a channel: `channel sub` and `channel record`
 *
 * Which device: the CPU is tried first, for it reaches the slots that it holds without a driver.
 * Slots that it cannot reach are of a GPU, and the broker says of which.
 */
#ifndef TOOLS_WARPWAY_SUBSCRIPTION_H
#define TOOLS_WARPWAY_SUBSCRIPTION_H

#include <warpway/warpway.h>

#include "warpway/frame_stage.h"
#include "warpway/verbs.h"

/* What was asked for on the command line. */
struct subscription_plan {
	const char *device_name; /* NULL: where the slots are */
	uint64_t history;
	uint64_t timeout_ns; /* for the name */
	uint64_t count;      /* frames; 0: to the end */
};

/* clang-format off */
#define SUBSCRIPTION_OPTIONS(type, field) \
	OPTION("device", TEXT, type, field.device_name), \
	OPTION("history", TAKEN, type, field.history, .take = channel_take_history), \
	OPTION("wait", PATIENCE, type, field.timeout_ns), \
	OPTION("count", NUMBER, type, field.count, .value = 1, .maximum = UINT64_MAX)

#define SUBSCRIPTION_HELP \
	"  --device NAME     by which device frames are reached (default: the one that has them)\n" \
	"  --history N       begin with the N newest frames that are there, or `oldest` (default 0)\n" \
	"  --wait SECONDS    wait for the name to appear, or `forever`\n" \
	"  --count N         end after N frames\n"
/* clang-format on */

/* Why no further frame comes. */
enum subscription_end {
	SUBSCRIPTION_COUNTED,     /* as many as were asked for */
	SUBSCRIPTION_INTERRUPTED, /* Ctrl-C */
	SUBSCRIPTION_CLOSED,      /* the producer has closed the channel */
	SUBSCRIPTION_LOST,        /* it has died; told already */
	SUBSCRIPTION_FAILED,      /* likewise */
};

struct subscription {
	const struct subscription_plan *plan; /* borrowed */
	const char *name;                     /* borrowed */
	ww_device *device;
	ww_channel *channel;
	struct frame_stage stage;
	struct ww_channel_info info; /* when it began */
	uint64_t frames;             /* received */
	uint64_t bytes;
	uint64_t number;  /* of the last one */
	uint64_t skipped; /* between those that were received */
	enum subscription_end end;
};

/**
 * subscription_open() - become a consumer of the channel that the verb's first word names
 * Return: 0; the exit code after saying what went wrong. End it with subscription_fini().
 */
int subscription_open(struct subscription *subscription, const struct subscription_plan *plan,
	struct request *request);

/* The next frame. Return: false: none comes, subscription->end says why. */
bool subscription_receive(struct subscription *subscription, struct ww_frame *out_frame);

/* Return: 0, or -1 after saying what went wrong. */
int subscription_release(struct subscription *subscription, const struct ww_frame *frame);

/*
 * Frames that were gone before they were received. With policy latest, where a consumer is to get
 * the newest one only, those that it has skipped.
 */
uint64_t subscription_dropped(struct subscription *subscription);

/* A word for JSON. */
const char *subscription_end_name(enum subscription_end end);

/* The exit code that follows from the end. */
int subscription_exit(enum subscription_end end);

void subscription_fini(struct subscription *subscription);

static inline void own_subscription(struct subscription *subscription)
{
	subscription_fini(subscription);
}

#endif
