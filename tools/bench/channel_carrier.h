/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_carrier.h - ways to carry frames from one process to others
 *
 * A carrier is opened by the sender before its consumers are started, and by each consumer. Every
 * frame arrives at every consumer, in order. Where a descriptor has to cross, the sender leaves
 * those of the consumers in `theirs`.
 */
#ifndef TOOLS_BENCH_CHANNEL_CARRIER_H
#define TOOLS_BENCH_CHANNEL_CARRIER_H

#include "bench/channel.h"

#define CARRY_SLOTS 1024 /* of small frames, and of bare memory */

/* Shared by all processes. */
struct carry_board {
	struct mailbox_word had[CHANNEL_CONSUMERS]; /* the frame that each says it has */
	uint64_t latency_ns[CHANNEL_CONSUMERS];     /* of that frame */

	/* Of the bare memory. */
	struct mailbox_word sent;
	struct mailbox_word taken[CHANNEL_CONSUMERS];
	uint64_t heads[CARRY_SLOTS][CHANNEL_HEAD];
};

/* One process's side. */
struct carry {
	struct bench *bench;
	struct carry_board *board;
	unsigned int index; /* of a consumer */
	unsigned int count; /* of consumers */
	uint64_t bytes;     /* of a frame */
	struct child *children;
	int theirs[CHANNEL_CONSUMERS]; /* -1: none */

	/* The carrier's own. */
	ww_channel *channel;
	ww_work_queue *queue;
	int fds[CHANNEL_CONSUMERS]; /* -1: none */
	char *buffer;               /* for a frame */
	void *context;
	void *socket;
};

/* All return 0, or -1 after saying what went wrong. */
struct carrier {
	const char *name;
	bool is_paced;   /* it may drop frames, so each is waited for */
	bool is_for_one; /* a frame arrives at one consumer only, so there is one */
	int (*open_sender)(struct carry *carry);
	int (*await_consumers)(struct carry *carry); /* after they were started; NULL: nothing */
	int (*open_consumer)(struct carry *carry);   /* fds[0]: what came, or -1 */
	int (*send)(struct carry *carry, const uint64_t head[CHANNEL_HEAD]);
	int (*receive)(struct carry *carry, uint64_t out_head[CHANNEL_HEAD]);
	void (*close)(struct carry *carry); /* also what was opened in part */
};

/* Bare memory is first, the library second. */
enum {
	CARRIER_BARE,
	CARRIER_OURS
};

extern const struct carrier *const carriers[];
extern const unsigned int carrier_count;
extern const struct carrier carrier_queue;

/* Of frames of this size; at most @most. */
uint32_t carry_slots(uint64_t bytes, uint32_t most);

#ifdef WW_BENCH_HAS_ZMQ
extern const struct carrier carrier_zmq, carrier_zmq_conflate;
#endif

#endif
