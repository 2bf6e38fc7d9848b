// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A frame of a work queue, which this consumer alone has. {@link #acknowledge} says that its work
 * is done; {@link #close} without that gives it back, for another consumer.
 */
public final class WorkFrame extends ReceivedFrame {
	WorkFrame(WorkQueue queue, byte[] frame) {
		super(queue, frame);
	}

	/**
	 * Tells whose frame it is.
	 *
	 * @return 1, 2, 3, ... as this consumer met the producers
	 */
	public int producer() {
		return field(144).u32();
	}

	/**
	 * Tells how often the frame has been given out.
	 *
	 * @return this time included: above 1 an earlier consumer may have done part of the work
	 */
	public int attempts() {
		return field(148).u32();
	}

	/** Says that the work of the frame is done. */
	public void acknowledge() {
		acknowledge(null);
	}

	/**
	 * Says that the work of the frame is done when a stream has done what it has now.
	 *
	 * @param stream which still reads the frame; null: it is done
	 */
	public void acknowledge(Stream stream) {
		try (NativeObject by = Handle.use(stream)) {
			end(object -> Native.queueAcknowledge(object.address, frame, by.address));
		}
	}

	/** Gives the frame back, if it was not acknowledged: it is given out again, or has failed. */
	@Override
	public void close() {
		endOnce(object -> Native.queueReject(object.address, frame));
	}
}
