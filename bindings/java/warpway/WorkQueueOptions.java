// SPDX-License-Identifier: Apache-2.0
package warpway;

/** What work queue to make. Numbers that are 0 stand for the defaults of the library. */
public final class WorkQueueOptions {
	private final long slotBytes;
	private int slots;
	private int producersMax;
	private int consumersMax;
	private int attemptsMax;
	private int failedMax;
	private int heldMax;
	private int endAfterProducers;
	private int metadataBytes;
	private String metadataType;
	private MemoryKind kind = MemoryKind.VMM;
	private NameOptions name = new NameOptions();
	final Layout layout;

	/**
	 * Makes options for frames of bytes.
	 *
	 * @param slotBytes room for the bytes of a frame
	 */
	public WorkQueueOptions(long slotBytes) {
		this.slotBytes = slotBytes;
		layout = null;
	}

	/**
	 * Makes options for frames that are arrays.
	 *
	 * @param layout dtype and largest shape of every frame, in C order without gaps
	 */
	public WorkQueueOptions(Layout layout) {
		this.layout = layout;
		slotBytes = layout.bytes();
	}

	/**
	 * Sets how many slots each producer has.
	 *
	 * @param count 1 to 1024
	 * @return this
	 */
	public WorkQueueOptions slots(int count) {
		slots = count;
		return this;
	}

	/**
	 * Limits the members at one time.
	 *
	 * @param producers 1 to 64
	 * @param consumers 1 to 64
	 * @return this
	 */
	public WorkQueueOptions membersMax(int producers, int consumers) {
		producersMax = producers;
		consumersMax = consumers;
		return this;
	}

	/**
	 * Sets how often a frame is given out before it has failed.
	 *
	 * @param attempts 1 to 64
	 * @param failedKept failed frames of each producer that are kept when it needs a slot; -1: none
	 * @return this
	 */
	public WorkQueueOptions attemptsMax(int attempts, int failedKept) {
		attemptsMax = attempts;
		failedMax = failedKept;
		return this;
	}

	/**
	 * Sets how many frames one consumer may hold.
	 *
	 * @param frames at least 1
	 * @return this
	 */
	public WorkQueueOptions heldMax(int frames) {
		heldMax = frames;
		return this;
	}

	/**
	 * Sets when receiving ends without {@link WorkQueue#end}, if the role of this member is consumer.
	 *
	 * @param count when so many producers have joined, all have left, and all frames are done
	 * @return this
	 */
	public WorkQueueOptions endAfterProducers(int count) {
		endAfterProducers = count;
		return this;
	}

	/**
	 * Sets what metadata each frame has.
	 *
	 * @param bytes room for it, at most 4096
	 * @param type what this program calls it, such as "job/1": at most 15 bytes; null: nothing
	 * @return this
	 */
	public WorkQueueOptions metadata(int bytes, String type) {
		metadataBytes = bytes;
		metadataType = type;
		return this;
	}

	/**
	 * Sets what holds the slots.
	 *
	 * @param of VMM, or HOST, which the CPU and a GPU reach
	 * @return this
	 */
	public WorkQueueOptions kind(MemoryKind of) {
		kind = of;
		return this;
	}

	/**
	 * Sets mode and group of the name: who may read consumes, who may write produces, too.
	 *
	 * @param options of the name
	 * @return this
	 */
	public WorkQueueOptions name(NameOptions options) {
		name = options;
		return this;
	}

	byte[] params(WorkQueue.Role role) {
		return Struct.sized(96).u32(Struct.code(role)).u64(slotBytes).u32(slots).u32(producersMax)
				.u32(consumersMax).u32(attemptsMax).u32(failedMax).u32(heldMax).u32(metadataBytes)
				.u32(Struct.code(kind)).u32(name.mode()).u32(name.gid()).u32(endAfterProducers).u32(0)
				.u64(name.flags()).text(metadataType, 16).array();
	}
}
