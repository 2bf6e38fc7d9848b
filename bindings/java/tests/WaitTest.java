// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.nio.ByteBuffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Barrier;
import warpway.Broker;
import warpway.ChannelOptions;
import warpway.Client;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.Device;
import warpway.Event;
import warpway.ExportOptions;
import warpway.HeldObject;
import warpway.Memory;
import warpway.NameOptions;
import warpway.Observer;
import warpway.Pool;
import warpway.PoolOptions;
import warpway.Producer;
import warpway.Service;
import warpway.ServiceOptions;
import warpway.Slot;
import warpway.Stream;
import warpway.Timeline;
import warpway.Token;
import warpway.Warpway;
import warpway.Watch;

/** Limits on time, and Thread.interrupt(): in each method that waits. */
class WaitTest {
	/** The call waits without a limit, and ends when it is interrupted. */
	private static void interrupted(Call call) throws Exception {
		Runner waiter = new Runner(call).awaitNative();
		waiter.thread.interrupt();
		Throwable thrown = waiter.join();
		assertTrue(thrown instanceof InterruptedException, () -> "thrown: " + thrown);
		/* One that is interrupted already does not begin to wait. */
		Runner early = new Runner(() -> {
			Thread.currentThread().interrupt();
			call.run();
		});
		assertTrue(early.join() instanceof InterruptedException);
	}

	@Test
	void timeline() throws Exception {
		try (Device device = device(); Timeline timeline = Timeline.create();
				Stream stream = Stream.create(device)) {
			interrupted(() -> timeline.await(1, Warpway.FOREVER));
			interrupted(() -> timeline.await(stream, 1, Warpway.FOREVER));
		}
	}

	@Test
	void streamAndEvent() throws Exception {
		try (Device device = device(); Timeline timeline = Timeline.create();
				Stream stream = Stream.create(device); Event event = Event.create(device, false)) {
			timeline.awaitUnsubmitted(stream, 1);
			event.record(stream);
			assertFalse(stream.query());
			assertFalse(event.query());
			interrupted(() -> stream.synchronize(Warpway.FOREVER));
			interrupted(() -> event.synchronize(Warpway.FOREVER));
			assertFalse(stream.synchronize(Duration.ofMillis(1)));
			timeline.signal(1);
			assertTrue(stream.synchronize(LONG));
		}
	}

	@Test
	void names() throws Exception {
		try (Device device = device(); Broker broker = Broker.open()) {
			String name = name("never");
			interrupted(() -> Memory.get(device, broker, name, Access.READ, Warpway.FOREVER));
			interrupted(() -> HeldObject.get(broker, name, Access.READ, Warpway.FOREVER));
			interrupted(() -> Timeline.get(broker, name, Warpway.FOREVER));
			interrupted(() -> Barrier.get(broker, name, 0, Warpway.FOREVER));
			interrupted(() -> Client.get(broker, name, Warpway.FOREVER));
			interrupted(() -> Consumer.get(device, broker, name, new ConsumerOptions(),
					Warpway.FOREVER));
			interrupted(() -> Observer.get(device, broker, name, Warpway.FOREVER));
			try (Watch watch = Watch.create(broker, name, false)) {
				interrupted(() -> watch.next(Warpway.FOREVER));
			}
		}
	}

	@Test
	void barrierAndPool() throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Pool pool = Pool.create(device, new PoolOptions().bytesMax(2 << 20));
				Memory all = pool.allocate(2 << 20, NOW)) {
			assertTrue(all.info().isSlice());
			interrupted(() -> pool.allocate(1 << 20, Warpway.FOREVER));
			Token token = Barrier.create(broker, null, 2, new NameOptions(), new ExportOptions());
			interrupted(() -> Barrier.open(broker, token, 0, Warpway.FOREVER));
			Barrier[] members = new Barrier[2];
			Runner other = new Runner(() -> members[1] = Barrier.open(broker, token, 1, LONG));
			members[0] = Barrier.open(broker, token, 0, LONG);
			assertNull(other.join());
			interrupted(() -> members[0].await(Warpway.FOREVER));
			members[0].close();
			members[1].close();
		}
	}

	@Test
	void channels() throws Exception {
		String name = name("channel");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						new ChannelOptions(100).slots(1));
				Consumer consumer = Consumer.get(device, broker, name, new ConsumerOptions(), NOW);
				Observer observer = Observer.get(device, broker, name, NOW)) {
			interrupted(() -> consumer.receive(Warpway.FOREVER));
			interrupted(() -> consumer.nextEvent(Warpway.FOREVER));
			interrupted(() -> warpway.Channel.awaitAny(Warpway.FOREVER, consumer));
			interrupted(() -> producer.awaitConsumers(2, Warpway.FOREVER));
			interrupted(() -> observer.awaitConsumers(2, Warpway.FOREVER));
			assertTrue(producer.awaitConsumers(1, LONG));
			try (Slot slot = producer.acquire(LONG)) {
				slot.publish();
			}
			interrupted(() -> producer.acquire(Warpway.FOREVER));
		}
	}

	@Test
	void services() throws Exception {
		String name = name("service");
		try (Device device = device(); Broker broker = Broker.open();
				Service service = Service.create(device, broker, name, new ServiceOptions());
				Client client = Client.get(broker, name, LONG)) {
			interrupted(() -> client.awaitReady(Warpway.FOREVER));
			interrupted(() -> client.find("never", null, Warpway.FOREVER));
			service.offer("idle", "", false, call -> { });
			service.start();
			interrupted(() -> service.serve(Warpway.FOREVER));
			interrupted(() -> client.laneTimeline(0, Warpway.FOREVER));
			interrupted(() -> client.find("idle", null, LONG).call(Warpway.FOREVER));
		}
	}

	@Test
	void waitsThatNeedNotWaitSeeTheInterruptToo() throws Exception {
		try (Device device = device(); Memory memory = Memory.create(device, 4096)) {
			Runner early = new Runner(() -> {
				Thread.currentThread().interrupt();
				memory.read(0, ByteBuffer.allocate(1), LONG);
			});
			assertTrue(early.join() instanceof InterruptedException);
		}
	}

	@Test
	void limits() throws Exception {
		try (Timeline timeline = Timeline.create()) {
			long begin = System.nanoTime();
			assertFalse(timeline.await(1, Duration.ofMillis(30)));
			assertTrue(System.nanoTime() - begin >= 30_000_000);
			assertFalse(timeline.await(1, NOW));
			timeline.signal(1);
			assertTrue(timeline.await(1, NOW));
			assertTrue(timeline.await(1, Duration.ofSeconds(Long.MAX_VALUE / 2)));
			assertTrue(timeline.await(1, Warpway.FOREVER));
			assertThrows(IllegalArgumentException.class,
					() -> timeline.await(1, Duration.ofNanos(-1)));
			assertThrows(IllegalArgumentException.class,
					() -> timeline.await(1, Duration.ofSeconds(Long.MIN_VALUE)));
			assertThrows(NullPointerException.class, () -> timeline.await(1, null));
		}
	}

	@Test
	void aWaitBlocksItsThreadOnly() throws Exception {
		String name = name("turns");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, new ChannelOptions(100));
				Consumer consumer = Consumer.get(device, broker, name, new ConsumerOptions(),
						NOW)) {
			Runner waiter = new Runner(() -> consumer.receive(Warpway.FOREVER).close())
					.awaitNative();
			for (int i = 0; i < 3; i++) {
				assertEquals(0, consumer.info().received());
			}
			try (Slot slot = producer.acquire(LONG)) {
				slot.publish();
			}
			assertNull(waiter.join());
		}
	}
}
