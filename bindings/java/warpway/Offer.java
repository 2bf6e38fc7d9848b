// SPDX-License-Identifier: Apache-2.0
package warpway;

/** What the native part calls for each call of a function. */
final class Offer {
	private final ServiceFunction function;
	private final Signature signature;

	Offer(ServiceFunction function, String signature) {
		this.function = function;
		this.signature = new Signature(signature);
	}

	/** Runs the function. It throws nothing, and returns a status. */
	int run(long address) {
		ServiceCall call = new ServiceCall(address, signature);
		try {
			function.run(call);
			return Status.OK.code;
		} catch (Throwable problem) {
			if (problem instanceof InterruptedException) {
				Thread.currentThread().interrupt();
			}
			return call.fail(problem);
		} finally {
			call.end();
		}
	}
}
