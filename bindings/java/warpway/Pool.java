// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.List;

/**
 * Many small memories in a few large chunks. To hand over a slice costs a token, and after the
 * first one no system call. The process that makes a pool allocates from it; others open slices by
 * their tokens, as any memory.
 */
public final class Pool extends Handle {
	private Pool(long address) {
		super(Kind.POOL, address);
	}

	/**
	 * Makes a pool.
	 *
	 * @param device where its memory is to be
	 * @param options how it is to be
	 * @return the pool
	 */
	public static Pool create(Device device, PoolOptions options) {
		long[] out = new long[1];
		try (NativeObject of = device.use()) {
			Status.checkOk(Native.poolCreate(of.address, options.params(), out));
		}
		return new Pool(out[0]);
	}

	/**
	 * Opens a pool of another process, so that its first slice costs no more than later ones.
	 *
	 * @param device for which the chunks are mapped; null: each with its first slice
	 * @param broker that the token is from
	 * @param token of the pool
	 * @return the pool; only its owner allocates from it
	 */
	public static Pool open(Device device, Broker broker, Token token) {
		long[] out = new long[1];
		try (NativeObject of = use(device); NativeObject from = broker.use()) {
			Status.checkOk(Native.poolImport(of.address, from.address, token.array(), out));
		}
		return new Pool(out[0]);
	}

	/**
	 * Makes a token of the pool.
	 *
	 * @param broker that keeps the pool for the token
	 * @param options access, escrow and uses
	 * @return the token
	 */
	public Token export(Broker broker, ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject pool = use(); NativeObject by = broker.use()) {
			Status.checkOk(Native.poolExport(pool.address, by.address, options.exportParams(),
					token));
		}
		return new Token(token);
	}

	/**
	 * Allocates a slice. Its bytes are not cleared.
	 *
	 * @param bytes rounded up to 256
	 * @param timeout how long to wait until slices are free
	 * @return the slice
	 * @throws InterruptedException if the thread was interrupted
	 * @throws WarpwayException with {@link Status#TIMED_OUT} or {@link Status#LIMIT} without room;
	 *     the latter says who uses how much
	 */
	public Memory allocate(long bytes, Duration timeout) throws InterruptedException {
		return allocate(bytes, 0, timeout);
	}

	/**
	 * Allocates a slice at an aligned place.
	 *
	 * @param bytes rounded up to 256
	 * @param alignment bytes, a power of two; 0: 256
	 * @param timeout how long to wait until slices are free
	 * @return the slice
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Memory allocate(long bytes, long alignment, Duration timeout)
			throws InterruptedException {
		long[] out = new long[1];
		int status = Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.poolAlloc(object.address, bytes, alignment, timeoutNs, cancel, out));
		if (status != 0) {
			throw Status.failure(status);
		}
		return new Memory(out[0], null);
	}

	/**
	 * Frees chunks that contain no slice.
	 *
	 * @param keepBytes this many bytes of the pool are kept
	 * @return how many bytes were freed
	 */
	public long trim(long keepBytes) {
		long[] out = new long[1];
		try (NativeObject pool = use()) {
			Status.check(Native.poolTrim(pool.address, keepBytes, out));
		}
		return out[0];
	}

	/**
	 * Describes the pool.
	 *
	 * @return how it is
	 */
	public PoolInfo info() {
		Struct info = Struct.sized(PoolInfo.BYTES);
		try (NativeObject pool = use()) {
			Status.check(Native.poolInfo(pool.address, info.array()));
		}
		return new PoolInfo(info);
	}

	/**
	 * Lists the processes that have imported slices.
	 *
	 * @return the holders
	 */
	public List<PoolHolder> holders() {
		try (NativeObject pool = use()) {
			return Broker.entries(pool.address, PoolHolder.BYTES, Native::poolHolder,
					PoolHolder::new);
		}
	}
}
