// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * A device that has memory and runs streams: an NVIDIA GPU, "cuda:0", or the CPU, "host". A JVM has
 * no CUDA context of its own: for memory of a GPU use {@link Memory#read}, {@link Memory#write} and
 * the functions of a service.
 */
public final class Device extends Handle {
	private Device(long address) {
		super(Kind.DEVICE, address);
	}

	/**
	 * Opens a device. A device that is opened twice is one, counted.
	 *
	 * @param name "host", "cuda:N" or "cuda:UUID"; null: the first GPU that can be shared, else
	 *     host
	 * @return the device
	 */
	public static Device open(String name) {
		long[] out = new long[1];
		Status.check(Native.deviceOpen(Struct.optional(name), out));
		return new Device(out[0]);
	}

	/**
	 * Counts the devices of a kind that this process can see.
	 *
	 * @param backend which kind
	 * @return how many
	 */
	public static int count(Backend backend) {
		long[] out = new long[1];
		Status.check(Native.deviceCount(Struct.code(backend), out));
		return (int) out[0];
	}

	/**
	 * Describes the device.
	 *
	 * @return what it is and what it can do
	 */
	public DeviceInfo info() {
		Struct info = Struct.sized(DeviceInfo.BYTES);
		try (NativeObject device = use()) {
			Status.check(Native.deviceInfo(device.address, info.array()));
		}
		return new DeviceInfo(info);
	}

	/**
	 * Tells how much memory is free. On a GPU this makes the primary context.
	 *
	 * @return bytes
	 */
	public long freeBytes() {
		long[] out = new long[1];
		try (NativeObject device = use()) {
			Status.check(Native.deviceFreeBytes(device.address, out));
		}
		return out[0];
	}
}
