// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import warpway.Access;
import warpway.Broker;
import warpway.DType;
import warpway.Device;
import warpway.ExportOptions;
import warpway.Layout;
import warpway.Memory;
import warpway.PutOptions;
import warpway.Service;
import warpway.ServiceOptions;
import warpway.Status;

/** Messages of the library name what there is in Java. */
class NamesTest {
	private static Object call(String method, Class<?>[] types, Object... arguments)
			throws Exception {
		Method found = Class.forName("warpway.JavaNames").getDeclaredMethod(method, types);
		found.setAccessible(true);
		return found.invoke(null, arguments);
	}

	@Test
	void eachNameIsPublic() throws Exception {
		Map<?, ?> table = (Map<?, ?>) call("table", new Class<?>[0]);
		assertTrue(table.size() > 30);
		for (Object value : table.values()) {
			String[] parts = value.toString().split("\\.");
			Class<?> type = Class.forName("warpway." + parts[0]);
			assertTrue(Stream.of(type.getMethods(), type.getFields()).flatMap(Arrays::stream)
					.anyMatch(member -> member.getName().equals(parts[1])), value.toString());
		}
	}

	@Test
	void namesAreTranslatedAsAWhole() throws Exception {
		Class<?>[] text = {String.class};
		assertEquals("use Memory.open()", call("in", text, "use ww_memory_import()"));
		assertEquals("ExportOptions.escrow is 1", call("in", text,
				"ww_export_params.escrow_ns is 1"));
		assertEquals("ww_memory_import_fd() and $1", call("in", text,
				"ww_memory_import_fd() and $1"));
		assertEquals("use Access.READ, not WW_ACCESS_", call("in", text,
				"use WW_ACCESS_READ, not WW_ACCESS_"));
	}

	@Test
	void messagesHaveThem() {
		Layout layout = Layout.of(DType.FLOAT32, 4, 6);
		String slice = fails(Status.INVALID, () -> layout.slice(0, 0, 1, 0)).getMessage();
		assertTrue(slice.endsWith("for one index use Layout.index"), slice);
		try (Device device = device(); Broker broker = Broker.open();
				Service service = Service.create(device, broker, null, new ServiceOptions())) {
			String batch = fails(Status.INVALID, () -> service.offerBatch("x", "", false, NOW, 257,
					calls -> { })).getMessage();
			assertTrue(batch.startsWith("Service.offerBatch is 257"), batch);
			try (Memory memory = Memory.create(device, 1)) {
				memory.put(broker, "names/sealed", new PutOptions());
				String sealed = fails(Status.ACCESS, () -> Memory.get(device, broker,
						"names/sealed", Access.WRITE, Duration.ZERO)).getMessage();
				assertTrue(sealed.contains("use Access.READ"), sealed);
			}
			service.export(new ExportOptions());
		}
	}
}
