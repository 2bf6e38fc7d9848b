// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A client of a service: it finds functions and calls them. It needs no device: memories go as
 * tokens. One call with {@link RemoteFunction#callAsync} starts a thread, "warpway-client", which
 * waits for calls that are not complete and ends when there are none for a second.
 */
public final class Client extends Handle {
	private static final int OBSERVE = 1;

	/** Completes the futures of calls. */
	final Executor executor;
	private final Calls calls = new Calls();

	private Client(long address, Executor executor) {
		super(Kind.CLIENT, address, new ReentrantLock(true));
		this.executor = executor;
	}

	/**
	 * Becomes a client of the service of a name.
	 *
	 * @param broker where the name is
	 * @param name of the service
	 * @param timeout how long to wait for the name
	 * @return the client, whose futures are completed on the common pool
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Client get(Broker broker, String name, Duration timeout)
			throws InterruptedException {
		return get(broker, name, false, ForkJoinPool.commonPool(), timeout);
	}

	/**
	 * Becomes a client of the service of a name.
	 *
	 * @param broker where the name is
	 * @param name of the service
	 * @param observe whether it only sees functions and state, and can call nothing
	 * @param executor completes the futures of calls, and so runs their callbacks
	 * @param timeout how long to wait for the name
	 * @return the client
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Client get(Broker broker, String name, boolean observe, Executor executor,
			Duration timeout) throws InterruptedException {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
				Native.clientOpen(broker.object.address, text, observe ? OBSERVE : 0, 0, timeoutNs,
						cancel, out));
		Broker.checkFound(status, name);
		return new Client(out[0], executor);
	}

	/**
	 * Becomes a client of the service that a token names.
	 *
	 * @param broker that the token is from
	 * @param token of the service
	 * @param executor completes the futures of calls, and so runs their callbacks
	 * @return the client
	 */
	public static Client open(Broker broker, Token token, Executor executor) {
		long[] out = new long[1];
		try (NativeObject from = broker.use()) {
			Status.checkOk(Native.clientImport(from.address, token.array(), 0, 0, out));
		}
		return new Client(out[0], executor);
	}

	@Override
	public void close() {
		super.close();
		calls.end();
	}

	/** Runs a task on the executor; in this thread if the executor has ended. */
	void execute(Runnable task) {
		try {
			executor.execute(task);
		} catch (RejectedExecutionException exception) {
			task.run();
		}
	}

	void watch(PendingCall call) {
		calls.add(call);
	}

	/**
	 * Describes the service.
	 *
	 * @return its state
	 */
	public ServiceInfo info() {
		Struct info = Struct.sized(ServiceInfo.BYTES);
		try (NativeObject client = use()) {
			Status.check(Native.clientServiceInfo(client.address, info.array()));
		}
		return new ServiceInfo(info);
	}

	/**
	 * Lists the functions of the service.
	 *
	 * @return in the order in which they were offered
	 */
	public List<FunctionInfo> functions() {
		try (NativeObject client = use()) {
			return Broker.entries(client.address, FunctionInfo.BYTES, Native::clientFunction,
					FunctionInfo::of);
		}
	}

	/**
	 * Waits until the server has started the service.
	 *
	 * @param timeout how long
	 * @return false: the time is over first
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean awaitReady(Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.clientWaitReady(object.address, timeoutNs, cancel)) == 0;
	}

	/**
	 * Finds a function.
	 *
	 * @param name of the function
	 * @param signature what the caller takes it for; null: anything
	 * @param timeout how long to wait until it is offered
	 * @return the function
	 * @throws InterruptedException if the thread was interrupted
	 */
	public RemoteFunction find(String name, String signature, Duration timeout)
			throws InterruptedException {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		byte[] expected = Struct.optional(signature);
		int status = Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.clientFind(object.address, text, expected, timeoutNs, cancel, out));
		Broker.checkFound(status, name);
		int index = (int) out[0];
		Struct info = Struct.sized(FunctionInfo.BYTES);
		try (NativeObject client = use()) {
			Status.check(Native.clientFunction(client.address, index, info.array()));
		}
		return new RemoteFunction(this, index, FunctionInfo.of(info));
	}

	/**
	 * Gives the timeline of a lane: by it a stream can wait for calls. Other calls of this client
	 * wait meanwhile.
	 *
	 * @param lane 0 to 63
	 * @param timeout how long to wait for the server
	 * @return the timeline
	 * @throws InterruptedException if the thread was interrupted
	 */
	public Timeline laneTimeline(int lane, Duration timeout) throws InterruptedException {
		long[] out = new long[1];
		int status = Wait.runOnce(object, timeout, (timeoutNs, cancel) ->
				Native.clientLaneTimeline(object.address, lane, timeoutNs, cancel, out));
		Broker.checkFound(status, "the timeline of the lane");
		return new Timeline(out[0]);
	}
}
