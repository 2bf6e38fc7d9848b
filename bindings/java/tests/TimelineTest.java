// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Device;
import warpway.ExportOptions;
import warpway.NameOptions;
import warpway.Status;
import warpway.Stream;
import warpway.Timeline;
import warpway.TimelineInfo;
import warpway.Token;

/** Timelines, also between processes. */
class TimelineTest {
	@Test
	void signalAndQuery() throws Exception {
		try (Broker broker = Broker.open(); Timeline timeline = Timeline.create(5, true)) {
			assertTrue(timeline.query(5));
			assertFalse(timeline.query(6));
			timeline.signal(7);
			assertTrue(timeline.await(7, LONG));
			TimelineInfo info = timeline.info();
			assertEquals(TimelineInfo.State.LIVE, info.state());
			assertTrue(info.isOwn());
			assertEquals(7, info.completed());
			assertEquals(7, info.submitted());
			String name = name("timeline");
			timeline.put(broker, name, new NameOptions().mode(0600));
			assertEquals(0600, broker.stat(name).mode());
			try (Timeline got = Timeline.get(broker, name, LONG)) {
				assertTrue(got.await(7, LONG));
			}
			fails(Status.INVALID, () -> timeline.signal(7));
			fails(Status.INVALID, () -> timeline.query(-1));
			fails(Status.INVALID, () -> Timeline.create(Timeline.MAX + 1, false));
		}
	}

	@Test
	void streams() throws Exception {
		try (Device device = device(); Timeline timeline = Timeline.create();
				Stream first = Stream.create(device); Stream second = Stream.create(device)) {
			timeline.prepare(device);
			timeline.signal(first, 1);
			assertTrue(timeline.await(second, 1, LONG));
			assertTrue(second.synchronize(LONG));
			assertTrue(timeline.query(1));
			assertFalse(timeline.await(second, 2, NOW));
			timeline.awaitUnsubmitted(second, 2);
			timeline.signal(2);
			assertTrue(second.synchronize(LONG));
			timeline.fail("disk full");
			assertTrue(fails(Status.PEER_LOST, () -> timeline.await(3, LONG)).getMessage()
					.endsWith("at value 2: disk full"));
			assertEquals(TimelineInfo.State.LOST, timeline.info().state());
		}
	}

	static void signals(Peer.Line line, String[] arguments) throws Exception {
		try (Broker broker = Broker.open(); Timeline timeline = Timeline.create()) {
			line.send(timeline.export(broker, new ExportOptions()).toText());
			timeline.signal(1);
			line.receive();
		}
	}

	@Test
	void aStreamIsLostWithItsSignaller() throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Stream stream = Stream.create(device);
				Peer peer = Peer.start(TimelineTest.class, "signals")) {
			try (Timeline timeline = Timeline.open(broker, Token.of(peer.receive()))) {
				timeline.awaitUnsubmitted(stream, 2);
				assertTrue(timeline.await(1, LONG));
				fails(Status.ACCESS, () -> timeline.signal(4));
				peer.kill();
				fails(Status.PEER_LOST, () -> timeline.await(2, LONG));
				assertEquals(TimelineInfo.State.LOST, timeline.info().state());
				assertTrue(timeline.info().lostNs() > 0);
				fails(Status.PEER_LOST, () -> stream.synchronize(LONG));
				fails(Status.PEER_LOST, stream::query);
				stream.recover();
				assertTrue(stream.synchronize(LONG));
			}
		}
	}
}
