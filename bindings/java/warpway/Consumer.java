// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;

/**
 * A consumer of a channel. It receives frames one by one, by {@link #receive}; in a loop, {@code
 * for (Frame frame : consumer)}; or as a {@link #publisher}.
 */
public final class Consumer extends Channel implements Iterable<Frame> {
	private volatile boolean hasEnded;
	private volatile int generation;

	private Consumer(long address) {
		super(address);
	}

	static long join(Device device, Broker broker, String name, ConsumerOptions options, int flags,
			Duration timeout) throws InterruptedException {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		byte[] type = Struct.optional(options.metadataType);
		byte[] params = options.params(flags);
		byte[] array = Layout.array(options.layout);
		try (NativeObject of = device.use()) {
			int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
					Native.channelGet(of.address, broker.object.address, text, params, type, array,
							timeoutNs, cancel, out));
			Broker.checkFound(status, name);
		}
		return out[0];
	}

	/**
	 * Becomes a consumer of the channel of a name.
	 *
	 * @param device where the slots are to be mapped, for reading
	 * @param broker where the name is
	 * @param name of the channel
	 * @param options how it begins, and what it expects
	 * @param timeout how long to wait for the name
	 * @return the consumer
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Consumer get(Device device, Broker broker, String name, ConsumerOptions options,
			Duration timeout) throws InterruptedException {
		return new Consumer(join(device, broker, name, options, 0, timeout));
	}

	/**
	 * Becomes a consumer of the channel that a token names.
	 *
	 * @param device where the slots are to be mapped, for reading
	 * @param broker that the token is from
	 * @param token of the channel
	 * @param options how it begins, and what it expects
	 * @return the consumer
	 */
	public static Consumer open(Device device, Broker broker, Token token,
			ConsumerOptions options) {
		long[] out = new long[1];
		try (NativeObject of = device.use(); NativeObject from = broker.use()) {
			Status.checkOk(Native.channelImport(of.address, from.address, token.array(),
					options.params(0), Struct.optional(options.metadataType),
					Layout.array(options.layout), out));
		}
		return new Consumer(out[0]);
	}

	/**
	 * Gets the next frame, complete for the CPU.
	 *
	 * @param timeout how long to wait for one
	 * @return the frame; null: none in time, or none any more ({@link #hasEnded})
	 * @throws InterruptedException if the thread was interrupted
	 * @throws WarpwayException with {@link Status#PEER_LOST} if the process of the producer has
	 *     ended without closing the channel, and all complete frames were received
	 */
	public Frame receive(Duration timeout) throws InterruptedException {
		return receive(null, timeout);
	}

	/**
	 * Gets the next frame for the further work of a stream.
	 *
	 * @param stream which is to read; null: the CPU
	 * @param timeout how long to wait for one
	 * @return the frame; null: none in time, or none any more ({@link #hasEnded})
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Frame receive(Stream stream, Duration timeout) throws InterruptedException {
		byte[] bytes = Struct.sized(FrameBytes.BYTES).array();
		int status;
		try (NativeObject by = use(stream)) {
			status = Wait.run(object, timeout, (timeoutNs, cancel) ->
					Native.channelReceive(object.address, by.address, timeoutNs, cancel, bytes));
		}
		hasEnded = status == Status.END.code;
		if (status != 0) {
			return null;
		}
		Frame frame = new Frame(this, bytes);
		if (frame.generation() != generation) {
			generation = frame.generation();
			forgetViews();
		}
		return frame;
	}

	/**
	 * Tells whether the last {@link #receive} found the end: the producer has closed the channel,
	 * and all of its frames were received.
	 *
	 * @return whether it did
	 */
	public boolean hasEnded() {
		return hasEnded;
	}

	/**
	 * Iterates over the frames, until the producer closes the channel. Each step waits for a frame,
	 * and closes the one before it. An interrupt ends a step with {@link CancellationException},
	 * and leaves the thread interrupted.
	 *
	 * @return an iterator
	 */
	@Override
	public Iterator<Frame> iterator() {
		return new Frames();
	}

	private final class Frames implements Iterator<Frame> {
		private Frame last;
		private Frame next;

		@Override
		public boolean hasNext() {
			if (next == null && last != null) {
				last.close();
				last = null;
			}
			try {
				while (next == null) {
					next = receive(Warpway.FOREVER);
					if (next == null && hasEnded) {
						return false;
					}
				}
			} catch (InterruptedException exception) {
				Thread.currentThread().interrupt();
				throw new CancellationException("interrupted");
			}
			return true;
		}

		@Override
		public Frame next() {
			if (!hasNext()) {
				throw new NoSuchElementException("the producer has closed the channel");
			}
			last = next;
			next = null;
			return last;
		}
	}

	/**
	 * Makes a publisher of the frames, for one subscriber at a time, since several would share the
	 * frames of one consumer. It receives a frame only when the subscriber has requested one, and
	 * queues none: what happens to frames meanwhile says the policy of the channel. A frame is
	 * valid until {@code onNext} returns; then it is closed. A frame that comes while the
	 * subscriber cancels is dropped.
	 *
	 * @param executor runs the subscriber's methods. It has one thread at work while the subscriber
	 *     has requested frames, and none otherwise
	 * @return the publisher
	 */
	public Flow.Publisher<Frame> publisher(Executor executor) {
		return new FramePublisher(this, executor);
	}
}
