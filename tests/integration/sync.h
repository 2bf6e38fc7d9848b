/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - timelines and barriers between real processes, through the public interface
 *
 * Most helpers are agents (support/agent.h) with more commands. S is one of an agent's timelines, by number; its stream
 * is of the device under test.
 *
 *   create S [OPTION...]        alone value=N
 *   put S NAME [mode=0640]
 *   get S NAME [wait_ms=N]
 *   export S [file=PATH], import S [file=PATH], import_variable S    tokens go through the socket otherwise
 *   signal S V, stream_signal S V
 *   wait S V [wait_ms=N] [reached], query S V [reached], stream_wait S V [wait_ms=N] [unsubmitted]
 *   is S STATE SUBMITTED COMPLETED    live, closed or lost
 *   lost_is S PID PROGRAM       what the timeline says of the dead
 *   hold                        the stream waits until `go`
 *   go, sync
 *   share NAME, take NAME       host memory that both write
 *   relay OWN OTHER ROUNDS first|second      hands its words to and fro
 *   unlike OWN OTHER ROUNDS SEED first|second|anyhow         many streams of both in orders of their own
 *   unref S
 *   map_page S, protect_page S, reopen_page S, private_page S     try to write a page; WW_ERR_ACCESS: refused
 *   fill_page S, store_page S, stream_store_page S       likewise; the last two die, or lose their device
 *   join NAME RANK [wait_ms=N]  RANK: or "any"; NAME "-": a token through the socket
 *   arrive [wait_ms=N], rounds N, leave
 *   member_is RANK ROUND BROKEN_RANK        or "nobody"
 *   exit                        without letting go of anything
 */
#ifndef WW_TESTS_INTEGRATION_SYNC_H
#define WW_TESTS_INTEGRATION_SYNC_H

#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/container.h"
#include "support/scene.h"
#include "support/subject.h"
#include "support/timeline.h"

#define NEEDS_VALUES    (UINT64_C(1) << 0) /* streams that wait for values on pages of others */
#define NEEDS_HOST      (UINT64_C(1) << 1) /* host memory on the device */
#define NEEDS_ROOT      (UINT64_C(1) << 2)
#define NEEDS_CUDA      (UINT64_C(1) << 3)
#define NEEDS_OTHER_GPU (UINT64_C(1) << 4)

#define SYNC_PASS_CASES(X)                                         \
	X(pass_by_token, 0)                                        \
	X(pass_by_file, 0)                                         \
	X(pass_by_environment, 0)                                  \
	X(pass_by_name, 0)                                         \
	X(pass_on_by_waiter, 0)                                    \
	X(pass_many, 0)                                            \
	X(pass_wait_for_name, 0)                                   \
	X(pass_between_streams, NEEDS_VALUES | NEEDS_HOST)         \
	X(pass_between_host_and_device, NEEDS_VALUES | NEEDS_HOST) \
	X(pass_between_gpus, NEEDS_VALUES | NEEDS_HOST | NEEDS_OTHER_GPU)

#define SYNC_USER_CASES(X)                      \
	X(user_mode, NEEDS_ROOT)                \
	X(user_token, NEEDS_ROOT)               \
	X(user_is_told_of_the_dead, NEEDS_ROOT) \
	X(user_barrier, NEEDS_ROOT)             \
	X(container_waits, NEEDS_ROOT)          \
	X(container_signals, NEEDS_ROOT)        \
	X(container_barrier, NEEDS_ROOT)

#define SYNC_WRITE_CASES(X)                           \
	X(write_is_refused, 0)                        \
	X(write_is_refused_to_other_user, NEEDS_ROOT) \
	X(write_by_store_dies_alone, 0)               \
	X(write_by_stream_is_refused, NEEDS_VALUES)   \
	X(write_by_raw_stream_dies_alone, NEEDS_VALUES)

#define SYNC_END_CASES(X)                         \
	X(end_by_kill, 0)                         \
	X(end_by_kill_with_streams, NEEDS_VALUES) \
	X(end_by_exit, 0)                         \
	X(end_in_order, 0)                        \
	X(end_with_stream_pending, NEEDS_VALUES)  \
	X(end_of_waiter, NEEDS_VALUES)            \
	X(end_frees_name, 0)                      \
	X(end_after_removal, 0)                   \
	X(end_after_broker_restart, NEEDS_VALUES) \
	X(end_while_broker_restarts, 0)           \
	X(fork_refuses_timelines, NEEDS_VALUES)

#define SYNC_BARRIER_CASES(X)                       \
	X(barrier_thousand_rounds, 0)               \
	X(barrier_by_token, 0)                      \
	X(barrier_times_out, 0)                     \
	X(barrier_member_killed, 0)                 \
	X(barrier_member_killed_before_it_slept, 0) \
	X(barrier_member_leaves, 0)                 \
	X(barrier_arrived_and_died, 0)              \
	X(barrier_died_before_all_joined, 0)        \
	X(barrier_ranks_are_taken, 0)               \
	X(barrier_outlives_its_maker, 0)            \
	X(barrier_after_broker_restart, 0)

#define SYNC_LOCK_CASES(X)                              \
	X(lock_never_in_any_order, NEEDS_VALUES)        \
	X(lock_never_at_random, NEEDS_VALUES)           \
	X(lock_by_raw_order, NEEDS_VALUES | NEEDS_CUDA) \
	X(lock_by_program_is_timed_out, NEEDS_VALUES)

#define SYNC_CASES(X)         \
	SYNC_PASS_CASES(X)    \
	SYNC_USER_CASES(X)    \
	SYNC_WRITE_CASES(X)   \
	SYNC_END_CASES(X)     \
	SYNC_BARRIER_CASES(X) \
	SYNC_LOCK_CASES(X)

#define SYNC_DECLARE_CASE(name, needs) void name(void);
SYNC_CASES(SYNC_DECLARE_CASE)
#undef SYNC_DECLARE_CASE

void role_sync_agent(int count, char **arguments);
void role_sync_container(int count, char **arguments);

/* options may be NULL. */
void sync_start(struct child *agent, const struct child_options *options);

/* As another user: UID GID [GID...] */
void sync_start_user(struct child *agent, const char *who);

/* Two agents with a timeline each, "a" of the first and "b" of the second: own in 0, the other's in 1. */
void sync_start_pair(struct child agents[2]);

/* A token from the one agent's socket to the other's. */
void sync_pass_token(struct child *from, struct child *to);

/* Kills the broker process and waits until it serves again. */
void sync_restart_broker(void);

#endif
