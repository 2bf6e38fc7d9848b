// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A span of device or host memory that processes share: by a name, or by a token.
 *
 * <p>Where the CPU reaches the memory, views are buffers over its bytes, without a copy. A view
 * stays valid after {@link #close}: it keeps the mapping until the garbage collector finds that
 * neither the view nor a buffer made of it can be reached. {@link Warpway#openViews} counts them.
 * Memory that another process writes at the same time shows old and new bytes mixed: processes take
 * turns by a {@link Timeline}, a {@link Barrier} or a {@link Channel}.
 */
public final class Memory extends Handle {
	private final MemoryInfo info;
	private volatile Layout layout;

	/** Owns the reference, also on failure. */
	Memory(long address, Layout layout) {
		super(Kind.MEMORY, address);
		Struct struct = Struct.sized(MemoryInfo.BYTES);
		int status = Native.memoryInfo(address, struct.array());
		if (status != 0) {
			close();
			throw Status.failure(status);
		}
		info = new MemoryInfo(struct);
		this.layout = layout;
	}

	/**
	 * Makes memory of a device, of its own kind. All bytes are zero.
	 *
	 * @param device where it is to be
	 * @param bytes how many, rounded up to the granularity of the device
	 * @return the memory
	 */
	public static Memory create(Device device, long bytes) {
		return create(device, bytes, MemoryKind.VMM);
	}

	/**
	 * Makes memory of a kind. All bytes are zero.
	 *
	 * @param device where it is to be
	 * @param bytes how many, rounded up
	 * @param kind {@link MemoryKind#VMM}, or {@link MemoryKind#HOST}, which the CPU reaches, too
	 * @return the memory
	 */
	public static Memory create(Device device, long bytes, MemoryKind kind) {
		if (bytes < 0) {
			throw new WarpwayException(Status.INVALID, "cannot make a memory of " + bytes
					+ " bytes");
		}
		long[] out = new long[1];
		try (NativeObject of = device.use()) {
			Status.check(Native.memoryCreate(of.address, Struct.code(kind), bytes, out));
		}
		return new Memory(out[0], null);
	}

	/**
	 * Maps the memory of a name.
	 *
	 * @param device which is to reach it
	 * @param broker where the name is
	 * @param name such as "lab/weights"
	 * @param access what is wanted
	 * @param timeout how long to wait for the name, and until the memory is ready
	 * @return the memory, with the layout that was put with it
	 * @throws InterruptedException if the thread was interrupted
	 * @throws WarpwayException with {@link Status#TIMED_OUT} if it was not ready in time
	 */
	public static Memory get(Device device, Broker broker, String name, Access access,
			Duration timeout) throws InterruptedException {
		long[] out = new long[1];
		Struct object = Struct.sized(ObjectInfo.BYTES);
		byte[] params = Struct.sized(24).u32(Struct.code(access)).array();
		byte[] text = Struct.text(name);
		try (NativeObject of = device.use()) {
			int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
					Native.memoryGet(of.address, broker.object.address, text, params, timeoutNs,
							cancel, out, object.array()));
			Broker.checkFound(status, name);
		}
		return new Memory(out[0], new ObjectInfo(object).layout());
	}

	/**
	 * Maps the memory that a token names.
	 *
	 * @param device which is to reach it
	 * @param broker that the token is from
	 * @param token which may come from anywhere
	 * @param access what is wanted
	 * @return the memory: the span of the token, with its layout
	 */
	public static Memory open(Device device, Broker broker, Token token, Access access) {
		long[] out = new long[1];
		Struct object = Struct.sized(ObjectInfo.BYTES);
		byte[] params = importParams(access);
		try (NativeObject of = device.use(); NativeObject from = broker.use()) {
			Status.checkOk(Native.memoryImport(of.address, from.address, token.array(), params, out,
					object.array()));
		}
		return new Memory(out[0], new ObjectInfo(object).layout());
	}

	/**
	 * Maps what a legacy handle of a CUDA program names. Such a handle has no rights and no
	 * lifetime: between programs that use Warpway, use tokens.
	 *
	 * @param device a GPU
	 * @param handle the 64 bytes of a cudaIpcMemHandle_t
	 * @param access what the copies of this package may do
	 * @return the whole allocation
	 */
	public static Memory openHandle(Device device, byte[] handle, Access access) {
		Struct.checkHandle(handle);
		long[] out = new long[1];
		byte[] params = importParams(access);
		try (NativeObject of = device.use()) {
			Status.checkOk(Native.memoryHandleOpen(of.address, handle, params, out));
		}
		return new Memory(out[0], null);
	}

	static byte[] importParams(Access access) {
		return Struct.sized(16).u32(Struct.code(access)).array();
	}

	/**
	 * Describes the memory.
	 *
	 * @return what it is and how this process reaches it
	 */
	public MemoryInfo info() {
		use().close();
		return info;
	}

	/**
	 * Tells the size.
	 *
	 * @return usable bytes: what was asked for, rounded up
	 */
	public long bytes() {
		return info().bytes();
	}

	/**
	 * Tells how an array lies in the memory.
	 *
	 * @return as it was put or exported with the memory, or as {@code put()} was told; null: just
	 *     bytes
	 */
	public Layout layout() {
		use().close();
		return layout;
	}

	/* --- by name and by token --- */

	/**
	 * Puts the memory into a broker, under a name, and does not wait for room in the quota.
	 *
	 * @param broker where
	 * @param name such as "lab/weights"; null: it is found by its tokens only
	 * @param options how; the memory is sealed by default: others get it for reading
	 */
	public void put(Broker broker, String name, PutOptions options) {
		byte[] text = Struct.optional(name);
		try (NativeObject memory = use(); NativeObject to = broker.use()) {
			Status.checkOk(Native.memoryPut(memory.address, to.address, text, options.params(),
					Layout.array(options.layout), 0, 0));
		}
		layout = options.layout != null ? options.layout : layout;
	}

	/**
	 * Puts the memory into a broker, and waits for room in the quota of this user.
	 *
	 * @param broker where
	 * @param name such as "lab/weights"; null: it is found by its tokens only
	 * @param options how
	 * @param timeout how long to wait
	 * @return false: there was no room in time, and nothing was put
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean put(Broker broker, String name, PutOptions options, Duration timeout)
			throws InterruptedException {
		byte[] text = Struct.optional(name);
		byte[] params = options.params();
		byte[] array = Layout.array(options.layout);
		try (NativeObject memory = use()) {
			boolean isPut = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
					Native.memoryPut(memory.address, broker.object.address, text, params, array,
							timeoutNs, cancel)) == 0;
			layout = isPut && options.layout != null ? options.layout : layout;
			return isPut;
		}
	}

	/**
	 * Ends writing of a memory that was put with {@link ObjectState#WRITING}.
	 *
	 * @param broker where it is
	 * @param state {@link ObjectState#SEALED} or {@link ObjectState#SHARED}
	 */
	public void publish(Broker broker, ObjectState state) {
		try (NativeObject memory = use(); NativeObject in = broker.use()) {
			Status.check(Native.memoryPublish(memory.address, in.address, Struct.code(state)));
		}
	}

	/**
	 * Makes a token, by which any process can open the memory.
	 *
	 * @param broker that keeps the memory for the token
	 * @param options what the token is to name, and how long it keeps the memory
	 * @return the token
	 */
	public Token export(Broker broker, ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject memory = use(); NativeObject by = broker.use()) {
			Status.check(Native.memoryExport(memory.address, by.address, options.exportParams(),
					Layout.array(options.layout), token));
		}
		return new Token(token);
	}

	/**
	 * Makes all tokens of the memory invalid that exist now. Processes that have opened it keep it.
	 *
	 * @param broker that the tokens are from
	 */
	public void revoke(Broker broker) {
		try (NativeObject memory = use(); NativeObject in = broker.use()) {
			Status.check(Native.memoryRevoke(memory.address, in.address));
		}
	}

	/**
	 * Closes a slice of a pool when a stream has done the work that it has now.
	 *
	 * @param stream that still uses the slice
	 */
	public void closeAfter(Stream stream) {
		try (NativeObject memory = use(); NativeObject after = stream.use()) {
			Status.check(Native.poolRelease(memory.address, after.address));
			/* The reference that the stream has got keeps the bytes: this one can end at once. */
			memory.isUsedByStreams = false;
		}
		close();
	}

	/* --- bytes --- */

	/**
	 * Copies bytes into the memory, also into that of a GPU. When it returns, every process and
	 * device sees them. It waits for no stream.
	 *
	 * @param offset bytes from the start of the memory
	 * @param from its remaining bytes are copied, and its position is moved behind them
	 * @param timeout how long to wait until the copy can begin: copies to one GPU take turns
	 * @return false: the time is over, and nothing was copied
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean write(long offset, ByteBuffer from, Duration timeout)
			throws InterruptedException {
		ByteBuffer direct = from;
		if (!from.isDirect()) {
			direct = ByteBuffer.allocateDirect(from.remaining()).put(from.duplicate()).flip();
		}
		return copy(true, offset, direct, from, timeout);
	}

	/**
	 * Copies bytes out of the memory, also out of that of a GPU. It waits for no stream.
	 *
	 * @param offset bytes from the start of the memory
	 * @param to filled from its position to its limit, and its position is moved there
	 * @param timeout how long to wait until the copy can begin
	 * @return false: the time is over, and nothing was copied
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean read(long offset, ByteBuffer to, Duration timeout) throws InterruptedException {
		if (to.isReadOnly()) {
			throw new java.nio.ReadOnlyBufferException();
		}
		if (to.isDirect()) {
			return copy(false, offset, to, to, timeout);
		}
		ByteBuffer direct = ByteBuffer.allocateDirect(to.remaining());
		if (!copy(false, offset, direct, direct, timeout)) {
			return false;
		}
		to.put(direct.flip());
		return true;
	}

	private boolean copy(boolean in, long offset, ByteBuffer direct, ByteBuffer moved,
			Duration timeout) throws InterruptedException {
		int bytes = direct.remaining();
		int position = direct.position();
		int status = Wait.run(object, timeout, (timeoutNs, cancel) -> in
				? Native.memoryWrite(object.address, offset, direct, position, bytes, timeoutNs,
						cancel)
				: Native.memoryRead(object.address, offset, direct, position, bytes, timeoutNs,
						cancel));
		if (status == 0) {
			moved.position(moved.position() + bytes);
		}
		return status == 0;
	}

	void checkSpan(long offset, long bytes) {
		if (offset < 0 || bytes < 0 || offset > info.bytes() || bytes > info.bytes() - offset) {
			throw new IndexOutOfBoundsException("bytes " + offset + " to " + (offset + bytes)
					+ " of a memory of " + info.bytes());
		}
	}

	/* --- views --- */

	/**
	 * Gives a buffer over the whole memory, in the byte order of the machine, and read-only if the
	 * memory is. Note that {@code duplicate()} and {@code slice()} of any Java buffer are in big
	 * endian order again; {@code asFloatBuffer()} and the like keep the order.
	 *
	 * @return a buffer of all bytes
	 * @throws WarpwayException with {@link Status#UNSUPPORTED} if the CPU does not reach the
	 *     memory, with {@link Status#LIMIT} if it has more than 1 GiB: use {@link #views}
	 */
	public ByteBuffer view() {
		return view(0, info.bytes());
	}

	/**
	 * Gives a buffer over a span, as {@link #view()}.
	 *
	 * @param offset bytes from the start of the memory
	 * @param bytes at most 1 GiB
	 * @return the buffer
	 */
	public ByteBuffer view(long offset, long bytes) {
		try (NativeObject memory = use()) {
			checkSpan(offset, bytes);
			if (!info.hasHostPointer()) {
				throw new WarpwayException(Status.UNSUPPORTED, "the CPU does not reach this memory "
						+ "of " + info.kind() + " on a GPU: use read() and write(), or make memory "
						+ "of kind HOST");
			}
			if (bytes > Views.BYTES_MAX) {
				throw new WarpwayException(Status.LIMIT, "one buffer of Java views at most 1 GiB, "
						+ "and not " + bytes + " bytes: use views(), or view(offset, bytes)");
			}
			return Views.of(memory.address, offset, bytes, info.access() == Access.READ);
		}
	}

	/**
	 * Gives buffers over the whole memory: each but the last one has 1 GiB, since a buffer of Java
	 * has less than 2 GiB.
	 *
	 * @return the buffers, in order
	 */
	public List<ByteBuffer> views() {
		List<ByteBuffer> buffers = new ArrayList<>();
		for (long offset = 0; offset < info.bytes(); offset += Views.BYTES_MAX) {
			buffers.add(view(offset, Math.min(Views.BYTES_MAX, info.bytes() - offset)));
		}
		return buffers;
	}

	/** A memory that was made, or put or exported without a layout, has none. */
	private static Layout given(Layout array) {
		return Objects.requireNonNull(array, "the layout is null: if the memory has none, make one "
				+ "by Layout.of()");
	}

	private ByteBuffer elements(Layout array, int elementBytes, String type) {
		given(array);
		if (array.dtype().javaBytes() != elementBytes || !array.dtype().isJava(type)) {
			throw new WarpwayException(Status.MISMATCH, "elements of type " + array.dtype()
					+ " are not a " + type + "Buffer: " + array.dtype().javaAdvice());
		}
		if (!array.isContiguous()) {
			throw new WarpwayException(Status.UNSUPPORTED, "the elements do not lie in C order "
					+ "without gaps, so no buffer shows them: compute their places with strides()");
		}
		Status.check(Native.arrayCheck(array.array(), bytes()));
		return view(array.offset(), array.bytes());
	}

	/**
	 * Views an array as bytes: of 8 bits, or of any type.
	 *
	 * @param array in C order without gaps
	 * @return its bytes
	 */
	public ByteBuffer bytes(Layout array) {
		DType dtype = given(array).dtype();
		return elements(array, dtype.javaBytes(), dtype.javaType());
	}

	/**
	 * Views an array of 16-bit elements: int16, uint16, float16 and bfloat16.
	 *
	 * @param array in C order without gaps
	 * @return its elements; {@link SmallFloats} converts those of floating point
	 */
	public ShortBuffer shorts(Layout array) {
		return elements(array, 2, "Short").asShortBuffer();
	}

	/**
	 * Views an array of 32-bit integers: int32 and uint32.
	 *
	 * @param array in C order without gaps
	 * @return its elements
	 */
	public IntBuffer ints(Layout array) {
		return elements(array, 4, "Int").asIntBuffer();
	}

	/**
	 * Views an array of 64-bit integers: int64 and uint64.
	 *
	 * @param array in C order without gaps
	 * @return its elements
	 */
	public LongBuffer longs(Layout array) {
		return elements(array, 8, "Long").asLongBuffer();
	}

	/**
	 * Views an array of float32, or of complex64: two floats each.
	 *
	 * @param array in C order without gaps
	 * @return its elements
	 */
	public FloatBuffer floats(Layout array) {
		return elements(array, 4, "Float").asFloatBuffer();
	}

	/**
	 * Views an array of float64, or of complex128: two doubles each.
	 *
	 * @param array in C order without gaps
	 * @return its elements
	 */
	public DoubleBuffer doubles(Layout array) {
		return elements(array, 8, "Double").asDoubleBuffer();
	}
}
