// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * One hold of an object in a broker.
 *
 * @param access granted
 * @param isCreator whether the holder put the object
 * @param isEscrow whether the holder is no process, but a token in flight
 * @param holder its number; 0: escrow
 * @param ageNs nanoseconds since it was taken
 * @param leftNs of an escrow: until it ends; -1: it does not
 * @param objectId which object
 * @param delivery number of a delivery in this broker; 0: it is none
 * @param exporter of a delivery: number of the holder that exported it
 * @param uses of an escrow: imports left; 0: any number
 * @param isOwn whether it is a delivery that this process exported
 * @param bytes of the object
 */
public record HoldInfo(Access access, boolean isCreator, boolean isEscrow, long holder, long ageNs,
		long leftNs, String objectId, long delivery, long exporter, int uses, boolean isOwn,
		long bytes) {
	static final int BYTES = 88;

	HoldInfo(Struct info) {
		this(Struct.entry(Access.values(), info.u32()), info.flag(), info.flag(), info.u64(),
				info.u64(), info.u64(), Struct.hex(info.raw(16)), info.u64(), info.u64(),
				info.u32(), info.flag(), info.u64());
	}
}
