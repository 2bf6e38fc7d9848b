// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.Locale;
import java.util.Map;

/**
 * The type of the elements of an array. The table in docs/tutorial/java.md says which buffer of
 * Java shows which type.
 *
 * @param code what an element is, as WW_DTYPE_... of warpway/array.h, and as DLPack counts
 * @param bits of one lane
 * @param lanes of one element: 1 but for vectors and for types of less than a byte
 */
public record DType(int code, int bits, int lanes) {
	static final int BYTES = 4;
	private static final int NAME_BYTES = 40;

	/** The codes whose lanes Java has a type for; all others are bytes. */
	private static final int INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4, COMPLEX = 5;

	private static final Map<Integer, String> INTEGERS =
			Map.of(8, "Byte", 16, "Short", 32, "Int", 64, "Long");

	/** Signed integers of 8 bits. */
	public static final DType INT8 = of("int8");
	/** Signed integers of 16 bits. */
	public static final DType INT16 = of("int16");
	/** Signed integers of 32 bits. */
	public static final DType INT32 = of("int32");
	/** Signed integers of 64 bits. */
	public static final DType INT64 = of("int64");
	/** Unsigned integers of 8 bits. */
	public static final DType UINT8 = of("uint8");
	/** Floating point of 32 bits. */
	public static final DType FLOAT32 = of("float32");
	/** Floating point of 64 bits. */
	public static final DType FLOAT64 = of("float64");

	/**
	 * Finds a type by its name.
	 *
	 * @param name as NumPy, ml_dtypes and PyTorch have it: "float32", "bfloat16", "float8_e4m3fn"
	 * @return the type
	 */
	public static DType of(String name) {
		byte[] bytes = new byte[BYTES];
		Status.check(Native.dtypeParse(Struct.text(name), bytes));
		return of(bytes);
	}

	private static DType of(byte[] bytes) {
		return of(Struct.of(bytes).u32());
	}

	/** A struct ww_dtype as one number, in the order of the machine, which is little endian. */
	static DType of(int packed) {
		return new DType(packed & 0xff, packed >> 8 & 0xff, packed >>> 16);
	}

	int packed() {
		return code & 0xff | (bits & 0xff) << 8 | lanes << 16;
	}

	byte[] array() {
		return Struct.bytes(BYTES).u32(packed()).array();
	}

	/**
	 * Tells the size of an element.
	 *
	 * @return bytes
	 */
	public int bytes() {
		return bits * lanes / 8;
	}

	/** The bytes of what a buffer of Java counts: a lane, half of a complex number. */
	int javaBytes() {
		return switch (javaType()) {
			case "Short" -> 2;
			case "Int", "Float" -> 4;
			case "Long", "Double" -> 8;
			default -> 1;
		};
	}

	/** Which buffer shows it: the word before "Buffer". */
	String javaType() {
		int real = code == COMPLEX ? bits / 2 : bits;
		if (code == INT || code == UINT) {
			return INTEGERS.getOrDefault(bits, "Byte");
		}
		if (code == FLOAT || code == COMPLEX) {
			return real == 64 ? "Double" : real == 32 ? "Float" : real == 16 ? "Short" : "Byte";
		}
		return code == BFLOAT && bits == 16 ? "Short" : "Byte";
	}

	boolean isJava(String type) {
		return javaType().equals(type);
	}

	String javaAdvice() {
		String method = javaType().toLowerCase(Locale.ROOT) + "s()";
		return "use " + method + (javaType().equals("Byte") ? "" : ", or bytes()");
	}

	/** The name that {@link #of} reads. */
	@Override
	public String toString() {
		byte[] name = new byte[NAME_BYTES];
		Status.check(Native.dtypeName(array(), name));
		return Struct.of(name).text(NAME_BYTES);
	}
}
