// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Device;
import warpway.Event;
import warpway.ExportOptions;
import warpway.Status;
import warpway.Stream;
import warpway.Timeline;
import warpway.Token;

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
		}
	}

	@Test
	void anotherProcessWaits() throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Event event = Event.create(device, false); Stream stream = Stream.create(device)) {
			event.record(stream);
			Token token = event.export(broker, new ExportOptions());
			try (Peer peer = Peer.start(EventTest.class, "waits", token.toText())) {
				assertEquals("true", peer.receive());
				assertEquals(0, peer.status());
			}
		}
	}

	static void waits(Peer.Line line, String[] arguments) throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Event event = Event.open(device, broker, Token.of(arguments[0]));
				Stream stream = Stream.create(device)) {
			event.await(stream);
			line.send(event.synchronize(LONG) && stream.synchronize(LONG));
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

	@Test
	void aWrongTokenIsRefused() {
		Assumptions.assumeTrue(isHost(), "the same on each device");
		try (Device device = device(); Broker broker = Broker.open();
				Timeline timeline = Timeline.create()) {
			Token token = timeline.export(broker, new ExportOptions());
			fails(Status.UNSUPPORTED, () -> Event.open(device, broker, token));
		}
	}
}
