// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/** What channels and work queues have in common: slots that frames are written into. */
abstract class Ring extends Handle {
	/** Views of the slots by their addresses; under the lock. Buffers of users keep them. */
	private final Map<Long, ByteBuffer> views = new HashMap<>();

	Ring(Kind kind, long address) {
		super(kind, address, new ReentrantLock(true));
	}

	/** The calls of the library for a slot that is held. They return a status. */
	abstract int publish(byte[] frame, long stream, long bytes, long[] shape, byte[] metadata);

	abstract int discard(byte[] frame);

	@Override
	public void close() {
		super.close();
		synchronized (views) {
			views.clear();
		}
	}

	/** The view of a slot that is held. */
	ByteBuffer slotView(FrameBytes frame) {
		if (!frame.hasHostPointer()) {
			throw new WarpwayException(Status.UNSUPPORTED, "the CPU does not reach the slots of "
					+ "this ring on a GPU: copy them, or make it of kind HOST");
		}
		if (frame.capacity() > Views.BYTES_MAX) {
			throw new WarpwayException(Status.LIMIT, "one buffer of Java views at most 1 GiB, and "
					+ "not a slot of " + frame.capacity() + " bytes");
		}
		synchronized (views) {
			return views.computeIfAbsent(frame.hostPointer(), address -> {
				long[] place = new long[2];
				Status.check(Native.frameMemory(frame.pointer(), place));
				return Views.ofFound(place[0], place[1], frame.capacity());
			});
		}
	}

	/** After the consumer went on with another producer, whose slots are elsewhere. */
	void forgetViews() {
		synchronized (views) {
			views.clear();
		}
	}
}
