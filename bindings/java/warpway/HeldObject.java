// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;

/**
 * A hold of an object that maps nothing: for a process that passes tokens on, such as a client of a
 * service, and has no device that reaches the memory.
 */
public final class HeldObject extends Handle {
	private final ObjectInfo info;

	private HeldObject(long address, Struct info) {
		super(Kind.HELD_OBJECT, address);
		this.info = new ObjectInfo(info);
	}

	/**
	 * Holds the memory of a name.
	 *
	 * @param broker where the name is
	 * @param name of the memory
	 * @param access the most that tokens of the hold are to grant
	 * @param timeout how long to wait for the name, and until the memory is ready
	 * @return the hold
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static HeldObject get(Broker broker, String name, Access access, Duration timeout)
			throws InterruptedException {
		long[] out = new long[1];
		Struct object = Struct.sized(ObjectInfo.BYTES);
		byte[] params = Struct.sized(24).u32(Struct.code(access)).array();
		byte[] text = Struct.text(name);
		int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
				Native.holdGet(broker.object.address, text, params, timeoutNs, cancel, out,
						object.array()));
		Broker.checkFound(status, name);
		return new HeldObject(out[0], object);
	}

	/**
	 * Holds what a token names: a memory, a slice, a timeline, an event or a barrier.
	 *
	 * @param broker that the token is from
	 * @param token of the object
	 * @return the hold
	 */
	public static HeldObject open(Broker broker, Token token) {
		long[] out = new long[1];
		Struct object = Struct.sized(ObjectInfo.BYTES);
		try (NativeObject from = broker.use()) {
			Status.checkOk(Native.holdImport(from.address, token.array(), out, object.array()));
		}
		return new HeldObject(out[0], object);
	}

	/**
	 * Describes the object.
	 *
	 * @return as it was when the hold began
	 */
	public ObjectInfo info() {
		use().close();
		return info;
	}

	/**
	 * Maps the memory that is held.
	 *
	 * @param device which is to reach it
	 * @param access what is wanted
	 * @return the memory
	 */
	public Memory map(Device device, Access access) {
		long[] out = new long[1];
		byte[] params = Memory.importParams(access);
		try (NativeObject held = use(); NativeObject on = device.use()) {
			Status.checkOk(Native.holdMap(held.address, on.address, params, out));
		}
		return new Memory(out[0], info.layout());
	}

	/**
	 * Makes a token with the access and the span of this hold.
	 *
	 * @param options its escrow and its uses
	 * @return the token
	 */
	public Token export(ExportOptions options) {
		byte[] token = new byte[Token.BYTES];
		try (NativeObject held = use()) {
			Status.checkOk(Native.holdExport(held.address, options.tokenParams(), token));
		}
		return new Token(token);
	}
}
