// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * An event of CUDA between processes, for programs that do not use Warpway. Between programs that
 * do, use a {@link Timeline}: a wait for an event of a process that died never ends on a GPU.
 */
public final class Event extends Handle {
	private static final long BLOCKING_SYNC = 2;

	private Event(long address) {
		super(Kind.EVENT, address);
	}

	/**
	 * Makes an event that other processes can open.
	 *
	 * @param device of the streams that record it
	 * @param blockingSync whether a CPU that waits sleeps instead of spinning
	 * @return the event
	 */
	public static Event create(Device device, boolean blockingSync) {
		long[] out = new long[1];
		try (NativeObject of = device.use()) {
			Status.check(Native.eventCreate(of.address, blockingSync ? BLOCKING_SYNC : 0, out));
		}
		return new Event(out[0]);
	}

	/**
	 * Opens the event that a token names.
	 *
	 * @param device of the backend that made it
	 * @param broker that the token is from
	 * @param token of the event
	 * @return the event
	 */
	public static Event open(Device device, Broker broker, Token token) {
		long[] out = new long[1];
		try (NativeObject of = device.use(); NativeObject from = broker.use()) {
			Status.checkOk(Native.eventImport(of.address, from.address, token.array(), out));
		}
		return new Event(out[0]);
	}

	/**
	 * Opens the event of a CUDA program.
	 *
	 * @param device a GPU
	 * @param handle the 64 bytes of a cudaIpcEventHandle_t
	 * @return the event
	 */
	public static Event openHandle(Device device, byte[] handle) {
		Struct.checkHandle(handle);
		long[] out = new long[1];
		try (NativeObject of = device.use()) {
			Status.checkOk(Native.eventHandleOpen(of.address, handle, out));
		}
		return new Event(out[0]);
	}

	/**
	 * Gives the handle by which any CUDA program can open the event.
	 *
	 * @return the 64 bytes of a cudaIpcEventHandle_t
	 */
	public byte[] handle() {
		byte[] handle = new byte[64];
		try (NativeObject event = use()) {
			Status.checkOk(Native.eventHandleGet(event.address, handle));
		}
		return handle;
	}

	/**
	 * Makes a token, by which any process can open the event.
	 *
	 * @param broker that keeps the event for the token
	 * @param options its escrow and its uses
	 * @return the token
	 */
	public Token export(Broker broker, ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject event = use(); NativeObject by = broker.use()) {
			Status.checkOk(Native.eventExport(event.address, by.address, options.tokenParams(),
					token));
		}
		return new Token(token);
	}

	/**
	 * Has the event stand for the work that a stream has now.
	 *
	 * @param stream of the device of the event
	 */
	public void record(Stream stream) {
		try (NativeObject event = use(); NativeObject by = stream.use()) {
			Status.check(Native.eventRecord(event.address, by.address));
		}
	}

	/**
	 * Has the further work of a stream wait for the last recording.
	 *
	 * @param stream which waits
	 */
	public void await(Stream stream) {
		try (NativeObject event = use(); NativeObject by = stream.use()) {
			Status.check(Native.eventStreamWait(event.address, by.address));
		}
	}

	/**
	 * Waits on the CPU for the last recording.
	 *
	 * @param timeout how long
	 * @return false: the time is over first
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean synchronize(Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.eventSynchronize(object.address, timeoutNs, cancel)) == 0;
	}

	/**
	 * Tells whether the work of the last recording has run.
	 *
	 * @return whether it has
	 */
	public boolean query() {
		try (NativeObject event = use()) {
			return Status.check(Native.eventQuery(event.address)) == 0;
		}
	}
}
