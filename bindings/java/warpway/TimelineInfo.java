// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a timeline.
 *
 * @param state of its signaller
 * @param isOwn whether this process is the signaller
 * @param pid of the signaller
 * @param uid of the signaller, as it says
 * @param submitted the highest value whose signal is enqueued or done
 * @param completed the highest value reached
 * @param lostNs when the broker learnt that it ended, nanoseconds since 1970; 0: it has not
 * @param program the name of the signaller
 */
public record TimelineInfo(State state, boolean isOwn, int pid, int uid, long submitted,
		long completed, long lostNs, String program) {
	static final int BYTES = 80;

	/** States of a timeline. */
	public enum State {
		/** It can signal. */
		LIVE,
		/** It was closed: no value above those submitted will come. */
		CLOSED,
		/** Its process has ended, or the broker took it for ended. */
		LOST
	}

	TimelineInfo(Struct info) {
		this(Struct.entry(State.values(), info.u32()), info.flag(), info.u32(), info.u32(),
				info.skip(4).u64(), info.u64(), info.u64(), info.text(32));
	}
}
