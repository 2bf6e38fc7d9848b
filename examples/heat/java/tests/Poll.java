// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import java.util.function.Supplier;

/** Waits for what another process or thread does, as a person would: by looking again. */
final class Poll {
	private static final long LIMIT_NS = 300_000_000_000L;

	private Poll() {
	}

	/** What is waited for. */
	interface Condition {
		boolean holds() throws Exception;
	}

	static void until(String what, Condition condition) throws Exception {
		until(() -> what, condition);
	}

	/** what: says what is there when the time is over. */
	static void until(Supplier<String> what, Condition condition) throws Exception {
		long end = System.nanoTime() + LIMIT_NS;
		while (!condition.holds()) {
			if (System.nanoTime() > end) {
				throw new AssertionError("this does not come true: " + what.get());
			}
			Thread.sleep(20);
		}
	}
}
