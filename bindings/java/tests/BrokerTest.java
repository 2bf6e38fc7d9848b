// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Broker;
import warpway.Delivery;
import warpway.Device;
import warpway.ExportOptions;
import warpway.HeldObject;
import warpway.Life;
import warpway.Memory;
import warpway.ObjectInfo;
import warpway.ObjectKind;
import warpway.ObjectState;
import warpway.PutOptions;
import warpway.Status;
import warpway.Token;
import warpway.Warpway;

/** Names, tokens, lists, holds, deliveries. */
class BrokerTest {
	private static final PutOptions PLAIN = new PutOptions();

	@Test
	void putGetStatRemove() throws Exception {
		String name = name("named");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			memory.put(broker, name, new PutOptions().mode(0640).life(Life.KEPT)
					.state(ObjectState.SHARED).timeToLive(Duration.ofHours(1)));
			ObjectInfo info = broker.stat(name);
			assertEquals(ObjectKind.MEMORY, info.kind());
			assertEquals(ObjectState.SHARED, info.state());
			assertEquals(Life.KEPT, info.life());
			assertEquals(0640, info.mode());
			assertEquals(name, info.name());
			assertEquals(ProcessHandle.current().pid(), info.pid());
			assertEquals(memory.info().objectId(), info.objectId());
			assertTrue(info.isOwn() && info.leftNs() > 0);
			assertEquals(memory.bytes(), info.spanBytes());
			try (Memory got = Memory.get(device, broker, name, Access.WRITE, NOW)) {
				assertEquals(memory.info().objectId(), got.info().objectId());
			}
			broker.remove(name);
			fails(Status.NOT_FOUND, () -> broker.stat(name));
			fails(Status.NOT_FOUND, () -> Memory.get(device, broker, name, Access.READ, NOW));
			fails(Status.TIMED_OUT, () -> Memory.get(device, broker, name, Access.READ,
					Duration.ofMillis(20)));
			memory.put(broker, name, new PutOptions());
			broker.end(name);
			fails(Status.NOT_FOUND, () -> broker.end(name));
			fails(Status.NOT_FOUND, () -> broker.endById(memory.info().objectId()));
			assertThrows(IllegalArgumentException.class, () -> broker.endById("0123"));
		}
	}

	@Test
	void namesAreTakenOrReplaced() throws Exception {
		String name = name("taken");
		try (Device device = device(); Broker broker = Broker.open();
				Memory first = Memory.create(device, 4096);
				Memory second = Memory.create(device, 4096)) {
			first.put(broker, name, PLAIN);
			assertTrue(fails(Status.EXISTS, () -> second.put(broker, name, PLAIN)).getMessage()
					.contains(name));
			assertTrue(second.put(broker, name, new PutOptions().replace(), LONG));
			assertEquals(second.info().objectId(), broker.stat(name).objectId());
		}
	}

	@Test
	void writingIsPublished() throws Exception {
		String name = name("writing");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			memory.put(broker, name, new PutOptions().state(ObjectState.WRITING));
			fails(Status.STATE, () -> Memory.get(device, broker, name, Access.READ, NOW));
			Runner getter = new Runner(() ->
					Memory.get(device, broker, name, Access.READ, LONG).close()).awaitNative();
			memory.publish(broker, ObjectState.SEALED);
			assertNull(getter.join());
			fails(Status.ACCESS, () -> Memory.get(device, broker, name, Access.WRITE, NOW));
		}
	}

	@Test
	void lists() {
		String prefix = name("list");
		try (Device device = device(); Broker broker = Broker.open();
				Memory a = Memory.create(device, 4096); Memory b = Memory.create(device, 4096)) {
			a.put(broker, prefix + "/a", PLAIN);
			b.put(broker, prefix + "/b", PLAIN);
			List<String> names = broker.list(prefix).stream().map(ObjectInfo::name).toList();
			assertEquals(List.of(prefix + "/a", prefix + "/b"), names);
			assertTrue(broker.listAll().size() >= 2);
			long pid = ProcessHandle.current().pid();
			long number = broker.holders().stream().filter(holder -> holder.pid() == pid)
					.findFirst().orElseThrow().number();
			assertTrue(broker.holds().stream().anyMatch(hold -> hold.holder() == number
					&& hold.objectId().equals(a.info().objectId())));
			assertTrue(broker.info().objects() >= 2);
			assertEquals(Warpway.version(), broker.info().version());
			assertTrue(broker.address().endsWith("broker.sock"));
		}
	}

	@Test
	void tokens() {
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 8192)) {
			Token token = memory.export(broker, new ExportOptions().access(Access.WRITE)
					.span(4096, 100).uses(2).escrow(Duration.ofHours(1)));
			assertEquals(ObjectKind.MEMORY, token.info().kind());
			assertEquals(4096, token.info().offset());
			assertEquals(broker.address(), token.info().address());
			assertArrayEquals(token.toBytes(), Token.of(token.toText()).toBytes());
			Token copy = Token.of(token.toBytes());
			try (Memory opened = Memory.open(device, broker, copy, Access.WRITE)) {
				assertEquals(100, opened.bytes());
			}
			byte[] damaged = token.toBytes();
			damaged[100] ^= 1;
			fails(Status.PROTOCOL, () -> Token.of(damaged));
			fails(Status.PROTOCOL, () -> Token.of(new byte[3]));
			fails(Status.PROTOCOL, () -> Token.of("ww1_nonsense"));
			assertFalse(token.toString().contains(token.toText().substring(4, 40)));
			Token unused = memory.export(broker, new ExportOptions());
			memory.revoke(broker);
			fails(Status.ACCESS, () -> HeldObject.open(broker, unused));
		}
	}

	@Test
	void holdsMapNothing() throws Exception {
		String name = name("held");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			memory.put(broker, name, PLAIN);
			try (HeldObject held = HeldObject.get(broker, name, Access.READ, NOW)) {
				assertEquals(memory.info().objectId(), held.info().objectId());
				Token token = held.export(new ExportOptions());
				try (HeldObject second = HeldObject.open(broker, token);
						Memory mapped = second.map(device, Access.READ)) {
					assertEquals(memory.bytes(), mapped.bytes());
					fails(Status.ACCESS, () -> second.map(device, Access.WRITE));
				}
			}
		}
	}

	@Test
	void deliveries() {
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			broker.revokeInFlight(NOW);
			Token token = memory.export(broker, new ExportOptions().delivery().uses(2));
			List<Delivery> list = broker.inFlight();
			assertEquals(1, list.size());
			assertEquals(2, list.get(0).uses());
			assertEquals(memory.info().objectId(), list.get(0).objectId());
			assertTrue(broker.revokeInFlight(token) > 0);
			assertEquals(0, broker.inFlight().size());
			Warpway.limitInFlight(1, 0);
			memory.export(broker, new ExportOptions().delivery().uses(1));
			fails(Status.LIMIT, () -> memory.export(broker,
					new ExportOptions().delivery().uses(1)));
			Warpway.limitInFlight(0, 0);
			assertEquals(1, broker.revokeInFlight(NOW));
		}
	}

	@Test
	void noBrokerThere() {
		fails(Status.NO_BROKER, () -> Broker.open("/tmp/there-is-no-broker/here.sock", false,
				Duration.ofSeconds(1)));
		fails(Status.INVALID, () -> Broker.open("relative", false, NOW));
	}

	@Test
	void theToolGetsWhatJavaHasPut() throws Exception {
		String name = name("tool");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096)) {
			memory.put(broker, name, PLAIN);
			Process process = new ProcessBuilder(System.getenv("WARPWAY"), "ls").start();
			String text = new String(process.getInputStream().readAllBytes());
			assertEquals(0, process.waitFor());
			assertTrue(text.contains(name), text);
		}
	}
}
