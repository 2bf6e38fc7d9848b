// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.Arrays;

/**
 * How an array lies in a memory: the type of its elements, the shape, and the bytes between
 * neighbours in each dimension. It owns nothing, and never changes. Views are other layouts over
 * the same bytes; what would need a copy fails with {@link Status#UNSUPPORTED}.
 */
public final class Layout {
	/** For {@link #slice}: a number that is left out, as in Python's [::2]. */
	public static final long NONE = Long.MIN_VALUE;
	/** The most dimensions. */
	public static final int DIMS_MAX = 16;

	/** What {@link Layout#overlap} answers. */
	public enum Overlap {
		/** They share no byte. */
		NONE,
		/** They share at least one byte. */
		SOME,
		/** Not decided: treat it as SOME. */
		MAY
	}

	private final byte[] array;
	private final DType dtype;
	private final long offset;
	private final long[] shape;
	private final long[] strides;

	Layout(byte[] array) {
		Struct struct = Struct.of(array).skip(4);
		this.array = array;
		dtype = DType.of(struct.u32());
		int ndim = struct.u32();
		offset = struct.skip(4).u64();
		long[] numbers = new long[2 * DIMS_MAX];
		Arrays.setAll(numbers, i -> struct.u64());
		shape = Arrays.copyOf(numbers, ndim);
		strides = Arrays.copyOfRange(numbers, DIMS_MAX, DIMS_MAX + ndim);
	}

	static byte[] array(Layout layout) {
		return layout == null ? null : layout.array;
	}

	byte[] array() {
		return array;
	}

	/**
	 * Describes an array in C order without gaps, at the start of its memory.
	 *
	 * @param dtype of its elements
	 * @param shape elements in each dimension
	 * @return the layout
	 */
	public static Layout of(DType dtype, long... shape) {
		return of(dtype, shape, null, 0);
	}

	/**
	 * Describes an array.
	 *
	 * @param dtype of its elements
	 * @param shape elements in each dimension
	 * @param strides bytes between neighbours in each; null: C order without gaps
	 * @param offset bytes from the start of the memory to the first element
	 * @return the layout
	 */
	public static Layout of(DType dtype, long[] shape, long[] strides, long offset) {
		if (shape.length > DIMS_MAX || strides != null && strides.length != shape.length) {
			throw new WarpwayException(Status.INVALID, "an array has at most " + DIMS_MAX
					+ " dimensions, and as many strides");
		}
		byte[] out = Struct.sized(Struct.ARRAY_BYTES).array();
		Status.check(Native.arraySet(dtype.array(), shape, strides, offset, out));
		return new Layout(out);
	}

	/**
	 * Tells the type of the elements.
	 *
	 * @return the type
	 */
	public DType dtype() {
		return dtype;
	}

	/**
	 * Tells where the first element is.
	 *
	 * @return bytes from the start of the memory to element [0, 0, ...]
	 */
	public long offset() {
		return offset;
	}

	/**
	 * Tells the shape.
	 *
	 * @return a copy: elements in each dimension
	 */
	public long[] shape() {
		return shape.clone();
	}

	/**
	 * Tells the strides.
	 *
	 * @return a copy: bytes between neighbours in each dimension
	 */
	public long[] strides() {
		return strides.clone();
	}

	private long[] sizes() {
		long[] out = new long[3];
		Status.check(Native.arrayBytes(array, out));
		return out;
	}

	/**
	 * Tells how many bytes the elements have.
	 *
	 * @return bytes, gaps not counted
	 */
	public long bytes() {
		return sizes()[0];
	}

	/**
	 * Tells how many elements there are.
	 *
	 * @return the product of the shape
	 */
	public long count() {
		return bytes() / dtype.bytes();
	}

	/**
	 * Tells where the array begins in its memory.
	 *
	 * @return the lowest byte of any element
	 */
	public long first() {
		return sizes()[1];
	}

	/**
	 * Tells where the array ends in its memory.
	 *
	 * @return the byte behind the highest one of any element
	 */
	public long end() {
		return sizes()[2];
	}

	/**
	 * Tells whether the elements lie in C order without gaps.
	 *
	 * @return whether they do
	 */
	public boolean isContiguous() {
		return Native.arrayIsContiguous(array, false);
	}

