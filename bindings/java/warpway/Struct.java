// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The bytes of a struct of the library, written or read field by field: all fields have fixed
 * widths, so their order, with any padding, is all there is to know.
 */
final class Struct {
	/** The bytes of struct ww_array. */
	static final int ARRAY_BYTES = 280;
	/** The most bytes of a text for the library, its ending zero included: TEXT_BYTES. */
	private static final int TEXT_BYTES = 4096;

	private final ByteBuffer fields;

	private Struct(byte[] bytes) {
		fields = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
	}

	/** Plain bytes, without a struct_size. */
	static Struct bytes(int size) {
		return new Struct(new byte[size]);
	}

	/** A struct that grows: its struct_size is set, and the next field is the one behind it. */
	static Struct sized(int size) {
		Struct struct = bytes(size);
		struct.u32(size);
		return struct;
	}

	static Struct of(byte[] bytes) {
		return new Struct(bytes);
	}

	/** All bytes, which the library reads or fills. */
	byte[] array() {
		return fields.array();
	}

	Struct u32(int value) {
		fields.putInt(value);
		return this;
	}

	Struct u64(long value) {
		fields.putLong(value);
		return this;
	}

	/** A text of at most size - 1 bytes. */
	Struct text(String value, int size) {
		byte[] bytes = value == null ? new byte[0] : value.getBytes(StandardCharsets.UTF_8);
		if (bytes.length >= size) {
			throw new IllegalArgumentException("longer than " + (size - 1) + " bytes: " + value);
		}
		fields.put(bytes).position(fields.position() + size - bytes.length);
		return this;
	}

	int u32() {
		return fields.getInt();
	}

	long u64() {
		return fields.getLong();
	}

	boolean flag() {
		return u32() != 0;
	}

	String text(int size) {
		byte[] bytes = raw(size);
		int length = 0;
		while (length < size && bytes[length] != 0) {
			length++;
		}
		return new String(bytes, 0, length, StandardCharsets.UTF_8);
	}

	byte[] raw(int size) {
		byte[] bytes = new byte[size];
		fields.get(bytes);
		return bytes;
	}

	Struct skip(int size) {
		fields.position(fields.position() + size);
		return this;
	}

	/** The array that stands here; null: there is none. */
	Layout layout(boolean isThere) {
		byte[] bytes = raw(ARRAY_BYTES);
		return isThere ? new Layout(bytes) : null;
	}

	/** A text for the library, which may be left out: null stays null. */
	static byte[] optional(String value) {
		return value == null ? null : text(value);
	}

	/** A text for the library. */
	static byte[] text(String value) {
		byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
		if (value.indexOf(0) >= 0 || bytes.length >= TEXT_BYTES) {
			throw new IllegalArgumentException("a text with a zero byte, or of more than "
					+ (TEXT_BYTES - 1) + " bytes");
		}
		return Arrays.copyOf(bytes, bytes.length + 1);
	}

	/** The entry of an enum whose codes are 1, 2, 3, ...; null: none has this code. */
	static <E> E entry(E[] values, int code) {
		return code >= 1 && code <= values.length ? values[code - 1] : null;
	}

	/** The code of such an entry; 0 for null. */
	static int code(Enum<?> entry) {
		return entry == null ? 0 : entry.ordinal() + 1;
	}

	/** Refuses what cannot be a handle of CUDA. */
	static void checkHandle(byte[] handle) {
		if (handle.length != 64) {
			throw new WarpwayException(Status.INVALID, "a handle of CUDA has 64 bytes, and not "
					+ handle.length);
		}
	}

	/** What {@link #hex(byte[])} has written. */
	static byte[] id(String text) {
		byte[] bytes = new byte[16];
		if (!text.matches("[0-9a-f]{32}")) {
			throw new IllegalArgumentException("an object id is 32 hexadecimal digits, such as ObjectInfo.objectId(), not '"
					+ text + "'");
		}
		for (int i = 0; i < bytes.length; i++) {
			bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
		}
		return bytes;
	}

	static String hex(byte[] bytes) {
		StringBuilder text = new StringBuilder();
		for (byte value : bytes) {
			text.append(String.format("%02x", value));
		}
		return text.toString();
	}
}
