/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher.h - a verb that is the producer of a channel: `channel pub` and `channel replay`
 *
 *   open ──> { begin ──> the verb writes the bytes ──> publish } ──> fini
 */
#ifndef TOOLS_WARPWAY_PUBLISHER_H
#define TOOLS_WARPWAY_PUBLISHER_H

#include <warpway/warpway.h>

#include "warpway/channel_option.h"
#include "warpway/frame_stage.h"
#include "warpway/name_option.h"
#include "warpway/verbs.h"

/* What was asked for on the command line; 0: the default. */
struct publisher_plan {
	const char *device_name;
	uint32_t policy;
	uint64_t slots;
	uint64_t consumers;
	uint64_t held;
	uint32_t mode;
	uint32_t gid;
	uint64_t flags;
	uint64_t evict_after_ns;
	uint64_t wait_consumers;
};

/* clang-format off */
#define PUBLISHER_OPTIONS(type, field) \
	OPTION("device", TEXT, type, field.device_name), \
	OPTION("policy", TAKEN, type, field.policy, .take = channel_take_policy), \
	OPTION("slots", NUMBER, type, field.slots, .value = 1, .maximum = WW_CHANNEL_SLOTS_MAX), \
	OPTION("consumers", NUMBER, type, field.consumers, .value = 1, \
		.maximum = WW_CHANNEL_CONSUMERS_MAX), \
	OPTION("held", NUMBER, type, field.held, .value = 1, .maximum = WW_CHANNEL_SLOTS_MAX), \
	OPTION("mode", TAKEN, type, field.mode, .take = name_take_mode), \
	OPTION("group", TAKEN, type, field.gid, .take = name_take_group), \
	OPTION("replace", BITS, type, field.flags, .value = WW_PUT_REPLACE), \
	OPTION("evict-after", SECONDS, type, field.evict_after_ns, .value = 1), \
	OPTION("wait-consumers", NUMBER, type, field.wait_consumers, .value = 1, \
		.maximum = WW_CHANNEL_CONSUMERS_MAX)

#define PUBLISHER_HELP \
	"  --device NAME     where the slots are: host (default), cuda:N or cuda:UUID\n" \
	"  --policy POLICY   when all slots have frames: block (wait for the consumers), drop-oldest,\n" \
	"                    or latest (likewise, and a consumer always gets the newest)\n" \
	"  --slots N         how many frames there is room for\n" \
	"  --consumers N     at most so many at one time, 1 to 32 (default 4)\n" \
	"  --held N          frames that one consumer may hold (default 1)\n" \
	"  --mode MODE       permissions in octal (default 0600); who may read is a consumer\n" \
	"  --group GROUP     one of your groups (default: your own)\n" \
	"  --replace         a channel of that name gives way\n" \
	"  --evict-after SECONDS  end a consumer for which the producer has waited so long\n" \
	"  --wait-consumers N  wait for N consumers before the first frame\n"
/* clang-format on */

struct publisher {
	const char *name; /* borrowed */
	ww_device *device;
	ww_channel *channel;
	struct frame_stage stage;
	struct ww_channel_info info; /* when it was made */
	uint64_t frames;             /* published */
	uint64_t bytes;
	uint64_t started_ns;
};

/* What begins with one of these goes on with PUBLISHER_GO, and ends with the others. */
enum publisher_next {
	PUBLISHER_FAILED = -1, /* told already */
	PUBLISHER_GO = 0,
	PUBLISHER_END = 1 /* interrupted, or there is nothing more */
};

/**
 * publisher_open() - make the channel that the verb's first word names
 * @params:  borrowed; what frames there will be; the rest comes from the plan
 * Return: 0; the exit code after saying what went wrong. End it with publisher_fini().
 */
int publisher_open(struct publisher *publisher, const struct publisher_plan *plan,
	struct ww_channel_params *params, struct request *request);

/* A slot, and where the CPU writes its bytes. */
enum publisher_next publisher_begin(struct publisher *publisher, struct ww_frame *out_frame,
	void **out_bytes);

/* frame->bytes and the like are set. Return: 0, or -1 after saying what went wrong. */
int publisher_publish(struct publisher *publisher, struct ww_frame *frame);

/* All is published, or it was interrupted: says so, as a line or as JSON. Return: the exit code. */
int publisher_tell(const struct publisher *publisher, bool json);

void publisher_fini(struct publisher *publisher);

static inline void own_publisher(struct publisher *publisher)
{
	publisher_fini(publisher);
}

#endif
