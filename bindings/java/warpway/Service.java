// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * A service: this process offers functions that others call, on arrays that stay where they are. In
 * Java a function works on memory that the CPU reaches, or moves that of a GPU by streams.
 */
public final class Service extends Handle {
	private static final int IDEMPOTENT = 1;

	/** Global references of the native part, which end after the service. */
	private final List<Long> offers = Collections.synchronizedList(new ArrayList<>());

	private Service(long address) {
		super(Kind.SERVICE, address);
		List<Long> references = offers;
		object.afterwards = () -> references.forEach(Native::offerFree);
	}

	/**
	 * Makes a service. Clients can find it at once; their calls wait until {@link #start}.
	 *
	 * @param device where the arrays of calls are mapped
	 * @param broker where the name is to be
	 * @param name of the service; null: it is found by its token only
	 * @param options what service to make
	 * @return the service
	 */
	public static Service create(Device device, Broker broker, String name,
			ServiceOptions options) {
		long[] out = new long[1];
		byte[] text = Struct.optional(name);
		try (NativeObject of = device.use(); NativeObject in = broker.use()) {
			Status.checkOk(Native.serviceCreate(of.address, in.address, text, options.params(),
					out));
		}
		return new Service(out[0]);
	}

	/**
	 * Offers a function.
	 *
	 * @param name letters, digits, '_', '.', '-' and '/', at most 63
	 * @param signature what it takes and returns, such as "f32[n] x read -> f64 sum": see
	 *     warpway-signature(7)
	 * @param idempotent whether repeating a call does no harm
	 * @param function runs for each call
	 */
	public void offer(String name, String signature, boolean idempotent,
			ServiceFunction function) {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		Offer offer = new Offer(function, signature);
		try (NativeObject service = use()) {
			Status.checkOk(Native.serviceOffer(service.address, text, Struct.text(signature), offer,
					idempotent ? IDEMPOTENT : 0, out));
			offers.add(out[0]);
		}
	}

	/**
	 * Offers a function that runs several calls at once, such as one that works on many inputs in
	 * the time of one. The calls are of different lanes, of one client or of several.
	 *
	 * @param name as of {@link #offer}
	 * @param signature as of {@link #offer}, of each call
	 * @param idempotent whether repeating a call does no harm
	 * @param wait how long the first call waits for others, at most 60 seconds; zero: those are run
	 *     together that have come while no thread was free
	 * @param callsMax most calls that are run at once, at most 256; 0: 64
	 * @param function runs for several calls
	 */
	public void offerBatch(String name, String signature, boolean idempotent, Duration wait,
			int callsMax, BatchFunction function) {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		long waitNs = Wait.nanos(wait);
		BatchOffer offer = new BatchOffer(Objects.requireNonNull(function), signature);
		try (NativeObject service = use()) {
			Status.checkOk(Native.serviceOfferBatch(service.address, text, Struct.text(signature),
					offer, idempotent ? IDEMPOTENT : 0, waitNs, callsMax, out));
			offers.add(out[0]);
		}
	}

	/** Tells clients that all functions are offered. */
	public void start() {
		try (NativeObject service = use()) {
			Status.check(Native.serviceStart(service.address));
		}
	}

	/**
	 * Runs functions for clients, in the calling thread. Several threads may serve.
	 *
	 * @param timeout how long; zero: the calls that are there
	 * @return false: the service was drained, and no call is left
	 * @throws InterruptedException if the thread was interrupted; a function that runs is not
	 *     interrupted by that, unless it waits itself
	 */
	public boolean serve(Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.serviceServe(object.address, timeoutNs, cancel)) != Status.END.code;
	}

	/** Takes no new calls. Those that have come are run, and then {@link #serve} returns. */
	public void drain() {
		try (NativeObject service = use()) {
			Status.check(Native.serviceDrain(service.address));
		}
	}

	/**
	 * Makes a token, by which any process can open the service.
	 *
	 * @param options access READ: to see its functions; WRITE: to call them
	 * @return the token
	 */
	public Token export(ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject service = use()) {
			Status.checkOk(Native.serviceExport(service.address, Struct.code(options.access()),
					options.tokenParams(), token));
		}
		return new Token(token);
	}

	/**
	 * Describes the service.
	 *
	 * @return its state
	 */
	public ServiceInfo info() {
		Struct info = Struct.sized(ServiceInfo.BYTES);
		try (NativeObject service = use()) {
			Status.check(Native.serviceInfo(service.address, info.array()));
		}
		return new ServiceInfo(info);
	}

	/**
	 * Lists the functions.
	 *
	 * @return in the order in which they were offered
	 */
	public List<FunctionInfo> functions() {
		try (NativeObject service = use()) {
			return Broker.entries(service.address, FunctionInfo.BYTES, Native::serviceFunction,
					FunctionInfo::of);
		}
	}
}
