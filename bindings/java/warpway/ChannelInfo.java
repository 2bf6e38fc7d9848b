// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a channel, as one side sees it.
 *
 * @param isProducer whether this is the producer
 * @param policy what happens when all slots have frames
 * @param slots how many
 * @param consumers of the producer and an observer: how many there are
 * @param consumersMax at one time
 * @param heldMax frames that one consumer may hold
 * @param held slots that this side holds
 * @param slotBytes room for the bytes of a frame
 * @param metadataBytes room for metadata
 * @param pid of the producer, as it sees itself
 * @param published number of the last frame published; 0: none
 * @param received of a consumer: frames received
 * @param dropped of a consumer: frames that were gone before it received them; with {@link
 *     ChannelPolicy#LATEST} not those that a newer one replaced: {@link Frame#number} tells them
 * @param metadataType as the producer named it
 * @param program the name of the producer
 * @param layout of every frame; null: frames are bytes
 * @param deadlinesMissed how often a deadline passed without a frame
 * @param number of a consumer: its number; else -1
 * @param waitsFor number of the consumer for which no slot is free; -1: none
 * @param hasClosed whether the producer has closed the channel
 * @param isLost whether the process of the producer has ended
 * @param waitedNs how long the producer has waited for waitsFor by now
 * @param generation which producer of the name it is: 1, 2, ...
 */
public record ChannelInfo(boolean isProducer, ChannelPolicy policy, int slots, int consumers,
		int consumersMax, int heldMax, int held, long slotBytes, int metadataBytes, int pid,
		long published, long received, long dropped, String metadataType, String program,
		Layout layout, long deadlinesMissed, int number, int waitsFor, boolean hasClosed,
		boolean isLost, long waitedNs, int generation) {
	static final int BYTES = 472;

	ChannelInfo(Struct info) {
		this(info.flag(), Struct.entry(ChannelPolicy.values(), info.u32()), info.u32(), info.u32(),
				info.u32(), info.u32(), info.u32(), info.u64(), info.u32(), info.u32(), info.u64(),
				info.u64(), info.u64(), info.text(16), info.text(32), info.flag(), info);
	}

	private ChannelInfo(boolean isProducer, ChannelPolicy policy, int slots, int consumers,
			int consumersMax, int heldMax, int held, long slotBytes, int metadataBytes, int pid,
			long published, long received, long dropped, String metadataType, String program,
			boolean hasArray, Struct info) {
		this(isProducer, policy, slots, consumers, consumersMax, heldMax, held, slotBytes,
				metadataBytes, pid, published, received, dropped, metadataType, program,
				info.skip(4).layout(hasArray), info.skip(16).u64(), info.skip(12).u32(),
				info.u32(), info.u32(), info);
	}

	private ChannelInfo(boolean isProducer, ChannelPolicy policy, int slots, int consumers,
			int consumersMax, int heldMax, int held, long slotBytes, int metadataBytes, int pid,
			long published, long received, long dropped, String metadataType, String program,
			Layout layout, long deadlinesMissed, int number, int waitsFor, int ended,
			Struct info) {
		this(isProducer, policy, slots, consumers, consumersMax, heldMax, held, slotBytes,
				metadataBytes, pid, published, received, dropped, metadataType, program, layout,
				deadlinesMissed, number, waitsFor, ended == 1, ended == 2, info.u64(), info.u32());
	}
}
