// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A membership of a barrier: a point that N processes pass only together. If a member ends or
 * leaves before it has arrived, every wait of every member fails with {@link Status#PEER_LOST}.
 */
public final class Barrier extends Handle {
	/** The first rank that is free. */
	public static final int ANY_RANK = -1;

	private Barrier(long address) {
		super(Kind.BARRIER, address, new ReentrantLock(true));
	}

	/**
	 * Makes a barrier in a broker. The process is no member of it until it gets or opens it.
	 *
	 * @param broker which keeps it
	 * @param name null: it is found by its token only
	 * @param count members
	 * @param options mode and group of the name
	 * @param escrow how long the broker keeps it until it has members, and the uses of the token
	 * @return a token of the barrier
	 */
	public static Token create(Broker broker, String name, int count, NameOptions options,
			ExportOptions escrow) {
		byte[] token = new byte[Token.BYTES];
		byte[] params = Struct.sized(40).u32(count).u32(options.mode()).u32(options.gid())
				.u64(options.flags()).u64(escrow.escrowNs()).u32(escrow.uses()).array();
		try (NativeObject by = broker.use()) {
			Status.checkOk(Native.barrierCreate(by.address, Struct.optional(name), params, token));
		}
		return new Token(token);
	}

	/**
	 * Becomes a member of the barrier of a name, and waits until all others have.
	 *
	 * @param broker where the name is
	 * @param name of the barrier
	 * @param rank 0 to count - 1, or {@link #ANY_RANK}
	 * @param timeout for the name to appear and all members to come
	 * @return the membership
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Barrier get(Broker broker, String name, int rank, Duration timeout)
			throws InterruptedException {
		long[] out = new long[1];
		byte[] text = Struct.text(name);
		int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
				Native.barrierGet(broker.object.address, text, rank, timeoutNs, cancel, out));
		Broker.checkFound(status, name);
		return new Barrier(out[0]);
	}

	/**
	 * Becomes a member of the barrier that a token names, and waits until all others have.
	 *
	 * @param broker that the token is from
	 * @param token of the barrier
	 * @param rank 0 to count - 1, or {@link #ANY_RANK}
	 * @param timeout for all members to come
	 * @return the membership
	 * @throws InterruptedException if the thread was interrupted
	 */
	public static Barrier open(Broker broker, Token token, int rank, Duration timeout)
			throws InterruptedException {
		long[] out = new long[1];
		int status = Wait.run(broker.object, timeout, (timeoutNs, cancel) ->
				Native.barrierImport(broker.object.address, token.array(), rank, timeoutNs, cancel,
						out));
		Broker.checkFound(status, "the barrier with all of its members");
		return new Barrier(out[0]);
	}

	/**
	 * Arrives, and waits until all members have. After a wait that ended early this member counts
	 * as arrived: the next call goes on waiting in the same round.
	 *
	 * @param timeout how long
	 * @return false: the time is over first
	 * @throws InterruptedException if the thread was interrupted
	 */
	public boolean await(Duration timeout) throws InterruptedException {
		return Wait.run(object, timeout, (timeoutNs, cancel) ->
				Native.barrierWait(object.address, timeoutNs, cancel)) == 0;
	}

	/**
	 * Describes the barrier.
	 *
	 * @return its state
	 */
	public BarrierInfo info() {
		Struct info = Struct.sized(BarrierInfo.BYTES);
		try (NativeObject barrier = use()) {
			Status.check(Native.barrierInfo(barrier.address, info.array()));
		}
		return new BarrierInfo(info);
	}
}
