// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A delivery of this process that is in flight: nobody has imported it yet.
 *
 * @param isSlice whether it is a slice of a pool
 * @param number in its broker, or of the slice in its pool
 * @param uses imports that are expected yet
 * @param bytes of the object
 * @param ageNs nanoseconds since it was exported
 * @param objectId of the object, or of the pool
 */
public record Delivery(boolean isSlice, long number, long uses, long bytes, long ageNs,
		String objectId) {
	static final int BYTES = 80;

	Delivery(Struct info) {
		this(info.flag(), info.u64(), info.u64(), info.u64(), info.u64(),
				Struct.hex(info.skip(8).raw(16)));
	}
}
