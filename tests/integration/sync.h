/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.h - timelines and barriers between real processes, through the public interface
 *
 * Most helpers are agents (support/agent.h) with more commands. S is one of an agent's timelines,
 * by number; its stream is of the device under test.
 *
 *   create S [OPTION...]        alone value=N
 *   put S NAME [mode=0640]
 *   get S NAME [wait_ms=N]
 *   export S [file=PATH], import S [file=PATH]    tokens go through the socket otherwise
 *   signal S V, stream_signal S V
 *   wait S V [wait_ms=N] [reached], query S V [reached], stream_wait S V [wait_ms=N] [unsubmitted]
 *   is S STATE SUBMITTED COMPLETED    live, closed or lost
 *   lost_is S PID PROGRAM       what the timeline says of the dead
 *   hold                        the stream waits until `go`
 *   go, sync
 *   share NAME, take NAME       host memory that both write
 *   relay OWN OTHER ROUNDS first|second      hands its words to and fro
 *   unlike OWN OTHER ROUNDS SEED first|second|anyhow         many streams of both in orders of
 *                                                            their own
 *   unref S
 *   map_page S, protect_page S, reopen_page S, private_page S     try to write a page;
 *                                                                 WW_ERR_ACCESS: refused
 *   fill_page S, store_page S, stream_store_page S       likewise; the last two die, or lose their
 *                                                        device
 *   join NAME RANK [wait_ms=N]  RANK: or "any"; NAME "-": a token through the socket
 *   arrive [wait_ms=N], rounds N, leave
 *   member_is RANK ROUND BROKEN_RANK        or "nobody"
 *   forge_replaced              in its own page: that another barrier has the name
 *   exit                        without letting go of anything
 */
#ifndef WW_TESTS_INTEGRATION_SYNC_H
#define WW_TESTS_INTEGRATION_SYNC_H

#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/container.h"
#include "support/broker_case.h"
#include "support/needs.h"
#include "support/subject.h"
#include "support/timeline.h"

/* options may be NULL. */
void sync_start(struct child *agent, const struct child_options *options);

/* As another user: UID GID [GID...] */
void sync_start_user(struct child *agent, const char *who);

/*
 * Two agents with a timeline each, "a" of the first and "b" of the second: own in 0, the other's in
 * 1.
 */
void sync_start_pair(struct child agents[2]);

/* A token from the one agent's socket to the other's. */
void sync_pass_token(struct child *from, struct child *to);

#endif
