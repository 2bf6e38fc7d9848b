// SPDX-License-Identifier: Apache-2.0
/** Watches and steers heatd, without a window: it runs where no desktop is. */
module heat.client {
	requires transitive warpway;

	exports heat.client;
}
