// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * What a memory is and how this process reaches it.
 *
 * @param kind what holds its bytes
 * @param access of this mapping
 * @param route by which way this process reaches it
 * @param bytes usable: what was asked for, rounded up
 * @param hasHostPointer whether the CPU reaches it, so that it has views
 * @param homeUuid of the device that holds the bytes, 32 hexadecimal digits
 * @param objectId the same in every process that maps this memory, 32 hexadecimal digits
 * @param offset bytes from the start of what this memory is a span of
 * @param totalBytes of that
 * @param isSlice whether it is a slice of a pool
 */
public record MemoryInfo(MemoryKind kind, Access access, Route route, long bytes,
		boolean hasHostPointer, String homeUuid, String objectId, long offset, long totalBytes,
		boolean isSlice) {
	static final int BYTES = 104;

	MemoryInfo(Struct info) {
		this(Struct.entry(MemoryKind.values(), info.u32()),
				Struct.entry(Access.values(), info.u32()), Struct.entry(Route.values(), info.u32()),
				info.u64(), info.skip(8).u64() != 0, Struct.hex(info.skip(8).raw(16)),
				Struct.hex(info.raw(16)), info.u64(), info.u64(), (info.u64() & 1) != 0);
	}
}
