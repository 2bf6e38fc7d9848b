/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readiness.h - whether one side of a channel can go on: a consumer receive a complete frame, the
 * producer acquire a slot that the CPU may write, without waiting
 *
 * A struct ww_readiness is a copy of what the side waits for. The side's own thread fills it, while
 * it uses the channel. Reading it changes nothing and asks no process, so any thread may read it,
 * as long as the memory that the copy points to stays mapped (ww_readiness_keep()).
 *
 * A thread that sleeps until the look says more first notes it in the side's own file (is_asleep),
 * looks once more, and reads the futex words before each look: ring.h and await.h.
 */
#ifndef WW_CHANNEL_READINESS_H
#define WW_CHANNEL_READINESS_H

#include "channel/ring.h"
#include "group/peer_process.h"
#include "sync/signal_page_map.h"

#define WW_READINESS_WORDS 3

struct ww_readiness {
	enum ww_await_look (*look)(const struct ww_readiness *readiness);
	uint32_t *is_asleep; /* of the own file */
	const uint32_t *wakes[WW_READINESS_WORDS];
	size_t wakes_count;
	uint64_t since_ns; /* when this was filled */
	uint64_t again_ns; /* when the side itself must look again; WW_NEVER: not at any time */

	/* What it waits for first, on its own timeline; and the page of the other side. */
	struct ww_signal_map *own_page;
	const struct ww_layout_signal_cell *own_cell;
	uint64_t own_value;                   /* 0: none */
	struct ww_signal_map *peer_page;      /* NULL: it waits for none */
	struct ww_peer_process *peer_process; /* NULL: not known */
	const struct ww_layout_signal_cell *peer_cell;

	/* Of a consumer. Of the producer only its mapping. */
	struct ww_ring ring;
	uint32_t number; /* of the consumer, and its id: whether it was evicted */
	uint64_t id;
	uint64_t next;   /* frame to receive */
	uint64_t unsure; /* value of the producer's timeline; 0: none */
	bool is_latest;

	/* Of the producer: the consumer that it waits for. Of a consumer only its mapping. */
	struct ww_channel_marks marks;
	uint64_t frame;
	uint32_t slot;
	bool is_owed;
	uint32_t members; /* inside the channel, when this was filled */
};

/* Of a channel that a call would end for at once. */
void ww_readiness_set_now(struct ww_readiness *readiness);

/* Of a channel that can do nothing before again_ns. The rest is filled. */
void ww_readiness_set_later(struct ww_readiness *readiness);

/* Of a consumer that gets nothing before its producer ends, or again_ns. The rest is filled. */
void ww_readiness_set_end(struct ww_readiness *readiness);

/* Chooses the look, and the words; all else is filled. */
void ww_readiness_set_consumer(struct ww_readiness *readiness);
void ww_readiness_set_producer(struct ww_readiness *readiness);

/* Takes or releases references of all that the look reads. drop: of a zeroed one, too */
void ww_readiness_keep(struct ww_readiness *readiness);
void ww_readiness_drop(struct ww_readiness *readiness);

static inline bool ww_readiness_is_now(const struct ww_readiness *readiness)
{
	return readiness->look(readiness) == WW_AWAIT_DONE;
}

/* What one side does around a sleep, in the order of ring.h. */
static inline void ww_readiness_announce(const struct ww_readiness *readiness)
{
	__atomic_store_n(readiness->is_asleep, 1, __ATOMIC_SEQ_CST);
}

static inline void ww_readiness_withdraw(const struct ww_readiness *readiness)
{
	__atomic_store_n(readiness->is_asleep, 0, __ATOMIC_RELAXED);
}

/*
 * Looks, and adds what is to be slept for. Return: whether the side can go on, or must look itself.
 */
bool ww_readiness_look(const struct ww_readiness *readiness, uint64_t now_ns,
	struct ww_await_sleep *sleep);

#endif
