/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.h - memory that was allocated by other means, between real processes
 *
 * The owner is an agent (support/agent.h) that also obeys:
 *
 *   alloc KIND BYTES SEED        with the driver itself, with a pattern in all of it: legacy, pool
 *                                or vmm
 *   free                         give that back to the driver
 *   swap                         allocation and memory with another pair of them, at first of
 *                                nothing
 *   fill SEED, check SEED        the pattern, by the driver's own copies
 *   wrap OFFSET BYTES            BYTES 0: to the end
 *   handle                       the legacy handle of the memory, through the socket, and its
 *                                offset
 *   open_handle [write]          of a handle that comes through the socket
 *   part OFFSET BYTES SEED       the bytes there are those that a whole pattern has there
 *   send, receive [write]        the memory, through the socket
 *   route N                      the memory has it
 *
 * A plain program is a role that uses the driver and nothing of this library.
 */
#ifndef WW_TESTS_INTEGRATION_FOREIGN_H
#define WW_TESTS_INTEGRATION_FOREIGN_H

#include "support/agent.h"
#include "support/allocation.h"
#include "support/check.h"
#include "support/child.h"
#include "support/container.h"
#include "support/broker_case.h"
#include "support/needs.h"
#include "support/subject.h"

#define FOREIGN_BYTES  4194304
#define FOREIGN_OFFSET 4321
#define FOREIGN_SPAN   1000000
#define FOREIGN_SMALL  65536 /* the driver cuts it from a block that others are in too */

/* An agent that obeys the commands above. */
void foreign_start(struct child *agent);

/* ... that has an allocation with pattern 1, wrapped whole, or a part of it. */
void foreign_owner(struct child *owner, const char *kind, uint64_t offset, uint64_t bytes);

/* Has it make a token. */
struct ww_token foreign_token(struct child *owner, const char *options);

/* An agent imports it for writing. */
void foreign_give(struct child *agent, const struct ww_token *token);

/* The bytes of a whole pattern that begin at an offset. */
void foreign_verify_part(ww_memory *memory, uint64_t at, uint64_t whole, uint64_t offset,
	uint64_t bytes, uint32_t seed);

/* Defines a case with a scene for each of the `kinds` of its file; the body sees the `kind`. */
#define KIND_CASE(case_name, case_needs)                          \
	static void case_name##_of(const char *kind);             \
	CASE(case_name, case_needs)                               \
	{                                                         \
		for (size_t i = 0; i < CHECK_COUNT(kinds); i++) { \
			check_row(kinds[i]);                      \
			scene_begin();                            \
			case_name##_of(kinds[i]);                 \
			scene_end();                              \
		}                                                 \
	}                                                         \
	static void case_name##_of(const char *kind)

/* What a handle travels as. */
struct foreign_handle {
	struct ww_memory_handle ipc;
	uint64_t offset;
};

#endif
