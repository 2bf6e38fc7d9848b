/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/barrier.h - a point that N processes pass only together
 *
 * A barrier is an object in a broker. One process creates it. N processes become its members, each
 * with a different rank. A process that may read the object may become a member. Every member waits
 * until the last one has arrived. Then all members go on, and the next round begins. Each member
 * owns a timeline whose value is its round, so a wait needs no broker. If the other members arrive
 * soon, the wait needs no system call.
 *
 *   create ──> (name or token) ──> get, import: rank 0 .. N-1 ──> wait ──> wait ──> ...
 *                                  returns when all N are there      unref: leave
 *
 * A barrier breaks instead of hanging. If a member ends or leaves before it has arrived, every wait
 * of every member returns WW_ERR_PEER_LOST, and the record names that member. This is true as soon
 * as a member has taken its rank. So a process that joins at that time or later gets
 * WW_ERR_PEER_LOST, too. A broken barrier stays broken; create a new one.
 *
 * If another object is put under the name of a barrier with WW_PUT_REPLACE, the barrier breaks,
 * too: every wait that is not complete returns WW_ERR_PEER_LOST, and the record says that the
 * barrier was replaced. (A broker of an older version does not tell the members.) If the name is
 * only removed, the members go on.
 *
 * The creator need not become a member, and may end before any process becomes a member. When all
 * members have joined, the barrier lives as long as it has members. When the last member has left
 * or ended, the barrier ends, and its name is free. If a process fails to become a member, for
 * example because of its time limit, its rank is free again. The barrier then breaks only for
 * processes that had already found this member.
 *
 * A member is a ww_barrier: two threads of one process can be two members.
 *
 * Threads: every function may be called from any thread; one thread at a time calls
 *          ww_barrier_wait() or ww_barrier_eventfd() for one ww_barrier.
 * Fork:    a child cannot use its parent's barriers: see device.h.
 */
#ifndef WARPWAY_BARRIER_H
#define WARPWAY_BARRIER_H

#include <warpway/base.h>
#include <warpway/timeline.h>
#include <warpway/token.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_barrier ww_barrier;

#define WW_BARRIER_MEMBERS_MAX 1024

#define WW_BARRIER_ANY_RANK UINT32_MAX

/**
 * struct ww_barrier_params - what barrier to make
 * @struct_size:  sizeof(struct ww_barrier_params)
 * @count:        members, 1 to WW_BARRIER_MEMBERS_MAX
 * @mode:         permission bits of its name, such as 0640; a process that may read the object may
 *                become a member. 0: 0600
 * @gid:          group; 0: the caller's own; else one of the caller's groups
 * @flags:        WW_PUT_REPLACE of broker.h, or 0
 * @escrow_ns:    how long the broker keeps the barrier until it has members; 0: WW_ESCROW_DEFAULT
 * @uses:         number of imports of the token after which the escrow ends early; 0: only its time
 *                ends it
 * @reserved:     0
 */
struct ww_barrier_params {
	uint32_t struct_size;
	uint32_t count;
	uint32_t mode;
	uint32_t gid;
	uint64_t flags;
	uint64_t escrow_ns;
	uint32_t uses;
	uint32_t reserved;
};

/**
 * ww_barrier_create() - make a barrier in a broker, under a name or for a token, or both
 * @broker:     borrowed; NULL: the default broker
 * @name:       borrowed; NULL: found by its token only
 * @params:     borrowed; its count is set
 * @cancel:     borrowed; may be NULL: cancel.h
 * @out_token:  filled on success; may be NULL if there is a name
 *
 * The call returns no ww_barrier, because a ww_barrier is a membership: the creator is not a member
 * until it gets or imports the barrier. The creator need not stay: it may close its connection or
 * end before any process becomes a member. The broker keeps the barrier for escrow_ns of @params
 * (0: 60 seconds), so that processes can become members, by name or by token. After that time, or
 * once all members are there, the barrier lives as long as it has members. When all processes that
 * have become members have ended or left, the name is free, so that a job can be started again.
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_INVALID (count, neither name nor token, or no escrow);
 *         WW_ERR_EXISTS; WW_ERR_NOT_FOUND (another process has removed or replaced it meanwhile);
 *         as ww_timeline_put() and ww_timeline_export().
 */
WW_API ww_status ww_barrier_create(ww_broker *broker, const char *name,
	const struct ww_barrier_params *params, ww_cancel *cancel, struct ww_token *out_token);

/**
 * ww_barrier_get() - become a member, and wait until all members have joined
 * @broker:       borrowed; NULL: the default one
 * @name:         borrowed
 * @rank:         0 to count - 1, different for each member; WW_BARRIER_ANY_RANK: the first free
 *                rank
 * @timeout_ns:   for the name to appear and all members to join; WW_FOREVER
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_barrier:  the caller's; NULL on failure, and then this process is not a member
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_EXISTS (the rank is taken, or all are);
 *         WW_ERR_INVALID (rank); WW_ERR_NOT_FOUND (the name does not exist, and timeout_ns is 0);
 *         WW_ERR_ACCESS; WW_ERR_UNSUPPORTED (it is not a barrier); WW_ERR_PEER_LOST (a member has
 *         ended or left already); as ww_timeline_put() and ww_timeline_get().
 */
