// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A call that a service runs, and who makes it.
 *
 * @param uid of the client, by what the broker says
 * @param gid group that the client has opened the service with
 * @param pid of the client, as the broker sees it; 0: it does not
 * @param client number of the client
 * @param lane of the client
 * @param number of the call: 1, 2, 3, ... of this client
 * @param deadlineNs on the clock of System.nanoTime(); -1: none
 * @param function its name
 * @param program name of the program of the client, as it calls itself
 */
public record CallInfo(int uid, int gid, int pid, int client, int lane, long number,
		long deadlineNs, String function, String program) {
	static final int BYTES = 136;

	CallInfo(Struct info) {
		this(info.u32(), info.u32(), info.u32(), info.u32(), info.u32(), info.u64(), info.u64(),
				info.text(64), info.text(32));
	}
}
