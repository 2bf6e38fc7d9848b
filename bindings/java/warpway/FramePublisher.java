// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReference;

/** The frames of a consumer for a subscriber, as many as it requests. */
final class FramePublisher implements Flow.Publisher<Frame> {
	/** So long it may take until a cancel is seen, and the thread is given back. */
	private static final Duration SLICE = Duration.ofMillis(50);

	private final Consumer consumer;
	private final Executor executor;
	private final AtomicReference<Frames> current = new AtomicReference<>();
	/** Held while receiving: a cancelled subscription ends that before the next one begins. */
	private final Object turn = new Object();

	FramePublisher(Consumer consumer, Executor executor) {
		this.consumer = consumer;
		this.executor = executor;
	}

	@Override
	public void subscribe(Flow.Subscriber<? super Frame> subscriber) {
		Frames frames = new Frames(subscriber);
		boolean isFirst = current.compareAndSet(null, frames);
		subscriber.onSubscribe(frames);
		if (!isFirst) {
			frames.isDone = true;
			subscriber.onError(new IllegalStateException("the publisher has a subscriber"));
		}
	}

	/** A subscription. At most one task of it runs at a time. */
	private final class Frames implements Flow.Subscription {
		private final Flow.Subscriber<? super Frame> subscriber;
		private long requested;
		private boolean isRunning;
		private volatile boolean isDone;
		private Throwable refused;

		Frames(Flow.Subscriber<? super Frame> subscriber) {
			this.subscriber = subscriber;
		}

		@Override
		public void request(long count) {
			synchronized (this) {
				if (isDone || current.get() != this) {
					return;
				}
				if (count <= 0) {
					refused = new IllegalArgumentException("a request of " + count + " frames");
				} else {
					requested = requested + count < 0 ? Long.MAX_VALUE : requested + count;
				}
				if (isRunning) {
					return;
				}
				isRunning = true;
			}
			executor.execute(this::run);
		}

		@Override
		public void cancel() {
			isDone = true;
			current.compareAndSet(this, null);
		}

		/** Whether the task goes on. If not, the next request starts another one. */
		private synchronized boolean goesOn() {
			isRunning = !isDone && (requested > 0 || refused != null);
			return isRunning;
		}

		private void run() {
			try {
				while (goesOn()) {
					synchronized (turn) {
						step();
					}
				}
			} catch (InterruptedException exception) {
				Thread.currentThread().interrupt();
				fail(exception);
			} catch (RuntimeException exception) {
				fail(exception);
			}
		}

		private void step() throws InterruptedException {
			if (refused != null) {
				fail(refused);
				return;
			}
			if (isDone) {
				return;
			}
			try (Frame frame = consumer.receive(SLICE)) {
				if (frame != null && !isDone) {
					synchronized (this) {
						requested -= requested == Long.MAX_VALUE ? 0 : 1;
					}
					subscriber.onNext(frame);
				} else if (consumer.hasEnded() && !isDone) {
					cancel();
					subscriber.onComplete();
				}
			}
		}

		private void fail(Throwable problem) {
			if (!isDone) {
				cancel();
				subscriber.onError(problem);
			}
		}
	}
}
