// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import org.junit.jupiter.api.Test;
import warpway.DType;
import warpway.Layout;
import warpway.SmallFloats;
import warpway.Status;

/** Types of elements, and how arrays lie. */
class LayoutTest {
	private static final DType FLOAT32 = DType.FLOAT32;

	@Test
	void typesHaveNames() {
		for (String name : new String[] {"int8", "uint16", "float64", "bool", "complex64",
				"bfloat16", "float8_e4m3fn", "opaque16"}) {
			assertEquals(name, DType.of(name).toString());
		}
		assertEquals(new DType(2, 32, 1), FLOAT32);
		assertEquals(16, DType.of("float32x4").bytes());
		fails(Status.INVALID, () -> DType.of("float33"));
		fails(Status.INVALID, () -> new DType(99, 8, 1).toString());
	}

	@Test
	void describesAnArray() {
		Layout layout = Layout.of(FLOAT32, 2, 3);
		assertArrayEquals(new long[] {2, 3}, layout.shape());
		assertArrayEquals(new long[] {12, 4}, layout.strides());
		assertEquals(24, layout.bytes());
		assertEquals(6, layout.count());
		assertEquals(0, layout.first());
		assertEquals(24, layout.end());
		assertTrue(layout.isContiguous());
		assertFalse(layout.isFortran());
		assertEquals("float32[2, 3]", layout.toString());
		assertEquals(layout, Layout.of(FLOAT32, 2, 3));
		assertNotEquals(layout, Layout.of(FLOAT32, 3, 2));
	}

	@Test
	void views() {
		Layout layout = Layout.of(FLOAT32, 4, 6);
		assertArrayEquals(new long[] {2, 6}, layout.slice(0, 1, 3, 1).shape());
		assertEquals(24, layout.slice(0, 1, 3, 1).offset());
		assertArrayEquals(new long[] {-24, 4},
				layout.slice(0, Layout.NONE, Layout.NONE, -1).strides());
		assertArrayEquals(new long[] {6}, layout.index(0, -1).shape());
		assertArrayEquals(new long[] {6, 4}, layout.permute().shape());
		assertTrue(layout.permute().isFortran());
		assertArrayEquals(new long[] {6, 4}, layout.permute(1, 0).shape());
		assertArrayEquals(new long[] {3, 8}, layout.reshape(3, -1).shape());
		assertArrayEquals(new long[] {5, 4, 6}, layout.broadcast(5, 4, 6).shape());
		assertArrayEquals(new long[] {4, 3},
				layout.reinterpret(DType.FLOAT64).shape());
		assertEquals(Layout.Overlap.NONE,
				layout.slice(0, 0, 2, 1).overlap(layout.slice(0, 2, 4, 1)));
		assertEquals(Layout.Overlap.SOME, layout.overlap(layout));
		assertEquals(Layout.Overlap.NONE, layout.selfOverlap());
		assertEquals(Layout.Overlap.SOME, layout.broadcast(2, 4, 6).selfOverlap());
	}

	@Test
	void refusals() {
		Layout layout = Layout.of(FLOAT32, 4, 6);
		fails(Status.UNSUPPORTED, () -> layout.permute().reshape(24));
		fails(Status.INVALID, () -> layout.index(2, 0));
		fails(Status.INVALID, () -> layout.index(0, 4));
		fails(Status.INVALID, () -> layout.slice(0, 0, 1, 0));
		fails(Status.INVALID, () -> layout.permute(0));
		fails(Status.INVALID, () -> layout.permute(0, 0));
		fails(Status.INVALID, () -> Layout.of(FLOAT32, -1));
		fails(Status.INVALID, () -> Layout.of(FLOAT32, new long[17]));
		fails(Status.INVALID, () -> Layout.of(FLOAT32, new long[2], new long[1], 0));
		fails(Status.INVALID, () -> layout.reshape(new long[17]));
		fails(Status.OVERFLOW, () -> Layout.of(FLOAT32, Long.MAX_VALUE, 4));
		fails(Status.MISMATCH, () -> layout.check(95));
		layout.check(96);
	}

	@Test
	void smallFloats() {
		for (int bits = 0; bits < 0x10000; bits++) {
			short half = (short) bits;
			float value = SmallFloats.fromFloat16(half);
			float brain = SmallFloats.fromBfloat16(half);
			if (!Float.isNaN(value)) {
				assertEquals(half, SmallFloats.toFloat16(value));
			}
			if (!Float.isNaN(brain)) {
				assertEquals(half, SmallFloats.toBfloat16(brain));
			}
		}
		assertEquals(1.5f, SmallFloats.fromFloat16((short) 0x3e00));
		assertEquals(0x7c00, SmallFloats.toFloat16(1e6f));
		assertEquals((short) 0xfc00, SmallFloats.toFloat16(Float.NEGATIVE_INFINITY));
		assertEquals(0x3c00, SmallFloats.toFloat16(1 + 0x1p-11f));
		assertEquals(0x3c02, SmallFloats.toFloat16(1 + 3 * 0x1p-11f));
		assertTrue(Float.isNaN(SmallFloats.fromFloat16(SmallFloats.toFloat16(Float.NaN))));
		assertTrue(Float.isNaN(SmallFloats.fromBfloat16(SmallFloats.toBfloat16(Float.NaN))));
		assertEquals(0x3f80, SmallFloats.toBfloat16(1 + 0x1p-8f));
	}
}
