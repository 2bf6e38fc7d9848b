// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** How a consumer of a channel begins, and what it expects. */
public final class ConsumerOptions {
	/** For {@link #history}: all frames that are still there. */
	public static final long OLDEST = -1;

	private static final int REATTACH = 2, TRUST_USERS = 4;

	private int flags;
	private long history;
	private long deadlineNs;
	String metadataType;
	Layout layout;

	/** Makes options that say nothing yet: new frames only, of any type. */
	public ConsumerOptions() {
	}

	/**
	 * Goes on with the next producer that makes a channel of the name when this one ends.
	 *
	 * @return this
	 */
	public ConsumerOptions reattach() {
		flags |= REATTACH;
		return this;
	}

	/**
	 * Lets streams wait on the GPU for a producer of another user that trusts this one.
	 *
	 * @return this
	 */
	public ConsumerOptions trustUsers() {
		flags |= TRUST_USERS;
		return this;
	}

	/**
	 * Receives frames first that were published before, as far as they are still there.
	 *
	 * @param frames how many; {@link #OLDEST}: all
	 * @return this
	 */
	public ConsumerOptions history(long frames) {
		history = frames;
		return this;
	}

	/**
	 * Expects a type of metadata.
	 *
	 * @param type as the producer calls it; null: any
	 * @return this
	 */
	public ConsumerOptions metadataType(String type) {
		metadataType = type;
		return this;
	}

	/**
	 * Expects frames of a type and shape.
	 *
	 * @param array as the channel has it; null: any
	 * @return this
	 */
	public ConsumerOptions layout(Layout array) {
		layout = array;
		return this;
	}

	/**
	 * Wants a frame within so long after the last one; the producer must have promised that.
	 *
	 * @param time zero: nothing is wanted
	 * @return this
	 */
	public ConsumerOptions deadline(Duration time) {
		deadlineNs = Wait.nanos(time);
		return this;
	}

	byte[] params(int moreFlags) {
		return Struct.sized(40).u32(flags | moreFlags).u64(history).u64(0).u64(0)
				.u64(deadlineNs).array();
	}
}
