// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.LocalTime;
import java.util.zip.CRC32;
import warpway.Broker;
import warpway.ChannelEvent;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.Device;
import warpway.Frame;
import warpway.Status;
import warpway.WarpwayException;

/**
 * Receives the field of heatd in a thread of its own, and attaches again when heatd ends.
 *
 * <p>The channel keeps the latest frames only. So while the listener works on one frame, older ones
 * are dropped, and the next frame that it gets is the newest one.
 */
public final class FieldReader implements AutoCloseable {
	/** What wants the frames. Its methods are called in the thread of the reader. */
	public interface Listener {
		/**
		 * Takes a frame. The next one is received when this method returns.
		 *
		 * @param frame whose checksum is right
		 * @throws InterruptedException if the thread was interrupted: the reader ends
		 */
		void frame(FieldFrame frame) throws InterruptedException;

		/**
		 * Takes a frame that is not as its header says: its bytes are not to be used.
		 *
		 * @param sentence what is wrong with it
		 */
		void damaged(String sentence);

		/**
		 * Tells that no frames come, and why: no daemon is there, it has ended, or this process is
		 * refused.
		 *
		 * @param sentence for a person
		 */
		void waiting(String sentence);
	}

	private static final Duration SLICE = Duration.ofMillis(200);
	private static final long EVENTS_NS = 200_000_000;

	private final String name;
	private final Listener listener;
	private final Thread thread;
	private ByteBuffer own = ByteBuffer.allocateDirect(0);
	private FrameHeader last;
	private long eventsNs;
	private String told;
	private String ended;

	/**
	 * Makes a reader, and starts its thread.
	 *
	 * @param prefix of the names of heatd, such as "heat"
	 * @param listener what wants the frames
	 */
	public FieldReader(String prefix, Listener listener) {
		name = prefix + "/field";
		this.listener = listener;
		thread = new Thread(this::run, "heat-reader");
		thread.setDaemon(true);
		thread.start();
	}

	/** Ends the thread, and waits until everything that it had open is closed. */
	@Override
	public void close() {
		thread.interrupt();
		boolean interrupted = false;
		while (thread.isAlive()) {
			try {
				thread.join();
			} catch (InterruptedException exception) {
				interrupted = true;
			}
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	private void run() {
		try {
			while (true) {
				try (Device device = Device.open("host");
						Broker broker = Broker.open(null, false, Duration.ZERO);
						Consumer consumer = attach(device, broker)) {
					receive(consumer);
				} catch (WarpwayException exception) {
					tell(Sentences.of(exception));
				}
				Thread.sleep(SLICE.toMillis());
			}
		} catch (InterruptedException exception) {
			/* close() was called. */
			return;
		}
	}

	/** Says why no frames come, once for each reason. */
	private void tell(String sentence) {
		if (!sentence.equals(told)) {
			told = sentence;
			listener.waiting(sentence);
		}
	}

	private Consumer attach(Device device, Broker broker) throws InterruptedException {
		ConsumerOptions options = new ConsumerOptions().reattach().metadataType(FrameHeader.TYPE);
		try {
			return Consumer.get(device, broker, name, options, SLICE);
		} catch (WarpwayException exception) {
			if (exception.status() == Status.LIMIT) {
				throw new WarpwayException(Status.LIMIT, Sentences.full(device, broker, name));
			}
			if (exception.status() == Status.ACCESS) {
				throw new WarpwayException(Status.ACCESS,
						Sentences.refused(broker, name, exception));
			}
			if (exception.status() == Status.TIMED_OUT) {
				throw new WarpwayException(Status.TIMED_OUT, ended != null ? ended
						: "No daemon publishes " + name + " now. Waiting for one.");
			}
			throw exception;
		}
	}

	private void receive(Consumer consumer) throws InterruptedException {
		try {
			while (true) {
				try (Frame frame = consumer.receive(SLICE)) {
					if (frame != null) {
						take(consumer, frame);
					}
				}
				if (System.nanoTime() - eventsNs > EVENTS_NS) {
					events(consumer);
				}
			}
		} catch (WarpwayException exception) {
			events(consumer);
			throw exception;
		}
	}

	private void events(Consumer consumer) throws InterruptedException {
		eventsNs = System.nanoTime();
		ChannelEvent event = consumer.nextEvent(Duration.ZERO);
		for (; event != null; event = consumer.nextEvent(Duration.ZERO)) {
			String time = Sentences.time(
					LocalTime.now().minusNanos(System.nanoTime() - event.timeNs()));
			String who = event.program() + " (pid " + event.pid() + ")";
			if (event.kind() == ChannelEvent.Kind.PRODUCER_ENDED) {
				ended = who + " ended at " + time + " without closing its channel: it was killed, "
						+ "or it failed. Waiting for the next one.";
				tell(ended);
			} else if (event.kind() == ChannelEvent.Kind.PRODUCER_CLOSED) {
				ended = who + " closed its channel at " + time + ". Waiting for the next one.";
				tell(ended);
			}
		}
	}

	private void take(Consumer consumer, Frame frame) throws InterruptedException {
		FrameHeader header = FrameHeader.of(frame.metadata());
		if (header == null || !header.hasSize(frame.bytes())) {
			listener.damaged("Frame " + frame.number() + " has " + frame.bytes()
					+ " bytes, which its header does not describe.");
			return;
		}
		copy(frame);
		long ageNs = System.nanoTime() - frame.submittedNs();
		/* The producer can use the slot while this process draws. */
		frame.close();
		CRC32 checksum = new CRC32();
		checksum.update(own.duplicate());
		if ((int) checksum.getValue() != header.checksum()) {
			listener.damaged("Frame " + frame.number() + " is damaged: its checksum is "
					+ Long.toHexString(checksum.getValue()) + ", and its header says "
					+ Integer.toHexString(header.checksum()) + ".");
			return;
		}
		FieldFrame.Kind kind = FieldFrame.kind(header, last);
		if (kind == FieldFrame.Kind.CONTINUED || kind == FieldFrame.Kind.NEW_RUN) {
			/* The end of the former daemon is told before the frames of the next one. */
			events(consumer);
		}
		last = header;
		told = null;
		ended = null;
		listener.frame(new FieldFrame(header, own.asFloatBuffer(), kind, ageNs));
	}

	private void copy(Frame frame) {
		int bytes = Math.toIntExact(frame.bytes());
		if (own.capacity() < bytes) {
			own = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
		}
		frame.read(shared -> own.clear().put(shared));
		own.flip();
	}
}
