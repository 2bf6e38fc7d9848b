// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.time.Duration;
import warpway.Access;
import warpway.Broker;
import warpway.Device;
import warpway.Memory;
import warpway.ObjectState;
import warpway.PutOptions;

/**
 * Two processes share memory by its name. Without an argument but the device this program starts
 * itself once more, as the other process.
 */
public final class ShareByName {
	private static final String NAME = "java/shared";

	private ShareByName() {
	}

	public static void main(String[] arguments) throws Exception {
		String device = arguments.length > 0 ? arguments[0] : "host";
		if (arguments.length > 1) {
			answer(device);
			return;
		}
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Memory memory = Memory.create(on, 4096)) {
			memory.write(0, ByteBuffer.wrap("question".getBytes()), Duration.ofSeconds(10));
			memory.put(broker, NAME, new PutOptions().state(ObjectState.SHARED));

			Process other = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
					System.getProperty("java.class.path"), "ShareByName", device, "other")
					.inheritIO().start();
			if (other.waitFor() != 0) {
				throw new AssertionError("the other process has failed");
			}
			System.out.println("this process reads: " + read(memory));
		}
	}

	private static void answer(String device) throws Exception {
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Memory memory = Memory.get(on, broker, NAME, Access.WRITE,
						Duration.ofSeconds(10))) {
			System.out.println("the other process reads: " + read(memory));
			memory.write(0, ByteBuffer.wrap("answer  ".getBytes()), Duration.ofSeconds(10));
		}
	}

	/** Copies: that works with memory of a GPU, too. */
	private static String read(Memory memory) throws InterruptedException {
		ByteBuffer bytes = ByteBuffer.allocate(8);
		memory.read(0, bytes, Duration.ofSeconds(10));
		return new String(bytes.array()).trim();
	}
}
