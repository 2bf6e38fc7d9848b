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
		String name = name("barrier");
		try (Broker broker = Broker.open()) {
			Token token = Barrier.create(broker, name, 2, NAME, ESCROW);
			Runner other = new Runner(() -> {
				try (Barrier barrier = Barrier.open(broker, token, 0, LONG)) {
					assertTrue(barrier.await(LONG));
					assertTrue(barrier.await(LONG));
				}
			});
			try (Barrier barrier = Barrier.get(broker, name, 1, LONG)) {
				assertEquals(1, barrier.info().rank());
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
	void refusals() {
		try (Broker broker = Broker.open()) {
			fails(Status.INVALID, () -> Barrier.create(broker, null, 0, NAME, ESCROW));
			fails(Status.NOT_FOUND, () -> Barrier.get(broker, name("none"), 0, NOW));
			Token token = Barrier.create(broker, null, 2, NAME, ESCROW);
			fails(Status.TIMED_OUT,
					() -> Barrier.open(broker, token, Barrier.ANY_RANK, Duration.ofMillis(20)));
			fails(Status.INVALID, () -> Barrier.open(broker, token, 2, NOW));
		}
	}
}
