// SPDX-License-Identifier: Apache-2.0
package warpway.tests;

import static org.junit.jupiter.api.Assertions.*;
import static warpway.tests.Fixture.*;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import warpway.Broker;
import warpway.Consumer;
import warpway.ConsumerOptions;
import warpway.Device;
import warpway.Frame;
import warpway.Producer;

/** The frames of a consumer as a Flow.Publisher. */
class PublisherTest {
	private final ExecutorService executor = Executors.newCachedThreadPool();
	private Device device;
	private Broker broker;
	private Producer producer;
	private Consumer consumer;

	@BeforeEach
	void open() throws Exception {
		String name = name("publisher");
		device = device();
		broker = Broker.open();
		producer = Producer.create(device, broker, name, ChannelTest.ints(4).slots(4));
		consumer = Consumer.get(device, broker, name, new ConsumerOptions(), NOW);
		assertTrue(producer.awaitConsumers(1, LONG));
	}

	@AfterEach
	void close() throws Exception {
		consumer.close();
		producer.close();
		broker.close();
		device.close();
		executor.shutdown();
		assertTrue(executor.awaitTermination(LONG_S, TimeUnit.SECONDS));
	}

	/** Notes what it is told, as words. */
	private static final class Notes implements Flow.Subscriber<Frame> {
		final BlockingQueue<String> words = new LinkedBlockingQueue<>();
		final List<Frame> frames = new CopyOnWriteArrayList<>();
		volatile Flow.Subscription subscription;

		@Override
		public void onSubscribe(Flow.Subscription given) {
			subscription = given;
		}

		@Override
		public void onNext(Frame frame) {
			frames.add(frame);
			words.add(Integer.toString(frame.buffer().getInt(0)));
		}

		@Override
		public void onError(Throwable problem) {
			words.add("error " + problem.getClass().getSimpleName());
		}

		@Override
		public void onComplete() {
			words.add("complete");
		}

		String next() throws InterruptedException {
			return words.poll(LONG_S, TimeUnit.SECONDS);
		}
	}

	@Test
	void obeysRequests() throws Exception {
		Notes notes = new Notes();
		consumer.publisher(executor).subscribe(notes);
		for (int i = 1; i <= 3; i++) {
			ChannelTest.publish(producer, i);
		}
		assertEquals(0, consumer.info().received());
		notes.subscription.request(2);
		assertEquals("1", notes.next());
		assertEquals("2", notes.next());
		assertNull(notes.words.poll(150, TimeUnit.MILLISECONDS));
		assertEquals(2, consumer.info().received());
		assertThrows(IllegalStateException.class, () -> notes.frames.get(0).buffer());
		notes.subscription.request(Long.MAX_VALUE);
		assertEquals("3", notes.next());
		ChannelTest.publish(producer, 4);
		assertEquals("4", notes.next());
		producer.close();
		assertEquals("complete", notes.next());
	}

	@Test
	void cancelEndsIt() throws Exception {
		Notes notes = new Notes();
		Flow.Publisher<Frame> publisher = consumer.publisher(executor);
		publisher.subscribe(notes);
		notes.subscription.request(10);
		ChannelTest.publish(producer, 1);
		assertEquals("1", notes.next());
		notes.subscription.cancel();
		notes.subscription.request(1);
		Notes second = new Notes();
		publisher.subscribe(second);
		second.subscription.request(1);
		ChannelTest.publish(producer, 2);
		String word = second.words.poll(500, TimeUnit.MILLISECONDS);
		if (word == null) {
			/* The cancelled subscription was in a receive, and has dropped that frame. */
			ChannelTest.publish(producer, 3);
			word = second.next();
		}
		assertTrue(word.equals("2") || word.equals("3"), word);
		assertNull(notes.words.poll());
	}

	@Test
	void refusals() throws Exception {
		Notes notes = new Notes();
		Flow.Publisher<Frame> publisher = consumer.publisher(executor);
		publisher.subscribe(notes);
		Notes second = new Notes();
		publisher.subscribe(second);
		assertEquals("error IllegalStateException", second.next());
		assertThrows(NullPointerException.class, () -> publisher.subscribe(null));
		notes.subscription.request(0);
		assertEquals("error IllegalArgumentException", notes.next());
	}

	@Test
	void aClosedConsumerIsAnError() throws Exception {
		Notes notes = new Notes();
		consumer.publisher(executor).subscribe(notes);
		notes.subscription.request(1);
		consumer.close();
		assertEquals("error IllegalStateException", notes.next());
	}
}
