// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.ArrayList;
import java.util.List;

/** A call that a function of a service runs. One thread at a time uses it, until that returns. */
public final class ServiceCall {
	private static final int MESSAGE_LENGTH = 300;

	private final Signature signature;
	private final List<Handle> arguments = new ArrayList<>();
	private long address;
	private boolean hasFailed;

	ServiceCall(long address, Signature signature) {
		this.address = address;
		this.signature = signature;
	}

	/** The function has returned. */
	synchronized void end() {
		address = 0;
		arguments.forEach(Handle::close);
	}

	private long address() {
		if (address == 0) {
			throw new IllegalStateException("the function of this call has returned");
		}
		return address;
	}

	/**
	 * Gives an argument.
	 *
	 * @param index of the parameter in the signature
	 * @return a Long, BigInteger, Double or Boolean; a byte[]; an {@link ArrayValue} with a memory,
	 *     which is closed when the function returns; a {@link Timeline}, likewise; null: none
	 */
	public synchronized Object argument(int index) {
		Values value = new Values();
		int status = Native.callArgument(address(), index, value.numbers, value.pieces);
		if (Status.check(status) == Status.END.code) {
			throw new IndexOutOfBoundsException("parameter " + index);
		}
		Object object = value.get();
		if (object instanceof ArrayValue array && array.memory() != null) {
			arguments.add(array.memory());
		} else if (object instanceof Timeline timeline) {
			arguments.add(timeline);
		}
		return object;
	}

	/**
	 * Sets a result.
	 *
	 * @param index of the result in the signature
	 * @param value a Number, a Boolean, a byte[], a {@link Memory} with its layout or an {@link
	 *     ArrayValue}
	 */
	public synchronized void result(int index, Object value) {
		long call = address();
		if (index < 0 || index >= signature.results.size()) {
			throw new IndexOutOfBoundsException("result " + index);
		}
		try (Values values = new Values(List.of(signature.results.get(index)), value)) {
			Status.checkOk(Native.callResult(call, index, values.numbers, values.pieces));
		}
	}

	/**
	 * Gives the stream for the work of the call, which is complete when that work is.
	 *
	 * @return the stream, valid until the function returns
	 */
	public synchronized Stream stream() {
		long[] out = new long[1];
		Status.check(Native.callStream(address(), out));
		Stream stream = new Stream(out[0]);
		arguments.add(stream);
		return stream;
	}

	/**
	 * Tells whether the function may end early, with any exception. If the client still waits for
	 * the call, it gets what the function returns.
	 *
	 * @return whether the client has cancelled it or ended, or its deadline has passed
	 */
	public synchronized boolean isCancelled() {
		return Native.callIsCancelled(address());
	}

	/**
	 * Fails the call. In a {@link BatchFunction} this fails one call, and the others go on; a
	 * {@link ServiceFunction} can as well throw.
	 *
	 * @param status an error, which the client gets
	 * @param message a sentence for the client
	 */
	public synchronized void fail(Status status, String message) {
		if (status.code >= 0) {
			throw new IllegalArgumentException(status + " is no error");
		}
		long call = address();
		hasFailed = true;
		String text = message.replace('\0', ' ');
		Native.callFail(call, status.code, Struct.text(text.substring(0,
				Math.min(text.length(), MESSAGE_LENGTH))));
	}

	/** Fails the call because of what its function has thrown. Returns the status. */
	int fail(Throwable problem) {
		Status status = problem instanceof WarpwayException failed && failed.status().code < 0
				? failed.status() : Status.STATE;
		String message = problem instanceof WarpwayException ? problem.getMessage()
				: problem.toString();
		fail(status, message == null ? status.text() : message);
		return status.code;
	}

	synchronized boolean hasFailed() {
		return hasFailed;
	}

	/**
	 * Describes the call.
	 *
	 * @return who makes it
	 */
	public synchronized CallInfo info() {
		Struct info = Struct.sized(CallInfo.BYTES);
		Status.check(Native.callInfo(address(), info.array()));
		return new CallInfo(info);
	}
}
