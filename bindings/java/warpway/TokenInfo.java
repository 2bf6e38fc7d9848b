// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * The content of a token, without its secret.
 *
 * @param kind of the object
 * @param access the most that it grants
 * @param brokerUid the user whose broker it is from
 * @param offset bytes from the start of the memory to the span
 * @param bytes of the span
 * @param totalBytes of the memory
 * @param generation of the object in its broker
 * @param flags bits, as WW_TOKEN_... of warpway/token.h
 * @param objectId 32 hexadecimal digits, the same in every process
 * @param homeUuid of the device that holds the bytes
 * @param address where its broker listened when the token was made
 * @param layout how an array lies in the span; null: just bytes
 */
public record TokenInfo(ObjectKind kind, Access access, int brokerUid, long offset, long bytes,
		long totalBytes, long generation, int flags, String objectId, String homeUuid,
		String address, Layout layout) {
	static final int SIZE = 504;

	TokenInfo(Struct info) {
		this(Struct.entry(ObjectKind.values(), info.u32()),
				Struct.entry(Access.values(), info.u32()), info.u32(), info.u64(), info.u64(),
				info.u64(), info.u64(), info.flag(), info);
	}

	private TokenInfo(ObjectKind kind, Access access, int brokerUid, long offset, long bytes,
			long totalBytes, long generation, boolean hasArray, Struct info) {
		this(kind, access, brokerUid, offset, bytes, totalBytes, generation, info.u32(),
				Struct.hex(info.raw(16)), Struct.hex(info.raw(16)), info.skip(16).text(112),
				info.layout(hasArray));
	}
}
