// SPDX-License-Identifier: Apache-2.0
package heat.window;

import heat.client.FieldFrame;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;

/** The temperatures of the last minute. */
final class History {
	static final long WINDOW_NS = 60_000_000_000L;
	/** More samples than this are not drawn more precisely. */
	private static final long LEAST_NS = WINDOW_NS / 1200;

	/**
	 * What one frame adds.
	 *
	 * @param timeNs of System.nanoTime()
	 * @param mark what begins with this frame, in words; null: nothing
	 */
	record Sample(long timeNs, double minimum, double mean, double maximum, String mark) {
	}

	private final Deque<Sample> samples = new ArrayDeque<>();

	/** Adds a frame. A gap before it, and a new run, are never left out. */
	void add(FieldFrame frame, long nowNs) {
		String mark = switch (frame.kind()) {
			case CONTINUED -> "continued at step " + frame.header().step();
			case NEW_RUN -> "new run";
			default -> null;
		};
		Sample last = samples.peekLast();
		if (mark == null && last != null && nowNs - last.timeNs() < LEAST_NS) {
			return;
		}
		samples.add(new Sample(nowNs, frame.header().minimum(), frame.header().mean(),
				frame.header().maximum(), mark));
		while (nowNs - samples.peek().timeNs() > WINDOW_NS) {
			samples.remove();
		}
	}

	Collection<Sample> samples() {
		return samples;
	}
}
