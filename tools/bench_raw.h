/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_raw.h - the floor: what the system itself takes for the same work
 *
 * The calls a careful programmer would write without this library, on a GPU to the CUDA driver, on the CPU
 * to the kernel; nothing is checked beyond success, nothing is kept. One implementation for
 * each kind of device, chosen by raw_open().
 */
#ifndef TOOLS_BENCH_RAW_H
#define TOOLS_BENCH_RAW_H

#include <warpway/warpway.h>

struct raw;

/* A span of memory, mapped for reading and writing. */
struct raw_memory {
	uint64_t bytes;
	uint64_t address;
	uint64_t handle; /* the driver's; on the CPU unused */
	int fd;          /* on the CPU; on a GPU unused */
};

/* All return 0, or -1 after saying what went wrong; release and unmap take what they are given. */
struct raw_ops {
	int (*create)(struct raw *raw, uint64_t bytes, struct raw_memory *out_memory);
	int (*release)(struct raw *raw, struct raw_memory *memory);
	int (*export_fd)(struct raw *raw, const struct raw_memory *memory, int *out_fd);
	int (*import_map)(struct raw *raw, int fd, uint64_t bytes, struct raw_memory *out_memory);
	int (*unmap)(struct raw *raw, struct raw_memory *memory);
	void (*close)(struct raw *raw);
};

struct raw {
	const struct raw_ops *ops;
};

/* Opens the raw calls for the device that @info describes. */
int raw_open(const struct ww_device_info *info, struct raw **out_raw);
void raw_close(struct raw *raw);

int raw_open_host(struct raw **out_raw);
int raw_open_cuda(const struct ww_device_info *info, struct raw **out_raw);

static inline void own_raw(struct raw **raw)
{
	raw_close(*raw);
}

#endif
