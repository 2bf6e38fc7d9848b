// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** How a call of a function is made. */
public final class CallOptions {
	private static final long REPEAT = 1;
	private static final long CHAIN = 2;

	private int lane;
	private long deadlineNs;
	private long[] dependsOn = {};
	private long afterValue;
	private boolean repeat;
	private boolean chain;
	Timeline after;

	/** Makes options that say nothing yet: lane 0, without a deadline. */
	public CallOptions() {
	}

	/**
	 * Sets the lane: calls of one lane run in their order.
	 *
	 * @param number 0 to 63
	 * @return this
	 */
	public CallOptions lane(int number) {
		lane = number;
		return this;
	}

	/**
	 * Sets how long the call may wait until its function is started.
	 *
	 * @param time from the call on; zero: without an end
	 * @return this
	 */
	public CallOptions deadline(Duration time) {
		deadlineNs = Wait.nanos(time);
		return this;
	}

	/**
	 * Starts the call when other calls have ended, and has it fail if one of them does. {@link
	 * CallException#failedCall} then is the number of the first call that failed. This replaces the
	 * calls of an earlier dependsOn.
	 *
	 * @param calls {@link PendingCall#number} or {@link CallResults#number} of up to six of the
	 *     client's last 1,023 calls; with {@link #chain}, the call before it is one of the six
	 * @return this
	 */
	public CallOptions dependsOn(long... calls) {
		dependsOn = calls.clone();
		return this;
	}

	/**
	 * Has the call continue a chain: it fails if the one before it in its lane does.
	 *
	 * @return this
	 */
	public CallOptions chain() {
		chain = true;
		return this;
	}

	/**
	 * Starts the call when a timeline has reached a value.
	 *
	 * @param timeline which is waited for by the server, in the lane
	 * @param value that it reaches
	 * @return this
	 */
	public CallOptions after(Timeline timeline, long value) {
		after = timeline;
		afterValue = value;
		return this;
	}

	/**
	 * Has {@link RemoteFunction#call} make the call again, by the next server of the name, if the
	 * server ends before it has answered. The function must be offered as idempotent.
	 *
	 * @return this
	 */
	public CallOptions repeat() {
		repeat = true;
		return this;
	}

	boolean isRepeated() {
		return repeat;
	}

	/** The calls that it depends on; the other options are in {@link #params}. */
	long[] dependsOn() {
		return dependsOn;
	}

	byte[] params() {
		return Struct.sized(72).u32(lane).u64(deadlineNs).u64(0).u64(0).u64(0)
				.u64(afterValue).u64((repeat ? REPEAT : 0) | (chain ? CHAIN : 0))
				.u64(0).u32(0).u32(0).array();
	}
}
