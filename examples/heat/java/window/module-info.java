// SPDX-License-Identifier: Apache-2.0
/** A window on heatd. */
module heat.window {
	requires transitive java.desktop;
	requires transitive heat.client;

	exports heat.window;
}
