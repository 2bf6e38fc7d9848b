// SPDX-License-Identifier: Apache-2.0
package heat.tests;

import static org.junit.jupiter.api.Assertions.*;

import heat.client.FieldFrame;
import heat.client.FieldReader;
import heat.client.FrameHeader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.ChannelOptions;
import warpway.ChannelPolicy;
import warpway.DType;
import warpway.Device;
import warpway.Layout;
import warpway.NameOptions;
import warpway.Producer;
import warpway.Slot;

/** The reader, with frames of this process instead of those of a daemon: also with wrong ones. */
class ReaderTest {
	private static final Duration LONG = Duration.ofSeconds(300);
	private static final int ROWS = 3, COLUMNS = 5, METADATA = 128;

	/** Says what it gets, a line for each. */
	private static final class Lines implements FieldReader.Listener {
		final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

		@Override
		public void frame(FieldFrame frame) {
			lines.add(frame.kind() + " " + frame.header().step() + " " + frame.values().get(7));
		}

		@Override
		public void damaged(String sentence) {
			lines.add(sentence);
		}

		@Override
		public void waiting(String sentence) {
			lines.add(sentence);
		}

		/** The next line that has this part; those before it are dropped. */
		String await(String part) throws InterruptedException {
			String line = lines.poll(300, TimeUnit.SECONDS);
			while (line != null && !line.contains(part)) {
				line = lines.poll(300, TimeUnit.SECONDS);
			}
			assertNotNull(line, "nothing with '" + part + "' came");
			return line;
		}
	}

	private static Producer producer(Device device, Broker broker, String prefix) {
		return Producer.create(device, broker, prefix + "/field", new ChannelOptions(
				Layout.of(DType.FLOAT32, ROWS, COLUMNS)).policy(ChannelPolicy.LATEST)
				.metadata(METADATA, FrameHeader.TYPE).name(new NameOptions().replace()));
	}

	/** Publishes a frame whose values are all the same; "wrong" is added to its checksum. */
	private static void publish(Producer producer, long run, long step, int rows, int wrong)
			throws Exception {
		ByteBuffer field = ByteBuffer.allocate(4 * ROWS * COLUMNS).order(ByteOrder.nativeOrder());
		while (field.hasRemaining()) {
			field.putFloat(step);
		}
		CRC32 checksum = new CRC32();
		checksum.update(field.flip());
		ByteBuffer header = ByteBuffer.allocate(METADATA).order(ByteOrder.LITTLE_ENDIAN);
		header.putLong(0, run).putLong(8, step).putInt(64, (int) checksum.getValue() + wrong)
				.putInt(68, rows).putInt(72, COLUMNS);
		try (Slot slot = producer.acquire(LONG)) {
			slot.buffer().put(field.flip());
			slot.metadata(header.array()).publish();
		}
	}

	@Test
	void wrongFramesAreNotUsed() throws Exception {
		Lines lines = new Lines();
		try (Device device = Device.open("host"); Broker broker = Broker.open();
				Producer producer = producer(device, broker, "java-reader-wrong");
				FieldReader reader = new FieldReader("java-reader-wrong", lines)) {
			assertTrue(producer.awaitConsumers(1, LONG));
			publish(producer, 7, 1, ROWS, 0);
			assertEquals("FIRST 1 1.0", lines.await("FIRST"));
			publish(producer, 7, 2, ROWS, 1);
			lines.await("Frame 2 is damaged: its checksum is ");
			publish(producer, 7, 3, ROWS + 1, 0);
			lines.await("Frame 3 has 60 bytes, which its header does not describe.");
			publish(producer, 7, 4, -ROWS, 0);
			lines.await("Frame 4 has 60 bytes, which its header does not describe.");
			publish(producer, 7, 5, ROWS, 0);
			assertEquals("NEXT 5 5.0", lines.await("NEXT"));
			publish(producer, 8, 1, ROWS, 0);
			assertEquals("NEW_RUN 1 1.0", lines.await("NEW_RUN"));
		}
	}

	@Test
	void aReaderGoesOnWithTheNextProducer() throws Exception {
		Lines lines = new Lines();
		try (Device device = Device.open("host"); Broker broker = Broker.open()) {
			Producer first = producer(device, broker, "java-reader-next");
			try (FieldReader reader = new FieldReader("java-reader-next", lines)) {
				assertTrue(first.awaitConsumers(1, LONG));
				publish(first, 7, 1, ROWS, 0);
				lines.await("FIRST 1 ");
				first.close();
				lines.await(" closed its channel at ");
				try (Producer second = producer(device, broker, "java-reader-next")) {
					assertTrue(second.awaitConsumers(1, LONG));
					publish(second, 7, 9, ROWS, 0);
					lines.await("NEXT 9 9.0");
				}
			} finally {
				first.close();
			}
		}
	}

	@Test
	void aChannelOfAnotherKindIsRefusedInASentence() throws Exception {
		Lines lines = new Lines();
		try (Device device = Device.open("host"); Broker broker = Broker.open();
				Producer other = Producer.create(device, broker, "java-reader-other/field",
						new ChannelOptions(16).metadata(16, "camera/1"));
				FieldReader reader = new FieldReader("java-reader-other", lines)) {
			assertTrue(lines.await("camera/1").endsWith("."));
			assertEquals(0, other.info().consumers());
		}
	}
}
