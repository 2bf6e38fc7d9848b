// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The state of a work queue, as one member sees it.
 *
 * @param role of this member
 * @param isClosed whether no more work comes
 * @param slots of each producer
 * @param producers whose frames a consumer knows
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
 */
public record WorkQueueInfo(WorkQueue.Role role, boolean isClosed, int slots, int producers,
		int consumers, int heldMax, int held, long slotBytes, int metadataBytes, int available,
		int claimed, int failed, long published, long dropped, long received, long lost,
		String metadataType, Layout layout) {
	static final int BYTES = 408;

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
				info.skip(4).layout(hasArray));
	}
}
