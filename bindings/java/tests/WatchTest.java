// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Change;
import warpway.Device;
import warpway.Memory;
import warpway.PutOptions;
import warpway.Watch;

/** Changes in a broker. */
class WatchTest {
	@Test
	void seesChanges() throws Exception {
		String name = name("watched");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096);
				Watch watch = Watch.create(broker, name, true)) {
			assertNull(watch.next(NOW));
			memory.put(broker, name, new PutOptions());
			Change put = watch.next(LONG);
			assertEquals(Change.What.PUT, put.what());
			assertEquals(name, put.object().name());
			Change next = watch.next(LONG);
			while (next.what() == Change.What.READY) {
				broker.remove(name);
				next = watch.next(LONG);
			}
			assertEquals(Change.What.REMOVED, next.what());
			assertNull(watch.next(Duration.ofMillis(70)));
		}
	}

	@Test
	void namesTheFormerObject() throws Exception {
		String name = name("watched");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096);
				Memory next = Memory.create(device, 4096)) {
			memory.put(broker, name, new PutOptions());
			try (Watch watch = Watch.create(broker, name, false)) {
				next.put(broker, name, new PutOptions().replace());
				Change change = watch.next(LONG);
				assertEquals(Change.What.REPLACED, change.what());
				assertEquals(memory.info().objectId(), change.formerId());
				assertTrue(change.formerGeneration() < change.object().generation());
			}
		}
	}

	@Test
	void beginsWithWhatIsThere() throws Exception {
		String name = name("watched");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			memory.put(broker, name, new PutOptions());
			try (Watch watch = Watch.create(broker, name, true)) {
				assertEquals(name, watch.next(LONG).object().name());
			}
		}
	}

	@Test
	void closeEndsTheWait() throws Exception {
		try (Broker broker = Broker.open()) {
			Watch watch = Watch.create(broker, name("none"), false);
			Runner waiter = new Runner(() -> watch.next(warpway.Warpway.FOREVER)).awaitNative();
			watch.close();
			assertTrue(waiter.join() instanceof IllegalStateException);
		}
	}
}
