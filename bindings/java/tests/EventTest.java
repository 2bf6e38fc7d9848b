// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Device;
import warpway.Event;
import warpway.ExportOptions;
import warpway.Status;
import warpway.Stream;
import warpway.Timeline;

/** Events between processes. */
class EventTest {
	@Test
	void recordAndWait() throws Exception {
		try (Device device = device(); Event event = Event.create(device, true);
				Timeline timeline = Timeline.create();
				Stream first = Stream.create(device); Stream second = Stream.create(device)) {
			timeline.awaitUnsubmitted(first, 1);
			event.record(first);
			event.await(second);
			assertFalse(event.query());
			assertFalse(event.synchronize(NOW));
			timeline.signal(1);
			assertTrue(event.synchronize(LONG));
			assertTrue(event.query());
			assertTrue(second.synchronize(LONG));
			try (Broker broker = Broker.open(); Event opened = Event.open(device, broker,
					event.export(broker, new ExportOptions()))) {
				assertTrue(opened.query());
			}
		}
	}

	@Test
	void handlesOfCudaPrograms() {
		try (Device device = device(); Event event = Event.create(device, false)) {
			if (isHost()) {
				fails(Status.UNSUPPORTED, event::handle);
			} else {
				assertEquals(64, event.handle().length);
				fails(Status.UNSUPPORTED, () -> Event.openHandle(device, event.handle()));
			}
			fails(Status.INVALID, () -> Event.openHandle(device, new byte[3]));
		}
	}
}
