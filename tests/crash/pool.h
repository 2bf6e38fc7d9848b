/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - processes that allocate, pass and release slices of a pool are killed at random moments
 *
 * The cast: an OWNER, which cuts slices and sends tokens of them, and seven HOLDERS, which import,
 * hold, pass on to each other and let go, in any order and by streams that lag behind. Letters go
 * by datagram; one that cannot be delivered is not: its escrow ends. The owner also gives slices
 * names, each in place of the last one, by which holders get them. The director, which runs the
 * cases, kills and starts anew.
 *
 * Every slice has one word of 32 bits all over, made of its number, which no other slice ever has.
 * Whoever has a slice looks at all of it before he lets go of it. So bytes that are handed out
 * twice are seen by one of both; and so is work of the dead that comes too late, since each scratch
 * slice is filled by a stream some time after it was let go.
 */
#ifndef WW_TESTS_CRASH_POOL_H
#define WW_TESTS_CRASH_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "crash/figures.h"
#include "support/check.h"
#include "support/child.h"
#include "support/broker_case.h"
#include "support/subject.h"

#define POOL_HOLDERS 7
#define POOL_BYTES   (4 * MIB)
#define POOL_CHUNK   (2 * MIB)
#define SLICE_MOST   (512 * UINT64_C(1024))
#define POOL_NAMES   4

/* A token in the post. */
struct letter {
	struct ww_token token;
	uint32_t is_scratch; /* the receiver alone has it, and writes it */
	uint32_t reserved;
};

/* What happened, counted by all. */
struct board {
	atomic_uint stops;     /* 1: come to an end */
	atomic_uint tolerates; /* 1: the broker may be away */
	atomic_ulong allocated;
	atomic_ulong full; /* there was no room */
	atomic_ulong imported;
	atomic_ulong fetched; /* by their names */
	atomic_ulong late;    /* the slice was gone */
	atomic_ulong passed;
	atomic_ulong verified;
	atomic_ulong streamed;                /* let go of by a stream that was to fill it yet */
	atomic_ulong steps[1 + POOL_HOLDERS]; /* of each that is at work, since it began */
};

/* What every process of the cast has. */
struct player {
	uint64_t random;
	struct board *board;
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream; /* for what is waited for */
	ww_stream *lag;    /* for what is not; NULL: such releases are not possible here */
	uint32_t *buffer;  /* of SLICE_MOST bytes */
	int post;          /* socket */
};

struct board *board_map(bool create);
void board_unmap(struct board *board);

/* @index: 0: the owner, 1...: a holder. Letters to it arrive from now on. */
void player_begin(struct player *player, uint32_t index, uint64_t seed);
void player_end(struct player *player);

/* Return: whether the letter is in the post. */
bool letter_send(struct player *player, uint32_t to, const struct letter *letter);

/* Waits for one, not long. Return: whether there is one. */
bool letter_receive(struct player *player, struct letter *out_letter);

/* The word that a slice has all over: by a token of it. */
uint32_t word_of(const struct ww_token *token);

#define POOL_NAME_BYTES 16
void pool_name(char out[POOL_NAME_BYTES], uint64_t number);

void slice_fill(struct player *player, ww_memory *slice, uint32_t word);
void slice_verify(struct player *player, ww_memory *slice, uint32_t word);

/*
 * Lets go of it; a stream fills it with the word some time later, if one can. Until then it may be
 * nobody else's.
 */
void slice_release_late(struct player *player, ww_memory *slice, uint32_t word);

#endif
