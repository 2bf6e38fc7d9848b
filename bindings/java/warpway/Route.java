// SPDX-License-Identifier: Apache-2.0
package warpway;

/** By which way this process reaches the bytes of a memory. */
public enum Route {
	/** Device memory, mapped on the GPU that holds it. */
	LOCAL,
	/** Mapped on one GPU, held by another one that this process sees. */
	PEER,
	/** Mapped on one GPU, held by one that this process does not see. */
	PEER_HIDDEN,
	/** Host memory, mapped by the CPU. */
	HOST,
	/** Host memory that a GPU reads and writes in place. */
	HOST_REGISTERED
}
