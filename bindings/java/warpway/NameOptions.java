// SPDX-License-Identifier: Apache-2.0
package warpway;

/** How the name of a timeline, a barrier or another object is kept in a broker. */
public final class NameOptions {
	private int mode;
	private int gid;
	private boolean replace;

	/** Makes options that say nothing yet: mode 0600. */
	public NameOptions() {
	}

	/**
	 * Sets the permission bits.
	 *
	 * @param bits such as 0640; 0: 0600
	 * @return this
	 */
	public NameOptions mode(int bits) {
		mode = bits;
		return this;
	}

	/**
	 * Sets the group.
	 *
	 * @param group one of the groups of this user; 0: its own
	 * @return this
	 */
	public NameOptions group(int group) {
		gid = group;
		return this;
	}

	/**
	 * Replaces the object that has the name, in one step.
	 *
	 * @return this
	 */
	public NameOptions replace() {
		replace = true;
		return this;
	}

	byte[] params() {
		return Struct.sized(24).u32(mode).u32(gid).u32(0).u64(flags()).array();
	}

	int mode() {
		return mode;
	}

	int gid() {
		return gid;
	}

	long flags() {
		return replace ? 1 : 0;
	}
}
