// SPDX-License-Identifier: Apache-2.0
package warpway;

/**
 * What a device is and what it can do.
 *
 * @param backend of which kind it is
 * @param index the N of "cuda:N"; 0 on host
 * @param capabilities bits, as WW_CAP_... of warpway/device.h
 * @param granularity bytes; sizes of memory are rounded up to a multiple of it
 * @param bytesTotal of its memory
 * @param uuid 32 hexadecimal digits, the same in every process
 * @param selector what opens this device in this process, such as "cuda:0"
 * @param name of the product, such as "NVIDIA H200"
 * @param driver version of the driver, or of the kernel on host
 */
public record DeviceInfo(Backend backend, int index, long capabilities, long granularity,
		long bytesTotal, String uuid, String selector, String name, String driver) {
	static final int BYTES = 232;

	DeviceInfo(Struct info) {
		this(Struct.entry(Backend.values(), info.u32()), info.u32(), info.skip(4).u64(), info.u64(),
				info.u64(), Struct.hex(info.raw(16)), info.text(16), info.text(96),
				info.text(64));
	}
}
