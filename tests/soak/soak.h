/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak.h - random operations of one process beside others, see soak.py
 *
 * The program is an actor: it draws operations from the table of all OP()s, one after the other,
 * until soak.py says that the round is over. What operation number i does is drawn from the actor's
 * seed and from i, so a seed repeats the decisions, whatever the other processes do. What comes of
 * them depends on the others.
 *
 * An actor claims of each call that its status is one that its header documents, and of all data
 * that they are whole and what their writer wrote. It counts both on the board, a file that all
 * processes of a round map.
 *
 * A forger is an actor that also writes into whatever pages its process may write. What it makes
 * has names of its own ("evil/..."), so others claim only that these do no harm.
 */
#ifndef WW_TESTS_SOAK_SOAK_H
#define WW_TESTS_SOAK_SOAK_H

#include <stdbool.h>
#include <stdint.h>

#include <warpway/warpway.h>

#include "support/check.h"
#include "support/child.h"
#include "support/subject.h"
#include "support/timeline.h"

#define NAME_BYTES 32

/* --- operations --- */

struct soak_op {
	const char *name;
	uint32_t weight;
	void (*run)(void);
	struct soak_op *next; /* by name */
};

void soak_register(struct soak_op *op);

/* Defines an operation, and registers it as CASE() registers a case. */
#define OP(op_name, op_weight)                                                             \
	static void op_name##_run(void);                                                   \
	__attribute__((constructor)) static void op_name##_register(void)                  \
	{                                                                                  \
		static struct soak_op self = {#op_name, (op_weight), op_name##_run, NULL}; \
                                                                                           \
		soak_register(&self);                                                      \
	}                                                                                  \
	static void op_name##_run(void)

/* What an actor lets go of at its end, in the opposite order of registration. */
void soak_at_end(void (*let_go)(void));

/* The next random numbers of the operation that runs: any, below a limit, one in so many. */
uint64_t draw_number(void);
uint32_t draw_below(uint32_t limit);
bool draw_one_in(uint32_t many);

/* A limit on time of at most so many milliseconds; 0 in one of four. */
uint64_t draw_wait_ns(uint32_t most_ms);

/* --- statuses --- */

#define ALLOW(status) (UINT64_C(1) << ((status) + 32))

/* Any status of a call that a forger may disturb. */
#define ALLOW_ALL UINT64_MAX

/* Of a call that makes an object of a name, which another process may take or remove meanwhile. */
#define MAKE_STATUSES (ALLOW(WW_ERR_EXISTS) | ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_QUOTA))

/* Counts the status, which is WW_OK or in @allowed. */
ww_status soak_status(const char *file, int line, const char *call, uint64_t allowed,
	ww_status status);

#define DO(allowed, call) soak_status(__FILE__, __LINE__, #call, allowed, call)

/* A claim about what another process wrote: a forger claims nothing. */
#define HOLDS(condition) MUST(soak.is_forger || (condition))

/* --- the actor --- */

struct soak {
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	ww_stream *lone_stream; /* waits for no other process, so that it is never lost */
	uint32_t number;        /* of the actor */
	bool is_forger;
};

extern struct soak soak;

/* Whether the round is over. */
bool soak_is_over(void);

/* A name of a kind of object. The first is to make it by; the second to look for it. */
void draw_name_to_make(char name[NAME_BYTES], const char *kind, uint32_t below);
void draw_name_to_get(char name[NAME_BYTES], const char *kind, uint32_t below);
bool name_is_evil(const char *name);

/* The actor's stream, which is not lost; what is enqueued on it may wait for others. */
ww_stream *draw_stream(void); /* or NULL */
ww_stream *soak_stream(void);

/* --- tokens that processes hand each other by the board --- */

enum soak_token {
	TOKEN_MEMORY,
	TOKEN_SLICE,
	TOKEN_TIMELINE,
	TOKEN_EVENT,
	TOKEN_CHANNEL,
	TOKEN_SERVICE,
	TOKEN_POOL,
	TOKEN_QUEUE,
	TOKEN_KINDS
};

struct soak_offer {
	struct ww_token token;
	uint64_t value; /* what the taker must find there */
	uint32_t owner; /* number of the actor */
	uint32_t reserved;
};

void soak_offer(enum soak_token kind, const struct ww_token *token, uint64_t value);
bool soak_take(enum soak_token kind, struct soak_offer *out_offer); /* false: there is none */

/* How tokens are exported: short escrows, so that they end with the round. */
struct ww_token_params draw_token_params(void);

/* --- content --- */

#define CONTENT_BYTES 4096

/* Writes or verifies the first CONTENT_BYTES; @value: what it is, which is in it, too. */
void content_write(ww_memory *memory, uint64_t value);
uint64_t content_verify(ww_memory *memory); /* returns what it is */
void content_must_be(ww_memory *memory, uint64_t value);

#endif
