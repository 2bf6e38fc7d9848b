// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * A call that was made and not waited for. It ends with the {@link CallResults}, which the program
 * closes, or exceptionally with a {@link CallException}. {@link #cancel} cancels the call: if its
 * function was not started, it is not. Callbacks of {@code thenAcceptAsync} and the like without an
 * executor of their own run on the executor of the client; those of {@code thenAccept} may run in
 * the thread that adds them.
 */
public final class PendingCall extends CompletableFuture<CallResults> {
	static final int INFO_BYTES = 48;

	private final Client client;
	private final Signature signature;
	/** The ticket; the client's lock guards it. */
	private final CallResults results;
	private final long number;

	PendingCall(Client client, Signature signature, CallResults results) {
		this.client = client;
		this.signature = signature;
		this.results = results;
		number = results.number();
	}

	/**
	 * Tells the number of the call, for {@link CallOptions#dependsOn}.
	 *
	 * @return the number
	 */
	public long number() {
		return number;
	}

	/** What the library says of a call: done with its results, or with an exception. */
	static CallException failure(int status, NativeObject ticket) {
		WarpwayException why = status < 0 ? Status.failure(status) : null;
		Struct info = Struct.sized(INFO_BYTES);
		Native.ticketInfo(ticket.address, info.array());
		boolean hasStarted = info.skip(4).flag();
		long failedCall = info.skip(12).u64();
		String message = why != null ? why.getMessage()
				: status == Status.TIMED_OUT.code ? "the call was not started before its deadline"
				: "the call was cancelled before its function was started";
		return new CallException(Status.of(status), hasStarted, failedCall, message);
	}

	/** Looks whether the call has ended, and waits for a short time. False: it has not. */
	boolean poll(long timeoutNs) {
		CallException problem = null;
		try (NativeObject ticket = results.use()) {
			int status = Native.ticketWait(ticket.address, timeoutNs, 0);
			if (status == Status.NOT_READY.code) {
				return false;
			}
			if (status != 0) {
				problem = failure(status, ticket);
			}
		} catch (IllegalStateException exception) {
			return true;
		}
		CallException failed = problem;
		client.execute(() -> end(failed));
		return true;
	}

	/** Completes the future, on the executor of the client. */
	private void end(CallException failed) {
		if (failed != null) {
			results.close();
			completeExceptionally(failed);
		} else if (!complete(results)) {
			results.close();
		}
	}

	/** The client is closed. */
	void abandon() {
		results.close();
		client.execute(() -> completeExceptionally(
				new IllegalStateException("the client was closed before the call had ended")));
	}

	@Override
	public boolean cancel(boolean mayInterruptIfRunning) {
		boolean cancelled = super.cancel(mayInterruptIfRunning);
		if (cancelled) {
			try (NativeObject ticket = results.use()) {
				Native.ticketCancel(ticket.address);
			} catch (IllegalStateException exception) {
				/* It has ended meanwhile. */
				return true;
			}
		}
		return cancelled;
	}

	@Override
	public Executor defaultExecutor() {
		return client.executor;
	}

	@Override
	public <U> CompletableFuture<U> newIncompleteFuture() {
		return new CompletableFuture<>();
	}

	/** The signature of the function. */
	Signature signature() {
		return signature;
	}
}
