// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Plain bytes that name a memory or another object to any process. They can be sent by any means. A
 * process that has them has the access that they were made for: keep them as secret as a password.
 */
public final class Token {
	/** How many bytes a token has. */
	public static final int BYTES = 512;
	private static final int TEXT_BYTES = 696;

	private final byte[] bytes;

	Token(byte[] bytes) {
		this.bytes = bytes;
	}

	/**
	 * Makes a token of its bytes. Whether it opens anything only the broker knows.
	 *
	 * @param bytes as {@link #toBytes} gave them
	 * @return the token
	 */
	public static Token of(byte[] bytes) {
		Token token = new Token(Arrays.copyOf(bytes, BYTES));
		if (bytes.length != BYTES) {
			throw new WarpwayException(Status.PROTOCOL, "a token has " + BYTES + " bytes, and not "
					+ bytes.length);
		}
		token.info();
		return token;
	}

	/**
	 * Makes a token of its text.
	 *
	 * @param text as {@link #toText} gave it
	 * @return the token
	 */
	public static Token of(String text) {
		byte[] out = new byte[BYTES];
		Status.check(Native.tokenFromText(Struct.text(text), out));
		return new Token(out);
	}

	byte[] array() {
		return bytes;
	}

	/**
	 * Gives the bytes, to be sent.
	 *
	 * @return a copy of all 512
	 */
	public byte[] toBytes() {
		return bytes.clone();
	}

	/**
	 * Gives the text form: safe in a command line, an environment variable or JSON.
	 *
	 * @return one line
	 */
	public String toText() {
		byte[] out = new byte[TEXT_BYTES];
		Status.check(Native.tokenToText(bytes, out));
		return new String(out, StandardCharsets.US_ASCII).trim();
	}

	/**
	 * Tells what is in the token, without its secret.
	 *
	 * @return the content
	 */
	public TokenInfo info() {
		Struct info = Struct.sized(TokenInfo.SIZE);
		Status.check(Native.tokenInfo(bytes, info.array()));
		return new TokenInfo(info);
	}

	/** What kind of object it names; never its secret. */
	@Override
	public String toString() {
		TokenInfo info = info();
		return "Token[" + info.kind() + " " + info.objectId() + "]";
	}
}
