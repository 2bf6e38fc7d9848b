// SPDX-License-Identifier: Apache-2.0
package heat.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** Flat JSON objects, which is all that this program prints. */
final class Report {
	private Report() {
	}

	/** A map of keys and values in turn, which keeps their order. */
	static Map<String, Object> pairs(Object... keysAndValues) {
		Map<String, Object> pairs = new LinkedHashMap<>();
		for (int i = 0; i < keysAndValues.length; i += 2) {
			pairs.put((String) keysAndValues[i], keysAndValues[i + 1]);
		}
		return pairs;
	}

	static String json(Map<String, Object> pairs) {
		return pairs.entrySet().stream().map(pair -> quote(pair.getKey()) + ": "
				+ value(pair.getValue())).collect(Collectors.joining(", ", "{", "}"));
	}

	private static String value(Object value) {
		if (value instanceof Double number && !Double.isFinite(number)) {
			return "null";
		}
		return value instanceof Number || value instanceof Boolean ? value.toString()
				: quote(value.toString());
	}

	private static String quote(String text) {
		StringBuilder quoted = new StringBuilder("\"");
		for (char character : text.toCharArray()) {
			if (character == '"' || character == '\\') {
				quoted.append('\\').append(character);
			} else if (character < ' ') {
				quoted.append(String.format("\\u%04x", (int) character));
			} else {
				quoted.append(character);
			}
		}
		return quoted.append('"').toString();
	}
}
