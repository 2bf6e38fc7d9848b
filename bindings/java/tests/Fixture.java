// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.function.Executable;
import warpway.Device;
import warpway.MemoryKind;
import warpway.Status;
import warpway.WarpwayException;

/** What tests share. */
final class Fixture {
	/** Only there to end a hang, also on a busy machine. */
	static final Duration LONG = Duration.ofSeconds(300);
	static final long LONG_S = LONG.toSeconds();
	static final Duration NOW = Duration.ZERO;

	private static final String DEVICE =
			System.getenv().getOrDefault("WW_TEST_DEVICE", "host");
	private static final AtomicInteger NAMES = new AtomicInteger();

	private Fixture() {
	}

	static String deviceName() {
		return DEVICE;
	}

	static boolean isHost() {
		return DEVICE.equals("host");
	}

	static Device device() {
		return Device.open(DEVICE);
	}

	/** Memory of this kind has views on every device. */
	static MemoryKind viewable() {
		return isHost() ? MemoryKind.VMM : MemoryKind.HOST;
	}

	/** A name that no other test has. */
	static String name(String word) {
		return "java/" + word + NAMES.incrementAndGet();
	}

	static WarpwayException fails(Status status, Executable call) {
		WarpwayException exception = assertThrows(WarpwayException.class, call);
		assertEquals(status, exception.status(), exception.getMessage());
		return exception;
	}

	/** A call that may throw. */
	interface Call {
		void run() throws Exception;
	}

	/** A thread, and what its call threw. */
	static final class Runner {
		final Thread thread;
		private final AtomicReference<Throwable> thrown = new AtomicReference<>();

		Runner(Call call) {
			thread = new Thread(() -> {
				try {
					call.run();
				} catch (Throwable problem) {
					thrown.set(problem);
				}
			});
			thread.start();
		}

		/** Waits until the thread sleeps in the library. */
		Runner awaitNative() throws InterruptedException {
			while (thread.isAlive() && !isNative()) {
				Thread.onSpinWait();
			}
			return this;
		}

		private boolean isNative() {
			StackTraceElement[] stack = thread.getStackTrace();
			return stack.length > 0 && stack[0].isNativeMethod()
					&& stack[0].getClassName().equals("warpway.Native")
					&& !stack[0].getMethodName().startsWith("cancel");
		}

		Throwable join() throws InterruptedException {
			thread.join(LONG.toMillis());
			if (thread.isAlive()) {
				throw new AssertionError("the thread does not end");
			}
			return thrown.get();
		}
	}
}