	/**
	 * Tells whether the elements lie in Fortran order without gaps.
	 *
	 * @return whether they do
	 */
	public boolean isFortran() {
		return Native.arrayIsContiguous(array, true);
	}

	/**
	 * Checks that every element lies inside a memory.
	 *
	 * @param memoryBytes of the memory
	 * @throws WarpwayException with {@link Status#MISMATCH} if one does not
	 */
	public void check(long memoryBytes) {
		Status.check(Native.arrayCheck(array, memoryBytes));
	}

	/**
	 * Tells whether this array and another one in the same memory share a byte.
	 *
	 * @param other the other one
	 * @return the answer
	 */
	public Overlap overlap(Layout other) {
		long[] out = new long[1];
		Status.check(Native.arrayOverlap(array, other.array, out));
		return Overlap.values()[(int) out[0]];
	}

	/**
	 * Tells whether two elements of this array share a byte.
	 *
	 * @return the answer
	 */
	public Overlap selfOverlap() {
		long[] out = new long[1];
		Status.check(Native.arrayOverlap(array, null, out));
		return Overlap.values()[(int) out[0]];
	}

	/**
	 * Makes the view array[start:stop:step] in one dimension, exactly as Python does.
	 *
	 * @param dim which dimension
	 * @param start first index, or {@link #NONE}
	 * @param stop the index that is not taken any more, or {@link #NONE}
	 * @param step not 0, or {@link #NONE}
	 * @return the view
	 */
	public Layout slice(int dim, long start, long stop, long step) {
		byte[] out = new byte[Struct.ARRAY_BYTES];
		Status.check(Native.arraySlice(array, dim, start, stop, step, out));
		return new Layout(out);
	}

	/**
	 * Makes the view at one index of a dimension, without that dimension.
	 *
	 * @param dim which dimension
	 * @param index negative ones count from the end
	 * @return the view
	 */
	public Layout index(int dim, long index) {
		byte[] out = new byte[Struct.ARRAY_BYTES];
		Status.check(Native.arrayIndex(array, dim, index, out));
		return new Layout(out);
	}

	/**
	 * Makes the view with the dimensions in another order.
	 *
	 * @param order for each dimension of the view which one of this array it is; none: the other
	 *     way round, which transposes
	 * @return the view
	 */
	public Layout permute(int... order) {
		if (order.length != 0 && order.length != shape.length) {
			throw new WarpwayException(Status.INVALID, order.length + " numbers are no order of "
					+ shape.length + " dimensions");
		}
		byte[] out = new byte[Struct.ARRAY_BYTES];
		Status.check(Native.arrayPermute(array, order.length == 0 ? null : order, out));
		return new Layout(out);
	}

	/**
	 * Makes the view in which the array is repeated until it has a shape.
	 *
	 * @param to the shape
	 * @return the view
	 */
	public Layout broadcast(long... to) {
		return shaped(true, to);
	}

	/**
	 * Makes the view of the same elements in another shape.
	 *
	 * @param to the shape; one number may be -1
	 * @return the view
	 */
	public Layout reshape(long... to) {
		return shaped(false, to);
	}

	private Layout shaped(boolean broadcast, long[] to) {
		if (to.length > DIMS_MAX) {
			throw new WarpwayException(Status.INVALID, "at most " + DIMS_MAX + " dimensions");
		}
		byte[] out = new byte[Struct.ARRAY_BYTES];
		Status.check(Native.arrayShape(array, broadcast, to, out));
		return new Layout(out);
	}

	/**
	 * Makes the view of the same bytes as elements of another type.
	 *
	 * @param as the type
	 * @return the view
	 */
	public Layout reinterpret(DType as) {
		byte[] out = new byte[Struct.ARRAY_BYTES];
		Status.check(Native.arrayReinterpret(array, as.array(), out));
		return new Layout(out);
	}

	@Override
	public boolean equals(Object other) {
		return other instanceof Layout && Arrays.equals(array, ((Layout) other).array);
	}

	@Override
	public int hashCode() {
		return Arrays.hashCode(array);
	}

	@Override
	public String toString() {
		return dtype + Arrays.toString(shape);
	}
}
