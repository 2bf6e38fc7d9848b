// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a service.
 *
 * @param state of the server
 * @param functions how many are offered
 * @param clients how many the server knows
 * @param clientsMax at one time
 * @param callsMax of one client that are not complete
 * @param pid of the server, as it sees itself
 * @param uid of the server
 * @param calls that the server has taken
 * @param ageNs nanoseconds since the service was made
 * @param version as the program of the server calls it
 * @param program the name of the server
 */
public record ServiceInfo(State state, int functions, int clients, int clientsMax, int callsMax,
		int pid, int uid, long calls, long ageNs, String version, String program) {
	static final int BYTES = 120;

	/** States of a service. */
	public enum State {
		/** Functions are being offered; calls wait. */
		STARTING,
		/** It takes calls. */
		READY,
		/** It takes no new calls. */
		DRAINING,
		/** The server has closed it. */
		STOPPED,
		/** The process of the server has ended. */
		LOST
	}

	ServiceInfo(Struct info) {
		this(Struct.entry(State.values(), info.u32()), info.u32(), info.u32(), info.u32(),
				info.u32(), info.skip(8).u32(), info.u32(), info.u64(), info.u64(), info.text(32),
				info.text(32));
	}
}
