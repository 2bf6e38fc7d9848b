// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A frame that a consumer has received. It is held until {@link #close}: until then its bytes do
 * not change. A buffer of it that is read afterwards may show a newer frame: {@link #copy} and
 * {@link #read} are the safe ways.
 */
public final class Frame extends ReceivedFrame {
	Frame(Consumer consumer, byte[] frame) {
		super(consumer, frame);
	}

	/**
	 * Tells which producer of the name the frame is from.
	 *
	 * @return 1, 2, ...
	 */
	public int generation() {
		return field(136).u32();
	}

	/**
	 * Lets the producer use the slot again when a stream has done the work that it has now.
	 *
	 * @param stream which still reads the frame
	 */
	public void release(Stream stream) {
		try (NativeObject by = stream.use()) {
			end(object -> Native.channelRelease(object.address, frame, by.address));
		}
	}

	/**
	 * Lets the producer use the slot again; nothing happens if the frame is not held any more.
	 *
	 * @throws WarpwayException with {@link Status#PEER_LOST} if the producer ended before the frame
	 *     was complete: what was computed from it is not valid
	 */
	@Override
	public void close() {
		endOnce(object -> Native.channelRelease(object.address, frame, 0));
	}
}
