// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A struct ww_frame, and what frames and slots have in common: the bytes of a slot that is held.
 */
abstract class FrameBytes implements AutoCloseable {
	static final int BYTES = 152;
	private static final int DIMS_MAX = 8;

	final Ring channel;
	final byte[] frame;
	private boolean isHeld = true;

	FrameBytes(Ring channel, byte[] frame) {
		this.channel = channel;
		this.frame = frame;
	}

	@Override
	public abstract void close();

	/** The fields from the one at an offset on. */
	final Struct field(int offset) {
		return Struct.of(frame).skip(offset);
	}

	/**
	 * Tells the slot of the channel.
	 *
	 * @return 0 to slots - 1
	 */
	public final int slot() {
		return field(4).u32();
	}

	/**
	 * Tells the number of the frame: 1, 2, 3, ... in the order of publication.
	 *
	 * @return the number; 0: not published yet
	 */
	public final long number() {
		return field(8).u64();
	}

	/**
	 * Tells how much room the slot has.
	 *
	 * @return bytes
	 */
	public final long capacity() {
		return field(40).u64();
	}

	/**
	 * Tells how many bytes the frame has.
	 *
	 * @return bytes
	 */
	public long bytes() {
		return field(48).u64();
	}

	/**
	 * Tells when the frame was published.
	 *
	 * @return nanoseconds on the clock of System.nanoTime(), which all processes share
	 */
	public final long submittedNs() {
		return field(56).u64();
	}

	final boolean hasHostPointer() {
		return field(24).u64() != 0;
	}

	final long hostPointer() {
		return field(24).u64();
	}

	final long pointer() {
		return field(16).u64();
	}

	/** The metadata of a received frame, or the room of a slot for it. */
	final long metadataAddress() {
		return field(32).u64();
	}

	final int metadataBytes() {
		return field(64).u32();
	}

	/** The shape in the struct; null: that of the channel. */
	final long[] frameShape() {
		long[] shape = new long[Math.min(field(68).u32(), DIMS_MAX)];
		Struct dims = field(72);
		for (int i = 0; i < shape.length; i++) {
			shape[i] = dims.u64();
		}
		return shape.length == 0 ? null : shape;
	}

	/** What a call does with the slot. */
	interface Use<R> {
		R with(NativeObject channel);
	}

	/** A use of the slot while it is held, under the lock of the channel. */
	final <R> R held(Use<R> use) {
		try (NativeObject object = channel.use()) {
			if (!isHeld) {
				throw new IllegalStateException("this " + getClass().getSimpleName().toLowerCase()
						+ " is not held any more");
			}
			return use.with(object);
		}
	}

	/** Ends the hold by a call, which may fail: then it is still held. */
	final void end(Use<Integer> use) {
		held(object -> {
			int status = use.with(object);
			isHeld = status == Status.PEER_LOST.code ? false : status < 0;
			return Status.check(status);
		});
	}

	/** The same, but nothing happens if it is not held, or the channel is closed. */
	final void endOnce(Use<Integer> use) {
		try {
			end(use);
		} catch (IllegalStateException exception) {
			/* Released already, or with the channel. */
			return;
		}
	}

	/** A view of the slot's first bytes. */
	final ByteBuffer view(long bytes, boolean readOnly) {
		return held(object -> Views.ordered(channel.slotView(this), readOnly).slice(0,
				Math.toIntExact(bytes)).order(ByteOrder.nativeOrder()));
	}

	/** Copies between the slot and a direct buffer, also on a GPU. */
	final void copy(boolean in, ByteBuffer direct) {
		held(object -> {
			long[] place = new long[2];
			Status.check(Native.frameMemory(pointer(), place));
			try {
				int bytes = direct.remaining();
				return Status.check(in
						? Native.memoryWrite(place[0], place[1], direct, direct.position(), bytes,
								-1, 0)
						: Native.memoryRead(place[0], place[1], direct, direct.position(), bytes,
								-1, 0));
			} finally {
				Native.release(Kind.MEMORY.ordinal(), place[0]);
			}
		});
	}
}
