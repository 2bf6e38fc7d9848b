// SPDX-License-Identifier: Apache-2.0
package warpway;

/** What an object in a broker is. */
public enum ObjectKind {
	/** A memory. */
	MEMORY,
	/** A timeline. */
	TIMELINE,
	/** An event. */
	EVENT,
	/** A barrier. */
	BARRIER,
	/** A channel. */
	CHANNEL,
	/** A service. */
	SERVICE,
	/** A pool. */
	POOL,
	/** A work queue. */
	WORK_QUEUE
}
