// SPDX-License-Identifier: Apache-2.0
package warpway;

/** What happens when the producer of a channel needs a slot and all have frames. */
public enum ChannelPolicy {
	/** The producer waits until every consumer has released one. */
	BLOCK,
	/** It takes back the oldest frame that no consumer holds. Who missed it counts that. */
	DROP_OLDEST,
	/** The same, and a consumer always receives the newest complete frame. */
	LATEST
}
