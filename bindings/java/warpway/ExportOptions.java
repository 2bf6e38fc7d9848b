// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** What a token is to name, and how long it keeps its object: by default 60 seconds. */
public final class ExportOptions {
	private static final long ESCROW_NONE = -2;

	private Access access = Access.READ;
	private long offset;
	private long bytes;
	private long escrowNs;
	private int uses;
	private boolean delivery;
	Layout layout;

	/** Makes options that say nothing yet: all of the object, for reading. */
	public ExportOptions() {
	}

	/**
	 * Sets the most that an importer gets. Timelines, events and channels have one access only.
	 *
	 * @param most for a memory or a pool; for a service WRITE is calling
	 * @return this
	 */
	public ExportOptions access(Access most) {
		access = most;
		return this;
	}

	/**
	 * Sets the span of a memory.
	 *
	 * @param from bytes from the start of the memory
	 * @param count bytes; 0: to the end
	 * @return this
	 */
	public ExportOptions span(long from, long count) {
		offset = from;
		bytes = count;
		return this;
	}

	/**
	 * Sets how long the broker keeps the object for the sake of the token.
	 *
	 * @param time zero: it does not, so another holder must
	 * @return this
	 */
	public ExportOptions escrow(Duration time) {
		escrowNs = time.isZero() ? ESCROW_NONE : Wait.nanos(time);
		return this;
	}

	/**
	 * Sets after how many imports the escrow ends early.
	 *
	 * @param imports 0: only its time ends it
	 * @return this
	 */
	public ExportOptions uses(int imports) {
		uses = imports;
		return this;
	}

	/**
	 * Makes the token a delivery: it keeps its object as long as this process lives, and opens it
	 * as often as {@link #uses} says, and no more. {@link Broker#inFlight} lists deliveries.
	 *
	 * @return this
	 */
	public ExportOptions delivery() {
		delivery = true;
		return this;
	}

	/**
	 * Sets how an array lies in the span, which the token tells.
	 *
	 * @param array null: just bytes
	 * @return this
	 */
	public ExportOptions layout(Layout array) {
		layout = array;
		return this;
	}

	Access access() {
		return access;
	}

	long escrowNs() {
		return escrowNs;
	}

	int uses() {
		return uses;
	}

	byte[] exportParams() {
		return Struct.sized(48).u32(Struct.code(access)).u64(offset).u64(bytes).u64(escrowNs)
				.u32(uses).u32(delivery ? 1 : 0).array();
	}

	byte[] tokenParams() {
		return Struct.sized(24).u32(uses).u64(escrowNs).u32(delivery ? 1 : 0).array();
	}
}
