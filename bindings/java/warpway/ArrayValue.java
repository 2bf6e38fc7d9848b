// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * An array as an argument or a result of a call: a memory of this process or a token of one, and
 * how the array lies in it.
 *
 * @param memory of this process; null: see the token
 * @param token of the memory; null: see the memory
 * @param layout how the array lies there; null: as the token says, else just bytes
 */
public record ArrayValue(Memory memory, Token token, Layout layout) {
	/**
	 * Makes a value of a memory.
	 *
	 * @param memory of this process: it is exported for each call
	 * @param layout how the array lies in it
	 */
	public ArrayValue(Memory memory, Layout layout) {
		this(memory, null, layout);
	}

	/**
	 * Makes a value of a token: export once, and call often.
	 *
	 * @param token of a memory
	 * @param layout how the array lies in its span; null: as the token says
	 */
	public ArrayValue(Token token, Layout layout) {
		this(null, token, layout);
	}

	/** What a program may pass; null: something else. */
	static ArrayValue of(Object value) {
		if (value instanceof Memory memory) {
			return new ArrayValue(memory, memory.layout());
		}
		if (value instanceof Token token) {
			return new ArrayValue(token, null);
		}
		return value instanceof ArrayValue array ? array : null;
	}

	/**
	 * Maps a result that came as a token. Do that before the results are closed.
	 *
	 * @param device which is to reach it
	 * @param broker of the service
	 * @param access what is wanted
	 * @return the memory; {@link #layout} says what is where in it
	 */
	public Memory open(Device device, Broker broker, Access access) {
		return Memory.open(device, broker, token, access);
	}
}
