// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import warpway.Backend;
import warpway.Device;
import warpway.DeviceInfo;
import warpway.Memory;
import warpway.Status;
import warpway.Stream;
import warpway.Warpway;

/** Devices and streams. */
class DeviceTest {
	@Test
	void infoNamesTheDevice() {
		try (Device device = device()) {
			DeviceInfo info = device.info();
			assertEquals(deviceName(), info.selector());
			assertEquals(isHost() ? Backend.HOST : Backend.CUDA, info.backend());
			assertTrue(info.granularity() > 0 && info.bytesTotal() > 0);
			assertEquals(32, info.uuid().length());
			assertTrue(device.freeBytes() > 0);
		}
	}

	@Test
	void countsDevices() {
		assertEquals(1, Device.count(Backend.HOST));
		if (!isHost()) {
			assertTrue(Device.count(Backend.CUDA) > 0);
		}
	}

	@Test
	void versionIsThatOfTheBuild() {
		assertEquals(System.getenv("WW_TEST_VERSION"), Warpway.version());
	}

	@Test
	void noSuchDevice() {
		fails(Status.INVALID, () -> Device.open("nonsense"));
		assertThrows(IllegalArgumentException.class, () -> Device.open("ho\0st"));
		assertThrows(IllegalArgumentException.class, () -> Device.open("x".repeat(5000)));
	}

	@Test
	void streamCopiesAndFills() throws Exception {
		try (Device device = device();
				Memory from = Memory.create(device, 4096);
				Memory to = Memory.create(device, 4096);
				Stream stream = Stream.create(device)) {
			stream.fill(from, 0, 0x01020304, 4, 1024);
			stream.copy(to, 8, from, 0, 16);
			assertTrue(stream.synchronize(LONG));
			assertTrue(stream.query());
			ByteBuffer bytes = ByteBuffer.allocate(32);
			assertTrue(to.read(0, bytes, LONG));
			assertEquals(0, bytes.get(7));
			assertEquals(4, bytes.get(8));
			assertEquals(1, bytes.get(23));
			assertEquals(0, bytes.get(24));
			stream.recover();
		}
	}

	@Test
	void streamMayOutliveWhatItWasGiven() throws Exception {
		try (Device device = device(); Stream stream = Stream.create(device)) {
			for (int i = 0; i < 20; i++) {
				Memory memory = Memory.create(device, 4096);
				stream.fill(memory, 0, i, 1, 4096);
				memory.close();
			}
			assertTrue(stream.synchronize(LONG));
		}
	}

	@Test
	void streamRefusesSpansOutside() {
		try (Device device = device(); Memory memory = Memory.create(device, 4096);
				Stream stream = Stream.create(device)) {
			long end = memory.bytes();
			assertThrows(IndexOutOfBoundsException.class,
					() -> stream.fill(memory, end - 1, 0, 1, 2));
			assertThrows(IndexOutOfBoundsException.class,
					() -> stream.fill(memory, 0, 0, 4, Long.MAX_VALUE / 2));
			assertThrows(IndexOutOfBoundsException.class,
					() -> stream.fill(memory, -1, 0, 1, 1));
			assertThrows(IndexOutOfBoundsException.class,
					() -> stream.copy(memory, Long.MAX_VALUE, memory, 0, 1));
			assertThrows(IndexOutOfBoundsException.class,
					() -> stream.copy(memory, 0, memory, end, 1));
			fails(Status.INVALID, () -> stream.fill(memory, 0, 0, 3, 1));
		}
	}
}
