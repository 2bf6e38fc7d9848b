// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * How a pool is. Of a pool of another process all but kind and slicesMax is 0.
 *
 * @param kind of its chunks
 * @param bytesMax the limit; -1: none
 * @param chunkBytes of a usual chunk
 * @param bytesReserved of all chunks
 * @param bytesUsed of slices that this process has
 * @param bytesWaiting of slices that were closed, and that a stream, a token or another process
 *     still uses
 * @param bytesFree reserved and free
 * @param bytesLargest of the largest slice that fits without a new chunk
 * @param bytesPeak most that was ever used and waiting together
 * @param allocations that ever succeeded
 * @param chunkCount chunks
 * @param sliceCount slices that this process has
 * @param waitingCount slices that wait
 * @param slicesMax the limit
 * @param holderCount other processes that have imported slices
 * @param isImported whether it is a pool of another process
 */
public record PoolInfo(MemoryKind kind, long bytesMax, long chunkBytes, long bytesReserved,
		long bytesUsed, long bytesWaiting, long bytesFree, long bytesLargest, long bytesPeak,
		long allocations, int chunkCount, int sliceCount, int waitingCount, int slicesMax,
		int holderCount, boolean isImported) {
	static final int BYTES = 104;

	PoolInfo(Struct info) {
		this(Struct.entry(MemoryKind.values(), info.u32()), info.u64(), info.u64(), info.u64(),
				info.u64(), info.u64(), info.u64(), info.u64(), info.u64(), info.u64(), info.u32(),
				info.u32(), info.u32(), info.u32(), info.u32(), info.flag());
	}
}
