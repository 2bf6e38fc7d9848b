// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A process that has imported slices of a pool.
 *
 * @param pid as the broker says, in its pid namespace
 * @param uid its user, as the broker says
 * @param sliceCount slices that it marks
 * @param sliceBytes of these
 * @param isLost whether it has ended, or lost its broker
 * @param program as it calls itself
 */
public record PoolHolder(int pid, int uid, int sliceCount, long sliceBytes, boolean isLost,
		String program) {
	static final int BYTES = 64;

	PoolHolder(Struct info) {
		this(info.u32(), info.u32(), info.u32(), info.u64(), info.flag(), info.skip(4).text(32));
	}
}
