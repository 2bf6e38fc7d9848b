// SPDX-License-Identifier: Apache-2.0
import warpway.Timeline;

/**
 * Measures a timeline query from Java beside the call in C: the best of five rounds of each. The
 * argument is the program that measures C.
 */
public final class TimelineQuery {
	private static final int CALLS = 5_000_000;

	private TimelineQuery() {
	}

	public static void main(String[] arguments) throws Exception {
		Process program = new ProcessBuilder(arguments[0]).start();
		double c = Double.parseDouble(new String(program.getInputStream().readAllBytes()).trim());
		double java = Double.MAX_VALUE;
		try (Timeline timeline = Timeline.create()) {
			timeline.signal(1);
			for (int round = 0; round < 5; round++) {
				long begin = System.nanoTime();
				for (int i = 0; i < CALLS; i++) {
					if (!timeline.query(1)) {
						throw new AssertionError("the value was reached");
					}
				}
				java = Math.min(java, (double) (System.nanoTime() - begin) / CALLS);
			}
		}
		System.out.printf("timeline query: C %.1f ns, Java %.1f ns, %.1f ns more%n", c, java,
				java - c);
	}
}
