// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * The results of a call that ended well. Arrays that are results stay with the server until this
 * process has opened them: do that before {@link #close}.
 */
public final class CallResults extends Handle {
	private final Signature signature;

	CallResults(Client client, long ticket, Signature signature) {
		super(Kind.CALL_RESULTS, ticket, client.object.lock);
		this.signature = signature;
	}

	/** Waits for the ticket. Returns how the call has ended, or WW_NOT_READY. */
	int await(Duration timeout) throws InterruptedException {
		int[] status = {Status.NOT_READY.code};
		int waited = Wait.run(object, timeout, (timeoutNs, cancel) -> {
			status[0] = Native.ticketWait(object.address, timeoutNs, cancel);
			return status[0] != Status.NOT_READY.code ? Status.OK.code
					: cancel == Wait.NOWAIT || Native.cancelIsSet(cancel) ? Status.CANCELLED.code
					: Status.TIMED_OUT.code;
		});
		return waited == 0 ? status[0] : Status.NOT_READY.code;
	}

	/**
	 * Tells how many results there are.
	 *
	 * @return as the signature says
	 */
	public int count() {
		return signature.results.size();
	}

	/**
	 * Gives a result.
	 *
	 * @param index of the result in the signature
	 * @return a Long for integers, or a BigInteger for a u64 above 2^63; a Double for floating
	 *     point; a Boolean; a byte[]; an {@link ArrayValue} with a token
	 */
	public Object get(int index) {
		Values value = new Values();
		try (NativeObject ticket = use()) {
			int status = Native.ticketResult(ticket.address, index, value.numbers, value.pieces);
			if (Status.check(status) == Status.END.code) {
				throw new IndexOutOfBoundsException("result " + index + " of " + count());
			}
		}
		return value.get();
	}

	/**
	 * Tells the number of the call, for {@link CallOptions#dependsOn}.
	 *
	 * @return the number
	 */
	public long number() {
		Struct info = Struct.sized(PendingCall.INFO_BYTES);
		try (NativeObject ticket = use()) {
			Status.check(Native.ticketInfo(ticket.address, info.array()));
		}
		return info.skip(12).u64();
	}
}
