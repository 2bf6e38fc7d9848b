// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Channel;
import warpway.ChannelEvent;
import warpway.ChannelOptions;
import warpway.ChannelPolicy;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.DType;
import warpway.Device;
import warpway.ExportOptions;
import warpway.Frame;
import warpway.Layout;
import warpway.NameOptions;
import warpway.Observer;
import warpway.Producer;
import warpway.Slot;
import warpway.Status;
import warpway.Stream;
import warpway.Token;

/** Channels: frames inside one process and between processes. */
class ChannelTest {
	private static final ConsumerOptions NEW = new ConsumerOptions();

	static ChannelOptions ints(int count) {
		return new ChannelOptions(Layout.of(DType.INT32, count)).kind(viewable());
	}

	static long publish(Producer producer, int value) throws InterruptedException {
		try (Slot slot = producer.acquire(LONG)) {
			slot.buffer().putInt(0, value);
			return slot.publish();
		}
	}

	@Test
	void framesWithMetadataAndShape() throws Exception {
		String name = name("channel");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ints(100).metadata(16, "pose/1"));
				Consumer consumer = Consumer.get(device, broker, name,
						new ConsumerOptions().reattach().metadataType("pose/1")
								.layout(Layout.of(DType.INT32, 100)), NOW)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			try (Slot slot = producer.acquire(LONG)) {
				assertEquals(400, slot.bytes());
				assertTrue(slot.capacity() >= 400);
				slot.buffer().putInt(0, 42);
				slot.metadata("left".getBytes()).shape(10).bytes(40);
				assertEquals(1, slot.publish());
			}
			try (Frame frame = consumer.receive(LONG)) {
				assertEquals(1, frame.number());
				assertEquals(1, frame.generation());
				assertEquals(40, frame.bytes());
				assertArrayEquals(new long[] {10}, frame.shape());
				assertEquals("left", new String(frame.metadata()));
				assertTrue(frame.submittedNs() <= System.nanoTime());
				assertTrue(frame.buffer().isReadOnly());
				assertEquals(40, frame.buffer().capacity());
				assertEquals(42, frame.buffer().getInt(0));
				assertEquals(42, frame.copy().getInt(0));
				assertEquals(Integer.valueOf(42), frame.read(buffer -> buffer.getInt(0)));
			}
			assertNull(consumer.receive(NOW));
			assertFalse(consumer.hasEnded());
			assertEquals(1, producer.consumers().size());
			assertEquals("pose/1", consumer.info().metadataType());
			assertEquals(Layout.of(DType.INT32, 100), consumer.info().layout());
			assertTrue(producer.info().isProducer());
		}
	}

	@Test
	void copiesGoToEveryDevice() throws Exception {
		String name = name("copies");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, new ChannelOptions(64));
				Consumer consumer = Consumer.get(device, broker, name, NEW, NOW)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			for (boolean isDirect : new boolean[] {false, true}) {
				ByteBuffer bytes = isDirect ? ByteBuffer.allocateDirect(8) : ByteBuffer.allocate(8);
				bytes.putLong(0, 0x0102030405060708L);
				try (Slot slot = producer.acquire(LONG)) {
					slot.write(bytes).publish();
					assertEquals(0, bytes.remaining());
				}
				try (Frame frame = consumer.receive(LONG)) {
					assertEquals(8, frame.bytes());
					assertEquals(1, frame.copy().get(0));
					assertEquals(Byte.valueOf((byte) 8), frame.read(buffer -> buffer.get(7)));
				}
			}
			try (Slot slot = producer.acquire(LONG)) {
				fails(Status.INVALID, () -> slot.write(ByteBuffer.allocate(10_000)));
				if (!isHost()) {
					fails(Status.UNSUPPORTED, slot::buffer);
				}
			}
		}
	}

	@Test
	void streamsAreOrdered() throws Exception {
		String name = name("streams");
		try (Device device = device(); Broker broker = Broker.open();
				Stream writer = Stream.create(device); Stream reader = Stream.create(device);
				Producer producer = Producer.create(device, broker, name, ints(4));
				Consumer consumer = Consumer.get(device, broker, name, NEW, NOW)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			Slot slot = producer.acquire(writer, LONG);
			slot.publish(writer);
			Frame frame = consumer.receive(reader, LONG);
			frame.release(reader);
			assertThrows(IllegalStateException.class, frame::copy);
			assertTrue(reader.synchronize(LONG));
		}
	}

	@Test
	void framesAfterTheirRelease() throws Exception {
		String name = name("released");
		ByteBuffer kept;
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, ints(4).slots(1));
				Consumer consumer = Consumer.get(device, broker, name, NEW, NOW)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			publish(producer, 1);
			Frame frame = consumer.receive(LONG);
			kept = frame.buffer();
			assertEquals(1, kept.getInt(0));
			frame.close();
			frame.close();
			assertThrows(IllegalStateException.class, frame::buffer);
			assertThrows(IllegalStateException.class, frame::copy);
			assertThrows(IllegalStateException.class, frame::metadata);
			publish(producer, 2);
			assertEquals(2, kept.getInt(0));
		}
		/* Both sides are closed: the buffer keeps the mapping. */
		System.gc();
		assertEquals(2, kept.getInt(0));
	}

	@Test
	void slotsThatAreNotPublishedAreGivenBack() throws Exception {
		String name = name("discarded");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ints(4).slots(1).metadata(4, null))) {
			producer.acquire(LONG).close();
			Slot slot = producer.acquire(LONG);
			fails(Status.STATE, () -> producer.acquire(NOW));
			fails(Status.INVALID, () -> slot.bytes(1 << 20).publish());
			fails(Status.INVALID, () -> slot.bytes(4).metadata(new byte[5]).publish());
			fails(Status.INVALID, () -> slot.shape(new long[9]));
			slot.metadata(new byte[4]).publish();
			assertThrows(IllegalStateException.class, slot::publish);
			assertThrows(IllegalStateException.class, slot::buffer);
		}
	}

	@Test
	void theConsumerIterates() throws Exception {
		String name = name("loop");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, ints(4).slots(8));
				Consumer consumer = Consumer.get(device, broker, name, new ConsumerOptions()
						.history(ConsumerOptions.OLDEST), NOW)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			Runner publisher = new Runner(() -> {
				for (int i = 0; i < 100; i++) {
					publish(producer, i);
				}
				producer.close();
			});
			List<Integer> values = new ArrayList<>();
			for (Frame frame : consumer) {
				values.add(frame.buffer().getInt(0));
			}
			assertNull(publisher.join());
			assertEquals(100, values.size());
			assertEquals(99, values.get(99));
			assertTrue(consumer.hasEnded());
			assertTrue(consumer.info().hasClosed());
			assertNull(consumer.receive(LONG));
		}
	}

	@Test
	void anInterruptEndsTheLoop() throws Exception {
		String name = name("loop");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, ints(4));
				Consumer consumer = Consumer.get(device, broker, name, NEW, NOW)) {
			Runner reader = new Runner(() -> consumer.iterator().next()).awaitNative();
			reader.thread.interrupt();
			assertTrue(reader.join() instanceof java.util.concurrent.CancellationException);
			assertEquals(0, producer.info().published());
		}
	}

	@Test
	void closeWhileAnotherThreadReceives() throws Exception {
		String name = name("closed");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, ints(4))) {
			for (int i = 0; i < 5; i++) {
				Consumer consumer = Consumer.get(device, broker, name, NEW, NOW);
				Runner waiter = new Runner(() -> consumer.receive(warpway.Warpway.FOREVER));
				Runner any = new Runner(() ->
						Channel.awaitAny(warpway.Warpway.FOREVER, consumer, producer));
				waiter.awaitNative();
				consumer.close();
				assertTrue(waiter.join() instanceof IllegalStateException);
				Throwable thrown = any.join();
				assertTrue(thrown == null || thrown instanceof IllegalStateException);
			}
		}
	}

	@Test
	void observersEventsAndEviction() throws Exception {
		String name = name("events");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ints(4).consumersMax(3, 2).name(new NameOptions().mode(0640)));
				Observer observer = Observer.get(device, broker, name, LONG);
				Consumer consumer = Consumer.get(device, broker, name, NEW, NOW)) {
			assertTrue(observer.awaitConsumers(1, LONG));
			ChannelEvent event = producer.nextEvent(LONG);
			assertEquals(ChannelEvent.Kind.CONSUMER_JOINED, event.kind());
			producer.evict(event.consumer());
			fails(Status.EVICTED, () -> consumer.receive(LONG));
			assertEquals(ChannelEvent.Kind.CONSUMER_EVICTED, producer.nextEvent(LONG).kind());
			fails(Status.NOT_FOUND, () -> producer.evict(9));
			assertTrue(consumer.info().number() >= 0);
			try (Consumer second = Consumer.get(device, broker, name, NEW, NOW)) {
				fails(Status.LIMIT, () -> Consumer.get(device, broker, name, NEW, NOW));
				assertEquals(0, second.info().received());
			}
		}
	}

	@Test
	void latestGivesTheNewest() throws Exception {
		String name = name("latest");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ints(4).policy(ChannelPolicy.LATEST))) {
			for (int i = 1; i <= 10; i++) {
				publish(producer, i);
			}
			Token token = producer.export(new ExportOptions());
			try (Consumer consumer = Consumer.open(device, broker, token, NEW);
					Frame frame = consumer.receive(LONG)) {
				assertEquals(10, frame.number());
				assertEquals(10, frame.buffer().getInt(0));
				assertEquals(-1, Channel.awaitAny(NOW, consumer));
			} catch (warpway.WarpwayException exception) {
				assertEquals(Status.STATE, exception.status());
			}
		}
	}

	@Test
	void refusals() {
		String name = name("refused");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name, ints(4))) {
			fails(Status.EXISTS, () -> Producer.create(device, broker, name, ints(4)));
			fails(Status.MISMATCH, () -> Consumer.get(device, broker, name,
					new ConsumerOptions().layout(Layout.of(DType.FLOAT32, 4)), NOW));
			fails(Status.MISMATCH, () -> Consumer.get(device, broker, name,
					new ConsumerOptions().metadataType("other/1"), NOW));
			fails(Status.INVALID, () -> Producer.create(device, broker, name("x"),
					new ChannelOptions(0)));
			assertThrows(IllegalArgumentException.class, () -> Producer.create(device, broker,
					name("x"), new ChannelOptions(8).metadata(4, "longer than 15 bytes")));
			fails(Status.NOT_FOUND, () -> Consumer.get(device, broker, name("none"), NEW, NOW));
			fails(Status.INVALID, () -> Channel.awaitAny(NOW, new Channel[0]));
			assertFalse(producer.isClosed());
		}
	}
}
