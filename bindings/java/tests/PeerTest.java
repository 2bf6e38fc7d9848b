// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.Device;
import warpway.Frame;
import warpway.NameOptions;
import warpway.Producer;
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
}
