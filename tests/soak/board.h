/* SPDX-License-Identifier: Apache-2.0 */
/*
 * board.h - the file that all processes of a round map: tokens, what each does, what came of it
 *
 * soak.py reads actors and counts, at the places that `soak --role names` tells, and sets is_over.
 */
#ifndef WW_TESTS_SOAK_BOARD_H
#define WW_TESTS_SOAK_BOARD_H

#include "soak/soak.h"

#define BOARD_ACTORS      32
#define BOARD_OPS         128
#define BOARD_STATUSES    64
#define BOARD_STATUS_BIAS 32 /* added to a status: its place */
#define BOARD_TOKENS      16 /* of each kind */

struct board_actor {
	uint64_t ops; /* that were begun, by all processes that had this number */
	uint64_t index;
	uint32_t pid;
	uint32_t op;
};

struct board_token {
	uint32_t version; /* 0: nothing yet; odd: it is being written */
	uint32_t reserved;
	struct soak_offer offer;
};

struct board {
	uint64_t is_over;
	struct board_actor actors[BOARD_ACTORS];
	uint64_t counts[BOARD_OPS][BOARD_STATUSES];
	struct board_token tokens[TOKEN_KINDS][BOARD_TOKENS];
};

void board_map(const char *path);

/* What operation number @index draws follows from these. */
void board_seed(uint64_t seed, uint64_t index);

/* Arms the timer that kills this process, if its operation has come. */
void board_plan_kill(const char *at, const char *after_ns, uint64_t index);

/* Says what runs now. */
void board_note(uint32_t number, uint64_t index, uint32_t op);
uint32_t board_find_op(const char *name);
void board_count_one(void); /* a message, of the operation that runs */

/* Becomes a user that owns nothing of the others, if this is root. */
void board_become_hostile(void);

#endif
