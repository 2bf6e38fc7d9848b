// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/** A function of a service, which a {@link Client} has found. */
public final class RemoteFunction {
	private final Client client;
	private final int index;
	private final FunctionInfo info;
	private final Signature signature;

	RemoteFunction(Client client, int index, FunctionInfo info) {
		this.client = client;
		this.index = index;
		this.info = info;
		signature = new Signature(info.signature());
	}

	/**
	 * Describes the function.
	 *
	 * @return as it was when it was found
	 */
	public FunctionInfo info() {
		return info;
	}

	/**
	 * Makes a call, and waits for its results.
	 *
	 * @param timeout how long to wait, for room and for the results; then the call is cancelled
	 * @param arguments as {@link #call(CallOptions, Duration, Object...)}
	 * @return the results, which the program closes
	 * @throws InterruptedException if the thread was interrupted: the call is cancelled
	 */
	public CallResults call(Duration timeout, Object... arguments) throws InterruptedException {
		return call(new CallOptions(), timeout, arguments);
	}

	/**
	 * Makes a call, and waits for its results.
	 *
	 * @param options lane, deadline and so on
	 * @param timeout how long to wait, for room and for the results; then the call is cancelled
	 * @param arguments in the order of the signature, those with a default at the end may be left
	 *     out: a Number, a Boolean, a byte[], a {@link Memory} with its layout, a {@link Token}, an
	 *     {@link ArrayValue}, a {@link Timeline}; null for one that is left out
	 * @return the results, which the program closes
	 * @throws InterruptedException if the thread was interrupted: the call is cancelled
	 * @throws CallException if the call failed
	 * @throws WarpwayException with {@link Status#TIMED_OUT} if the time is over first
	 */
	public CallResults call(CallOptions options, Duration timeout, Object... arguments)
			throws InterruptedException {
		long end = System.nanoTime() + Math.max(0, Wait.nanos(timeout));
		CallResults results = submit(options, timeout, options.isRepeated(), arguments);
		boolean hasEnded = false;
		try {
			Duration left = timeout.equals(Warpway.FOREVER) ? timeout
					: Duration.ofNanos(Math.max(0, end - System.nanoTime()));
			int status = results.await(left);
			hasEnded = status == 0;
			if (status == Status.NOT_READY.code) {
				throw new WarpwayException(Status.TIMED_OUT, "the call of '" + info.name()
						+ "' did not end in time");
			}
			if (status != 0) {
				throw failure(results, status);
			}
			return results;
		} finally {
			if (!hasEnded) {
				cancel(results);
			}
		}
	}

	private static CallException failure(CallResults results, int status) {
		try (NativeObject ticket = results.use()) {
			/* The thread's error record may be that of another call by now: ask again. */
			return PendingCall.failure(Native.ticketWait(ticket.address, 0, 0), ticket);
		}
	}

	private static void cancel(CallResults results) {
		try (NativeObject ticket = results.use()) {
			Native.ticketCancel(ticket.address);
		}
		results.close();
	}

	/**
	 * Makes a call, without waiting for its results.
	 *
	 * @param options lane, deadline and so on
	 * @param timeout how long to wait for room, while too many calls are not complete
	 * @param arguments as {@link #call(CallOptions, Duration, Object...)}
	 * @return the call, as a future
	 * @throws InterruptedException if the thread was interrupted: the call was not made
	 */
	public PendingCall callAsync(CallOptions options, Duration timeout, Object... arguments)
			throws InterruptedException {
		CallResults results = submit(options, timeout, false, arguments);
		PendingCall call = new PendingCall(client, signature, results);
		client.watch(call);
		return call;
	}

	private CallResults submit(CallOptions options, Duration timeout, boolean call,
			Object... arguments) throws InterruptedException {
		long[] out = new long[1];
		byte[] params = options.params();
		try (Values values = new Values(signature.parameters, arguments);
				NativeObject after = Handle.use(options.after)) {
			Wait.Call submit = (timeoutNs, cancel) ->
					Native.clientSubmit(client.object.address, index, values.numbers, values.pieces,
							params, options.dependsOn(), after.address, call, timeoutNs, cancel,
							out);
			int status = call ? Wait.runOnce(client.object, timeout, submit)
					: Wait.run(client.object, timeout, submit);
			if (status != 0) {
				throw new WarpwayException(Status.of(status), "there was no room for a call of '"
						+ info.name() + "' in time");
			}
		}
		return new CallResults(client, out[0], signature);
	}
}
