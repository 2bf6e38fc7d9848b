// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Barrier;
import warpway.Broker;
import warpway.CallOptions;
import warpway.ChannelOptions;
import warpway.Client;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.DType;
import warpway.Device;
import warpway.Event;
import warpway.ExportOptions;
import warpway.Frame;
import warpway.Layout;
import warpway.Memory;
import warpway.NameOptions;
import warpway.Pool;
import warpway.Producer;
import warpway.PutOptions;
import warpway.Service;
import warpway.ServiceCall;
import warpway.ServiceOptions;
import warpway.Slot;
import warpway.Status;
import warpway.Stream;
import warpway.Timeline;
import warpway.Token;
import warpway.Warpway;
import warpway.Watch;

/** Misuse, one by one: an exception each time, and never a crash. */
class MisuseTest {
	@Test
	void nullWhereAnObjectMustBe() {
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096); Stream stream = Stream.create(device);
				Timeline timeline = Timeline.create()) {
			Call[] calls = {
				() -> Memory.create(null, 1), () -> Memory.get(device, null, "a", Access.READ, NOW),
				() -> Memory.get(null, broker, "a", Access.READ, NOW),
				() -> Memory.open(device, broker, null, Access.READ),
				() -> Memory.openHandle(device, null, Access.READ),
				() -> memory.put(null, "a", new PutOptions()), () -> memory.put(broker, "a", null),
				() -> memory.export(broker, null), () -> memory.revoke(null),
				() -> memory.closeAfter(null), () -> memory.read(0, null, NOW),
				() -> memory.write(0, ByteBuffer.allocate(1), null),
				() -> memory.floats(null), () -> stream.copy(null, 0, memory, 0, 1),
				() -> stream.fill(null, 0, 0, 1, 1), () -> timeline.signal(null, 1),
				() -> timeline.await(null, 1, NOW), () -> timeline.prepare(null),
				() -> timeline.put(broker, "a", null), () -> Timeline.get(null, "a", NOW),
				() -> Timeline.open(broker, null), () -> Barrier.open(broker, null, 0, NOW),
				() -> Pool.create(device, null), () -> Pool.open(device, broker, null),
				() -> Producer.create(device, broker, "a", null),
				() -> Consumer.get(device, broker, "a", null, NOW),
				() -> Service.create(device, broker, "a", null),
				() -> Client.open(broker, null, Runnable::run), () -> Watch.create(null, "", true),
				() -> Layout.of(null, 1), () -> Layout.of(DType.INT8, (long[]) null),
				() -> Token.of((byte[]) null), () -> Token.of((String) null),
				() -> broker.stat(null), () -> broker.remove(null), () -> broker.list(null),
				() -> broker.end(null), () -> broker.endById(null),
				() -> DType.of(null), () -> Timeline.get(broker, null, NOW),
				() -> Memory.get(device, broker, null, Access.READ, NOW),
				() -> timeline.put(broker, null, new NameOptions()),
			};
			for (int i = 0; i < calls.length; i++) {
				int number = i;
				assertThrows(NullPointerException.class, calls[i]::run, () -> "call " + number);
			}
		}
	}

	@Test
	void wrongNumbers() {
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			fails(Status.INVALID, () -> Memory.create(device, 0));
			assertThrows(warpway.WarpwayException.class, () -> Memory.create(device, -1));
			assertThrows(warpway.WarpwayException.class,
					() -> Memory.create(device, Long.MAX_VALUE));
			fails(Status.INVALID, () -> memory.put(broker, "..", new PutOptions()));
			fails(Status.INVALID, () -> memory.put(broker, "x".repeat(300), new PutOptions()));
			fails(Status.INVALID, () -> memory.put(broker, name("x"), new PutOptions().mode(-1)));
			fails(Status.MISMATCH, () -> memory.put(broker, name("x"), new PutOptions()
					.layout(Layout.of(DType.INT64, 1 << 20))));
			fails(Status.MISMATCH, () -> memory.export(broker, new ExportOptions()
					.span(memory.bytes(), 1)));
			assertThrows(warpway.WarpwayException.class, () -> memory.export(broker,
					new ExportOptions().span(-1, 1)));
			fails(Status.INVALID, () -> memory.publish(broker, null));
		}
	}

	@Test
	void negativeDurationsAreRefusedWhenTheyAreSet() {
		Duration negative = Duration.ofNanos(-1);
		Call[] calls = {
			() -> new CallOptions().deadline(negative),
			() -> new ChannelOptions(1).evictAfter(negative),
			() -> new ChannelOptions(1).deadline(negative),
			() -> new ConsumerOptions().deadline(negative),
			() -> new ExportOptions().escrow(negative),
			() -> new PutOptions().timeToLive(negative),
			() -> new ServiceOptions().keep(negative),
		};
		for (int i = 0; i < calls.length; i++) {
			int number = i;
			String message = assertThrows(IllegalArgumentException.class, calls[i]::run, () ->
					"call " + number).getMessage();
			assertTrue(message.contains("a negative limit on time: PT-0.000000001S"), message);
		}
		new PutOptions().timeToLive(Warpway.FOREVER);
	}

	@Test
	void tokensOfOtherKinds() {
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096);
				Timeline timeline = Timeline.create()) {
			Token bytes = memory.export(broker, new ExportOptions());
			Token value = timeline.export(broker, new ExportOptions());
			fails(Status.UNSUPPORTED, () -> Timeline.open(broker, bytes));
			fails(Status.UNSUPPORTED, () -> Memory.open(device, broker, value, Access.READ));
			fails(Status.UNSUPPORTED, () -> Event.open(device, broker, value));
			fails(Status.UNSUPPORTED, () -> Pool.open(device, broker, bytes));
			fails(Status.UNSUPPORTED, () -> Barrier.open(broker, bytes, 0, NOW));
			fails(Status.UNSUPPORTED, () -> Consumer.open(device, broker, bytes,
					new ConsumerOptions()));
			fails(Status.UNSUPPORTED, () -> Client.open(broker, value, Runnable::run));
		}
	}

	@Test
	void everyMethodAfterClose() throws Exception {
		String name = name("closed");
		Device device = device();
		Broker broker = Broker.open();
		Producer producer = Producer.create(device, broker, name, ChannelTest.ints(4).slots(2));
		Consumer consumer = Consumer.get(device, broker, name, new ConsumerOptions(), NOW);
		assertTrue(producer.awaitConsumers(1, LONG));
		ChannelTest.publish(producer, 1);
		Frame frame = consumer.receive(LONG);
		Slot slot = producer.acquire(LONG);
		Service service = Service.create(device, broker, name("closed"), new ServiceOptions());
		Watch watch = Watch.create(broker, "", false);
		Pool pool = Pool.create(device, new warpway.PoolOptions());
		for (AutoCloseable object : new AutoCloseable[] {consumer, producer, service, watch, pool,
				broker, device}) {
			object.close();
		}
		Call[] calls = {
			consumer::info, consumer::consumers, () -> consumer.receive(NOW),
			() -> consumer.nextEvent(NOW), () -> consumer.export(new ExportOptions()),
			() -> consumer.iterator().next(), frame::buffer, frame::copy, frame::metadata,
			() -> frame.read(buffer -> 1), producer::info, () -> producer.acquire(NOW),
			() -> producer.evict(0), () -> producer.awaitConsumers(1, NOW), slot::buffer,
			slot::publish, () -> slot.write(ByteBuffer.allocate(1)), service::info,
			service::functions, service::start, service::drain, () -> service.serve(NOW),
			() -> service.offer("a", "", false, call -> { }), () -> watch.next(NOW), pool::info,
			pool::holders, () -> pool.trim(0), () -> pool.allocate(1, NOW), broker::info,
			broker::address, broker::holds, () -> broker.list(""), () -> broker.stat("a"),
			broker::inFlight, device::freeBytes, () -> Stream.create(device),
		};
		for (int i = 0; i < calls.length; i++) {
			int number = i;
			assertThrows(IllegalStateException.class, calls[i]::run, () -> "call " + number);
		}
		frame.close();
		slot.close();
		assertEquals(1, frame.number());
	}

	@Test
	void aCallAfterItsFunctionHasReturned() throws Exception {
		String name = name("late");
		AtomicReference<ServiceCall> kept = new AtomicReference<>();
		try (Device device = device(); Broker broker = Broker.open();
				Service service = Service.create(device, broker, name, new ServiceOptions())) {
			service.offer("keep", "i32 a", false, call -> {
				kept.set(call);
				assertThrows(IndexOutOfBoundsException.class, () -> call.argument(1));
				assertThrows(IndexOutOfBoundsException.class, () -> call.result(0, 1));
				call.stream().close();
			});
			service.start();
			Runner server = new Runner(() -> service.serve(LONG));
			try (Client client = Client.get(broker, name, LONG)) {
				client.find("keep", null, LONG).call(new CallOptions(), LONG, 1).close();
			}
			service.drain();
			assertNull(server.join());
			assertThrows(IllegalStateException.class, () -> kept.get().argument(0));
			assertThrows(IllegalStateException.class, () -> kept.get().stream());
			assertThrows(IllegalStateException.class, () -> kept.get().isCancelled());
		}
	}

	@Test
	void aFunctionThatNeverEndsItsStack() throws Exception {
		String name = name("deep");
		try (Device device = device(); Broker broker = Broker.open();
				Service service = Service.create(device, broker, name, new ServiceOptions())) {
			service.offer("deep", "", false, call -> recurse(1));
			service.start();
			Runner server = new Runner(() -> service.serve(LONG));
			try (Client client = Client.get(broker, name, LONG)) {
				fails(Status.STATE, () -> client.find("deep", null, LONG).call(LONG));
			}
			service.drain();
			assertNull(server.join());
		}
	}

	private static int recurse(int depth) {
		return recurse(depth + 1) + depth;
	}

	@Test
	void objectsAreUsedByManyThreads() throws Exception {
		String name = name("threads");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ChannelTest.ints(4).slots(8));
				Consumer consumer = Consumer.get(device, broker, name, new ConsumerOptions(),
						NOW)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			List<Runner> runners = new ArrayList<>();
			for (int thread = 0; thread < 4; thread++) {
				runners.add(new Runner(() -> {
					for (int i = 0; i < 50; i++) {
						publishOrWait(producer);
						producer.info();
					}
				}));
				runners.add(new Runner(() -> {
					for (int i = 0; i < 50; i++) {
						receiveOrWait(consumer);
						consumer.info();
					}
				}));
			}
			for (Runner runner : runners) {
				assertNull(runner.join());
			}
			assertEquals(200, consumer.info().received());
		}
	}

	private static void publishOrWait(Producer producer) throws Exception {
		ChannelTest.publish(producer, 1);
	}

	/** One frame at a time may be held, by whichever thread. */
	private static void receiveOrWait(Consumer consumer) throws Exception {
		while (true) {
			try (Frame frame = consumer.receive(LONG)) {
				assertEquals(1, frame.buffer().getInt(0));
				return;
			} catch (warpway.WarpwayException exception) {
				assertEquals(Status.STATE, exception.status(), exception.toString());
				Thread.onSpinWait();
			}
		}
	}

	@Test
	void namesWithStrangeCharacters() throws Exception {
		String name = name("\u00e4\u4e2d\ud83d\ude00");
		try (Device device = device(); Broker broker = Broker.open();
				Timeline timeline = Timeline.create()) {
			timeline.put(broker, name, new NameOptions());
			assertEquals(name, broker.stat(name).name());
			String message = fails(Status.NOT_FOUND, () -> broker.stat(name + "?")).getMessage();
			assertTrue(message.contains(name), message);
		}
	}
}
