// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.ReentrantLock;

/**
 * An object of the library, and the calls that use it. The object is released when it is closed and
 * no call uses it any more, so no call ever has a released one.
 *
 * <p>The number is twice the count of calls, plus 1 when it is closed. {@code use()} begins the use
 * by a call, {@code close()} ends it, for try-with-resources.
 */
final class NativeObject extends AtomicInteger implements AutoCloseable {
	private static final long serialVersionUID = 1;

	/** In place of an object that is left out: NULL. */
	static final NativeObject NONE = new NativeObject();

	static final AtomicIntegerArray OPEN = new AtomicIntegerArray(Kind.values().length);
	/** All objects that are open, if leaks are reported; else null. */
	static final Set<NativeObject> TRACKED =
			Boolean.getBoolean("warpway.leaks") ? ConcurrentHashMap.newKeySet() : null;

	final transient long address;
	final transient Kind kind;
	/** Held during each call, if the library wants one thread at a time; else null. */
	final transient ReentrantLock lock;
	/** Where it was made, if leaks are reported. */
	final transient Throwable made;
	/** What runs after the release; null: nothing. */
	transient volatile Runnable afterwards;
	/** Whether streams have used the memory. */
	transient volatile boolean isUsedByStreams;
	private final transient List<Wait> waits = new ArrayList<>(0);

	private NativeObject() {
		address = 0;
		kind = null;
		lock = null;
		made = null;
	}

	NativeObject(Kind kind, long address, ReentrantLock lock) {
		this.kind = kind;
		this.address = address;
		this.lock = lock;
		OPEN.incrementAndGet(kind.ordinal());
		made = TRACKED == null ? null : new Throwable("made here");
		if (TRACKED != null) {
			TRACKED.add(this);
		}
	}

	/** Begins a call. It has the lock until it ends. */
	NativeObject use() {
		enter();
		if (lock != null) {
			lock.lock();
		}
		return this;
	}

	@Override
	public void close() {
		if (lock != null) {
			lock.unlock();
		}
		leave();
	}

	/** Begins a call that takes the lock only while it is inside the library. */
	void enter() {
		if (kind == null) {
			return;
		}
		int state = get();
		while ((state & 1) == 0) {
			if (compareAndSet(state, state + 2)) {
				return;
			}
			state = get();
		}
		throw closed();
	}

	/** A release may wait for work of a stream, which the call that ends last must not do. */
	void leave() {
		if (kind != null && addAndGet(-2) == 1) {
			Thread thread = new Thread(this::free, "warpway-release");
			thread.setDaemon(true);
			thread.start();
		}
	}

	IllegalStateException closed() {
		return new IllegalStateException("this " + name() + " is closed");
	}

	boolean isClosed() {
		return (get() & 1) != 0;
	}

	/** Closes the object: no call begins any more, and those that wait end. False: it was. */
	boolean end() {
		int state = get();
		while ((state & 1) == 0) {
			if (compareAndSet(state, state + 1)) {
				OPEN.decrementAndGet(kind.ordinal());
				if (TRACKED != null) {
					TRACKED.remove(this);
				}
				if (state == 0) {
					free();
				} else {
					endWaits();
				}
				return true;
			}
			state = get();
		}
		return false;
	}

	/** What a Cleaner calls when a program has lost the object without closing it. */
	void lost() {
		if (!isClosed() && made != null) {
			System.getLogger("warpway").log(System.Logger.Level.WARNING,
					"lost without close(): " + name(), made);
		}
		end();
	}

	String name() {
		return kind.name().toLowerCase().replace('_', ' ');
	}

	private void free() {
		if (lock != null) {
			lock.lock();
		}
		try {
			Kind how = isUsedByStreams ? Kind.MEMORY_OF_STREAM : kind;
			Native.release(how.ordinal(), address);
		} finally {
			if (lock != null) {
				lock.unlock();
			}
		}
		if (afterwards != null) {
			afterwards.run();
		}
	}

	/** Notes a wait, which close() ends. */
	void add(Wait wait) {
		synchronized (waits) {
			waits.add(wait);
			if (isClosed()) {
				wait.end();
			}
		}
	}

	/** After this nobody ends the wait any more. */
	void remove(Wait wait) {
		synchronized (waits) {
			waits.remove(wait);
		}
	}

	private void endWaits() {
		synchronized (waits) {
			waits.forEach(Wait::end);
		}
	}
}
