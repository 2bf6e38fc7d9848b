// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.List;

/**
 * A function of a {@link Service} that runs several calls at once, in a thread that serves. Each
 * call has arguments and results of its own; all have one stream.
 */
@FunctionalInterface
public interface BatchFunction {
	/**
	 * Runs for several calls, of different lanes. It has set all results of each call that it has
	 * not failed by {@link ServiceCall#fail} when it returns.
	 *
	 * @param calls in the order in which they came; valid until this returns
	 * @throws Exception fails all calls that it has not failed itself: a {@link WarpwayException}
	 *     with its status and message, any other one with {@link Status#STATE} and its text
	 */
	void run(List<ServiceCall> calls) throws Exception;
}
