// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.util.List;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Broker;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.DType;
import warpway.Device;
import warpway.Frame;
import warpway.Layout;
import warpway.Life;
import warpway.Memory;
import warpway.NameOptions;
import warpway.Producer;
import warpway.PutOptions;
import warpway.Status;

/** Other processes: they are given frames and memory, and are killed. */
class PeerTest {
	private static final ConsumerOptions NEW = new ConsumerOptions();

	@Test
	void framesGoToAnotherProcess() throws Exception {
		String name = name("frames");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ChannelTest.ints(1024).slots(4));
				Peer peer = Peer.start(PeerTest.class, "sums", name)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			for (int i = 1; i <= 1000; i++) {
				ChannelTest.publish(producer, i);
			}
			producer.close();
			assertEquals("500500", peer.receive());
			assertEquals(0, peer.status());
		}
	}

	static void sums(Peer.Line line, String[] arguments) throws Exception {
		long sum = 0;
		try (Device device = device(); Broker broker = Broker.open();
				Consumer consumer = Consumer.get(device, broker, arguments[0], NEW, LONG)) {
			for (Frame frame : consumer) {
				sum += frame.read(buffer -> buffer.getInt(0));
			}
		}
		line.send(sum);
	}

	static void produces(Peer.Line line, String[] arguments) throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, arguments[0],
						ChannelTest.ints(4).name(new NameOptions().replace()))) {
			line.send("there");
			producer.awaitConsumers(1, LONG);
			ChannelTest.publish(producer, Integer.parseInt(arguments[1]));
			line.receive();
		}
	}

	@Test
	void aKilledProducer() throws Exception {
		String name = name("killed");
		try (Device device = device(); Broker broker = Broker.open();
				Peer peer = Peer.start(PeerTest.class, "produces", name, 5);
				Consumer consumer = Consumer.get(device, broker, name, NEW, LONG)) {
			try (Frame frame = consumer.receive(LONG)) {
				assertEquals(5, frame.copy().getInt(0));
				peer.kill();
				assertEquals(5, frame.copy().getInt(0));
			}
			String message = fails(Status.PEER_LOST, () -> consumer.receive(LONG)).getMessage();
			assertTrue(message.contains(Long.toString(peer.process.pid())), message);
			assertTrue(consumer.info().isLost());
		}
	}

	@Test
	void aConsumerGoesOnWithTheNextProducer() throws Exception {
		String name = name("next");
		ConsumerOptions options = new ConsumerOptions().reattach().history(ConsumerOptions.OLDEST);
		try (Device device = device(); Broker broker = Broker.open();
				Peer first = Peer.start(PeerTest.class, "produces", name, 1);
				Consumer consumer = Consumer.get(device, broker, name, options, LONG)) {
			try (Frame frame = consumer.receive(LONG)) {
				assertEquals(1, frame.buffer().getInt(0));
			}
			first.kill();
			try (Peer second = Peer.start(PeerTest.class, "produces", name, 2);
					Frame frame = consumer.receive(LONG)) {
				assertEquals(2, frame.generation());
				assertEquals(2, frame.buffer().getInt(0));
				assertEquals("there", second.receive());
			}
		}
	}

	@Test
	void aKilledConsumerFreesItsSlots() throws Exception {
		String name = name("freed");
		try (Device device = device(); Broker broker = Broker.open();
				Producer producer = Producer.create(device, broker, name,
						ChannelTest.ints(4).slots(1));
				Peer peer = Peer.start(PeerTest.class, "holds", name)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			ChannelTest.publish(producer, 1);
			assertEquals("holds", peer.receive());
			assertNull(producer.acquire(NOW));
			peer.kill();
			ChannelTest.publish(producer, 2);
		}
	}

	static void holds(Peer.Line line, String[] arguments) throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Consumer consumer = Consumer.get(device, broker, arguments[0], NEW, LONG);
				Frame frame = consumer.receive(LONG)) {
			line.send("holds");
			line.receive();
			frame.close();
		}
	}

	@Test
	void memoryOutlivesItsKilledCreator() throws Exception {
		String name = name("kept");
		try (Device device = device(); Broker broker = Broker.open();
				Peer peer = Peer.start(PeerTest.class, "creates", name)) {
			assertEquals("created", peer.receive());
			peer.kill();
			try (Memory memory = Memory.get(device, broker, name, Access.READ, LONG)) {
				assertEquals(List.of(3L), List.of(memory.layout().count()));
				assertEquals(2.5, memory.doubles(memory.layout()).get(2));
			}
			broker.remove(name);
		}
	}

	static void creates(Peer.Line line, String[] arguments) throws Exception {
		Layout layout = Layout.of(DType.FLOAT64, 3);
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096, viewable())) {
			memory.doubles(layout).put(2, 2.5);
			memory.put(broker, arguments[0], new PutOptions().life(Life.KEPT).layout(layout));
			line.send("created");
			line.receive();
		}
	}
}
