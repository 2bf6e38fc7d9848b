// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Function;

/** A frame that was received: what frames of channels and of work queues have in common. */
abstract class ReceivedFrame extends FrameBytes {
	ReceivedFrame(Ring ring, byte[] frame) {
		super(ring, frame);
	}

	/**
	 * Tells the shape of the frame.
	 *
	 * @return as the producer has set it for this frame; null: that of the channel
	 */
	public long[] shape() {
		return frameShape();
	}

	/**
	 * Gives the metadata of the frame.
	 *
	 * @return a copy
	 */
	public byte[] metadata() {
		return held(object -> Native.frameMetadata(metadataAddress(), metadataBytes()));
	}

	/**
	 * Gives a read-only buffer over the bytes of the frame, in place. After {@link #close} the
	 * buffer may show a newer frame, but reading it is never a crash.
	 *
	 * @return in the byte order of the machine
	 */
	public ByteBuffer buffer() {
		return view(bytes(), true);
	}

	/**
	 * Copies the bytes of the frame, also from a GPU.
	 *
	 * @return a buffer of its own, in the byte order of the machine
	 */
	public ByteBuffer copy() {
		ByteBuffer to = ByteBuffer.allocateDirect(Math.toIntExact(bytes()))
				.order(ByteOrder.nativeOrder());
		copy(false, to);
		return to;
	}

	/**
	 * Reads the frame while it is surely held: a {@link #close} of the channel by another thread
	 * takes effect afterwards. Of a GPU the function gets a copy.
	 *
	 * @param <R> what is returned
	 * @param function gets the bytes, read-only; it must not keep the buffer, nor close the frame
	 * @return what the function returned
	 */
	public <R> R read(Function<ByteBuffer, R> function) {
		channel.object.enter();
		try {
			return function.apply(hasHostPointer() ? buffer() : copy().asReadOnlyBuffer()
					.order(ByteOrder.nativeOrder()));
		} finally {
			channel.object.leave();
		}
	}
}
