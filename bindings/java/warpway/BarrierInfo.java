// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a barrier, as one member sees it.
 *
 * @param count members
 * @param rank of this one
 * @param arrived members that have arrived in the round that is not over yet
 * @param round rounds that this member has passed
 * @param isBroken whether a member has ended or left in a round that it had not arrived in
 * @param brokenRank that member; -1: none
 */
public record BarrierInfo(int count, int rank, int arrived, long round, boolean isBroken,
		int brokenRank) {
	static final int BYTES = 32;

	BarrierInfo(Struct info) {
		this(info.u32(), info.u32(), info.u32(), info.u64(), info.flag(), info.u32());
	}
}
