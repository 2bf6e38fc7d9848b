// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What heatd says of a frame: its metadata, of type "heat-frame/1".
 *
 * @param run of the simulation; it stays when heatd is started again and continues
 * @param step complete steps since the simulation began
 * @param time simulated seconds
 * @param diffusivity of the material
 * @param stepsPerSecond over the last second; 0 while paused
 * @param minimum temperature of this frame
 * @param maximum temperature of this frame
 * @param mean temperature of this frame
 * @param checksum CRC-32 of the bytes of the frame
 * @param rows of the field
 * @param columns of the field
 * @param flags of this frame: see {@link #isPaused}, {@link #isLast}, {@link #isOnGpu}
 * @param restarts how often a daemon has continued this simulation
 * @param pid of the daemon
 * @param sourceX of the source that was set last: 0 left, 1 right
 * @param sourceY of the source that was set last: 0 top, 1 bottom
 * @param stepsPerSecondMax 0: as fast as the daemon can
 */
public record FrameHeader(long run, long step, double time, double diffusivity,
		double stepsPerSecond, double minimum, double maximum, double mean, int checksum, int rows,
		int columns, int flags, int restarts, int pid, double sourceX, double sourceY,
		double stepsPerSecondMax) {
	/** What the channel calls the type of its metadata. */
	public static final String TYPE = "heat-frame/1";

	private static final int BYTES = 112;
	private static final int PAUSED = 1, LAST = 2, ON_GPU = 4;

	/** Reads the metadata of a frame; null: there is too little of it. */
	public static FrameHeader of(byte[] metadata) {
		if (metadata.length < BYTES) {
			return null;
		}
		ByteBuffer from = ByteBuffer.wrap(metadata).order(ByteOrder.LITTLE_ENDIAN);
		return new FrameHeader(from.getLong(), from.getLong(), from.getDouble(), from.getDouble(),
				from.getDouble(), from.getDouble(), from.getDouble(), from.getDouble(),
				from.getInt(), from.getInt(), from.getInt(), from.getInt(), from.getInt(),
				from.getInt(), from.getDouble(), from.getDouble(), from.getDouble());
	}

	/** Tells whether a frame of this size belongs to the header. */
	boolean hasSize(long bytes) {
		return rows > 0 && columns > 0 && bytes == 4L * rows * columns;
	}

	/**
	 * Tells whether the simulation was paused.
	 *
	 * @return whether it was
	 */
	public boolean isPaused() {
		return (flags & PAUSED) != 0;
	}

	/**
	 * Tells whether the daemon was ending.
	 *
	 * @return if so, this is its last frame
	 */
	public boolean isLast() {
		return (flags & LAST) != 0;
	}

	/**
	 * Tells where the frame was computed.
	 *
	 * @return true: on a GPU; false: on the CPU
	 */
	public boolean isOnGpu() {
		return (flags & ON_GPU) != 0;
	}
}
