// SPDX-License-Identifier: Apache-2.0
package warpway;

/** A function of a {@link Service}, which runs in a thread that serves. */
@FunctionalInterface
public interface ServiceFunction {
	/**
	 * Runs for one call. It has set all results when it returns.
	 *
	 * @param call arguments and results; valid until this returns
	 * @throws Exception fails the call: a {@link WarpwayException} with its status and message, any
	 *     other one with {@link Status#STATE} and its text
	 */
	void run(ServiceCall call) throws Exception;
}
