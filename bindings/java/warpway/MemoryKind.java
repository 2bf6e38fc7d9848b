// SPDX-License-Identifier: Apache-2.0
package warpway;

/** What holds the bytes of a memory. */
public enum MemoryKind {
	/** The memory of the device itself; on the host device a file in memory. */
	VMM,
	/** A file in memory: mapped by the CPU, and used in place by a GPU. */
	HOST,
	/** Of cuMemAlloc(), which cudaMalloc() is; opened or imported here. */
	LEGACY,
	/** Of cuMemAllocAsync(), from a pool that can be exported; imported here. */
	CUDA_POOL
}
