// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Broker;
import warpway.DType;
import warpway.Device;
import warpway.ExportOptions;
import warpway.Layout;
import warpway.Memory;
import warpway.MemoryKind;
import warpway.PutOptions;
import warpway.Status;
import warpway.Token;

/** Memories: bytes, views of each type, read-only ones, large ones. */
class MemoryTest {
	private static final long GIB = 1L << 30;

	@Test
	void newMemoryIsZero() throws Exception {
		try (Device device = device(); Memory memory = Memory.create(device, 100)) {
			assertTrue(memory.bytes() >= 100);
			assertEquals(Access.WRITE, memory.info().access());
			ByteBuffer bytes = ByteBuffer.allocate(100);
			assertTrue(memory.read(0, bytes, LONG));
			assertEquals(100, bytes.position());
			assertArrayEquals(new byte[100], bytes.array());
		}
	}

	@Test
	void writesAndReadsHeapAndDirectBuffers() throws Exception {
		try (Device device = device(); Memory memory = Memory.create(device, 4096)) {
			for (boolean isDirect : new boolean[] {false, true}) {
				ByteBuffer from = isDirect ? ByteBuffer.allocateDirect(16)
						: ByteBuffer.allocate(16);
				from.putInt(4, 0x01020304).position(4).limit(8);
				assertTrue(memory.write(10, from, LONG));
				assertEquals(8, from.position());
				ByteBuffer to = isDirect ? ByteBuffer.allocateDirect(16) : ByteBuffer.allocate(16);
				to.position(2).limit(6);
				assertTrue(memory.read(10, to, LONG));
				assertEquals(6, to.position());
				assertEquals(0x01020304, to.getInt(2));
			}
			ByteBuffer text = ByteBuffer.wrap("text".getBytes()).asReadOnlyBuffer();
			assertTrue(memory.write(0, text, LONG));
			assertThrows(ReadOnlyBufferException.class, () -> memory.read(0, text, LONG));
			fails(Status.INVALID, () -> memory.read(memory.bytes(), ByteBuffer.allocate(1), LONG));
			fails(Status.INVALID, () -> memory.write(memory.bytes() - 1, ByteBuffer.allocate(2),
					LONG));
			assertThrows(WarpwayOrIndex.class, () -> orIndex(() ->
					memory.read(-1, ByteBuffer.allocate(1), LONG)));
		}
	}

	/** One of the two exceptions that a wrong offset may throw. */
	private static final class WarpwayOrIndex extends Exception {
		private static final long serialVersionUID = 1;
	}

	private static void orIndex(Call call) throws Exception {
		try {
			call.run();
		} catch (warpway.WarpwayException | IndexOutOfBoundsException exception) {
			throw new WarpwayOrIndex();
		}
	}

	@Test
	void viewsOfEachType() {
		try (Device device = device();
				Memory memory = Memory.create(device, 4096, viewable())) {
			memory.bytes(Layout.of(DType.UINT8, 8)).put(0, (byte) 200);
			assertEquals(200, Byte.toUnsignedInt(memory.view().get(0)));
			memory.shorts(Layout.of(DType.of("bfloat16"), 4)).put(1, (short) 0x3f80);
			memory.ints(Layout.of(DType.INT32, 4)).put(1, -5);
			assertEquals(-5, memory.ints(Layout.of(DType.of("uint32"), 4)).get(1));
			memory.longs(Layout.of(DType.of("uint64"), 4)).put(1, -1);
			assertEquals("18446744073709551615",
					Long.toUnsignedString(memory.longs(Layout.of(DType.INT64, 4)).get(1)));
			memory.floats(Layout.of(DType.of("complex64"), 2)).put(3, 2.5f);
			assertEquals(4, memory.floats(Layout.of(DType.of("complex64"), 2)).remaining());
			memory.doubles(Layout.of(DType.FLOAT64, 4)).put(3, 0.1);
			assertEquals(0.1, memory.doubles(Layout.of(DType.of("complex128"), 2)).get(3));
			assertEquals(16, memory.floats(Layout.of(DType.of("float32x4"), 4)).remaining());
			for (String name : new String[] {"bool", "float8_e4m3fn", "float8_e5m2", "opaque8"}) {
				assertEquals(3, memory.bytes(Layout.of(DType.of(name), 3)).remaining());
			}
			assertEquals(6, memory.bytes(Layout.of(DType.of("float16"), 3)).remaining());
			assertEquals(3, memory.shorts(Layout.of(DType.of("float16"), 3)).remaining());
		}
	}

	@Test
	void viewsAreInTheOrderOfTheMachine() {
		try (Device device = device();
				Memory memory = Memory.create(device, 4096, viewable())) {
			assertEquals(ByteOrder.nativeOrder(), memory.view().order());
			memory.view().putInt(0, 1);
			assertEquals(1, memory.ints(Layout.of(DType.INT32, 1)).get(0));
		}
	}

