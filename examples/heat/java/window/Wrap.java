// SPDX-License-Identifier: Apache-2.0
package heat.window;

import java.awt.FontMetrics;
import java.util.ArrayList;
import java.util.List;

/** Breaks a text into lines that fit. */
final class Wrap {
	private Wrap() {
	}

	static List<String> lines(String text, FontMetrics metrics, int width) {
		List<String> lines = new ArrayList<>();
		String line = "";
		for (String word : text.split(" ")) {
			String longer = line.isEmpty() ? word : line + " " + word;
			if (!line.isEmpty() && metrics.stringWidth(longer) > width) {
				lines.add(line);
				line = word;
			} else {
				line = longer;
			}
		}
		lines.add(line);
		return lines;
	}
}
