// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.charset.StandardCharsets;

/** The statuses of the library. {@link WarpwayException#status} is one of those below zero. */
public enum Status {
	/** Success. */
	OK(0),
	/** The work has not finished yet. */
	NOT_READY(1),
	/** The limit on time passed first. */
	TIMED_OUT(2),
	/** There is no more. */
	END(3),
	/** The call was cancelled. */
	CANCELLED(4),
	/** An argument is not one that the call accepts. */
	INVALID(-1),
	/** A size or an offset is too large to be computed with. */
	OVERFLOW(-2),
	/** The process or the machine is out of memory. */
	NO_MEMORY(-3),
	/** The device is out of memory. */
	DEVICE_MEMORY(-4),
	/** Out of descriptors, mappings or threads, or of places in an object. */
	LIMIT(-5),
	/** This device, driver or kind of memory cannot do it. */
	UNSUPPORTED(-6),
	/** There is no such device, or it cannot be used. */
	NO_DEVICE(-7),
	/** The device or its driver failed. */
	DEVICE(-8),
	/** More access than was granted. */
	ACCESS(-9),
	/** A file descriptor is not what the call needs. */
	DESCRIPTOR(-10),
	/** A type, shape or other description does not fit. */
	MISMATCH(-11),
	/** Bytes from a peer that are not a message or a token of the library. */
	PROTOCOL(-12),
	/** A message from a peer ended too early. */
	TRUNCATED(-13),
	/** The peer, or a part of this installation, has a version that does not fit. */
	VERSION(-14),
	/** The other process closed its end or died. */
	PEER_LOST(-15),
	/** In a child made by fork(): its parent's object, or GPU. */
	FORKED(-16),
	/** The operating system refused for a reason of its own. */
	SYSTEM(-17),
	/** There is no object of this name or token, or not any more. */
	NOT_FOUND(-18),
	/** The name is taken. */
	EXISTS(-19),
	/** The user's share of what a broker may hold is used up. */
	QUOTA(-20),
	/** The object is not in the state that the call needs. */
	STATE(-21),
	/** No broker listens there, or it does not answer. */
	NO_BROKER(-22),
	/** The sender has withdrawn the request. */
	GIVEN_UP(-23),
	/** A channel's producer has ended a consumer's subscription. */
	EVICTED(-24),
	/** The service takes no calls, or none any more. */
	UNAVAILABLE(-25),
	/** A call that this one depends on has failed. */
	DEPENDENCY_FAILED(-26);

	private static final int ERROR_BYTES = 256;

	/** The number that the C library has for it. */
	public final int code;

	Status(int code) {
		this.code = code;
	}

	/**
	 * Says what the status means, in a few words.
	 *
	 * @return without a full stop
	 */
	public String text() {
		return new String(Native.statusText(code), StandardCharsets.UTF_8);
	}

	static Status of(int code) {
		for (Status status : values()) {
			if (status.code == code) {
				return status;
			}
		}
		return SYSTEM;
	}

	/** Throws what the thread's error record says if the status is an error; else returns it. */
	static int check(int status) {
		if (status < 0) {
			throw failure(status);
		}
		return status;
	}

	/** The same for a call of which only WW_OK is a success. */
	static void checkOk(int status) {
		if (status != 0) {
			throw failure(status);
		}
	}

	static WarpwayException failure(int status) {
		Struct error = Struct.bytes(ERROR_BYTES);
		Native.errorLast(error.array());
		int recorded = error.u32();
		int domain = error.u32();
		long code = error.u64();
		String message = JavaNames.in(error.text(240));
		if (recorded != status) {
			return new WarpwayException(of(status), WarpwayException.Domain.WARPWAY, 0,
					of(status).text());
		}
		return new WarpwayException(of(status), WarpwayException.Domain.values()[domain], code,
				message);
	}
}
