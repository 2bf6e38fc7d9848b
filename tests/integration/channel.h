/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - channels between real processes, through the public interface
 *
 * Helpers are agents (support/agent.h) with more commands. An agent has one channel; frame N of a
 * producer has the value N. Its stream is of the device under test.
 *
 *   create NAME [OPTION...]   policy=N slots=N consumers=N held=N replace mode=0640 trust
 *                             type=NAME per_user=N
 *   join NAME [OPTION...]     history=N wait_ms=N trust reattach type=NAME
 *   send N                    publishes N more frames
 *   stream_send               publishes a frame by a stream that waits until `go`
 *   acquire [OPTION...]       holds a slot; stream wait_ms=N; until_free: as long as evicted
 *                             consumers have all slots
 *   evict N                   the consumer of this number
 *   forge N                   stores so many random words into the own marks
 *   take N                    receives N frames, without a gap, and releases them
 *   take_to N                 receives until frame N, gaps or not
 *   hold [wait_ms=N]          receives one, and keeps it; `release` lets go of it
 *   check N                   what is held has the value N
 *   stream_hold               the same, with the stream
 *   stream_release            lets go of it by the stream, which waits until `go`
 *   stream_query              whether its stream has done all work
 *   cut                       the connection to the broker
 *   no_more [wait_ms=N]       receives, and says the status
 *   numbers RECEIVED DROPPED  what the channel says of itself
 *   generation N              which producer it is attached to
 *   watch_to N G              receives by its descriptor until frame N of generation G
 *   watch_send N              as send, by its descriptor
 *   wait [wait_ms=N]          until it can go on
 *   go, leave
 */
#ifndef WW_TESTS_INTEGRATION_CHANNEL_H
#define WW_TESTS_INTEGRATION_CHANNEL_H

#include "support/agent.h"
#include "support/broker_case.h"
#include "support/channel.h"
#include "support/check.h"
#include "support/child.h"
#include "support/needs.h"
#include "support/subject.h"

#define SLOT_BYTES 4096

/* options may be NULL. */
void channel_start(struct child *agent, const struct child_options *options);

#endif
