/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - calls between real processes, through the public interface
 *
 * Helpers are agents (support/agent.h) with more commands. An agent has one service, which a thread
 * of it serves, or one client with one ticket. The functions are those of support/service.h.
 *
 *   create NAME [OPTION...]   calls=N clients=N clients_per_uid=N mode=0660 idle (nobody serves)
 *                             builtin (with those functions) alloc_bytes=N replace
 *                             keep (memories that were arguments, as long as the client is there)
 *                             bare (nor is anything offered, and it is not started)
 *   serve                     from now on
 *   serve_fault [await]       a function "fault", whose kernel faults; until serving has ended;
 *                             await: the function waits for the kernel, by itself
 *   files N [all]             may open about N more files; all: as many as it ever might
 *   drain                     and waits until the service has ended serving
 *   served                    waits until it has; the status is that of serving
 *   open NAME [OPTION...]     wait_ms=N observe
 *   call FUNCTION             and waits; the status is the call's
 *   many N                    N calls of add, each with the right result
 *   repeat FUNCTION           the same, also by the next server; timeout_ms=N deadline_ms=N
 *   submit FUNCTION           lane=N deadline_ms=N
 *   timeline NAME             makes a timeline of that name; the next two are of it
 *   signal VALUE
 *   submit_signal VALUE       by a stream, which waits until `go`
 *   go
 *   close
 *   fill_lanes NAME           a call in each lane that starts after value 1 of that timeline
 *   started                   waits until the function of the ticket has been started
 *   cancel                    the ticket
 *   wait                      for the ticket; the status is the call's
 *   has_started N             whether it has, as the ticket says
 *   mark AT                   adds 1 to a byte of the agent's memory, by the service
 *   alloc N [OPTION...]       has the server make memory: name=NAME mode=0640 kept
 *   free                      the agent's memory, else what it had made last
 *   clients N                 waits until the server knows so many
 *   ready                     waits until the service is
 *   find FUNCTION             waits until it is offered
 *   state N                   waits until the client sees that state
 *   taken N                   waits until the server has taken so many calls
 *   leave
 */
#ifndef WW_TESTS_INTEGRATION_SERVICE_H
#define WW_TESTS_INTEGRATION_SERVICE_H

#include "support/agent.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/child.h"
#include "support/service.h"
#include "support/needs.h"
#include "support/subject.h"

#define NEEDS_FAULTS (NEEDS_CUDA | NEEDS_NO_MPS)

/* options may be NULL. */
void service_start(struct child *agent, const struct child_options *options);

/* A server of service "s", and clients of it. */
void service_start_all(struct child *server, struct child *clients, int count, const char *options);

#endif
