/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_raw_host.c - the floor on the CPU: a sealed memfd, made, mapped and passed by hand
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bench_raw.h"
#include "own.h"
#include "voice.h"

static int map(int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (address == MAP_FAILED)
		return complain("mmap: %s", strerror(errno));
	out_memory->address = (uintptr_t)address;
	out_memory->bytes = bytes;
	out_memory->fd = fd;
	return 0;
}

static int create(struct raw *raw, uint64_t bytes, struct raw_memory *out_memory)
{
	int fd = memfd_create("warpway-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)raw;
	if (fd < 0)
		return complain("memfd_create: %s", strerror(errno));
	if (ftruncate(fd, (off_t)bytes) || fallocate(fd, 0, 0, (off_t)bytes) ||
		fchmod(fd, S_IRUSR | S_IWUSR) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		complain("cannot set up a memfd: %s", strerror(errno));
		close(fd);
		return -1;
	}
	if (map(fd, bytes, out_memory) == 0)
		return 0;
	close(fd);
	return -1;
}

static int unmap(struct raw *raw, struct raw_memory *memory)
{
	(void)raw;
	if (munmap((void *)(uintptr_t)memory->address, memory->bytes) || close(memory->fd))
		return complain("cannot unmap a memfd: %s", strerror(errno));
	return 0;
}

static int export_fd(struct raw *raw, const struct raw_memory *memory, int *out_fd)
{
	(void)raw;
	*out_fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
	return *out_fd < 0 ? complain("fcntl: %s", strerror(errno)) : 0;
}

/* The importer keeps a descriptor of its own beside the mapping, to hand the memory on. */
static int import_map(struct raw *raw, int fd, uint64_t bytes, struct raw_memory *out_memory)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	(void)raw;
	if (kept < 0)
		return complain("fcntl: %s", strerror(errno));
	if (map(kept, bytes, out_memory) == 0)
		return 0;
	close(kept);
	return -1;
}

static void close_nothing(struct raw *raw)
{
	(void)raw;
}

static const struct raw_ops host_ops = {
	.create = create,
	.release = unmap,
	.export_fd = export_fd,
	.import_map = import_map,
	.unmap = unmap,
	.close = close_nothing,
};

int raw_open_host(struct raw **out_raw)
{
	static struct raw host = {.ops = &host_ops};

	*out_raw = &host;
	return 0;
}
