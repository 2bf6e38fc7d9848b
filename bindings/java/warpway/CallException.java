// SPDX-License-Identifier: Apache-2.0
package warpway;

/** A call of a function of a service has failed, was cancelled, or was too late. */
public final class CallException extends WarpwayException {
	private static final long serialVersionUID = 1;

	/** Whether the function was started. */
	private final boolean hasStarted;

	CallException(Status status, boolean hasStarted, String message) {
		super(status, message);
		this.hasStarted = hasStarted;
	}

	/**
	 * Tells whether the function was started.
	 *
	 * @return if so, it may have run, in part or wholly
	 */
	public boolean hasStarted() {
		return hasStarted;
	}
}
