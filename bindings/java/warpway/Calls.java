// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.ArrayList;
import java.util.List;

/**
 * The calls of a client that nobody waits for. A thread waits for the oldest one, and looks at the
 * others after an eighth of the time that it has waited: at least 50 us, at most 2 ms.
 */
final class Calls {
	private static final long LEAST_NS = 50_000, MOST_NS = 2_000_000;
	private static final long IDLE_MS = 1000;

	private final List<PendingCall> pending = new ArrayList<>();
	private boolean isRunning;
	private boolean hasEnded;

	synchronized void add(PendingCall call) {
		if (hasEnded) {
			call.abandon();
			return;
		}
		pending.add(call);
		if (isRunning) {
			notify();
			return;
		}
		isRunning = true;
		Thread thread = new Thread(this::run, "warpway-client");
		thread.setDaemon(true);
		thread.start();
	}

	/** The client is closed: no call ends by itself any more. */
	void end() {
		List<PendingCall> left;
		synchronized (this) {
			hasEnded = true;
			left = new ArrayList<>(pending);
			pending.clear();
			notify();
		}
		left.forEach(PendingCall::abandon);
	}

	/** The calls that are pending; empty: the thread ends. */
	private synchronized List<PendingCall> next() {
		try {
			long end = System.nanoTime() + IDLE_MS * 1_000_000;
			while (pending.isEmpty() && !hasEnded && System.nanoTime() < end) {
				wait(IDLE_MS);
			}
		} catch (InterruptedException exception) {
			/* Nobody interrupts this thread but to end it. */
			isRunning = false;
			return List.of();
		}
		isRunning = !pending.isEmpty();
		return new ArrayList<>(pending);
	}

	private void run() {
		long waitedNs = 0;
		for (List<PendingCall> calls = next(); !calls.isEmpty(); calls = next()) {
			long limitNs = Math.max(LEAST_NS, Math.min(MOST_NS, waitedNs / 8));
			long begin = System.nanoTime();
			List<PendingCall> ended = new ArrayList<>();
			for (PendingCall call : calls) {
				if (call.poll(call == calls.get(0) ? limitNs : 0)) {
					ended.add(call);
				}
			}
			waitedNs = ended.isEmpty() ? waitedNs + System.nanoTime() - begin : 0;
			synchronized (this) {
				pending.removeAll(ended);
			}
		}
	}
}
