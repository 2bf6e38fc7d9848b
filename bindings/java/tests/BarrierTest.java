// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import warpway.Barrier;
import warpway.BarrierInfo;
import warpway.Broker;
import warpway.ExportOptions;
import warpway.NameOptions;
import warpway.Status;
import warpway.Token;

/** Barriers between threads and processes. */
class BarrierTest {
	private static final NameOptions NAME = new NameOptions();
	private static final ExportOptions ESCROW = new ExportOptions();

	@Test
	void twoThreadsPassTogether() throws Exception {
		try (Broker broker = Broker.open()) {
			Token token = Barrier.create(broker, null, 2, NAME, ESCROW);
			Runner other = new Runner(() -> {
				try (Barrier barrier = Barrier.open(broker, token, Barrier.ANY_RANK, LONG)) {
					assertTrue(barrier.await(LONG));
					assertTrue(barrier.await(LONG));
				}
			});
			try (Barrier barrier = Barrier.open(broker, token, Barrier.ANY_RANK, LONG)) {
				assertTrue(barrier.await(LONG));
				assertTrue(barrier.await(LONG));
				assertNull(other.join());
				BarrierInfo info = barrier.info();
				assertEquals(2, info.count());
				assertEquals(2, info.round());
				fails(Status.PEER_LOST, () -> barrier.await(LONG));
				assertTrue(barrier.info().isBroken());
			}
		}
	}

	@Test
	void twoProcessesPassTogether() throws Exception {
		String name = name("barrier");
		try (Broker broker = Broker.open();
				Peer peer = Peer.start(BarrierTest.class, "joins", name)) {
			Barrier.create(broker, name, 2, NAME, ESCROW);
			try (Barrier barrier = Barrier.get(broker, name, 0, LONG)) {
				assertEquals(0, barrier.info().rank());
				assertFalse(barrier.await(NOW));
				peer.send("go");
				assertTrue(barrier.await(LONG));
				assertEquals("true", peer.receive());
				peer.kill();
				String message = fails(Status.PEER_LOST, () -> barrier.await(LONG)).getMessage();
				assertTrue(message.contains(Long.toString(peer.process.pid())), message);
			}
		}
	}

	static void joins(Peer.Line line, String[] arguments) throws Exception {
		try (Broker broker = Broker.open();
				Barrier barrier = Barrier.get(broker, arguments[0], 1, LONG)) {
			line.receive();
			line.send(barrier.await(LONG));
			line.receive();
		}
	}

	@Test
	void refusals() {
		try (Broker broker = Broker.open()) {
			fails(Status.INVALID, () -> Barrier.create(broker, null, 0, NAME, ESCROW));
			fails(Status.NOT_FOUND, () -> Barrier.get(broker, name("none"), 0, NOW));
			Token token = Barrier.create(broker, null, 2, NAME, ESCROW);
			fails(Status.INVALID, () -> Barrier.open(broker, token, 2, NOW));
			fails(Status.TIMED_OUT, () -> Barrier.open(broker, token, 0, Duration.ofMillis(20)));
		}
	}
}
