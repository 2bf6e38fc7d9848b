// SPDX-License-Identifier: Apache-2.0
package warpway;

/** A call of a function of a service has failed, was cancelled, or was too late. */
public final class CallException extends WarpwayException {
	private static final long serialVersionUID = 1;

	/** Whether the function was started. */
	private final boolean hasStarted;
	/** Number of the call because of which it was not run, or 0. */
	private final long failedCall;

	CallException(Status status, boolean hasStarted, long failedCall, String message) {
		super(status, message);
		this.hasStarted = hasStarted;
		this.failedCall = failedCall;
	}

	/**
	 * Tells whether the function was started.
	 *
	 * @return if so, it may have run, in part or wholly
	 */
	public boolean hasStarted() {
		return hasStarted;
	}

	/**
	 * Tells because of which call this one was not run, with {@link Status#DEPENDENCY_FAILED}.
	 *
	 * @return number of the first call that failed; 0: no call did, such as when the timeline that
	 *     the call starts after has ended
	 */
	public long failedCall() {
		return failedCall;
	}
}
