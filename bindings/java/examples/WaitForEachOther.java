// SPDX-License-Identifier: Apache-2.0
import java.time.Duration;
import warpway.Broker;
import warpway.Device;
import warpway.NameOptions;
import warpway.Status;
import warpway.Stream;
import warpway.Timeline;
import warpway.WarpwayException;

/** A process signals a timeline, by its CPU and by a stream; another one waits for the values. */
public final class WaitForEachOther {
	private static final Duration LIMIT = Duration.ofSeconds(20);

	private WaitForEachOther() {
	}

	public static void main(String[] arguments) throws Exception {
		String device = arguments.length > 0 ? arguments[0] : "host";
		if (arguments.length > 1) {
			signal(device);
			return;
		}
		Process other = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
				System.getProperty("java.class.path"), "WaitForEachOther", device, "other")
				.inheritIO().start();
		try (Broker broker = Broker.open();
				Timeline timeline = Timeline.get(broker, "java/progress", LIMIT)) {
			timeline.await(1, LIMIT);
			timeline.await(2, LIMIT);
			System.out.println("reached: " + timeline.info().completed());
			try {
				timeline.await(3, LIMIT);
			} catch (WarpwayException exception) {
				if (exception.status() != Status.PEER_LOST) {
					throw exception;
				}
				System.out.println("the signaller has ended, so 3 will not come");
			}
		} finally {
			other.waitFor();
		}
	}

	private static void signal(String device) throws Exception {
		try (Device on = Device.open(device);
				Broker broker = Broker.open();
				Stream stream = Stream.create(on);
				Timeline timeline = Timeline.create()) {
			timeline.put(broker, "java/progress", new NameOptions());
			timeline.signal(1);
			timeline.signal(stream, 2);
			stream.synchronize(LIMIT);
			/* The name ends with this process: so wait until the other one has it. */
			while (broker.stat("java/progress").holders() < 2) {
				Thread.onSpinWait();
			}
		}
	}
}
