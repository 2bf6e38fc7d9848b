// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;

/** Buffers over mapped memory. Each keeps the mapping until no program can reach it any more. */
final class Views {
	/** The most bytes of one buffer: a multiple of each element, less than buffers can have. */
	static final long BYTES_MAX = 1L << 30;

	/** Buffers that have a reference of a memory. */
	static final AtomicInteger OPEN = new AtomicInteger();

	private Views() {
	}

	/** A buffer over a span of a memory that the CPU reaches. Buffers made of it keep it. */
	static ByteBuffer of(long memory, long offset, long bytes, boolean readOnly) {
		ByteBuffer root = Native.memoryView(memory, offset, bytes);
		OPEN.incrementAndGet();
		Handle.CLEANER.register(root, () -> {
			Native.release(Kind.MEMORY.ordinal(), memory);
			OPEN.decrementAndGet();
		});
		return ordered(root, readOnly);
	}

	/** The same of a memory whose reference the caller has found; it ends here. */
	static ByteBuffer ofFound(long memory, long offset, long bytes) {
		try {
			return of(memory, offset, bytes, false);
		} finally {
			Native.release(Kind.MEMORY.ordinal(), memory);
		}
	}

	/** Another buffer over the same bytes, in the machine's order. */
	static ByteBuffer ordered(ByteBuffer buffer, boolean readOnly) {
		ByteBuffer view = readOnly ? buffer.asReadOnlyBuffer() : buffer.duplicate();
		return view.order(ByteOrder.nativeOrder());
	}
}
