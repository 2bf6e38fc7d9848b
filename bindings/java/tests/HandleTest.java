// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import warpway.DType;
import warpway.Device;
import warpway.Layout;
import warpway.Memory;
import warpway.Stream;
import warpway.Timeline;
import warpway.Warpway;

/** Closing, use after that, counters, and what the garbage collector releases. */
class HandleTest {
	@Test
	void closeTwice() {
		Timeline timeline = Timeline.create();
		assertFalse(timeline.isClosed());
		timeline.close();
		timeline.close();
		assertTrue(timeline.isClosed());
		assertEquals("Timeline[closed]", timeline.toString());
	}

	@Test
	void useAfterClose() {
		Device device = device();
		Memory memory = Memory.create(device, 4096, viewable());
		Stream stream = Stream.create(device);
		memory.close();
		stream.close();
		device.close();
		assertThrows(IllegalStateException.class, memory::view);
		assertThrows(IllegalStateException.class, memory::views);
		assertThrows(IllegalStateException.class, memory::info);
		assertThrows(IllegalStateException.class, memory::layout);
		assertThrows(IllegalStateException.class, () -> memory.ints(Layout.of(DType.INT32, 1)));
		assertThrows(IllegalStateException.class,
				() -> memory.read(0, ByteBuffer.allocate(1), NOW));
		assertThrows(IllegalStateException.class, stream::query);
		assertThrows(IllegalStateException.class, () -> stream.synchronize(LONG));
		assertThrows(IllegalStateException.class, () -> stream.fill(memory, 0, 0, 1, 1));
		assertThrows(IllegalStateException.class, device::info);
		assertThrows(IllegalStateException.class, () -> Memory.create(device, 1));
	}

	@Test
	void useAfterCloseInAnotherThread() throws Exception {
		Timeline timeline = Timeline.create();
		timeline.close();
		assertTrue(new Runner(() -> timeline.query(1)).join() instanceof IllegalStateException);
		assertTrue(new Runner(() -> timeline.await(1, LONG)).join()
				instanceof IllegalStateException);
	}

	@Test
	void closeEndsAWaitOfAnotherThread() throws Exception {
		Timeline timeline = Timeline.create();
		Runner waiter = new Runner(() -> timeline.await(1, Warpway.FOREVER)).awaitNative();
		timeline.close();
		assertTrue(waiter.join() instanceof IllegalStateException);
	}

	/** The release of a stream waits for its work, but no call waits for the release. */
	@Test
	void closeEndsAWaitForABusyStream() throws Exception {
		try (Device device = device(); Timeline timeline = Timeline.create()) {
			Stream stream = Stream.create(device);
			timeline.awaitUnsubmitted(stream, 1);
			Runner waiter = new Runner(() -> stream.synchronize(LONG)).awaitNative();
			stream.close();
			assertTrue(waiter.join() instanceof IllegalStateException);
		}
	}

	@Test
	void closeWhileOthersUse() throws Exception {
		for (int round = 0; round < 50; round++) {
			Timeline timeline = Timeline.create();
			AtomicBoolean begun = new AtomicBoolean();
			List<Runner> users = new ArrayList<>();
			for (int i = 0; i < 3; i++) {
				users.add(new Runner(() -> {
					while (true) {
						timeline.query(1);
						timeline.info();
						begun.set(true);
					}
				}));
			}
			while (!begun.get()) {
				Thread.onSpinWait();
			}
			timeline.close();
			for (Runner user : users) {
				assertTrue(user.join() instanceof IllegalStateException);
			}
		}
	}

	@Test
	void memoryIsClosedWhileOthersCopy() throws Exception {
		try (Device device = device()) {
			for (int round = 0; round < 10; round++) {
				Memory memory = Memory.create(device, 1 << 20);
				AtomicLong copies = new AtomicLong();
				Runner reader = new Runner(() -> {
					ByteBuffer to = ByteBuffer.allocateDirect(1 << 16);
					while (true) {
						memory.read(0, to.clear(), LONG);
						copies.incrementAndGet();
					}
				});
				while (copies.get() < 3) {
					Thread.onSpinWait();
				}
				memory.close();
				assertTrue(reader.join() instanceof IllegalStateException);
			}
		}
	}

	@Test
	void countersOfOpenObjects() {
		int before = Warpway.openObjects().getOrDefault("timeline", 0);
		Timeline timeline = Timeline.create();
		assertEquals(before + 1, Warpway.openObjects().get("timeline"));
		assertTrue(Warpway.leakReport().contains("countersOfOpenObjects"));
		timeline.close();
		assertEquals(before, Warpway.openObjects().getOrDefault("timeline", 0));
		assertFalse(Warpway.leakReport().contains("countersOfOpenObjects"));
	}

	@Test
	void manyObjectsLeaveNothing() {
		Map<String, Integer> before = Warpway.openObjects();
		try (Device device = device()) {
			for (int i = 0; i < 50; i++) {
				Timeline.create().close();
				Memory.create(device, 4096).close();
			}
		}
		/* What earlier tests have lost may be released meanwhile. */
		Warpway.openObjects().forEach((kind, count) ->
				assertTrue(count <= before.getOrDefault(kind, 0), kind + ": " + count));
	}

	/** Collects garbage until something holds, however long the Cleaner needs for its turn. */
	private static void collect(java.util.function.BooleanSupplier holds) {
		System.gc();
		while (!holds.getAsBoolean()) {
			java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
			System.gc();
		}
	}

	private static FloatBuffer viewOfClosedMemory(Device device) {
		try (Memory memory = Memory.create(device, 1 << 20, viewable())) {
			FloatBuffer floats = memory.view().asFloatBuffer();
			floats.put(3, 2.5f);
			return floats;
		}
	}

	@Test
	void viewsKeepTheMappingUntilTheyAreLost() {
		collect(() -> Warpway.openViews() == 0);
		try (Device device = device()) {
			FloatBuffer floats = viewOfClosedMemory(device);
			System.gc();
			assertEquals(2.5f, floats.get(3));
			assertTrue(Warpway.openViews() > 0);
			floats.put(4, 1);
			FloatBuffer last = floats.slice(4, 10);
			floats = null;
			System.gc();
			assertEquals(1, last.get(0));
			assertTrue(Warpway.openViews() > 0);
			last = null;
		}
		collect(() -> Warpway.openViews() == 0);
	}

	private static WeakReference<Timeline> loseOne() {
		return new WeakReference<>(Timeline.create());
	}

	@Test
	void lostObjectsAreReleased() {
		int before = Warpway.openObjects().getOrDefault("timeline", 0);
		WeakReference<Timeline> lost = loseOne();
		collect(() -> lost.get() == null
				&& Warpway.openObjects().getOrDefault("timeline", 0) <= before);
	}
}
