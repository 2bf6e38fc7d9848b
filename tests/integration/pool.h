/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - slices of a pool between real processes, through the public interface
 *
 * The process that runs the cases owns the pool, unless it is the owner who is to die. Helpers are
 * agents (support/agent.h) with more commands. S is one of an agent's slices, by number; sizes are
 * in KiB.
 *
 *   pool KIB [slices=N]         make one, with chunks of 2 MiB
 *   alloc S KIB [wait], release S, unref S
 *   export S [write] [delivery] [uses=N] [escrow_ms=N]      tokens go through the socket
 *   revoke S
 *   import S [write] [strict] [anywhere]         anywhere: from the broker that the token names
 *   name S NAME [replace], fetch S NAME [write] [wait_ms=N]      in the broker
 *   chase NAME END              gets it again and again, and looks that all bytes are one, until
 *                               there is an object under the name END
 *   drain S [write]             imports by one token and lets go, until that fails
 *   tell [write] [uses=N]       a token of the pool itself: of the one that is known, else the own
 *   know [map], forget          the pool of such a token
 *   paint S SEED, look S SEED   the pattern
 *   fill S BYTE                 by a stream, which is synchronised
 *   hold, go, sync              a stream stops until it is told to go on
 *   same S T                    both are at one address
 *   one S T                     both are one object
 *   find S T                    the address of S lies in T, and in nothing smaller
 *   note S, mapped              whether the chunk is still mapped where the slice was
 *   make S                      a memory that is no slice
 *   cut                         the connection to the broker
 *   close                       the pool
 *   exit, quit                  without letting go of anything; quit: by _exit()
 */
#ifndef WW_TESTS_INTEGRATION_POOL_H
#define WW_TESTS_INTEGRATION_POOL_H

#include <warpway/warpway.h>

#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/stream_gate.h"
#include "support/broker_case.h"
#include "support/needs.h"
#include "support/subject.h"

#define KIB   UINT64_C(1024)
#define CHUNK (2 * MIB)
#define MS    UINT64_C(1000000)

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

/*
 * Defines a case as SCENE_CASE() does. It sees `pool`, of this process. When its agents have ended
 * nothing of the pool may be in use.
 */
#define POOL_CASE(case_name, case_needs, bytes_max, slices)                \
	static void case_name##_with_pool(ww_pool *pool);                  \
	SCENE_CASE(case_name, case_needs)                                  \
	{                                                                  \
		ww_pool *own = pool_make(scene.device, bytes_max, slices); \
                                                                           \
		case_name##_with_pool(own);                                \
		pool_end(own);                                             \
	}                                                                  \
	static void case_name##_with_pool(ww_pool *pool)

/* Agents that are left end, then nothing of the pool may be in use, and it ends. */
void pool_end(ww_pool *pool);

/* --- agents --- */

void pool_start(struct child *agent, const struct child_options *options);

/*
 * Has an agent import a token, as its slice of that number, for writing if the token is for that.
 */
void pool_give(struct child *agent, const struct ww_token *token, int slice, ww_status expected);

/* The same with a slice of this process, by a token for one import. */
void pool_lend(struct child *agent, ww_memory *slice, uint32_t access, int number);

/* The same, and then the agent looks at the pattern there and lets go of it. */
void pool_show(struct child *agent, const struct ww_token *token, int slice, uint32_t seed);

/* From now on this process waits for the broker as long as it takes. */
void pool_be_patient(void);

#endif
