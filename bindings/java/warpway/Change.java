// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A change in a broker, which a {@link Watch} has seen.
 *
 * @param what has happened
 * @param object as it was then; null for an overflow
 * @param formerId of the object that had the name, if it was replaced: 32 hexadecimal digits; else
 *        null
 * @param formerGeneration of that object; else 0
 */
public record Change(What what, ObjectInfo object, String formerId, long formerGeneration) {
	static final int BYTES = 648;

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
		OVERFLOW,
		/** Its name was given to this object; the former one has it no more. */
		REPLACED
	}

	static Change of(Struct event) {
		What what = Struct.entry(What.values(), event.u32());
		ObjectInfo object = new ObjectInfo(event.skip(4));
		String formerId = Struct.hex(event.raw(16));
		return new Change(what, what == What.OVERFLOW ? null : object,
				what == What.REPLACED ? formerId : null, event.u64());
	}
}
