// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.TreeMap;

/** What concerns the whole process: versions, limits, and what is open. */
public final class Warpway {
	/** No limit on time, for every method that waits. */
	public static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

	private Warpway() {
	}

	/**
	 * Tells the version of the C library in use. The version of this package is the same, or the
	 * package does not load.
	 *
	 * @return such as "0.2.0"
	 */
	public static String version() {
		return new String(Native.libraryVersion(), StandardCharsets.UTF_8);
	}

	/**
	 * Counts the objects that are open, by kind: those that were made and not closed, and that the
	 * garbage collector has not found.
	 *
	 * @return such as {memory=2, timeline=1}; kinds without an object are left out
	 */
	public static Map<String, Integer> openObjects() {
		Map<String, Integer> counts = new TreeMap<>();
		for (Kind kind : Kind.values()) {
			int count = NativeObject.OPEN.get(kind.ordinal());
			if (count > 0) {
				counts.put(kind.name().toLowerCase().replace('_', ' '), count);
			}
		}
		return counts;
	}

	/**
	 * Counts the buffers that keep a mapping: views that were handed out and that a program, or a
	 * buffer derived from them, can still reach.
	 *
	 * @return how many
	 */
	public static int openViews() {
		return Views.OPEN.get();
	}

	/**
	 * Says where each open object was made. This needs {@code -Dwarpway.leaks=true}; then an object
	 * that is lost without {@code close()} is also logged, with the logger "warpway".
	 *
	 * @return one paragraph for each object, with a stack; empty if nothing is open
	 * @throws IllegalStateException if the property is not set
	 */
	public static String leakReport() {
		if (NativeObject.TRACKED == null) {
			throw new IllegalStateException("start the JVM with -Dwarpway.leaks=true");
		}
		StringWriter report = new StringWriter();
		for (NativeObject object : NativeObject.TRACKED) {
			report.append("open: ").append(object.name()).append(": ");
			object.made.printStackTrace(new PrintWriter(report, true));
		}
		return report.toString();
	}

	/**
	 * Limits the deliveries that this process may have in flight: tokens that were exported with
	 * {@link ExportOptions#delivery} and nobody has imported yet. An export that would exceed a
	 * limit fails with {@link Status#LIMIT}.
	 *
	 * @param count deliveries; 0: the default, 65536
	 * @param bytes of their objects together; 0: the default, 16 TiB
	 */
	public static void limitInFlight(int count, long bytes) {
		Status.check(Native.inFlightLimit(count, bytes));
	}
}
