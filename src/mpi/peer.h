/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h - which ranks of this node take messages directly (direct.h)
 *
 * A rank that takes them announces itself: it puts a page into the user's broker, under a name that
 * the job and its rank make, which ends with the process. A sender looks for the page of the rank
 * that it sends to. What never announced itself never gets a control message.
 *
 * After it has announced itself, any receive of the rank may get a control message, so the library
 * must know of every receive that is posted: it watches them (call.h). Receives that were posted
 * before it began to watch are known by their number only:
 *
 *   QUIET      open requests and calls under way are counted, which costs two atomic additions each
 *   WATCHING   since the first call with a large buffer of a device: receives are watched; the
 *              count may still include requests from before
 *   ANNOUNCING no request seems open any more; all calls look for control messages from here on.
 *              It may end in each of the states around it
 *   ANNOUNCED  the page is in the broker; nothing is counted any more
 *   OFF        no direct route: not asked for, no broker, a program that was spawned, ...
 */
#ifndef WW_MPI_PEER_H
#define WW_MPI_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/abi.h"

#define WW_MPI_NONCE_BYTES 16

enum ww_mpi_direct_state {
	WW_MPI_QUIET,
	WW_MPI_WATCHING,
	WW_MPI_ANNOUNCING,
	WW_MPI_ANNOUNCED,
	WW_MPI_OFF,
};

extern _Atomic int ww_mpi_direct_state __attribute__((visibility("hidden")));

/* Whether receives are watched, and whether they may get control messages. */
static inline bool ww_mpi_is_watching(void)
{
	int state = atomic_load(&ww_mpi_direct_state);

	return state >= WW_MPI_WATCHING && state <= WW_MPI_ANNOUNCED;
}

static inline bool ww_mpi_is_announced(void)
{
	int state = atomic_load(&ww_mpi_direct_state);

	return state == WW_MPI_ANNOUNCING || state == WW_MPI_ANNOUNCED;
}

/*
 * Waits while this rank announces itself. Return: whether it is announced, which it stays then. If
 * it is not, no control message comes during a call that is counted.
 */
bool ww_mpi_peer_has_announced(void);

/* --- what is open --- */

/*
 * A call that makes a request, or may block in a receive, begins; ends. The request stays open if
 * the call made one.
 */
void ww_mpi_open_begin(void);
void ww_mpi_open_end(bool stays_open);

/* How many of these are requests: before a call that may complete some, and after it. */
int ww_mpi_open_before(int count, const MPI_Request requests[]);
void ww_mpi_open_after(int before, int count, const MPI_Request requests[]);

/* A request is about to be freed: if it is not complete, it stays open for good. */
void ww_mpi_open_keep(MPI_Request request);

/* --- this rank --- */

/*
 * A call uses a buffer of a device that is large enough for the direct route: begins to watch, and
 * announces this rank as soon as it can. @ordinal: the device.
 */
void ww_mpi_peer_prepare(int ordinal);

/* What control messages for this rank contain. It is announced. */
const uint8_t *ww_mpi_peer_nonce(void);

/* The device that it announced itself with. */
int ww_mpi_peer_ordinal(void);

/* Whether other threads may call the MPI at the same time. It watches. */
bool ww_mpi_is_threaded(void);

/* The direct route has failed here: this rank sends nothing more by it. @why: for the report. */
void ww_mpi_direct_stop(const char *why);

/* Why this rank takes no messages directly; NULL: it does. */
const char *ww_mpi_direct_problem(void);

uint64_t ww_mpi_now_ns(void);

/* --- other ranks --- */

struct ww_mpi_peer {
	uint8_t nonce[WW_MPI_NONCE_BYTES];
	uint8_t uuid[16]; /* of its GPU */
};

/*
 * Whether a rank takes messages directly, as far as is known. It is looked for at most as often as
 * the time since the first look allows.
 */
bool ww_mpi_peer_find(MPI_Comm comm, int rank, struct ww_mpi_peer *out_peer);

/* The same of a rank in MPI_COMM_WORLD that is not this one. */
bool ww_mpi_peer_find_rank(int world_rank, struct ww_mpi_peer *out_peer);

/* What a rank that was found answers to collectives. It stays until MPI_Finalize(). */
const struct ww_mpi_words *ww_mpi_peer_words(int world_rank);

/* Whether the process of a rank that was found has not ended. */
bool ww_mpi_peer_is_running(int world_rank);

/* After MPI_Finalize(). */
void ww_mpi_peer_finish(void);

#endif
