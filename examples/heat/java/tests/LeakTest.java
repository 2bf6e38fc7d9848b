// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import static org.junit.jupiter.api.Assertions.*;

import heat.client.FieldFrame;
import heat.client.FieldReader;
import java.io.File;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import warpway.Warpway;

/** Readers that come and go leave nothing behind in the process. */
class LeakTest {
	private static final int ROUNDS = 200, KILLS = 5;

	/** Counts frames, and remembers what was wrong. */
	private static final class Counter implements FieldReader.Listener {
		private final CountDownLatch frames;
		private volatile String problem;

		Counter(int frames) {
			this.frames = new CountDownLatch(frames);
		}

		@Override
		public void frame(FieldFrame frame) {
			frames.countDown();
		}

		@Override
		public void damaged(String sentence) {
			problem = sentence;
		}

		@Override
		public void waiting(String sentence) {
			/* The daemon may be starting. */
		}
	}

	static int descriptors() {
		return new File("/proc/self/fd").list().length;
	}

	/** Until there are at most as many descriptors as before. */
	static void awaitDescriptors(int before) throws Exception {
		Poll.until(() -> "at most " + before + " descriptors; there are " + descriptors(),
				() -> descriptors() <= before);
	}

	private static void read(String prefix, int frames) throws Exception {
		Counter counter = new Counter(frames);
		try (FieldReader reader = new FieldReader(prefix, counter)) {
			counter.frames.await();
		}
		assertNull(counter.problem);
	}

	/** Views keep their mappings until the garbage collector has found them. */
	static void assertNothingIsOpen() throws Exception {
		assertEquals(Map.of(), Warpway.openObjects());
		Poll.until("no view is left", () -> {
			System.gc();
			return Warpway.openViews() == 0;
		});
	}

	@Test
	void readersThatComeAndGo() throws Exception {
		try (Daemon daemon = new Daemon("--set", "frames_per_second=0")) {
			read(daemon.prefix, 3);
			assertNothingIsOpen();
			int before = descriptors();
			for (int i = 0; i < ROUNDS; i++) {
				read(daemon.prefix, 3);
			}
			assertNothingIsOpen();
			awaitDescriptors(before);
		}
	}

	@Test
	void daemonsThatAreKilled() throws Exception {
		try (Daemon daemon = new Daemon()) {
			read(daemon.prefix, 3);
			int before = descriptors();
			Counter counter = new Counter(Integer.MAX_VALUE);
			try (FieldReader reader = new FieldReader(daemon.prefix, counter)) {
				for (int i = 0; i < KILLS; i++) {
					long had = counter.frames.getCount();
					Poll.until("frames come", () -> counter.frames.getCount() < had);
					daemon.kill();
					daemon.start();
				}
			}
			assertNull(counter.problem);
			assertNothingIsOpen();
			awaitDescriptors(before);
		}
	}
}
