// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A connection to a broker: the process that keeps objects under names, with owners and
 * permissions. What is put and got says each object: {@link Memory#put}, {@link Timeline#get}, and
 * so on. Calls without a limit on time end within the limit of the broker, 5 seconds by default.
 */
public final class Broker extends Handle {
	private static final long OBJECTS = 1, UNNAMED = 2, HOLDERS = 4, HOLDS = 8;

	private Broker(long address) {
		super(Kind.BROKER, address);
	}

	/**
	 * Connects to the default broker: the one that WARPWAY_BROKER names, that of the machine, or
	 * that of this user, which is started if none runs.
	 *
	 * @return the broker
	 */
	public static Broker open() {
		return open(null, true, Duration.ZERO);
	}

	/**
	 * Connects to a broker.
	 *
	 * @param address absolute path of its socket; null: the default broker
	 * @param start whether one is started if none runs, where that is possible
	 * @param timeout for connecting, and for each answer; zero: 5 seconds
	 * @return the broker
	 */
	public static Broker open(String address, boolean start, Duration timeout) {
		long[] out = new long[1];
		Status.check(Native.brokerOpen(Struct.optional(address), !start, Wait.nanos(timeout), out));
		return new Broker(out[0]);
	}

	/** Throws what a get with a limit on time ends with when the time is over. */
	static void checkFound(int status, String what) {
		if (status != 0) {
			throw new WarpwayException(Status.of(status), "'" + what + "' was not there in time");
		}
	}

	/**
	 * Tells where the broker listens.
	 *
	 * @return the path of its socket
	 */
	public String address() {
		try (NativeObject broker = use()) {
			return new String(Native.brokerAddress(broker.address), StandardCharsets.UTF_8);
		}
	}

	/**
	 * Describes the broker.
	 *
	 * @return its state
	 */
	public BrokerInfo info() {
		Struct info = Struct.sized(BrokerInfo.BYTES);
		try (NativeObject broker = use()) {
			Status.check(Native.brokerInfo(broker.address, info.array()));
		}
		return new BrokerInfo(info);
	}

	/**
	 * Removes a name. A memory goes on without it: a process that has it can still send it, tokens
	 * in flight arrive, and it can be put again. Any other object ends.
	 *
	 * @param name of the object
	 */
	public void remove(String name) {
		try (NativeObject broker = use()) {
			Status.check(Native.brokerRemove(broker.address, Struct.text(name)));
		}
	}

	/**
	 * Ends an object: its name is free, and its tokens in flight end, so no process can get it.
	 * Processes that hold it keep what they have mapped.
	 *
	 * @param name of the object
	 */
	public void end(String name) {
		try (NativeObject broker = use()) {
			Status.check(Native.brokerEnd(broker.address, Struct.text(name), null));
		}
	}

	/**
	 * Ends an object that may have no name, as {@link #end(String)}.
	 *
	 * @param objectId 32 hexadecimal digits, such as {@link ObjectInfo#objectId()}
	 */
	public void endById(String objectId) {
		byte[] id = Struct.id(objectId);
		try (NativeObject broker = use()) {
			Status.check(Native.brokerEnd(broker.address, null, id));
		}
	}

	/**
	 * Describes an object.
	 *
	 * @param name of the object
	 * @return what the broker knows of it
	 */
	public ObjectInfo stat(String name) {
		Struct info = Struct.sized(ObjectInfo.BYTES);
		try (NativeObject broker = use()) {
			Status.check(Native.brokerStat(broker.address, Struct.text(name), info.array()));
		}
		return new ObjectInfo(info);
	}

	/** The call that fills the struct of an entry. */
	interface Entry {
		int get(long list, int index, byte[] out);
	}

	static <T> List<T> entries(long list, int bytes, Entry entry, Function<Struct, T> make) {
		List<T> entries = new ArrayList<>();
		Struct info = Struct.sized(bytes);
		while (Status.check(entry.get(list, entries.size(), info.array())) == 0) {
			entries.add(make.apply(info));
			info = Struct.sized(bytes);
		}
		return entries;
	}

	private <T> List<T> snapshot(String prefix, long contents, int bytes, Entry entry,
			Function<Struct, T> make) {
		long[] out = new long[1];
		try (NativeObject broker = use()) {
			Status.check(Native.snapshotCreate(broker.address, Struct.text(prefix), contents, out));
		}
		try {
			return entries(out[0], bytes, entry, make);
		} finally {
			Native.snapshotFree(out[0]);
		}
	}

	/**
	 * Lists the objects that have names.
	 *
	 * @param prefix of the names; "": all
	 * @return in the order of the names
	 */
	public List<ObjectInfo> list(String prefix) {
		return snapshot(prefix, OBJECTS, ObjectInfo.BYTES, Native::snapshotObject, ObjectInfo::new);
	}

	/**
	 * Lists all objects, also those without a name, and ended ones that are still held.
	 *
	 * @return the objects
	 */
	public List<ObjectInfo> listAll() {
		return snapshot("", OBJECTS | UNNAMED, ObjectInfo.BYTES, Native::snapshotObject,
				ObjectInfo::new);
	}

	/**
	 * Lists the processes that are connected or hold something.
	 *
	 * @return the holders
	 */
	public List<HolderInfo> holders() {
		return snapshot("", HOLDERS, HolderInfo.BYTES, Native::snapshotHolder, HolderInfo::new);
	}

	/**
	 * Lists which holder holds which object.
	 *
	 * @return the holds
	 */
	public List<HoldInfo> holds() {
		return snapshot("", HOLDS, HoldInfo.BYTES, Native::snapshotHold, HoldInfo::new);
	}

	/**
	 * Lists the deliveries of this process that nobody has imported yet.
	 *
	 * @return the deliveries, in no order
	 */
	public List<Delivery> inFlight() {
		long[] out = new long[1];
		try (NativeObject broker = use()) {
			Status.check(Native.inFlightCreate(broker.address, out));
		}
		try {
			return entries(out[0], Delivery.BYTES, Native::inFlightGet, Delivery::new);
		} finally {
			Native.inFlightFree(out[0]);
		}
	}

	/**
	 * Ends a delivery of this process: its token opens nothing any more.
	 *
	 * @param token of the delivery
	 * @return imports that nobody has made
	 */
	public long revokeInFlight(Token token) {
		return revokeInFlight(token.array(), Duration.ZERO);
	}

	/**
	 * Ends the deliveries of this process that are at least so old.
	 *
	 * @param age zero: all
	 * @return imports that nobody has made
	 */
	public long revokeInFlight(Duration age) {
		return revokeInFlight((byte[]) null, age);
	}

	private long revokeInFlight(byte[] token, Duration age) {
		long[] out = new long[2];
		try (NativeObject broker = use()) {
			Status.check(Native.inFlightRevoke(broker.address, token, Wait.nanos(age), out));
		}
		return out[0];
	}
}
