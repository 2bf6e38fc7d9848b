// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * An observer of a channel: it sees what producer and consumers do, receives nothing, and nobody
 * waits for it.
 */
public final class Observer extends Channel {
	private static final int OBSERVE = 1;

	private Observer(long address) {
		super(address);
	}

	/**
	 * Observes the channel of a name.
	 *
	 * @param device any
	 * @param broker where the name is
	 * @param name of the channel
	 * @param timeout how long to wait for the name
	 * @return the observer
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Observer get(Device device, Broker broker, String name, Duration timeout)
			throws InterruptedException {
		return new Observer(Consumer.join(device, broker, name, new ConsumerOptions(), OBSERVE,
				timeout));
	}

	/**
	 * Waits until the channel has so many consumers.
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
	 * Asks the producer to end the subscription of a consumer. The event
	 * {@link ChannelEvent.Kind#CONSUMER_EVICTED} tells when it has done so. Only the producer's
	 * user and root may ask.
	 *
	 * @param consumer its number, as {@link #consumers} or an event tells
	 */
	public void evict(int consumer) {
		try (NativeObject channel = use()) {
			Status.check(Native.channelEvict(channel.address, consumer));
		}
	}
}