	@Test
	void viewsOfWrongTypesAreRefused() {
		try (Device device = device();
				Memory memory = Memory.create(device, 4096, viewable())) {
			String message = fails(Status.MISMATCH,
					() -> memory.floats(Layout.of(DType.of("uint32"), 4))).getMessage();
			assertTrue(message.contains("ints()"), message);
			fails(Status.MISMATCH, () -> memory.doubles(Layout.of(DType.FLOAT32, 4)));
			fails(Status.MISMATCH, () -> memory.shorts(Layout.of(DType.UINT8, 4)));
			fails(Status.MISMATCH, () -> memory.longs(Layout.of(DType.of("float8_e4m3fn"), 8)));
			fails(Status.UNSUPPORTED, () -> memory.ints(Layout.of(DType.INT32, 4, 4).permute()));
			fails(Status.MISMATCH,
					() -> memory.ints(Layout.of(DType.INT32, memory.bytes() / 4 + 1)));
			assertThrows(IndexOutOfBoundsException.class, () -> memory.view(0, memory.bytes() + 1));
			assertThrows(IndexOutOfBoundsException.class, () -> memory.view(-1, 1));
			assertThrows(IndexOutOfBoundsException.class, () -> memory.view(8, -1));
			assertThrows(IndexOutOfBoundsException.class,
					() -> memory.view(Long.MAX_VALUE, Long.MAX_VALUE));
		}
	}

	@Test
	void memoryOfAGpuHasNoViews() {
		Assumptions.assumeFalse(isHost(), "memory of the host device has views");
		try (Device device = device(); Memory memory = Memory.create(device, 4096)) {
			assertTrue(fails(Status.UNSUPPORTED, memory::view).getMessage().contains("read()"));
		}
	}

	@Test
	void readOnlyWhereReadWasGranted() throws Exception {
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096, viewable())) {
			memory.view().put(0, (byte) 7);
			Token token = memory.export(broker, new ExportOptions());
			try (Memory reader = Memory.open(device, broker, token, Access.READ)) {
				ByteBuffer view = reader.view();
				assertTrue(view.isReadOnly());
				assertEquals(7, view.get(0));
				assertThrows(ReadOnlyBufferException.class, () -> view.put(0, (byte) 1));
				assertTrue(reader.floats(Layout.of(DType.FLOAT32, 1)).isReadOnly());
				fails(Status.ACCESS, () -> reader.write(0, ByteBuffer.allocate(1), LONG));
			}
			fails(Status.ACCESS, () -> Memory.open(device, broker, token, Access.WRITE));
		}
	}

	@Test
	void largeMemoryHasSeveralBuffers() {
		Assumptions.assumeTrue(isHost(), "the same on each device");
		try (Device device = device()) {
			Assumptions.assumeTrue(device.freeBytes() > 4 * GIB, "less than 4 GiB are free");
			try (Memory memory = Memory.create(device, GIB + 100, MemoryKind.HOST)) {
				List<ByteBuffer> views = memory.views();
				assertEquals(2, views.size());
				assertEquals(GIB, views.get(0).capacity());
				assertEquals(memory.bytes() - GIB, views.get(1).capacity());
				views.get(1).putInt(0, 42);
				assertEquals(42, memory.view(GIB, 8).getInt(0));
				views.get(0).put((int) GIB - 1, (byte) 9);
				assertEquals(9, memory.view(GIB - 1, 2).get(0));
				assertTrue(fails(Status.LIMIT, memory::view).getMessage().contains("views()"));
				fails(Status.LIMIT, () -> memory.bytes(Layout.of(DType.UINT8, GIB + 1)));
			}
		}
	}

	@Test
	void layoutTravelsWithTheMemory() throws Exception {
		Layout layout = Layout.of(DType.FLOAT32, 2, 3);
		String name = name("layout");
		try (Device device = device(); Broker broker = Broker.open();
				Memory memory = Memory.create(device, 4096, viewable())) {
			memory.floats(layout).put(5, 1.5f);
			assertNull(memory.layout());
			memory.put(broker, name, new PutOptions().layout(layout));
			try (Memory got = Memory.get(device, broker, name, Access.READ, NOW)) {
				assertEquals(layout, got.layout());
				assertEquals(1.5f, got.floats(got.layout()).get(5));
			}
			Token token = memory.export(broker, new ExportOptions().span(8, 16)
					.layout(Layout.of(DType.FLOAT32, 4)));
			try (Memory got = Memory.open(device, broker, token, Access.READ)) {
				assertEquals(1.5f, got.floats(got.layout()).get(3));
			}
			assertEquals(layout, memory.layout());
		}
	}

	@Test
	void handlesOfOtherProgramsNeedAGpu() {
		try (Device device = device()) {
			assertThrows(warpway.WarpwayException.class,
					() -> Memory.openHandle(device, new byte[64], Access.READ));
			fails(Status.INVALID, () -> Memory.openHandle(device, new byte[63], Access.READ));
		}
	}
}
