// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * A membership of a work queue: frames from several producers, each for exactly one of several
 * consumers. If a consumer ends before it has acknowledged a frame, another one gets it.
 */
public final class WorkQueue extends Ring {
	/** What a member does with a queue. */
	public enum Role {
		/** Nothing: it keeps the queue, and may end it. */
		KEEPER,
		/** It acquires slots and publishes frames. */
		PRODUCER,
		/** It receives and acknowledges frames. */
		CONSUMER,
		/** It does so with frames that have failed. */
		FAILED
	}

	private volatile boolean hasEnded;

	private WorkQueue(long address) {
		super(Kind.WORK_QUEUE, address);
	}

	/**
	 * Makes a queue in a broker, and opens it.
	 *
	 * @param device where the slots of a producer are to be, or are mapped for a consumer
	 * @param broker where the name is to be
	 * @param name of the queue; null: it is found by its tokens only
	 * @param role of this member
	 * @param options what queue to make
	 * @return the membership
	 */
	public static WorkQueue create(Device device, Broker broker, String name, Role role,
			WorkQueueOptions options) {
		long[] out = new long[1];
		byte[] text = Struct.optional(name);
		try (NativeObject of = device.use(); NativeObject in = broker.use()) {
			Status.checkOk(Native.queueCreate(of.address, in.address, text, options.params(role),
					Layout.array(options.layout), out));
		}
		return new WorkQueue(out[0]);
	}

	/**
	 * Opens the queue of a name.
	 *
	 * @param device as for {@link #create}
	 * @param broker where the name is
	 * @param name of the queue
	 * @param role of this member
	 * @param timeout how long to wait for the name
	 * @return the membership
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static WorkQueue get(Device device, Broker broker, String name, Role role,
			Duration timeout) throws InterruptedException {
		return get(device, broker, name, role, 0, timeout);
	}

	/**
	 * Opens the queue of a name, for a consumer that need not be told the end.
	 *
	 * @param device as for {@link #create}
	 * @param broker where the name is
	 * @param name of the queue
	 * @param role of this member
	 * @param endAfterProducers the queue has ended for this consumer when so many producers have
	 *        joined since it was made, all have left, and all frames are done; 0: when a member
	 *        has called {@link #end}
	 * @param timeout how long to wait for the name
	 * @return the membership
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static WorkQueue get(Device device, Broker broker, String name, Role role,
			int endAfterProducers, Duration timeout) throws InterruptedException {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		int code = Struct.code(role);
		try (NativeObject of = device.use()) {
			int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
					Native.queueGet(of.address, broker.object.address, text, code,
							endAfterProducers, timeoutNs, cancel, out));
			Broker.checkFound(status, name);
		}
		return new WorkQueue(out[0]);
	}

	/**
	 * Opens the queue that a token names.
	 *
	 * @param device as for {@link #create}
	 * @param broker that the token is from
	 * @param token of the queue
	 * @param role of this member
	 * @return the membership
	 */
	public static WorkQueue open(Device device, Broker broker, Token token, Role role) {
		return open(device, broker, token, role, 0);
	}

	/**
	 * Opens the queue that a token names, for a consumer that need not be told the end.
	 *
	 * @param device as for {@link #create}
	 * @param broker that the token is from
	 * @param token of the queue
	 * @param role of this member
	 * @param endAfterProducers as for {@link #get}
	 * @return the membership
	 */
	public static WorkQueue open(Device device, Broker broker, Token token, Role role,
			int endAfterProducers) {
		long[] out = new long[1];
		try (NativeObject of = device.use(); NativeObject from = broker.use()) {
			Status.checkOk(Native.queueImport(of.address, from.address, token.array(),
					Struct.code(role), endAfterProducers, out));
		}
		return new WorkQueue(out[0]);
	}

	/**
	 * Makes a token, by which any process can open the queue.
	 *
	 * @param options access READ: for consumers; WRITE: for producers, too; its escrow and its uses
	 * @return the token
	 */
	public Token export(ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject queue = use()) {
			Status.checkOk(Native.queueExport(queue.address, Struct.code(options.access()),
					options.tokenParams(), token));
		}
		return new Token(token);
	}

	/** Says that no more work comes: when all frames are done, consumers find the end. */
	public void end() {
		try (NativeObject queue = use()) {
			Status.check(Native.queueClose(queue.address));
		}
	}

	/**
	 * Gets a slot to write a frame into.
	 *
	 * @param stream which is to write; null: the CPU
	 * @param timeout how long to wait for one
	 * @return the slot; null: none in time, or the queue has ended ({@link #hasEnded})
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Slot acquire(Stream stream, Duration timeout) throws InterruptedException {
		byte[] frame = next(stream, timeout, Native::queueAcquire);
		return frame == null ? null : new Slot(this, frame);
	}

	/**
	 * Gets a frame that no other consumer has.
	 *
	 * @param stream which is to read; null: the CPU
	 * @param timeout how long to wait for one
	 * @return the frame; null: none in time, or none any more ({@link #hasEnded})
	 * @throws InterruptedException if the thread was interrupted
	 */
	public WorkFrame receive(Stream stream, Duration timeout) throws InterruptedException {
		byte[] frame = next(stream, timeout, Native::queueReceive);
		return frame == null ? null : new WorkFrame(this, frame);
	}

	private interface Next {
		int call(long queue, long stream, long timeoutNs, long cancel, byte[] out);
	}

	private byte[] next(Stream stream, Duration timeout, Next next) throws InterruptedException {
		byte[] frame = Struct.sized(FrameBytes.BYTES).array();
		int status;
		try (NativeObject by = use(stream)) {
			status = Wait.run(object, timeout, (timeoutNs, cancel) ->
					next.call(object.address, by.address, timeoutNs, cancel, frame));
		}
		hasEnded = status == Status.END.code;
		return status == 0 ? frame : null;
	}

	/**
	 * Tells whether the last call found the end: the queue was ended, and all frames are done.
	 *
	 * @return whether it did
	 */
	public boolean hasEnded() {
		return hasEnded;
	}

	/**
	 * Describes the queue.
	 *
	 * @return its state
	 */
	public WorkQueueInfo info() {
		Struct info = Struct.sized(WorkQueueInfo.BYTES);
		try (NativeObject queue = use()) {
			Status.check(Native.queueInfo(queue.address, info.array()));
		}
		return new WorkQueueInfo(info);
	}

	@Override
	int publish(byte[] frame, long stream, long bytes, long[] shape, byte[] metadata) {
		return Native.queuePublish(object.address, frame, stream, bytes, shape, metadata);
	}

	@Override
	int discard(byte[] frame) {
		return Native.queueDiscard(object.address, frame, 0);
	}
}
