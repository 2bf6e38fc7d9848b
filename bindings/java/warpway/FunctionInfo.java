// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A function of a service, and what became of its calls.
 *
 * @param name of the function
 * @param signature what it takes and returns, canonical: see warpway-signature(7)
 * @param isIdempotent whether repeating a call does no harm
 * @param calls that ended, however
 * @param failed of these, by an error
 * @param notStarted of these, that ended before the function ran
 * @param runNs time of all runs together
 */
public record FunctionInfo(String name, String signature, boolean isIdempotent, long calls,
		long failed, long notStarted, long runNs) {
	static final int BYTES = 1664;

	static FunctionInfo of(Struct info) {
		boolean isIdempotent = (info.u32() & 1) != 0;
		long calls = info.skip(8).u64();
		long failed = info.u64();
		long notStarted = info.u64();
		long runNs = info.u64();
		return new FunctionInfo(info.skip(512).text(64), info.text(1024), isIdempotent, calls,
				failed, notStarted, runNs);
	}
}
