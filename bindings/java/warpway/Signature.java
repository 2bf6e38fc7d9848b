// SPDX-License-Identifier: Apache-2.0
package warpway;

import java.util.ArrayList;
import java.util.List;

/** The parameters and results of a function. */
final class Signature {
	private static final int PARAMETER_BYTES = 1224;

	/** What an argument is, as WW_ARGUMENT_... count. */
	static final int NONE = 0, SCALAR = 1, BYTES = 2, ARRAY = 3, TIMELINE = 4;

	/** A parameter or a result. */
	record Item(int kind, DType dtype, Access access, String name, String type) {
		static Item of(Struct info) {
			int kind = info.u32();
			DType dtype = DType.of(info.u32());
			Access access = Struct.entry(Access.values(), info.u32());
			return new Item(kind, dtype, access, info.skip(152).text(32), info.text(1024));
		}
	}

	final List<Item> parameters;
	final List<Item> results;

	Signature(String text) {
		parameters = items(text, false);
		results = items(text, true);
	}

	private static List<Item> items(String signature, boolean result) {
		List<Item> items = new ArrayList<>();
		byte[] text = Struct.text(signature);
		Struct info = Struct.sized(PARAMETER_BYTES);
		while (Status.check(Native.signatureItem(text, result, items.size(), info.array())) == 0) {
			items.add(Item.of(info));
			info = Struct.sized(PARAMETER_BYTES);
		}
		return items;
	}
}
