// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** The producer of a channel: it acquires slots, writes frames into them and publishes them. */
public final class Producer extends Channel {
	private Producer(long address) {
		super(address);
	}

	/**
	 * Makes a channel in a broker.
	 *
	 * @param device where the slots are to be
	 * @param broker where the name is to be
	 * @param name such as "lab/camera"; null: it is found by its token only
	 * @param options what channel to make
	 * @return its producer
	 */
	public static Producer create(Device device, Broker broker, String name,
			ChannelOptions options) {
		long[] out = new long[1];
		byte[] text = Struct.optional(name);
		try (NativeObject of = device.use(); NativeObject in = broker.use()) {
			Status.checkOk(Native.channelCreate(of.address, in.address, text, options.params(),
					Layout.array(options.layout), out));
		}
		return new Producer(out[0]);
	}

	/**
	 * Gets a slot that the CPU may write.
	 *
	 * @param timeout how long to wait for one
	 * @return the slot; null: none in time
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Slot acquire(Duration timeout) throws InterruptedException {
		return acquire(null, timeout);
	}

	/**
	 * Gets a slot that the further work of a stream may write.
	 *
	 * @param stream which is to write; null: the CPU
	 * @param timeout how long to wait for one
	 * @return the slot; null: none in time
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Slot acquire(Stream stream, Duration timeout) throws InterruptedException {
		byte[] frame = Struct.sized(FrameBytes.BYTES).array();
		try (NativeObject by = use(stream)) {
			int status = Wait.run(object, timeout, (timeoutNs, cancel) ->
					Native.channelAcquire(object.address, by.address, timeoutNs, cancel, frame));
			return status == 0 ? new Slot(this, frame) : null;
		}
	}

	/**
	 * Waits until the channel has so many consumers. Each of them receives the frames that are
	 * published from then on.
	 *
	 * @param count how many at least
	 * @param timeout how long
	 * @return false: the time is over first
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean awaitConsumers(int count, Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.channelWaitConsumers(object.address, count, timeoutNs, cancel)) == 0;
	}

	/**
	 * Ends the subscription of a consumer, whose next receive fails with {@link Status#EVICTED}.
	 *
	 * @param consumer its number, as {@link #consumers} or an event tells
	 */
	public void evict(int consumer) {
		try (NativeObject channel = use()) {
			Status.check(Native.channelEvict(channel.address, consumer));
		}
	}
}
