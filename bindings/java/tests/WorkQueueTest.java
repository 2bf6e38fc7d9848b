// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Broker;
import warpway.DType;
import warpway.Device;
import warpway.ExportOptions;
import warpway.Layout;
import warpway.Slot;
import warpway.Status;
import warpway.Warpway;
import warpway.WorkFrame;
import warpway.WorkQueue;
import warpway.WorkQueue.Role;
import warpway.WorkQueueOptions;

/** Work queues: each frame for one of several consumers. */
class WorkQueueTest {
	private static WorkQueueOptions ints() {
		return new WorkQueueOptions(Layout.of(DType.INT32, 4)).kind(viewable()).slots(4)
				.attemptsMax(2, 1).metadata(8, "job/1");
	}

	private static void publish(WorkQueue producer, int value) throws InterruptedException {
		try (Slot slot = producer.acquire(null, LONG)) {
			slot.buffer().putInt(0, value);
			slot.metadata(new byte[] {(byte) value}).publish();
		}
	}

	@Test
	void framesAreAcknowledged() throws Exception {
		String name = name("queue");
		try (Device device = device(); Broker broker = Broker.open();
				WorkQueue producer = WorkQueue.create(device, broker, name, Role.PRODUCER, ints());
				WorkQueue consumer = WorkQueue.get(device, broker, name, Role.CONSUMER, NOW)) {
			publish(producer, 7);
			try (WorkFrame frame = consumer.receive(null, LONG)) {
				assertEquals(7, frame.buffer().getInt(0));
				assertEquals(7, frame.metadata()[0]);
				assertEquals(1, frame.attempts());
				assertEquals(Integer.valueOf(7), frame.read(bytes -> bytes.getInt(0)));
				frame.acknowledge();
				assertThrows(IllegalStateException.class, frame::acknowledge);
			}
			assertEquals(1, producer.info().published());
			assertEquals(1, consumer.info().received());
			assertEquals(1, consumer.info().publishedTotal());
			assertEquals(1, producer.info().acknowledgedTotal());
			assertEquals("job/1", consumer.info().metadataType());
			assertEquals(Layout.of(DType.INT32, 4), consumer.info().layout());
			assertEquals(Role.CONSUMER, consumer.info().role());
			assertNull(consumer.receive(null, NOW));
			producer.end();
			assertNull(producer.acquire(null, LONG));
			assertTrue(producer.hasEnded());
			assertNull(consumer.receive(null, LONG));
			assertTrue(consumer.hasEnded());
		}
	}

	@Test
	void rejectedFramesComeAgainAndFail() throws Exception {
		String name = name("queue");
		try (Device device = device(); Broker broker = Broker.open();
				WorkQueue producer = WorkQueue.create(device, broker, name, Role.PRODUCER, ints());
				WorkQueue consumer = WorkQueue.open(device, broker, producer.export(
						new ExportOptions().access(Access.READ)), Role.CONSUMER)) {
			publish(producer, 9);
			for (int attempt = 1; attempt <= 2; attempt++) {
				try (WorkFrame frame = consumer.receive(null, LONG)) {
					assertEquals(attempt, frame.attempts());
					assertEquals(1, frame.producer());
				}
			}
			assertNull(consumer.receive(null, NOW));
			assertEquals(1, producer.info().failed());
			assertEquals(1, producer.info().repeatedTotal());
			assertEquals(1, consumer.info().failedTotal());
			assertEquals(0, consumer.info().uncounted());
			try (WorkQueue failed = WorkQueue.get(device, broker, name, Role.FAILED, NOW);
					WorkFrame frame = failed.receive(null, LONG)) {
				assertEquals(9, frame.copy().getInt(0));
				frame.acknowledge();
			}
		}
	}

	@Test
	void receivingEndsAfterProducers() throws Exception {
		String name = name("queue");
		try (Device device = device(); Broker broker = Broker.open();
				WorkQueue one = WorkQueue.create(device, broker, name, Role.CONSUMER,
						ints().endAfterProducers(1));
				WorkQueue other = WorkQueue.get(device, broker, name, Role.CONSUMER, 2, NOW)) {
			WorkQueue.get(device, broker, name, Role.PRODUCER, NOW).close();
			assertNull(one.receive(null, LONG));
			assertTrue(one.hasEnded());
			assertNull(other.receive(null, NOW));
			assertFalse(other.hasEnded());
		}
	}

	@Test
	void waitsEndByInterruptAndClose() throws Exception {
		String name = name("queue");
		try (Device device = device(); Broker broker = Broker.open();
				WorkQueue keeper = WorkQueue.create(device, broker, name, Role.KEEPER, ints());
				WorkQueue consumer = WorkQueue.get(device, broker, name, Role.CONSUMER, NOW)) {
			Runner waiter = new Runner(() -> consumer.receive(null, Warpway.FOREVER))
					.awaitNative();
			waiter.thread.interrupt();
			assertTrue(waiter.join() instanceof InterruptedException);
			Runner second = new Runner(() -> consumer.receive(null, Warpway.FOREVER))
					.awaitNative();
			consumer.close();
			assertTrue(second.join() instanceof IllegalStateException);
			fails(Status.ACCESS, () -> keeper.receive(null, NOW));
			fails(Status.ACCESS, () -> keeper.acquire(null, NOW));
			fails(Status.NOT_FOUND, () -> WorkQueue.get(device, broker, name("none"),
					Role.CONSUMER, NOW));
			fails(Status.EXISTS, () -> WorkQueue.create(device, broker, name, Role.KEEPER, ints()));
		}
	}
}
