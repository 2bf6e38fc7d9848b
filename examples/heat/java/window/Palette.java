// SPDX-License-Identifier: Apache-2.0
package heat.window;

import java.awt.Color;

/** Colours of temperatures: the map "inferno" of matplotlib, from 0 to 100 degrees. */
public final class Palette {
	/** The temperature of the last colour. Higher ones have the same colour. */
	public static final float HOTTEST = 100;

	/** Of equal distance; between them the map is linear, to 2 of 255 steps of each channel. */
	private static final int[] ANCHORS = {
			0x000004, 0x040312, 0x0b0724, 0x150b37, 0x210c4a, 0x2f0a5b, 0x3d0965, 0x4a0c6b,
			0x57106e, 0x64156e, 0x71196e, 0x7d1e6d, 0x8a226a, 0x972766, 0xa32c61, 0xb0315b,
			0xbc3754, 0xc63d4d, 0xd04545, 0xda4e3c, 0xe35933, 0xeb6429, 0xf1711f, 0xf67e14,
			0xf98c0a, 0xfb9b06, 0xfcaa0f, 0xfbba1f, 0xf9c932, 0xf5d949, 0xf2e865, 0xf3f586,
			0xfcffa4,
	};
	private static final int[] COLOURS = new int[1024];

	static {
		for (int i = 0; i < COLOURS.length; i++) {
			float place = (float) i / (COLOURS.length - 1) * (ANCHORS.length - 1);
			int anchor = Math.min((int) place, ANCHORS.length - 2);
			COLOURS[i] = between(ANCHORS[anchor], ANCHORS[anchor + 1], place - anchor);
		}
	}

	private Palette() {
	}

	private static int between(int from, int to, float part) {
		int mixed = 0;
		for (int shift = 0; shift <= 16; shift += 8) {
			int low = from >> shift & 255;
			int high = to >> shift & 255;
			mixed |= Math.round(low + (high - low) * part) << shift;
		}
		return mixed;
	}

	/**
	 * Gives the colour of a temperature.
	 *
	 * @param temperature in degrees; below 0 as 0, above HOTTEST as HOTTEST
	 * @return red, green and blue, of 8 bits each
	 */
	public static int rgb(float temperature) {
		int index = (int) (temperature * ((COLOURS.length - 1) / HOTTEST) + 0.5f);
		return COLOURS[Math.max(0, Math.min(index, COLOURS.length - 1))];
	}

	static Color colour(float temperature) {
		return new Color(rgb(temperature));
	}
}
