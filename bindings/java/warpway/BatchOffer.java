// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.Arrays;
import java.util.List;

/** What the native part calls for several calls at once. */
final class BatchOffer {
	private final BatchFunction function;
	private final Signature signature;

	BatchOffer(BatchFunction function, String signature) {
		this.function = function;
		this.signature = new Signature(signature);
	}

	/** Runs the function. It throws nothing, and returns WW_OK: calls are failed one by one. */
	int run(long[] addresses) {
		List<ServiceCall> calls = Arrays.stream(addresses).mapToObj(address ->
				new ServiceCall(address, signature)).toList();
		try {
			function.run(calls);
		} catch (Throwable problem) {
			if (problem instanceof InterruptedException) {
				Thread.currentThread().interrupt();
			}
			calls.stream().filter(call -> !call.hasFailed()).forEach(call -> call.fail(problem));
		} finally {
			calls.forEach(ServiceCall::end);
		}
		return Status.OK.code;
	}
}
