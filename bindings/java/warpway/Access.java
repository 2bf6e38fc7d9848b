// SPDX-License-Identifier: Apache-2.0
package warpway;

/** What may be done with a memory. */
public enum Access {
	/** Reading. */
	READ,
	/** Reading and writing. */
	WRITE
}
