// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/** Watches a broker for changes. */
public final class Watch extends Handle {
	private Watch(long address) {
		super(Kind.WATCH, address, new ReentrantLock(true));
	}

	/**
	 * Begins to watch. The watch has a connection of its own.
	 *
	 * @param broker which is watched
	 * @param prefix of the names; "": all
	 * @param existing whether it begins with {@link Change.What#PUT} for each object that is there
	 * @return the watch
	 */
	public static Watch create(Broker broker, String prefix, boolean existing) {
		long[] out = new long[1];
		try (NativeObject of = broker.use()) {
			Status.check(Native.watchCreate(of.address, Struct.text(prefix), existing, out));
		}
		return new Watch(out[0]);
	}

	/**
	 * Waits for the next change.
	 *
	 * @param timeout how long
	 * @return the change; null: none came in time
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Change next(Duration timeout) throws InterruptedException {
		Struct event = Struct.sized(Change.BYTES);
		int status = Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.watchNext(object.address, timeoutNs, cancel, event.array()));
		return status == 0 ? Change.of(event) : null;
	}
}
