// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.time.LocalTime;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;

/** Receives frames, prints a line in each second, and counts. */
final class Watching implements FieldReader.Listener {
	private static final int AGES_MAX = 1_000_000;

	private final long framesWanted;
	private final long seconds;
	private final boolean isJson;

	private final RateMeter meter = new RateMeter();
	private long[] agesNs = new long[1024];
	private long frames;
	private long damaged;
	private long continued;
	private long runs;
	private long firstStep;
	private FrameHeader last;
	private long printedNs;

	/** Watches until so many frames or seconds; 0: without an end. */
	Watching(long framesWanted, long seconds, boolean isJson) {
		this.framesWanted = framesWanted;
		this.seconds = seconds;
		this.isJson = isJson;
	}

	/** Watches, and returns whether all frames came and none was damaged. */
	boolean watch(String prefix) throws InterruptedException {
		boolean isComplete;
		try (FieldReader reader = new FieldReader(prefix, this)) {
			isComplete = awaitEnd();
		}
		synchronized (this) {
			summary();
			return isComplete && damaged == 0;
		}
	}

	private synchronized boolean awaitEnd() throws InterruptedException {
		long endNs = System.nanoTime() + seconds * 1_000_000_000;
		while (!isDone()) {
			long leftMs = seconds == 0 ? 0 : (endNs - System.nanoTime()) / 1_000_000;
			if (seconds > 0 && leftMs <= 0) {
				/* With a number of frames the time is a limit; without one it is the aim. */
				return framesWanted == 0 && frames > 0;
			}
			wait(leftMs);
		}
		return true;
	}

	private boolean isDone() {
		return framesWanted > 0 && frames + damaged >= framesWanted;
	}

	@Override
	public synchronized void frame(FieldFrame frame) {
		if (isDone()) {
			return;
		}
		FrameHeader header = frame.header();
		switch (frame.kind()) {
			case FIRST, NEW_RUN -> runs++;
			case CONTINUED -> continued++;
			default -> { }
		}
		if (frame.kind() == FieldFrame.Kind.CONTINUED) {
			event("The run is continued by pid " + header.pid() + " at step " + header.step()
					+ "; the last frame before was of step " + last.step() + ".");
		} else if (frame.kind() != FieldFrame.Kind.NEXT) {
			firstStep = header.step();
			event((frame.kind() == FieldFrame.Kind.FIRST ? "Watching run " : "A new run: ")
					+ Long.toHexString(header.run()) + " of pid " + header.pid() + ", at step "
					+ header.step() + ".");
		}
		printedNs = last == null ? System.nanoTime() : printedNs;
		last = header;
		age(frame.ageNs());
		frames++;
		long now = System.nanoTime();
		meter.count(now);
		if (now - printedNs >= 1_000_000_000) {
			printedNs = now;
			line(header, now);
		}
		notifyAll();
	}

	@Override
	public synchronized void damaged(String sentence) {
		damaged++;
		event(sentence);
		notifyAll();
	}

	@Override
	public synchronized void waiting(String sentence) {
		event(sentence);
	}

	/** Keeps the last AGES_MAX ages. */
	private void age(long ns) {
		if (frames == agesNs.length && frames < AGES_MAX) {
			agesNs = Arrays.copyOf(agesNs, Math.min(AGES_MAX, 2 * agesNs.length));
		}
		agesNs[(int) (frames % agesNs.length)] = ns;
	}

	private void event(String sentence) {
		if (isJson) {
			System.out.println(Report.json(Report.pairs("event", sentence)));
		} else {
			System.out.println(Sentences.time(LocalTime.now()) + "  " + sentence);
		}
	}

	private void line(FrameHeader header, long now) {
		Map<String, Object> pairs = Report.pairs("step", header.step(), "time", header.time(),
				"rows", header.rows(), "columns", header.columns(), "minimum", header.minimum(),
				"mean", header.mean(), "maximum", header.maximum(),
				"steps_per_second", header.stepsPerSecond(), "paused", header.isPaused(),
				"frames_per_second", meter.rate(now), "frames", frames);
		System.out.println(isJson ? Report.json(pairs) : String.format(Locale.ROOT,
				"%s  step %d, t = %.6g s, %d x %d: %.2f / %.2f / %.2f degrees, %s, %d frames/s",
				Sentences.time(LocalTime.now()), header.step(), header.time(),
				header.rows(), header.columns(), header.minimum(), header.mean(), header.maximum(),
				header.isPaused() ? "paused" : Math.round(header.stepsPerSecond()) + " steps/s",
				meter.rate(now)));
	}

	private void summary() {
		int count = (int) Math.min(frames, agesNs.length);
		long[] sorted = Arrays.copyOf(agesNs, count);
		Arrays.sort(sorted);
		Map<String, Object> pairs = Report.pairs("frames", frames, "damaged", damaged, "runs", runs,
				"continued", continued, "first_step", firstStep,
				"last_step", last == null ? 0 : last.step(),
				"age_p50_us", percentile(sorted, 0.5), "age_p99_us", percentile(sorted, 0.99));
		System.out.println(isJson ? Report.json(pairs) : String.format(Locale.ROOT,
				"%d frames checked, %d damaged; %d runs, continued %d times; steps %d to %d; copied"
				+ " %d us after publication (99 %%: %d us)", frames, damaged, runs, continued,
				firstStep, last == null ? 0 : last.step(), percentile(sorted, 0.5),
				percentile(sorted, 0.99)));
	}

	private static long percentile(long[] sorted, double part) {
		return sorted.length == 0 ? 0 : sorted[(int) ((sorted.length - 1) * part)] / 1000;
	}
}
