// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * An object in a broker.
 *
 * @param kind what it is
 * @param state of it
 * @param life when it leaves the broker by itself
 * @param mode permission bits
 * @param uid its owner
 * @param gid its group
 * @param access that this process may have; null: none
 * @param pid of the process that put it, as the broker sees it; 0: it does not
 * @param holders processes that hold it
 * @param escrows tokens of it in flight
 * @param isOwn whether this process put it
 * @param bytes that it occupies
 * @param ageNs nanoseconds since it was put
 * @param leftNs nanoseconds until it expires; -1: never
 * @param generation counts the objects that the broker ever took
 * @param offset of the span that a name or a token stands for; the memory begins there already
 * @param spanBytes of that span
 * @param objectId 32 hexadecimal digits, the same in every process
 * @param homeUuid of the device that holds the bytes
 * @param name empty: none
 * @param layout how an array lies in the span; null: just bytes
 * @param memoryKind of a memory; null: unknown
 * @param isSlice whether it is a slice of a pool, whose id it then has
 */
public record ObjectInfo(ObjectKind kind, ObjectState state, Life life, int mode, int uid, int gid,
		Access access, int pid, int holders, int escrows, boolean isOwn, long bytes, long ageNs,
		long leftNs, long generation, long offset, long spanBytes, String objectId, String homeUuid,
		String name, Layout layout, MemoryKind memoryKind, boolean isSlice) {
	static final int BYTES = 616;

	ObjectInfo(Struct info) {
		this(Struct.entry(ObjectKind.values(), info.u32()),
				Struct.entry(ObjectState.values(), info.u32()),
				Struct.entry(Life.values(), info.u32()), info.u32(), info.u32(), info.u32(),
				Struct.entry(Access.values(), info.u32()), info.u32(), info.u32(), info.u32(),
				info.skip(4).flag(), info.flag(), info);
	}

	private ObjectInfo(ObjectKind kind, ObjectState state, Life life, int mode, int uid, int gid,
			Access access, int pid, int holders, int escrows, boolean isOwn, boolean hasArray,
			Struct info) {
		this(kind, state, life, mode, uid, gid, access, pid, holders, escrows, isOwn, info.u64(),
				info.u64(), info.u64(), info.u64(), info.u64(), info.u64(),
				Struct.hex(info.raw(16)), Struct.hex(info.raw(16)), info.text(192),
				info.layout(hasArray), Struct.entry(MemoryKind.values(), info.u32()), info.flag());
	}
}
