// SPDX-License-Identifier: Apache-2.0
/**
 * GPU and CPU memory that processes share, and what they wait for each other with.
 *
 * <p>The module has no dependencies but {@code java.base}.
 */
module warpway {
	exports warpway;
}
