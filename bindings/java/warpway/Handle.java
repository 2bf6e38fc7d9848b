// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.lang.ref.Cleaner;
import java.util.concurrent.locks.ReentrantLock;

/** What every class over a native object has in common. */
abstract class Handle implements AutoCloseable {
	static final Cleaner CLEANER = Cleaner.create();

	final NativeObject object;
	private final Cleaner.Cleanable cleanable;

	Handle(Kind kind, long address) {
		this(kind, address, null);
	}

	Handle(Kind kind, long address, ReentrantLock lock) {
		NativeObject made = new NativeObject(kind, address, lock);
		object = made;
		cleanable = CLEANER.register(this, made::lost);
	}

	/** Begins the use by a call, which try-with-resources ends. */
	NativeObject use() {
		return object.use();
	}

	/** The same for an object that may be left out. */
	static NativeObject use(Handle handle) {
		return handle == null ? NativeObject.NONE : handle.object.use();
	}

	/**
	 * Releases the object. A second call does nothing. Calls of other threads that wait in it end
	 * with {@link IllegalStateException}; a thread of the package releases it when the last of them
	 * has ended. If no other thread uses a {@link Stream}, this call waits for its work.
	 */
	@Override
	public void close() {
		object.end();
		cleanable.clean();
	}

	/**
	 * Tells whether the object is closed.
	 *
	 * @return whether {@link #close} was called
	 */
	public final boolean isClosed() {
		return object.isClosed();
	}

	@Override
	public String toString() {
		return getClass().getSimpleName() + (isClosed() ? "[closed]" : "");
	}
}
