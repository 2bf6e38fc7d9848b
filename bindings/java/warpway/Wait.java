// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.time.Duration;

/**
 * A call that waits: with a limit on time, until the thread is interrupted or the object closed.
 *
 * <p>The class is a channel for the one service that channels of the JDK have: {@code begin()} and
 * {@code end()} have Thread.interrupt() close it, and that sets the cancel object of the call.
 */
final class Wait extends AbstractInterruptibleChannel {
	/** A function of the library that waits. It returns a status. */
	interface Call {
		int call(long timeoutNs, long cancel);
	}

	/** The flag of calls that must not wait: they return WW_CANCELLED. */
	static final long NOWAIT = Native.cancelNowait();
	/** So long a call keeps the lock of an object that one thread at a time uses. */
	static final long SLICE_NS = 50_000_000;

	private final long cancel;

	private Wait() {
		long[] out = new long[1];
		Status.check(Native.cancelCreate(out));
		cancel = out[0];
	}

	/** The nanoseconds of a limit, as the library wants them: -1 is for ever. */
	static long nanos(Duration timeout) {
		if (timeout.equals(Warpway.FOREVER)) {
			return -1;
		}
		if (timeout.isNegative()) {
			throw new IllegalArgumentException("a negative limit on time: " + timeout
					+ "; Warpway.FOREVER is for ever");
		}
		return timeout.getSeconds() < Long.MAX_VALUE / 1_000_000_000 ? timeout.toNanos()
				: Long.MAX_VALUE;
	}

	/**
	 * Makes a call that waits.
	 *
	 * @param object whose close() ends the wait; this method begins and ends its use
	 * @return the status: WW_OK or an outcome other than WW_CANCELLED
	 */
	static int run(NativeObject object, Duration timeout, Call call) throws InterruptedException {
		return run(object, timeout, call, SLICE_NS);
	}

	/**
	 * The same for a call that has an effect also if it ends early: it is made once. It has the
	 * lock all the time.
	 */
	static int runOnce(NativeObject object, Duration timeout, Call call)
			throws InterruptedException {
		return run(object, timeout, call, Long.MAX_VALUE);
	}

	private static int run(NativeObject object, Duration timeout, Call call, long sliceNs)
			throws InterruptedException {
		long timeoutNs = nanos(timeout);
		if (Thread.interrupted()) {
			throw new InterruptedException();
		}
		object.enter();
		try {
			if (sliceNs == SLICE_NS) {
				int status = first(object, timeoutNs, call);
				if (status != Status.CANCELLED.code || timeoutNs == 0) {
					return Status.check(status);
				}
			}
			Wait wait = new Wait();
			try {
				object.add(wait);
				return wait.run(object, timeoutNs, call, sliceNs);
			} finally {
				object.remove(wait);
				Native.release(Kind.CANCEL.ordinal(), wait.cancel);
			}
		} finally {
			object.leave();
		}
	}

	/** Most calls need not wait: then no cancel object is needed. */
	private static int first(NativeObject object, long timeoutNs, Call call)
			throws InterruptedException {
		lock(object);
		try {
			return call.call(timeoutNs, timeoutNs == 0 ? 0 : NOWAIT);
		} finally {
			unlock(object);
		}
	}

	private static void lock(NativeObject object) throws InterruptedException {
		if (object.lock != null) {
			object.lock.lockInterruptibly();
		}
	}

	private static void unlock(NativeObject object) {
		if (object.lock != null) {
			object.lock.unlock();
		}
	}

	private int run(NativeObject object, long timeoutNs, Call call, long sliceNs)
			throws InterruptedException {
		long end = System.nanoTime() + timeoutNs;
		while (true) {
			long left = timeoutNs < 0 ? Long.MAX_VALUE : Math.max(0, end - System.nanoTime());
			boolean isLast = object.lock == null || left <= sliceNs;
			int status = interruptible(object, call, isLast ? timeoutNs < 0 ? -1 : left : sliceNs);
			if (status == Status.CANCELLED.code) {
				if (Thread.interrupted()) {
					throw new InterruptedException();
				}
				throw object.closed();
			}
			if (status != Status.TIMED_OUT.code || isLast) {
				return Status.check(status);
			}
		}
	}

	private int interruptible(NativeObject object, Call call, long timeoutNs)
			throws InterruptedException {
		lock(object);
		int status = Status.CANCELLED.code;
		try {
			begin();
			status = call.call(timeoutNs, cancel);
		} finally {
			try {
				end(true);
			} catch (AsynchronousCloseException exception) {
				/* Interrupted. What the call has got is not lost: the flag is still set. */
			}
			unlock(object);
		}
		return status;
	}

	/** Ends the wait, from another thread. */
	void end() {
		Native.cancelSet(cancel);
	}

	@Override
	protected void implCloseChannel() {
		Native.cancelSet(cancel);
	}
}
