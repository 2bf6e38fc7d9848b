// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A call of the library has failed. The message says what was tried, what the system answered and
 * what to do.
 */
public class WarpwayException extends RuntimeException {
	private static final long serialVersionUID = 1;

	/** Where a {@link WarpwayException#nativeCode} comes from. */
	public enum Domain {
		/** The library itself has found the error; the code is 0. */
		WARPWAY,
		/** The code is an errno value. */
		ERRNO,
		/** The code is a CUresult. */
		CUDA
	}

	/** Which error it is. */
	private final Status status;
	/** Where the native code comes from. */
	private final Domain domain;
	/** The code of the operating system or of the driver. */
	private final long nativeCode;

	/**
	 * Makes an exception, which a function of a {@link Service} may throw to its client.
	 *
	 * @param status which error it is
	 * @param message a sentence
	 */
	public WarpwayException(Status status, String message) {
		this(status, Domain.WARPWAY, 0, message);
	}

	WarpwayException(Status status, Domain domain, long nativeCode, String message) {
		super(message);
		this.status = status;
		this.domain = domain;
		this.nativeCode = nativeCode;
	}

	/**
	 * Tells which error it is.
	 *
	 * @return the status that the library returned
	 */
	public Status status() {
		return status;
	}

	/**
	 * Tells where the native code comes from.
	 *
	 * @return the domain of {@link #nativeCode}
	 */
	public Domain domain() {
		return domain;
	}

	/**
	 * Tells the code of the operating system or of the driver.
	 *
	 * @return the code; 0: the library itself has found the error
	 */
	public long nativeCode() {
		return nativeCode;
	}

	@Override
	public String toString() {
		return getClass().getName() + ": " + status + ": " + getMessage();
	}
}
