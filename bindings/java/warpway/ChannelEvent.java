// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * What has happened to a channel.
 *
 * @param kind of the event
 * @param consumer number of the consumer; -1: the event is of the producer
 * @param pid of its process
 * @param uid of its user
 * @param generation which producer it is of
 * @param frame number of the last frame published then; 0: none
 * @param timeNs when this side noticed it, on the clock of System.nanoTime()
 * @param waitedNs how long was waited, for kinds about waiting
 * @param dropped how many events before this one were dropped
 * @param program the name of the process
 */
public record ChannelEvent(Kind kind, int consumer, int pid, int uid, int generation, long frame,
		long timeNs, long waitedNs, long dropped, String program) {
	static final int BYTES = 88;

	/** Kinds of events. */
	public enum Kind {
		/** A consumer has come. */
		CONSUMER_JOINED,
		/** A consumer has closed the channel. */
		CONSUMER_LEFT,
		/** The process of a consumer has ended. */
		CONSUMER_ENDED,
		/** A consumer was evicted. */
		CONSUMER_EVICTED,
		/** The producer found no slot for 10 ms because of the consumer. */
		PRODUCER_WAITED,
		/** No frame has come in time. */
		DEADLINE_MISSED,
		/** The producer has closed the channel. */
		PRODUCER_CLOSED,
		/** The process of the producer has ended. */
		PRODUCER_ENDED,
		/** The consumer goes on with another producer, which the event names. */
		REATTACHED
	}

	ChannelEvent(Struct event) {
		this(Struct.entry(Kind.values(), event.u32()), event.u32(), event.u32(), event.u32(),
				event.u32(), event.u64(), event.u64(), event.u64(), event.u64(), event.text(32));
	}
}
