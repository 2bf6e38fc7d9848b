// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** What service to make. Numbers that are 0 stand for the defaults of the library. */
public final class ServiceOptions {
	private static final long DATA = 1, ALLOC = 2;

	private NameOptions name = new NameOptions();
	private int functionsMax;
	private int clientsMax;
	private int clientsPerUidMax;
	private int callsMax;
	private int streams;
	private String version;
	private long builtin;
	private long allocBytesMax;
	private long keepNs;
	private int afterStreams;

	/** Makes options that say nothing yet: for this user, without built-in functions. */
	public ServiceOptions() {
	}

	/**
	 * Sets mode and group of the name: who may read sees functions and state, who may write calls.
	 *
	 * @param options of the name
	 * @return this
	 */
	public ServiceOptions name(NameOptions options) {
		name = options;
		return this;
	}

	/**
	 * Limits the functions.
	 *
	 * @param most at most 1024
	 * @return this
	 */
	public ServiceOptions functionsMax(int most) {
		functionsMax = most;
		return this;
	}

	/**
	 * Limits the clients at one time.
	 *
	 * @param most at most 4096
	 * @param mostOfOneUser of these
	 * @return this
	 */
	public ServiceOptions clientsMax(int most, int mostOfOneUser) {
		clientsMax = most;
		clientsPerUidMax = mostOfOneUser;
		return this;
	}

	/**
	 * Limits the calls of one client that are not complete.
	 *
	 * @param most a power of two, at most 1024
	 * @return this
	 */
	public ServiceOptions callsMax(int most) {
		callsMax = most;
		return this;
	}

	/**
	 * Limits the streams on which functions work at the same time.
	 *
	 * @param most how many
	 * @return this
	 */
	public ServiceOptions streams(int most) {
		streams = most;
		return this;
	}

	/**
	 * Sets the version of this program, which clients are told.
	 *
	 * @param text at most 31 bytes
	 * @return this
	 */
	public ServiceOptions version(String text) {
		version = text;
		return this;
	}

	/**
	 * Offers warpway.copy, fill, read and write, so that clients without a GPU can move bytes.
	 *
	 * @return this
	 */
	public ServiceOptions builtinData() {
		builtin |= DATA;
		return this;
	}

	/**
	 * Offers warpway.alloc and free, so that clients without a GPU can make memory.
	 *
	 * @param bytesMax for the clients of one user; 0: 1 GiB
	 * @return this
	 */
	public ServiceOptions builtinAlloc(long bytesMax) {
		builtin |= ALLOC;
		allocBytesMax = bytesMax;
		return this;
	}

	/**
	 * Sets how long a memory stays mapped after a call that had it as an argument.
	 *
	 * @param time zero: not at all
	 * @return this
	 */
	public ServiceOptions keep(Duration time) {
		keepNs = Wait.nanos(time);
		return this;
	}

	/**
	 * Lets streams of the GPU wait for values of timelines that calls start after, so that such a call
	 * starts as soon as its value is reached. Without it the server polls the timelines. The streams
	 * wait for clients of this user, and for values that a stream is about to signal.
	 *
	 * @param most how many, at most 4
	 * @return this
	 */
	public ServiceOptions afterStreams(int most) {
		afterStreams = most;
		return this;
	}

	byte[] params() {
		return Struct.sized(120).u32(name.mode()).u32(name.gid()).u32(functionsMax).u32(clientsMax)
				.u32(clientsPerUidMax).u32(callsMax).u32(0).u32(0).u32(streams).u64(name.flags())
				.u64(0).text(version, 32).u64(builtin).u64(allocBytesMax).u64(keepNs)
				.u32(afterStreams).u32(0).array();
	}
}
