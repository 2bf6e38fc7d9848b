// SPDX-License-Identifier: Apache-2.0
package warpway;

/** Conversions of the floating point types of 16 bits, which Java has no type for. */
public final class SmallFloats {
	private SmallFloats() {
	}

	/**
	 * Converts a bfloat16. Every value is exact.
	 *
	 * @param bits of the bfloat16
	 * @return the same value
	 */
	public static float fromBfloat16(short bits) {
		return Float.intBitsToFloat(bits << 16);
	}

	/**
	 * Rounds to the nearest bfloat16, ties to even.
	 *
	 * @param value any
	 * @return the bits of the bfloat16
	 */
	public static short toBfloat16(float value) {
		int bits = Float.floatToRawIntBits(value);
		if (Float.isNaN(value)) {
			return (short) (bits >>> 16 | 0x40);
		}
		return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
	}

	/**
	 * Converts a float16. Every value is exact.
	 *
	 * @param bits of the float16
	 * @return the same value
	 */
	public static float fromFloat16(short bits) {
		int exponent = bits >> 10 & 0x1f;
		int fraction = bits & 0x3ff;
		float value = exponent == 0 ? fraction * 0x1p-24f
				: exponent == 0x1f ? fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN
				: Float.intBitsToFloat(exponent + 112 << 23 | fraction << 13);
		return bits < 0 ? -value : value;
	}

	/**
	 * Rounds to the nearest float16, ties to even; what is too large becomes infinity.
	 *
	 * @param value any
	 * @return the bits of the float16
	 */
	public static short toFloat16(float value) {
		int sign = Float.floatToRawIntBits(value) >>> 16 & 0x8000;
		float size = Math.abs(value);
		if (Float.isNaN(value)) {
			return (short) (sign | 0x7e00);
		}
		if (size >= 65520) {
			return (short) (sign | 0x7c00);
		}
		if (size < 0x1p-14f) {
			return (short) (sign | (int) Math.rint(size * 0x1p24));
		}
		int bits = Float.floatToRawIntBits(size) - (112 << 23);
		return (short) (sign | bits + 0xfff + (bits >>> 13 & 1) >>> 13);
	}
}
