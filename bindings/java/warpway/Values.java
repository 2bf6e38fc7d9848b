// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Arguments and results of calls: objects of Java, and what value.h says of them. */
final class Values implements AutoCloseable {
	private static final int KIND = 0, DTYPE = 1, SCALAR = 2, OBJECT = 3, NUMBERS = 4;
	private static final int BYTES = 0, TOKEN = 1, ARRAY = 2, PIECES = 3;
	private static final int BOOL_CODE = 6, UINT_CODE = 1, FLOAT_CODE = 2, BFLOAT_CODE = 4;

	final long[] numbers;
	final byte[][] pieces;
	/** Memories and timelines that are used until the call has taken them. */
	private final Deque<NativeObject> used = new ArrayDeque<>();

	/** Room for one value that the library gives. */
	Values() {
		numbers = new long[NUMBERS];
		pieces = new byte[PIECES][];
	}

	/** The values of a call, as a signature wants them. */
	Values(List<Signature.Item> items, Object... values) {
		if (values.length > items.size()) {
			throw new WarpwayException(Status.MISMATCH, values.length + " values, where the "
					+ "signature has " + items.size());
		}
		numbers = new long[NUMBERS * values.length];
		pieces = new byte[PIECES * values.length][];
		try {
			for (int i = 0; i < values.length; i++) {
				set(i, items.get(i), values[i]);
			}
		} catch (RuntimeException exception) {
			close();
			throw exception;
		}
	}

	private void set(int i, Signature.Item item, Object value) {
		numbers[NUMBERS * i + KIND] = value == null ? Signature.NONE : item.kind();
		if (value == null) {
			return;
		}
		if (item.kind() == Signature.SCALAR && (value instanceof Number
				|| value instanceof Boolean)) {
			numbers[NUMBERS * i + DTYPE] = Integer.toUnsignedLong(item.dtype().packed());
			numbers[NUMBERS * i + SCALAR] = bits(item.dtype(), value);
		} else if (item.kind() == Signature.BYTES && value instanceof byte[]) {
			pieces[PIECES * i + BYTES] = (byte[]) value;
		} else if (item.kind() == Signature.TIMELINE && value instanceof Timeline) {
			numbers[NUMBERS * i + OBJECT] = use((Timeline) value);
		} else if (item.kind() == Signature.TIMELINE && value instanceof Token) {
			pieces[PIECES * i + TOKEN] = ((Token) value).array();
		} else if (item.kind() == Signature.ARRAY) {
			setArray(i, item, value);
		} else {
			throw mismatch(item, value);
		}
	}

	private void setArray(int i, Signature.Item item, Object object) {
		ArrayValue value = ArrayValue.of(object);
		if (value == null) {
			throw mismatch(item, object);
		}
		pieces[PIECES * i + ARRAY] = Layout.array(value.layout());
		if (value.token() != null) {
			pieces[PIECES * i + TOKEN] = value.token().array();
		} else {
			numbers[NUMBERS * i + OBJECT] = use(value.memory());
		}
	}

	private static WarpwayException mismatch(Signature.Item item, Object value) {
		String text = "'" + item.name() + "' is " + item.type() + ", and the value is of class "
				+ value.getClass().getName();
		return new WarpwayException(Status.MISMATCH, item.kind() == Signature.ARRAY
				? text + "; pass a Memory or a Token with a layout, or an ArrayValue" : text);
	}

	private long use(Handle handle) {
		NativeObject object = handle.use();
		used.push(object);
		return object.address;
	}

	/** The bits of a scalar; the library checks that the number fits. */
	private static long bits(DType dtype, Object value) {
		String text = value.toString();
		if (dtype.code() == BOOL_CODE && value instanceof Number) {
			text = ((Number) value).longValue() == 0 ? "false" : "true";
		} else if (value instanceof Float || value instanceof Double) {
			double number = ((Number) value).doubleValue();
			boolean isFloat = dtype.code() == FLOAT_CODE || dtype.code() == BFLOAT_CODE;
			text = Double.isNaN(number) ? "nan"
					: Double.isInfinite(number) ? number > 0 ? "inf" : "-inf"
					: !isFloat && number == Math.rint(number)
					? new java.math.BigDecimal(number).toBigInteger().toString()
					: Double.toString(number).toLowerCase();
		}
		long[] out = new long[1];
		Status.check(Native.scalarParse(dtype.array(), Struct.text(text), out));
		return out[0];
	}

	/** The value that the library gave: a Number, Boolean, byte[], ArrayValue; null for none. */
	Object get() {
		DType dtype = DType.of((int) numbers[DTYPE]);
		return switch ((int) numbers[KIND]) {
			case Signature.SCALAR -> number(dtype, numbers[SCALAR]);
			case Signature.BYTES -> pieces[BYTES];
			case Signature.ARRAY -> new ArrayValue(
					numbers[OBJECT] == 0 ? null : new Memory(numbers[OBJECT], layout()),
					pieces[TOKEN] == null ? null : new Token(pieces[TOKEN]), layout());
			case Signature.TIMELINE -> new Timeline(numbers[OBJECT]);
			default -> null;
		};
	}

	private Layout layout() {
		return pieces[ARRAY] == null ? null : new Layout(pieces[ARRAY]);
	}

	/** A boxed number: Long, or BigInteger for what does not fit; Double; Boolean. */
	private static Object number(DType dtype, long bits) {
		if (dtype.code() == BOOL_CODE) {
			return bits != 0;
		}
		if (dtype.code() == FLOAT_CODE || dtype.code() == BFLOAT_CODE) {
			return dtype.bits() == 64 ? Double.longBitsToDouble(bits)
					: dtype.bits() == 32 ? (double) Float.intBitsToFloat((int) bits)
					: dtype.code() == BFLOAT_CODE ? (double) SmallFloats.fromBfloat16((short) bits)
					: (double) SmallFloats.fromFloat16((short) bits);
		}
		if (dtype.code() == UINT_CODE && bits < 0) {
			return new BigInteger(Long.toUnsignedString(bits));
		}
		int above = 64 - dtype.bits();
		return dtype.code() == UINT_CODE ? bits : bits << above >> above;
	}

	@Override
	public void close() {
		used.forEach(NativeObject::close);
	}
}
