// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.nio.FloatBuffer;

/**
 * A frame whose checksum is right, as a private copy.
 *
 * @param header what heatd says of the frame
 * @param values the temperatures, row by row; they are valid until the listener returns
 * @param kind how the frame follows the one before
 * @param ageNs nanoseconds from its publication until it was copied and checked
 */
public record FieldFrame(FrameHeader header, FloatBuffer values, Kind kind, long ageNs) {
	/** How a frame follows the one before. */
	public enum Kind {
		/** It is the first one that this process has received. */
		FIRST,
		/** It is a later frame of the same daemon. */
		NEXT,
		/** Another daemon continues the same simulation: there is a gap before the frame. */
		CONTINUED,
		/** Another simulation has begun. */
		NEW_RUN
	}

	/** How a frame with this header follows one with that header, which may be null. */
	static Kind kind(FrameHeader header, FrameHeader before) {
		if (before == null) {
			return Kind.FIRST;
		}
		if (header.run() != before.run()) {
			return Kind.NEW_RUN;
		}
		return header.pid() != before.pid() || header.restarts() != before.restarts()
				? Kind.CONTINUED : Kind.NEXT;
	}
}
