// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A process that is connected to a broker, or holds something there.
 *
 * @param pid as the broker sees it; 0: it does not
 * @param uid its user
 * @param gid its group
 * @param isAttached false: not yet again since the broker was restarted
 * @param held objects that it holds
 * @param put objects that it put
 * @param number names the holder in this broker
 * @param heldBytes of the objects that it holds
 * @param putBytes of the objects that it put
 * @param ageNs nanoseconds since it first connected
 * @param program as it calls itself
 */
public record HolderInfo(int pid, int uid, int gid, boolean isAttached, int held, int put,
		long number, long heldBytes, long putBytes, long ageNs, String program) {
	static final int BYTES = 96;

	HolderInfo(Struct info) {
		this(info.u32(), info.u32(), info.u32(), info.flag(), info.u32(), info.u32(),
				info.skip(4).u64(), info.u64(), info.u64(), info.u64(), info.text(32));
	}
}
