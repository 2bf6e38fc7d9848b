// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.zip.CRC32;
import heat.client.FrameHeader;
import warpway.Broker;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.Device;
import warpway.Frame;

/**
 * How long a frame takes from its producer to a consumer in Java: {@code Latency NAME FRAMES
 * [unchecked]} prints microseconds, one a line. bench-latency runs it beside other consumers.
 */
public final class Latency {
	private static final Duration PATIENCE = Duration.ofSeconds(30);
	/** Frames that do not count, as in heat_latency.c. */
	private static final int WARM_UP = 60;

	private Latency() {
	}

	public static void main(String[] arguments) throws InterruptedException {
		long[] latenciesNs = new long[WARM_UP + Integer.parseInt(arguments[1])];
		boolean isChecked = arguments.length == 2;
		try (Device device = Device.open("host");
				Broker broker = Broker.open(null, false, PATIENCE);
				Consumer consumer = Consumer.get(device, broker, arguments[0],
						new ConsumerOptions().metadataType(FrameHeader.TYPE), PATIENCE)) {
			for (int i = 0; i < latenciesNs.length; i++) {
				try (Frame frame = consumer.receive(PATIENCE)) {
					if (frame == null) {
						throw new IllegalStateException("no frame came within " + PATIENCE);
					}
					latenciesNs[i] = System.nanoTime() - frame.submittedNs();
					if (isChecked && frame.read(Latency::checksum)
							!= FrameHeader.of(frame.metadata()).checksum()) {
						throw new IllegalStateException("frame " + frame.number() + " is torn");
					}
				}
			}
		}
		Arrays.stream(latenciesNs).skip(WARM_UP)
				.forEach(ns -> System.out.println(ns / 1e3));
	}

	private static int checksum(ByteBuffer bytes) {
		CRC32 checksum = new CRC32();
		checksum.update(bytes);
		return (int) checksum.getValue();
	}
}
