// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A change in a broker, which a {@link Watch} has seen.
 *
 * @param what has happened
 * @param object as it was then; null for an overflow
 */
public record Change(What what, ObjectInfo object) {
	static final int BYTES = 624;

	/** Kinds of changes. */
	public enum What {
		/** A name was taken; the object may still be being written. */
		PUT,
		/** The object is sealed or shared now. */
		READY,
		/** Its name was removed, or it was ended. */
		REMOVED,
		/** Its time to live ended. */
		EXPIRED,
		/** Its last holder, or its creator, ended or released it. */
		GONE,
		/** Its writer ended before it was ready. */
		LOST,
		/** Changes were missed: look again. */
		OVERFLOW
	}

	static Change of(Struct event) {
		What what = Struct.entry(What.values(), event.u32());
		return new Change(what, what == What.OVERFLOW ? null : new ObjectInfo(event.skip(4)));
	}
}
