// SPDX-License-Identifier: Apache-2.0
package warpway;

/** The kinds of native objects, in the order of the enum in native.h. */
enum Kind {
	DEVICE,
	STREAM,
	MEMORY,
	POOL,
	BROKER,
	HELD_OBJECT,
	WATCH,
	TIMELINE,
	EVENT,
	BARRIER,
	CHANNEL,
	SERVICE,
	CLIENT,
	CALL_RESULTS,
	CANCEL,
	WORK_QUEUE,
	MEMORY_OF_STREAM
}
