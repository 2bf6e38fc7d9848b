// SPDX-License-Identifier: Apache-2.0
package warpway;

/** Kinds of devices. */
public enum Backend {
	/** The CPU of the machine as a device. */
	HOST,
	/** An NVIDIA GPU. */
	CUDA
}
