// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.time.Duration;
import warpway.Broker;
import warpway.ChannelOptions;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.DType;
import warpway.Device;
import warpway.Frame;
import warpway.Layout;
import warpway.MemoryKind;
import warpway.Producer;
import warpway.Slot;

/** A process publishes frames, another one reads them in place. */
public final class Frames {
	private static final Duration LIMIT = Duration.ofSeconds(20);
	private static final Layout IMAGE = Layout.of(DType.UINT8, 480, 640);

	private Frames() {
	}

	public static void main(String[] arguments) throws Exception {
		String device = arguments.length > 0 ? arguments[0] : "host";
		if (arguments.length > 1) {
			consume(device);
			return;
		}
		ChannelOptions options = new ChannelOptions(IMAGE).kind(MemoryKind.HOST)
				.metadata(16, "camera/1");
		Process other = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
				System.getProperty("java.class.path"), "Frames", device, "other")
				.inheritIO().start();
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Producer producer = Producer.create(on, broker, "java/camera", options)) {
			producer.awaitConsumers(1, LIMIT);
			for (int i = 1; i <= 5; i++) {
				try (Slot slot = producer.acquire(LIMIT)) {
					ByteBuffer pixels = slot.buffer();
					pixels.put(0, (byte) i);
					slot.metadata(("image " + i).getBytes()).publish();
				}
			}
		}
		if (other.waitFor() != 0) {
			throw new AssertionError("the other process has failed");
		}
	}

	private static void consume(String device) throws Exception {
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Consumer consumer = Consumer.get(on, broker, "java/camera",
						new ConsumerOptions().layout(IMAGE), LIMIT)) {
			for (Frame frame : consumer) {
				System.out.println(new String(frame.metadata()) + ": "
						+ frame.read(pixels -> pixels.get(0)));
			}
		}
	}
}
