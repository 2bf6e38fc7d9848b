// SPDX-License-Identifier: Apache-2.0
package warpway;

/** When an object leaves its broker by itself. */
public enum Life {
	/** With its last holder; a token in escrow counts as one. */
	HELD,
	/** When the process that put it ends, or closes its connection to the broker. */
	OWNER,
	/** When its time to live ends, if it has one. */
	KEPT
}