WW_API ww_status ww_barrier_get(ww_broker *broker, const char *name, uint32_t rank,
	uint64_t timeout_ns, ww_cancel *cancel, ww_barrier **out_barrier);

/**
 * ww_barrier_import() - the same, for the barrier that a token names
 * @broker:       borrowed; NULL: the broker of WARPWAY_BROKER, else the broker at the token's
 *                address
 * @token:        borrowed
 * @rank:         as for ww_barrier_get()
 * @timeout_ns:   for all members to join
 * @cancel:       borrowed; may be NULL: cancel.h
 * @out_barrier:  the caller's; NULL on failure
 *
 * Return: as ww_barrier_get() and ww_timeline_import().
 */
WW_API ww_status ww_barrier_import(ww_broker *broker, const struct ww_token *token, uint32_t rank,
	uint64_t timeout_ns, ww_cancel *cancel, ww_barrier **out_barrier);

/**
 * ww_barrier_ref() - take one more reference of a membership
 * Return: @barrier.
 */
WW_API ww_barrier *ww_barrier_ref(ww_barrier *barrier);

/**
 * ww_barrier_unref() - release a membership; the last unref leaves the barrier
 * @barrier:  may be NULL
 *
 * Rounds in which this member has arrived end as if it had stayed. In a later round every wait
 * returns WW_ERR_PEER_LOST.
 *
 * Return: NULL.
 */
WW_API ww_barrier *ww_barrier_unref(ww_barrier *barrier);

/**
 * ww_barrier_wait() - arrive, and wait until all members have arrived
 * @barrier:     borrowed
 * @timeout_ns:  0: do not wait; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h
 *
 * After WW_OK, this member can read all that the other members wrote before they arrived. After
 * WW_TIMED_OUT or WW_CANCELLED this member counts as arrived: the next call goes on waiting in the
 * same round.
 *
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_PEER_LOST (broken: the record names the
 *         process, or says that the barrier was replaced); WW_ERR_FORKED.
 */
WW_API ww_status ww_barrier_wait(ww_barrier *barrier, uint64_t timeout_ns, ww_cancel *cancel);

/**
 * ww_barrier_eventfd() - a descriptor for event loops: readable when a round is complete
 * @barrier:  borrowed
 * @out_fd:   the caller's, to be closed at any time; an eventfd(2), non-blocking, close-on-exec;
 *            -1 on failure. Only poll it: the library reads and writes it
 *
 * ww_barrier_wait() with timeout 0 arrives. If it returns WW_TIMED_OUT, poll the descriptor, and
 * call ww_barrier_wait() with timeout 0 again when it is readable. The exact rules:
 *
 *   - The descriptor is readable while this member has arrived in a round, the call has not
 *     returned WW_OK for it, and all other members have arrived; and when the barrier is broken.
 *   - Before this member has arrived in a round, only a broken barrier makes the descriptor
 *     readable. So a loop can poll it all the time, and is not woken by members that are ahead.
 *   - It becomes readable soon after the last member has arrived; if a member ends or leaves, up to
 *     50 ms later. Once readable, it stays readable until the next ww_barrier_wait(), even if that
 *     call returns WW_TIMED_OUT.
 *
 * Each call gives a duplicate of the same eventfd. It is readable for ever after the last
 * ww_barrier_unref(). The first call starts the thread "ww-channels" of ww_channel_eventfd(). A
 * member that does not wake others, or wakes them for nothing, cannot do more than delay the
 * descriptor by 50 ms, or keep this thread busy.
 *
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT (of descriptors or threads); WW_ERR_SYSTEM;
 *         WW_ERR_FORKED.
 */
WW_API ww_status ww_barrier_eventfd(ww_barrier *barrier, int *out_fd);

/**
 * struct ww_barrier_info - the state of a barrier, as known to this member
 * @struct_size:  set by the caller to sizeof(struct ww_barrier_info)
 * @count:        members
 * @rank:         of this member
 * @arrived:      number of members, including this one, that have arrived in the current round
 * @round:        rounds that this member has passed
 * @is_broken:    1: a member has ended or left in a round in which it had not arrived, or the
 *                barrier was replaced
 * @broken_rank:  the rank of that member; else UINT32_MAX
 */
struct ww_barrier_info {
	uint32_t struct_size;
	uint32_t count;
	uint32_t rank;
	uint32_t arrived;
	uint64_t round;
	uint32_t is_broken;
	uint32_t broken_rank;
};

/**
 * ww_barrier_info_get() - describe a barrier
 * @barrier:  borrowed
 * @info:     the caller's, with struct_size set; filled on success
 *
 * Return: WW_OK; WW_ERR_INVALID (struct_size is not set); WW_ERR_FORKED.
 */
WW_API ww_status ww_barrier_info_get(ww_barrier *barrier, struct ww_barrier_info *info);

#ifdef __cplusplus
}
#endif

#endif
