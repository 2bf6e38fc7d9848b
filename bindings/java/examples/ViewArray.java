// SPDX-License-Identifier: Apache-2.0
import java.nio.FloatBuffer;
import java.time.Duration;
import warpway.Access;
import warpway.Broker;
import warpway.DType;
import warpway.Device;
import warpway.Layout;
import warpway.Memory;
import warpway.MemoryKind;
import warpway.PutOptions;

/** An array of float32 in shared memory, written and read in place by buffers of Java. */
public final class ViewArray {
	private ViewArray() {
	}

	public static void main(String[] arguments) throws Exception {
		Layout matrix = Layout.of(DType.FLOAT32, 4, 1000);
		try (Device device = Device.open(arguments.length > 0 ? arguments[0] : "host");
				Broker broker = Broker.open();
				Memory memory = Memory.create(device, matrix.bytes(), MemoryKind.HOST)) {
			FloatBuffer all = memory.floats(matrix);
			for (int i = 0; i < all.limit(); i++) {
				all.put(i, i);
			}
			memory.put(broker, "java/matrix", new PutOptions().layout(matrix));

			/* As another process would, which knows the name only. */
			try (Memory got = Memory.get(device, broker, "java/matrix", Access.READ,
					Duration.ofSeconds(10))) {
				Layout row = got.layout().index(0, 2);
				FloatBuffer floats = got.floats(row);
				System.out.println(got.layout() + ", row 2 is " + row + ": " + floats.get(0)
						+ " to " + floats.get(999) + ", read-only: " + floats.isReadOnly());
			}
		}
	}
}
