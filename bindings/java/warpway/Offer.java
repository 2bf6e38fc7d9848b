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
		} catch (WarpwayException exception) {
			Status status = exception.status().code < 0 ? exception.status() : Status.STATE;
			return fail(address, status, exception.getMessage());
		} catch (Throwable problem) {
			if (problem instanceof InterruptedException) {
				Thread.currentThread().interrupt();
			}
			return fail(address, Status.STATE, problem.toString());
		} finally {
			call.end();
		}
	}

	private static int fail(long address, Status status, String message) {
		String text = message == null ? status.text() : message.replace('\0', ' ');
		byte[] bytes = Struct.text(text.substring(0, Math.min(text.length(), 300)));
		return Native.callFail(address, status.code, bytes);
	}
}
