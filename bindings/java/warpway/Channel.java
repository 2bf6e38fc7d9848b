// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;

/**
 * A ring of slots, into which one process writes frames that up to 32 others read in place: a
 * {@link Producer}, a {@link Consumer}, or an {@link Observer}, which sees what they do.
 */
public abstract class Channel extends Ring {
	Channel(long address) {
		super(Kind.CHANNEL, address);
	}

	@Override
	int publish(byte[] frame, long stream, long bytes, long[] shape, byte[] metadata) {
		return Native.channelPublish(object.address, frame, stream, bytes, shape, metadata);
	}

	@Override
	int discard(byte[] frame) {
		return Native.channelDiscard(object.address, frame, 0);
	}

	/**
	 * Describes the channel.
	 *
	 * @return its state
	 */
	public ChannelInfo info() {
		Struct info = Struct.sized(ChannelInfo.BYTES);
		try (NativeObject channel = use()) {
			Status.check(Native.channelInfo(channel.address, info.array()));
		}
		return new ChannelInfo(info);
	}

	/**
	 * Lists the consumers that are known.
	 *
	 * @return in the order in which they became known
	 */
	public List<ConsumerInfo> consumers() {
		try (NativeObject channel = use()) {
			return Broker.entries(channel.address, ConsumerInfo.BYTES, Native::channelConsumer,
					ConsumerInfo::new);
		}
	}

	/**
	 * Waits for the next thing that happens to the channel.
	 *
	 * @param timeout how long
	 * @return the event; null: none in time
	 * @throws InterruptedException if the thread was interrupted
	 */
	public ChannelEvent nextEvent(Duration timeout) throws InterruptedException {
		Struct event = Struct.sized(ChannelEvent.BYTES);
		int status = Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.channelNextEvent(object.address, timeoutNs, cancel, event.array()));
		return status == 0 ? new ChannelEvent(event) : null;
	}

	/**
	 * Makes a token, by which any process can become a consumer.
	 *
	 * @param options its escrow and its uses
	 * @return the token
	 */
	public Token export(ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject channel = use()) {
			Status.checkOk(Native.channelExport(channel.address, options.tokenParams(), token));
		}
		return new Token(token);
	}

	/**
	 * Waits until one of several channels can go on: a consumer has a frame or the end, a producer
	 * a slot. The channels can be closed meanwhile.
	 *
	 * @param timeout how long
	 * @param channels producers and consumers, 1 to 64, each once
	 * @return the index of one that can go on; -1: none in time
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static int awaitAny(Duration timeout, Channel... channels) throws InterruptedException {
		long timeoutNs = Wait.nanos(timeout);
		long end = System.nanoTime() + timeoutNs;
		while (true) {
			long left = timeoutNs < 0 ? Long.MAX_VALUE : Math.max(0, end - System.nanoTime());
			int index = awaitSlice(Math.min(left, Wait.SLICE_NS), channels);
			if (index >= 0 || left <= Wait.SLICE_NS) {
				return index;
			}
		}
	}

	private static int awaitSlice(long limitNs, Channel[] channels) throws InterruptedException {
		long[] out = new long[1];
		long[] addresses = Arrays.stream(channels).mapToLong(channel -> channel.object.address)
				.toArray();
		/* All threads lock them in one order. */
		Channel[] ordered = channels.clone();
		Arrays.sort(ordered, Comparator.comparingLong(channel -> channel.object.address));
		Deque<NativeObject> used = new ArrayDeque<>();
		try {
			for (Channel channel : ordered) {
				used.push(channel.use());
			}
			int status = Wait.run(NativeObject.NONE, Duration.ofNanos(limitNs),
					(timeoutNs, cancel) ->
					Native.channelWaitAny(addresses, timeoutNs, cancel, out));
			return status == 0 ? (int) out[0] : -1;
		} finally {
			used.forEach(NativeObject::close);
		}
	}
}
