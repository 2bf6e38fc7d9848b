/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.h - work queues between real processes, through the public interface
 *
 * Helpers are agents (support/agent.h) with more commands. An agent is one member of a queue; frame
 * N of a producer has the value N. Its stream is of the device under test.
 *
 *   create NAME [OPTION...]   role=N slots=N attempts=N failed=N consumers=N producers=N mode=0640
 *   join NAME ROLE            ROLE is a number: 2 producer, 3 consumer, 4 of failed frames;
 *                             until_free: tries again while there are as many as there may be
 *   send N                    publishes N more frames
 *   stream_send               publishes a frame by a stream that waits until `go`
 *   take N                    receives N frames that follow each other, and acknowledges them
 *   hold NUMBER ATTEMPTS      receives this frame, and keeps it
 *   hold_any                  receives any frame, and keeps it
 *   stream_hold               receives one with the stream
 *   done, reject              what becomes of the frame that is held
 *   stream_done               the same as done, by the stream, which waits until `go` before
 *   no_more [wait_ms=N]       receives, and says the status
 *   poll                      waits by the descriptor alone until a receive has a result, which is
 *                             acknowledged, and says the status
 *   acquire [wait_ms=N]       holds a slot
 *   numbers RECEIVED LOST     what the queue says of itself
 *   shut                      closes the queue for more work
 *   go, leave
 */
#ifndef WW_TESTS_INTEGRATION_WORK_QUEUE_H
#define WW_TESTS_INTEGRATION_WORK_QUEUE_H

#include "support/agent.h"
#include "support/broker_case.h"
#include "support/check.h"
#include "support/child.h"
#include "support/needs.h"
#include "support/subject.h"
#include "support/work_queue.h"

#define SLOT_BYTES 4096

#define MEMBER(...) WW_PARAMS(struct ww_work_member_params, .role = __VA_ARGS__)

void queue_start(struct child *agent);

#endif
