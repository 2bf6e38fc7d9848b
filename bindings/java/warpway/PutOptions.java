// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * How a memory is put into a broker: by default for this user, held, and sealed; memory that was
 * wrapped with life owner; a slice of a pool with life owner, and shared.
 */
public final class PutOptions {
	private int mode;
	private int gid;
	private Life life;
	private ObjectState state;
	private boolean replace;
	private long timeToLiveNs;
	Layout layout;

	/** Makes options that say nothing yet. */
	public PutOptions() {
	}

	/**
	 * Sets the permission bits.
	 *
	 * @param bits such as 0640; 0: 0600
	 * @return this
	 */
	public PutOptions mode(int bits) {
		mode = bits;
		return this;
	}

	/**
	 * Sets the group.
	 *
	 * @param group one of the groups of this user; 0: its own
	 * @return this
	 */
	public PutOptions group(int group) {
		gid = group;
		return this;
	}

	/**
	 * Sets when the object leaves the broker by itself.
	 *
	 * @param when it does
	 * @return this
	 */
	public PutOptions life(Life when) {
		life = when;
		return this;
	}

	/**
	 * Sets what others may do.
	 *
	 * @param begin WRITING, SEALED or SHARED
	 * @return this
	 */
	public PutOptions state(ObjectState begin) {
		state = begin;
		return this;
	}

	/**
	 * Replaces the object that has the name, in one step.
	 *
	 * @return this
	 */
	public PutOptions replace() {
		replace = true;
		return this;
	}

	/**
	 * Sets how long an object of life KEPT stays.
	 *
	 * @param time zero: without an end
	 * @return this
	 */
	public PutOptions timeToLive(Duration time) {
		timeToLiveNs = Wait.nanos(time);
		return this;
	}

	/**
	 * Sets how an array lies in the memory, which every process that gets it is told.
	 *
	 * @param array null: just bytes
	 * @return this
	 */
	public PutOptions layout(Layout array) {
		layout = array;
		return this;
	}

	byte[] params() {
		return Struct.sized(48).u32(mode).u32(Struct.code(life)).u32(Struct.code(state)).u32(gid)
				.u32(0).u64(replace ? 1 : 0).u64(timeToLiveNs).array();
	}
}
