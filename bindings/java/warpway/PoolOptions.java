// SPDX-License-Identifier: Apache-2.0
package warpway;

/** How a pool is to be. */
public final class PoolOptions {
	private MemoryKind kind = MemoryKind.VMM;
	private long bytesMax;
	private long chunkBytes;
	private int slicesMax;

	/** Makes options that say nothing yet: chunks of 64 MiB, the limit of the device. */
	public PoolOptions() {
	}

	/**
	 * Sets what holds the bytes.
	 *
	 * @param of VMM or HOST
	 * @return this
	 */
	public PoolOptions kind(MemoryKind of) {
		kind = of;
		return this;
	}

	/**
	 * Limits all chunks together.
	 *
	 * @param bytes 0: no limit
	 * @return this
	 */
	public PoolOptions bytesMax(long bytes) {
		bytesMax = bytes;
		return this;
	}

	/**
	 * Sets the size of a chunk.
	 *
	 * @param bytes 0: 64 MiB
	 * @return this
	 */
	public PoolOptions chunkBytes(long bytes) {
		chunkBytes = bytes;
		return this;
	}

	/**
	 * Limits the slices at one time.
	 *
	 * @param slices 0: 65536
	 * @return this
	 */
	public PoolOptions slicesMax(int slices) {
		slicesMax = slices;
		return this;
	}

	byte[] params() {
		return Struct.sized(40).u32(Struct.code(kind)).u64(bytesMax).u64(chunkBytes).u32(slicesMax)
				.array();
	}
}
