// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Broker;
import warpway.Device;
import warpway.ExportOptions;
import warpway.Memory;
import warpway.Pool;
import warpway.PoolInfo;
import warpway.PoolOptions;
import warpway.PutOptions;
import warpway.Status;
import warpway.Stream;
import warpway.Token;

/** Pools and their slices. */
class PoolTest {
	private static PoolOptions small() {
		return new PoolOptions().kind(viewable()).bytesMax(2 << 20).chunkBytes(2 << 20)
				.slicesMax(64);
	}

	@Test
	void slices() throws Exception {
		try (Device device = device(); Pool pool = Pool.create(device, small());
				Memory slice = pool.allocate(1000, 4096, NOW)) {
			assertTrue(slice.info().isSlice());
			assertEquals(0, slice.info().offset() % 4096);
			PoolInfo info = pool.info();
			assertEquals(1, info.sliceCount());
			assertEquals(64, info.slicesMax());
			assertTrue(info.bytesUsed() >= 1000 && info.bytesReserved() == 2 << 20);
			assertFalse(info.isImported());
			slice.close();
			assertEquals(2 << 20, pool.trim(0));
			assertEquals(0, pool.info().chunkCount());
		}
	}

	@Test
	void aFullPoolSaysSo() throws Exception {
		try (Device device = device(); Pool pool = Pool.create(device, small());
				Memory all = pool.allocate(2 << 20, NOW)) {
			fails(Status.LIMIT, () -> pool.allocate(1 << 20, NOW));
			fails(Status.TIMED_OUT, () -> pool.allocate(1 << 20, Duration.ofMillis(20)));
			fails(Status.INVALID, () -> pool.allocate(0, NOW));
			fails(Status.INVALID, () -> pool.allocate(256, 3, NOW));
			Runner waiter = new Runner(() -> pool.allocate(1 << 20, LONG).close()).awaitNative();
			all.close();
			assertNull(waiter.join());
		}
	}

	@Test
	void closeAfterAStream() throws Exception {
		try (Device device = device(); Pool pool = Pool.create(device, small());
				Stream stream = Stream.create(device);
				warpway.Timeline timeline = warpway.Timeline.create()) {
			Memory slice = pool.allocate(4096, NOW);
			timeline.awaitUnsubmitted(stream, 1);
			stream.fill(slice, 0, 1, 1, 4096);
			slice.closeAfter(stream);
			assertThrows(IllegalStateException.class, slice::info);
			assertEquals(1, pool.info().waitingCount());
			timeline.signal(1);
			assertTrue(stream.synchronize(LONG));
			assertEquals(0, pool.info().waitingCount());
			try (Memory plain = Memory.create(device, 4096)) {
				fails(Status.INVALID, () -> plain.closeAfter(stream));
				assertFalse(plain.isClosed());
			}
		}
	}

	@Test
	void anotherProcessGetsASlice() throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Pool pool = Pool.create(device, small());
				Memory slice = pool.allocate(4096, NOW)) {
			slice.view().putInt(0, 41);
			Token token = slice.export(broker, new ExportOptions().access(Access.WRITE));
			String whole = pool.export(broker, new ExportOptions().access(Access.WRITE)).toText();
			try (Peer peer = Peer.start(PoolTest.class, "opens", whole, token.toText())) {
				assertEquals("42", peer.receive());
				assertEquals(42, slice.view().getInt(0));
				assertEquals(1, pool.holders().size());
				assertEquals(peer.process.pid(), pool.holders().get(0).pid());
				peer.kill();
			}
		}
	}

	@Test
	void aSliceHasAName() throws Exception {
		String name = name("slice");
		try (Device device = device(); Broker broker = Broker.open();
				Pool pool = Pool.create(device, small());
				Memory slice = pool.allocate(4096, NOW)) {
			slice.view().putInt(0, 43);
			slice.put(broker, name, new PutOptions());
			try (Memory got = Memory.get(device, broker, name, Access.WRITE, NOW)) {
				assertTrue(got.info().isSlice());
				assertEquals(43, got.view().getInt(0));
			}
			assertTrue(broker.stat(name).isSlice());
			broker.remove(name);
		}
	}

	static void opens(Peer.Line line, String[] arguments) throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Pool pool = Pool.open(device, broker, Token.of(arguments[0]));
				Memory slice = Memory.open(device, broker, Token.of(arguments[1]), Access.WRITE)) {
			fails(Status.ACCESS, () -> pool.allocate(100, NOW));
			assertTrue(pool.info().isImported());
			slice.view().putInt(0, slice.view().getInt(0) + 1);
			line.send(slice.view().getInt(0));
			line.receive();
		}
	}
}
