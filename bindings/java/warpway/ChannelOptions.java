// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** What channel to make. Numbers that are 0 stand for the defaults of the library. */
public final class ChannelOptions {
	private static final long TRUST_USERS = 1L << 32;

	private long slotBytes;
	private ChannelPolicy policy = ChannelPolicy.BLOCK;
	private int slots;
	private int consumersMax;
	private int consumersPerUidMax;
	private int heldMax;
	private int aheadMax;
	private int metadataBytes;
	private String metadataType;
	private MemoryKind kind = MemoryKind.VMM;
	private NameOptions name = new NameOptions();
	private boolean trustUsers;
	private long evictAfterNs;
	private long deadlineNs;
	Layout layout;

	/**
	 * Makes options for frames of bytes.
	 *
	 * @param slotBytes room for the bytes of a frame
	 */
	public ChannelOptions(long slotBytes) {
		this.slotBytes = slotBytes;
	}

	/**
	 * Makes options for frames that are arrays.
	 *
	 * @param layout dtype and largest shape of every frame, in C order without gaps
	 */
	public ChannelOptions(Layout layout) {
		this.layout = layout;
		slotBytes = layout.bytes();
	}

	/**
	 * Sets what happens when all slots have frames.
	 *
	 * @param what happens
	 * @return this
	 */
	public ChannelOptions policy(ChannelPolicy what) {
		policy = what;
		return this;
	}

	/**
	 * Sets how many slots there are; else 4.
	 *
	 * @param count 1 to 4096
	 * @return this
	 */
	public ChannelOptions slots(int count) {
		slots = count;
		return this;
	}

	/**
	 * Sets how many consumers there may be at one time; else 4.
	 *
	 * @param most 1 to 32
	 * @param mostOfOneUser of these; 0: as many
	 * @return this
	 */
	public ChannelOptions consumersMax(int most, int mostOfOneUser) {
		consumersMax = most;
		consumersPerUidMax = mostOfOneUser;
		return this;
	}

	/**
	 * Sets how many frames one consumer may hold; else 1.
	 *
	 * @param frames at least 1
	 * @return this
	 */
	public ChannelOptions heldMax(int frames) {
		heldMax = frames;
		return this;
	}

	/**
	 * Sets how many frames the producer may hold with a policy that drops.
	 *
	 * @param frames at least 1
	 * @return this
	 */
	public ChannelOptions aheadMax(int frames) {
		aheadMax = frames;
		return this;
	}

	/**
	 * Sets what metadata each frame has.
	 *
	 * @param bytes room for it, at most 4096
	 * @param type what this program calls it, such as "pose/1": at most 15 bytes; null: nothing
	 * @return this
	 */
	public ChannelOptions metadata(int bytes, String type) {
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
	public ChannelOptions kind(MemoryKind of) {
		kind = of;
		return this;
	}

	/**
	 * Sets mode and group of the name, and whether it replaces another channel of this name.
	 *
	 * @param options of the name
	 * @return this
	 */
	public ChannelOptions name(NameOptions options) {
		name = options;
		return this;
	}

	/**
	 * Lets streams wait on the GPU for consumers of other users that trust this one.
	 *
	 * @return this
	 */
	public ChannelOptions trustUsers() {
		trustUsers = true;
		return this;
	}

	/**
	 * Evicts a consumer for which the producer has found no slot for so long.
	 *
	 * @param time zero: none is evicted
	 * @return this
	 */
	public ChannelOptions evictAfter(Duration time) {
		evictAfterNs = Wait.nanos(time);
		return this;
	}

	/**
	 * Promises a frame within so long after the last one.
	 *
	 * @param time zero: nothing is promised
	 * @return this
	 */
	public ChannelOptions deadline(Duration time) {
		deadlineNs = Wait.nanos(time);
		return this;
	}

	byte[] params() {
		long flags = name.flags() | (trustUsers ? TRUST_USERS : 0);
		return Struct.sized(104).u32(Struct.code(policy)).u64(slotBytes).u32(slots)
				.u32(consumersMax).u32(heldMax).u32(aheadMax).u32(metadataBytes)
				.u32(Struct.code(kind)).u32(name.mode()).u32(name.gid()).u64(flags)
				.text(metadataType, 16).u64(0).u64(evictAfterNs)
				.u64(deadlineNs).u32(consumersPerUidMax).array();
	}
}
