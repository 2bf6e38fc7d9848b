// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a broker.
 *
 * @param pid of the broker
 * @param supervisorPid of its supervisor, which restarts it
 * @param uid the user that it runs as
 * @param restarts how often it was restarted since the supervisor began
 * @param protocol version that this connection speaks
 * @param objects of all users
 * @param holders processes that are connected or hold something
 * @param holds pairs of a holder and an object, tokens in escrow included
 * @param bytes of all objects
 * @param memoryBytes resident memory of the broker
 * @param upNs nanoseconds since the supervisor began
 * @param waits requests that wait for something
 * @param version of the program
 */
public record BrokerInfo(int pid, int supervisorPid, int uid, int restarts, int protocol,
		long objects, long holders, long holds, long bytes, long memoryBytes, long upNs, long waits,
		String version) {
	static final int BYTES = 144;

	BrokerInfo(Struct info) {
		this(info.u32(), info.u32(), info.u32(), info.u32(), info.u32(), info.u64(), info.u64(),
				info.u64(), info.u64(), info.skip(16).u64(), info.u64(), info.u64(),
				info.skip(16).text(32));
	}
}
