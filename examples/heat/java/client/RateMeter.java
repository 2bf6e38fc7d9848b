// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.util.ArrayDeque;
import java.util.Deque;

/** Counts how often something happens in a second. One thread uses it. */
public final class RateMeter {
	private static final long WINDOW_NS = 1_000_000_000;

	private final Deque<Long> times = new ArrayDeque<>();

	/** Makes a meter that has counted nothing. */
	public RateMeter() {
	}

	/**
	 * Counts once more.
	 *
	 * @param nowNs of System.nanoTime()
	 */
	public void count(long nowNs) {
		times.add(nowNs);
	}

	/**
	 * Tells how often it happened in the last second.
	 *
	 * @param nowNs of System.nanoTime()
	 * @return times
	 */
	public int rate(long nowNs) {
		while (!times.isEmpty() && nowNs - times.peek() > WINDOW_NS) {
			times.remove();
		}
		return times.size();
	}
}
