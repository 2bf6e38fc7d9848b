// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * A number that only grows, by which processes and their GPUs wait for each other. The process that
 * creates it signals values; any process waits for them. If the signaller ends, every wait for a
 * value that was not reached fails with {@link Status#PEER_LOST}.
 */
public final class Timeline extends Handle {
	/** The highest value that a timeline can have. */
	public static final long MAX = 1L << 62;
	private static final long ALONE = 1;

	Timeline(long address) {
		super(Kind.TIMELINE, address);
	}

	/**
	 * Makes a timeline whose signaller is this process, with value 0.
	 *
	 * @return the timeline
	 */
	public static Timeline create() {
		return create(0, false);
	}

	/**
	 * Makes a timeline whose signaller is this process.
	 *
	 * @param value that it has reached from the start
	 * @param alone whether it shares its page with no other timeline of this process, so that who
	 *     may see it sees no other one
	 * @return the timeline
	 */
	public static Timeline create(long value, boolean alone) {
		long[] out = new long[1];
		Status.check(Native.timelineCreate(alone ? ALONE : 0, value, out));
		return new Timeline(out[0]);
	}

	/**
	 * Finds the timeline of a name, to wait on it.
	 *
	 * @param broker where the name is
	 * @param name of the timeline
	 * @param timeout how long to wait for the name
	 * @return the timeline
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Timeline get(Broker broker, String name, Duration timeout)
			throws InterruptedException {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
				Native.timelineGet(broker.object.address, text, timeoutNs, cancel, out));
		Broker.checkFound(status, name);
		return new Timeline(out[0]);
	}

	/**
	 * Opens the timeline that a token names, to wait on it.
	 *
	 * @param broker that the token is from
	 * @param token of the timeline
	 * @return the timeline
	 */
	public static Timeline open(Broker broker, Token token) {
		long[] out = new long[1];
		try (NativeObject from = broker.use()) {
			Status.checkOk(Native.timelineImport(from.address, token.array(), out));
		}
		return new Timeline(out[0]);
	}

	/**
	 * Names the timeline in a broker. The name ends with the timeline, or with this process.
	 *
	 * @param broker where
	 * @param name such as "lab/full"
	 * @param options mode and group
	 */
	public void put(Broker broker, String name, NameOptions options) {
		byte[] text = Struct.text(name);
		try (NativeObject timeline = use(); NativeObject to = broker.use()) {
			Status.checkOk(Native.timelinePut(timeline.address, to.address, text,
					options.params()));
		}
	}

	/**
	 * Makes a token, by which any process can open the timeline.
	 *
	 * @param broker that keeps the timeline for the token
	 * @param options its escrow and its uses
	 * @return the token
	 */
	public Token export(Broker broker, ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject timeline = use(); NativeObject by = broker.use()) {
			Status.checkOk(Native.timelineExport(timeline.address, by.address,
					options.tokenParams(), token));
		}
		return new Token(token);
	}

	/**
	 * Maps the timeline on a device before its streams use it, so that the first use costs nothing.
	 *
	 * @param device whose streams will use it
	 */
	public void prepare(Device device) {
		try (NativeObject timeline = use(); NativeObject on = device.use()) {
			Status.check(Native.timelinePrepare(timeline.address, on.address));
		}
	}

	/**
	 * Raises the value, now. What this thread has written before, a process that waits for the
	 * value can read.
	 *
	 * @param value above every one submitted before
	 */
	public void signal(long value) {
		try (NativeObject timeline = use()) {
			Status.check(Native.timelineSignal(timeline.address, value));
		}
	}

	/**
	 * Has a stream raise the value, after the work that it has now.
	 *
	 * @param stream which raises it
	 * @param value above every one submitted before
	 */
	public void signal(Stream stream, long value) {
		try (NativeObject timeline = use(); NativeObject by = stream.use()) {
			Status.check(Native.timelineStreamSignal(timeline.address, by.address, value));
		}
	}

	/**
	 * Says that the values which are not reached yet will never be valid, though streams still
	 * signal them. Waits for them fail with {@link Status#PEER_LOST}. The timeline cannot be
	 * signalled any more.
	 *
	 * @param why for the messages of those who wait: 47 bytes of ASCII
	 */
	public void fail(String why) {
		byte[] text = Struct.text(why);
		try (NativeObject timeline = use()) {
			Status.checkOk(Native.timelineFail(timeline.address, text));
		}
	}

	/**
	 * Waits on the CPU until a value is reached.
	 *
	 * @param value at most {@link #MAX}
	 * @param timeout how long
	 * @return false: the time is over first
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean await(long value, Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.timelineWait(object.address, value, timeoutNs, cancel)) == 0;
	}

	/**
	 * Has the further work of a stream wait until a value is reached. The call itself waits until
	 * the signal of the value is submitted.
	 *
	 * @param stream which waits
	 * @param value at most {@link #MAX}
	 * @param timeout how long to wait until the value is submitted
	 * @return false: it was not submitted in time, and nothing was enqueued
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean await(Stream stream, long value, Duration timeout) throws InterruptedException {
		try (NativeObject by = stream.use()) {
			return Wait.run(object, timeout, (timeoutNs, cancel) ->
					Native.timelineStreamWait(object.address, by.address, value, 0, timeoutNs,
							cancel)) == 0;
		}
	}

	/**
	 * Has the further work of a stream wait until a value is reached, also if its signal is not
	 * submitted yet. Streams that wait so share the hardware queues of a GPU: 8 of them may block
	 * all others.
	 *
	 * @param stream which waits
	 * @param value at most {@link #MAX}
	 */
	public void awaitUnsubmitted(Stream stream, long value) {
		try (NativeObject timeline = use(); NativeObject by = stream.use()) {
			Status.checkOk(Native.timelineStreamWait(timeline.address, by.address, value, 1, 0, 0));
		}
	}

	/**
	 * Tells whether a value is reached. Then what was written before the signal can be read.
	 *
	 * @param value at most {@link #MAX}
	 * @return whether it is
	 */
	public boolean query(long value) {
		try (NativeObject timeline = use()) {
			return Status.check(Native.timelineQuery(timeline.address, value)) == 0;
		}
	}

	/**
	 * Describes the timeline.
	 *
	 * @return its state
	 */
	public TimelineInfo info() {
		Struct info = Struct.sized(TimelineInfo.BYTES);
		try (NativeObject timeline = use()) {
			Status.check(Native.timelineInfo(timeline.address, info.array()));
		}
		return new TimelineInfo(info);
	}
}
