// SPDX-License-Identifier: Apache-2.0
package warpway;

/** The state of an object in a broker. */
public enum ObjectState {
	/** Its creator writes, no other process can get it. */
	WRITING,
	/** Other processes get it for reading only. */
	SEALED,
	/** Other processes get it for reading and writing, as its mode says. */
	SHARED,
	/** It has ended: no process can get it, but some hold it. */
	REMOVED
}
