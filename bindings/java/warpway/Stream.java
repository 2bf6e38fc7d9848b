// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * A queue of work on a device. Work of one stream runs in order. A stream that waits for a process
 * that ends is lost: its calls fail with {@link Status#PEER_LOST} until {@link #recover}.
 */
public final class Stream extends Handle {
	Stream(long address) {
		super(Kind.STREAM, address);
	}

	/**
	 * Makes a stream.
	 *
	 * @param device whose work it runs
	 * @return the stream
	 */
	public static Stream create(Device device) {
		long[] out = new long[1];
		try (NativeObject of = device.use()) {
			Status.check(Native.streamCreate(of.address, out));
		}
		return new Stream(out[0]);
	}

	/**
	 * Waits until all work enqueued so far has run.
	 *
	 * @param timeout how long
	 * @return false: the time is over first
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean synchronize(Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.streamSynchronize(object.address, timeoutNs, cancel)) == 0;
	}

	/**
	 * Tells whether all work enqueued so far has run.
	 *
	 * @return whether it has
	 */
	public boolean query() {
		try (NativeObject stream = use()) {
			return Status.check(Native.streamQuery(stream.address)) == 0;
		}
	}

	/** Clears the loss of the stream, after what it computed since then was discarded. */
	public void recover() {
		try (NativeObject stream = use()) {
			Status.check(Native.streamRecover(stream.address));
		}
	}

	/**
	 * Enqueues a copy.
	 *
	 * @param to memory that this process may write
	 * @param toOffset bytes from its start
	 * @param from memory to read
	 * @param fromOffset bytes from its start
	 * @param bytes how many
	 */
	public void copy(Memory to, long toOffset, Memory from, long fromOffset, long bytes) {
		try (NativeObject stream = use(); NativeObject a = to.use(); NativeObject b = from.use()) {
			to.checkSpan(toOffset, bytes);
			from.checkSpan(fromOffset, bytes);
			a.isUsedByStreams = true;
			b.isUsedByStreams = true;
			Status.check(Native.streamCopy(stream.address, a.address, toOffset, b.address,
					fromOffset, bytes));
		}
	}

	/**
	 * Enqueues filling a span with one value.
	 *
	 * @param to memory that this process may write
	 * @param offset bytes from its start, a multiple of valueBytes
	 * @param value its low bytes are repeated
	 * @param valueBytes 1, 2 or 4
	 * @param count how many values
	 */
	public void fill(Memory to, long offset, int value, int valueBytes, long count) {
		if (valueBytes != 1 && valueBytes != 2 && valueBytes != 4) {
			throw new WarpwayException(Status.INVALID, "a value of " + valueBytes
					+ " bytes cannot be repeated: it has 1, 2 or 4");
		}
		if (count < 0 || count > Long.MAX_VALUE / 4) {
			throw new IndexOutOfBoundsException(count + " values");
		}
		try (NativeObject stream = use(); NativeObject memory = to.use()) {
			to.checkSpan(offset, count * valueBytes);
			memory.isUsedByStreams = true;
			Status.check(Native.streamFill(stream.address, memory.address, offset, value,
					valueBytes, count));
		}
	}
}
