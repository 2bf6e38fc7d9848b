// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a work queue, as one member sees it.
 *
 * @param role of this member
 * @param isClosed whether no more work comes
 * @param slots of each producer
 * @param producers whose frames a consumer or keeper knows
 * @param consumers that there are
 * @param heldMax frames that one consumer may hold
 * @param held slots or frames that this member holds
 * @param slotBytes room for the bytes of a frame
 * @param metadataBytes room for metadata
 * @param available frames that wait for a consumer; of a producer: its own, as the next two
 * @param claimed frames that consumers have
 * @param failed frames that have failed, and are kept
 * @param published of a producer: frames that it has published
 * @param dropped of a producer: failed frames that it has dropped
 * @param received of a consumer: frames that it has received
 * @param lost of a consumer: frames that never became complete
 * @param metadataType as the queue was made
 * @param layout of every frame; null: frames are bytes
 * @param publishedTotal frames that all producers have published since the queue was made; this and
 *     the other totals include members that have ended
 * @param acknowledgedTotal frames that were acknowledged, including failed ones
 * @param repeatedTotal how often a consumer received a frame that had been given out before
 * @param failedTotal frames that have failed
 * @param droppedTotal frames that were dropped: failed ones, and those that a producer described
 *     wrongly
 * @param lostTotal frames that never became complete
 * @param uncounted of a keeper: producers about which the broker did not answer, so that their frames
 *     are missing in available, claimed and failed
 */
public record WorkQueueInfo(WorkQueue.Role role, boolean isClosed, int slots, int producers,
		int consumers, int heldMax, int held, long slotBytes, int metadataBytes, int available,
		int claimed, int failed, long published, long dropped, long received, long lost,
		String metadataType, Layout layout, long publishedTotal, long acknowledgedTotal,
		long repeatedTotal, long failedTotal, long droppedTotal, long lostTotal, int uncounted) {
	static final int BYTES = 464;

	WorkQueueInfo(Struct info) {
		this(Struct.entry(WorkQueue.Role.values(), info.u32()), info.flag(), info.u32(), info.u32(),
				info.u32(), info.skip(16).u32(), info.u32(), info.u64(), info.u32(), info.u32(),
				info.u32(), info.u32(), info.u64(), info.u64(), info.u64(), info.u64(),
				info.text(16), info.flag(), info);
	}

	private WorkQueueInfo(WorkQueue.Role role, boolean isClosed, int slots, int producers,
			int consumers, int heldMax, int held, long slotBytes, int metadataBytes, int available,
			int claimed, int failed, long published, long dropped, long received, long lost,
			String metadataType, boolean hasArray, Struct info) {
		this(role, isClosed, slots, producers, consumers, heldMax, held, slotBytes, metadataBytes,
				available, claimed, failed, published, dropped, received, lost, metadataType,
				info.skip(4).layout(hasArray), info.u64(), info.u64(), info.u64(), info.u64(),
				info.u64(), info.u64(), info.u32());
	}
}
