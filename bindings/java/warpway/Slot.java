// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A slot of a channel or a work queue that a producer has acquired: write a frame into it, and
 * publish it. {@link #close} gives the slot back if that was not done. One thread at a time writes
 * it.
 */
public final class Slot extends FrameBytes {
	private long bytes;
	private long[] shape;
	private byte[] metadata;

	Slot(Ring ring, byte[] frame) {
		super(ring, frame);
		bytes = super.bytes();
	}

	/**
	 * Tells how many bytes the frame has: as set, or those of the array of the channel, or all.
	 *
	 * @return bytes
	 */
	@Override
	public long bytes() {
		return bytes;
	}

	/**
	 * Sets how many bytes the frame has.
	 *
	 * @param count at most {@link #capacity}
	 * @return this
	 */
	public Slot bytes(long count) {
		bytes = count;
		return this;
	}

	/**
	 * Sets the shape of the frame, if it is not that of the channel.
	 *
	 * @param dims elements in each dimension, at most 8 dimensions
	 * @return this
	 */
	public Slot shape(long... dims) {
		if (dims.length > 8) {
			throw new WarpwayException(Status.INVALID, "a frame has at most 8 dimensions");
		}
		shape = dims.clone();
		return this;
	}

	/**
	 * Sets the metadata of the frame.
	 *
	 * @param value not longer than the room that the channel has for it
	 * @return this
	 */
	public Slot metadata(byte[] value) {
		metadata = value.clone();
		return this;
	}

	/**
	 * Gives a buffer over the whole slot. Do not write there after {@link #publish}: consumers
	 * would see it.
	 *
	 * @return in the byte order of the machine
	 */
	public ByteBuffer buffer() {
		return view(capacity(), false);
	}

	/**
	 * Copies bytes into the slot, also into that of a GPU, and sets {@link #bytes(long)}.
	 *
	 * @param from its remaining bytes
	 * @return this
	 */
	public Slot write(ByteBuffer from) {
		int count = from.remaining();
		if (count > capacity()) {
			throw new WarpwayException(Status.INVALID, count + " bytes do not fit into a slot of "
					+ capacity());
		}
		if (hasHostPointer() && capacity() <= Views.BYTES_MAX) {
			buffer().put(from);
		} else if (from.isDirect()) {
			copy(true, from);
			from.position(from.limit());
		} else {
			copy(true, ByteBuffer.allocateDirect(count).order(ByteOrder.nativeOrder()).put(from)
					.flip());
		}
		return bytes(count);
	}

	/**
	 * Gives the frame to the consumers: it is complete.
	 *
	 * @return its number
	 */
	public long publish() {
		return publish(null);
	}

	/**
	 * Gives the frame to the consumers.
	 *
	 * @param stream the frame is complete after the work that it has now; null: it is complete
	 * @return its number
	 */
	public long publish(Stream stream) {
		int room = metadataBytes();
		if (metadata != null && metadata.length > room) {
			throw new WarpwayException(Status.INVALID, metadata.length + " bytes of metadata: "
					+ "there is room for " + room + ", as metadata() of the options says");
		}
		try (NativeObject by = Handle.use(stream)) {
			end(object -> channel.publish(frame, by.address, bytes, shape, metadata));
		}
		return number();
	}

	/** Gives the slot back without a frame; nothing happens if it is not held any more. */
	@Override
	public void close() {
		endOnce(object -> channel.discard(frame));
	}
}
