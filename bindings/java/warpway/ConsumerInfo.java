// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A consumer of a channel, as far as it shows.
 *
 * @param number 0 to consumersMax - 1; a later consumer may have it again
 * @param pid of its process
 * @param uid of its user, by what the broker says
 * @param isAsleep whether it sleeps until a frame comes
 * @param isEvicted whether it was evicted, and has not left yet
 * @param isWaitedFor whether no slot is free because of it
 * @param held frames that it uses
 * @param next number of the frame that it receives next; 0: it is joining
 * @param dropped frames that were gone before it received them; with {@link ChannelPolicy#LATEST}
 *     not those that a newer one replaced
 * @param waitedNs how long the producer has waited for it by now
 * @param program its name
 */
public record ConsumerInfo(int number, int pid, int uid, boolean isAsleep, boolean isEvicted,
		boolean isWaitedFor, int held, long next, long dropped, long waitedNs, String program) {
	static final int BYTES = 88;

	ConsumerInfo(Struct info) {
		this(info.u32(), info.u32(), info.u32(), info.flag(), info.flag(), info.flag(), info.u32(),
				info.u64(), info.u64(), info.u64(), info.text(32));
	}
}
