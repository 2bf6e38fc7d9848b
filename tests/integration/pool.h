/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - slices of a pool between real processes, through the public interface
 *
 * The process that runs the cases owns the pool, unless it is the owner who is to die. Helpers are agents
 * (support/agent.h) with more commands. S is one of an agent's slices, by number; sizes are in KiB.
 *
 *   pool KIB [slices=N]         make one, with chunks of 2 MiB
 *   alloc S KIB, release S, unref S
 *   export S [write] [uses=N] [escrow_ms=N]      tokens go through the socket
 *   import S [write] [strict] [anywhere]         anywhere: from the broker that the token names
 *   paint S SEED, look S SEED   the pattern
 *   fill S BYTE                 by a stream, which is synchronised
 *   hold, go, sync              a stream stops until it is told to go on
 *   same S T                    both are at one address
 *   cut                         the connection to the broker
 *   exit                        without letting go of anything
 */
#ifndef WW_TESTS_INTEGRATION_POOL_H
#define WW_TESTS_INTEGRATION_POOL_H

#include <warpway/warpway.h>

#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/gate.h"
#include "support/scene.h"
#include "support/subject.h"

#define NEEDS_VALUES (UINT64_C(1) << 0) /* streams that store values in their order */
#define NEEDS_CUDA   (UINT64_C(1) << 1)
#define NEEDS_HOST   (UINT64_C(1) << 2) /* memory that a CPU reads without asking anybody */
#define NEEDS_ROOT   (UINT64_C(1) << 3) /* to be several users */

#define KIB   UINT64_C(1024)
#define CHUNK (2 * MIB)
#define MS    UINT64_C(1000000)

#define POOL_PASS_CASES(X)          \
	X(pass_slices, 0)           \
	X(pass_counts_imports, 0)   \
	X(pass_a_thousand, 0)       \
	X(pass_on_by_holder, 0)     \
	X(pass_for_reading, 0)      \
	X(pass_a_part, 0)           \
	X(pass_home, 0)             \
	X(pass_what_has_a_chunk, 0) \
	X(pass_host_memory, 0)      \
	X(pass_strict, 0)           \
	X(pass_strict_later, 0)     \
	X(pass_between_devices, NEEDS_CUDA)

#define POOL_LIFE_CASES(X)                        \
	X(escrow_ends, 0)                         \
	X(escrow_ends_with_imports, 0)            \
	X(escrow_outlives_a_process, 0)           \
	X(no_escrow, 0)                           \
	X(escrow_of_later_token, 0)               \
	X(escrow_of_later_token_unseen, 0)        \
	X(escrow_after_expired_one, 0)            \
	X(escrow_after_failed_import, NEEDS_CUDA) \
	X(old_token, 0)                           \
	X(release_in_order, NEEDS_VALUES)         \
	X(release_by_holder, NEEDS_VALUES)        \
	X(release_of_one_of_two, NEEDS_VALUES)    \
	X(release_of_one_import, NEEDS_VALUES)    \
	X(full_pool_names_holder, 0)              \
	X(no_piece_is_large_enough, 0)            \
	X(no_slots_left, 0)                       \
	X(holders_are_listed, 0)                  \
	X(holder_comes_again, 0)                  \
	X(trim_gives_back, 0)                     \
	X(pool_goes_before_its_slices, 0)

#define POOL_END_CASES(X)                               \
	X(end_of_holder, 0)                             \
	X(end_of_holder_with_stream, NEEDS_VALUES)      \
	X(end_of_holder_by_exit, 0)                     \
	X(end_of_owner, 0)                              \
	X(end_of_owner_by_exit, 0)                      \
	X(end_of_broker, 0)                             \
	X(end_of_broker_and_holder, 0)                  \
	X(loss_of_broker, 0)                            \
	X(loss_of_broker_with_stream, NEEDS_VALUES)     \
	X(loss_of_connection, 0)                        \
	X(loss_of_connection_with_stream, NEEDS_VALUES) \
	X(fork_refuses_pools, 0)

#define POOL_FORGE_CASES(X)               \
	X(token_with_any_byte_changed, 0) \
	X(token_sealed_again, 0)          \
	X(token_at_home_sealed_again, 0)  \
	X(marks_that_are_none, 0)         \
	X(table_of_a_stranger, 0)         \
	X(marks_of_a_stranger, 0)

#define POOL_STRANGER_CASES(X)                         \
	X(stranger_with_a_broker, 0)                   \
	X(stranger_with_a_broker_first, 0)             \
	X(stranger_with_a_broker_at_home, 0)           \
	X(stranger_among_holders, 0)                   \
	X(stranger_shows_marks_of_another, NEEDS_ROOT) \
	X(stranger_among_chunks, 0)

#define POOL_THREAD_CASES(X)         \
	X(threads_in_one_process, 0) \
	X(threads_in_two, 0)         \
	X(quiet_alloc, NEEDS_HOST)   \
	X(quiet_pass, NEEDS_HOST)

#define POOL_CASES(X)          \
	POOL_PASS_CASES(X)     \
	POOL_LIFE_CASES(X)     \
	POOL_END_CASES(X)      \
	POOL_FORGE_CASES(X)    \
	POOL_STRANGER_CASES(X) \
	POOL_THREAD_CASES(X)

#define POOL_DECLARE_CASE(name, needs) void name(void);
POOL_CASES(POOL_DECLARE_CASE)
#undef POOL_DECLARE_CASE

void role_pool_agent(int count, char **arguments);
void role_pool_quiet(int count, char **arguments);
void role_pool_threads(int count, char **arguments);

/* --- a pool of this process --- */

/* slices 0: as many as there are by default. */
ww_pool *pool_make(ww_device *device, uint64_t bytes_max, uint32_t slices);
struct ww_pool_info pool_info(ww_pool *pool);

/* So many bytes are used, and so many wait; or will, as soon as somebody else has come so far. */
void pool_must_be(ww_pool *pool, uint64_t used, uint64_t waiting);
void pool_comes_to(ww_pool *pool, uint64_t used, uint64_t waiting);

/* With a pattern in it. */
ww_memory *slice_make(ww_pool *pool, uint64_t bytes, uint32_t seed);

/* One import expected within a minute. */
struct ww_token slice_token(ww_memory *slice, uint32_t access);
struct ww_token slice_token_for(ww_memory *slice, uint32_t uses, uint64_t escrow_ns);

/* There is no room for so many bytes; the record says this word. */
void pool_has_no_room(ww_pool *pool, uint64_t bytes, const char *word);

/* --- agents --- */

void pool_start(struct child *agent, const struct child_options *options);

/* Has an agent import a token, as its slice of that number, for writing if the token is for that. */
void pool_give(struct child *agent, const struct ww_token *token, int slice, ww_status expected);

/* A token that an agent exported. */
struct ww_token pool_hear_token(struct child *agent);

/* Kills the broker process and waits until it serves again. */
void pool_restart_broker(void);

#endif
