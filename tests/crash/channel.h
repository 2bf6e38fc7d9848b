/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - processes that publish and receive frames of a channel are killed
 *
 * The cast of the random part: a PRODUCER, which makes the channel anew again and again, and
 * CONSUMERS, which join, receive, hold, release and leave, all by the CPU and by streams. The
 * director, which runs the cases, kills one of them at random moments and starts it anew.
 *
 * Every channel that a producer makes is a generation of its own. A frame's bytes are one word of
 * 32 bits all over, made of its generation and number, and its metadata says both. A consumer looks
 * at all of that when it receives a frame and again before it releases it, so a frame that is torn,
 * or written while it is held, is seen. A board that all processes share says what was published:
 *   - `said` of a generation: a higher number was not published;
 *   - `done`: up to here all are complete, so a consumer that is there must receive them, or count
 *     them as dropped where the policy drops;
 *   - `killed`: the producer of this generation may have been killed. Only then frames above `done`
 *     may be missing or never complete.
 */
#ifndef WW_TESTS_CRASH_CHANNEL_H
#define WW_TESTS_CRASH_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "crash/figures.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/child.h"
#include "support/subject.h"

#define CHANNEL_CONSUMERS   3
#define CHANNEL_SLOT_BYTES  1024
#define CHANNEL_HELD        2
#define CHANNEL_GENERATIONS 4096 /* entries; older ones are used again */

/* A wait ends after this time, so that whoever waits can see that all is over. */
#define CHANNEL_TURN_NS UINT64_C(50000000)

struct generation {
	atomic_ulong said;
	atomic_ulong done;
};

/* What happened, counted by all. */
struct board {
	atomic_uint stops;       /* 1: come to an end */
	atomic_ulong generation; /* of the newest channel */
	atomic_ulong killed;     /* no producer of a later generation was killed */
	atomic_ulong published;
	atomic_ulong received;
	atomic_ulong verified; /* looks at the bytes of a whole frame */
	atomic_ulong dropped;
	atomic_ulong lost; /* received by streams, and never complete */
	atomic_ulong joined;
	atomic_ulong ended; /* channels whose producer closed them, or ended */
	atomic_ulong steps[1 + CHANNEL_CONSUMERS]; /* of each that is at work, since it began */
	struct generation generations[CHANNEL_GENERATIONS];
};

/* What is written into the metadata of a frame. */
struct note {
	uint64_t generation;
	uint64_t number;
};

struct board *board_map(bool create);
void board_unmap(struct board *board);
struct generation *board_generation(struct board *board, uint64_t generation);

/* What a frame has, by its generation and number. */
uint32_t channel_word(uint64_t generation, uint64_t number);
uint64_t channel_frame_bytes(uint64_t number);

/* What every process of the cast has. */
struct player {
	uint64_t random;
	uint32_t index; /* 0: the producer */
	struct board *board;
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	bool has_values; /* its streams can signal values */
};

void player_begin(struct player *player, uint32_t index, uint64_t seed);
void player_end(struct player *player);

/* A stream for one call in eight, else NULL. */
ww_stream *player_stream(struct player *player);

/* The last status said that a frame was never complete, and not that the producer ended. */
bool channel_said_unfinished(void);

#endif
