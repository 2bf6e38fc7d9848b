/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - exporting and importing within one process
 *
 * What crosses between real processes is tested by the integration suite; here the two ends are the
 * same process, where the same memory must be the same object.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/conformance.h"

DEVICE_CASE(share_descriptor, WW_CAP_EXPORT)
{
	struct ww_memory_description descriptions[2];
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	int fds[2];

	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fds[i], &descriptions[i]));
		MUST(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	}
	MUST(fds[0] != fds[1]);
	MUST(fds[0] > STDERR_FILENO && fds[1] > STDERR_FILENO);
	MUST_MATCH(&descriptions[0], &descriptions[1], sizeof(descriptions[0]));
	close(fds[0]);
	close(fds[1]);
}

/* Without the kernel's word memory of a GPU is mapped once more each time. */
static void need_comparison(void)
{
	if (subject_is_cuda() && !kernel_compares_descriptors())
		check_skip("this kernel does not tell whether two descriptors are one");
}

static void import_is_counted(uint32_t kind)
{
	struct ww_memory_description description;
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 2 * MIB);
	ww_memory *again;
	int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	for (int i = 0; i < 3; i++) {
		MUST_OK(ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &again));
		MUST(again == memory);
	}
	MUST(fcntl(fd, F_GETFD) != -1); /* borrowed only */
	close(fd);
	for (int i = 0; i < 3; i++)
		MUST(!ww_memory_unref(memory));
	pattern_write(memory, 1);
	pattern_verify(memory, 1);
}

CASE(share_import_is_counted, WW_CAP_EXPORT)
{
	need_comparison();
	import_is_counted(WW_MEMORY_VMM);
}

CASE_CALL(share_import_host_kind_is_counted, WW_CAP_HOST_MEMORY, import_is_counted(WW_MEMORY_HOST))

/* The descriptor alone keeps the bytes. */
static void outlives_maker(uint32_t kind)
{
	struct ww_memory_description description;
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 3 * MIB);
	struct ww_memory_info before = memory_info(memory);
	struct ww_memory_info after;
	int fd;

	pattern_write(memory, 21);
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	ww_memory_unref(memory);
	MUST_OK(ww_memory_import_fd(device, fd, &description,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	close(fd);
	after = memory_info(memory);
	MUST_EQUAL(before.kind, after.kind);
	MUST_EQUAL(before.bytes, after.bytes);
	MUST_EQUAL(before.route, after.route);
	MUST_EQUAL(before.access, after.access);
	MUST_MATCH(before.object_id, after.object_id, sizeof(before.object_id));
	MUST_MATCH(before.home_uuid, after.home_uuid, sizeof(before.home_uuid));
	pattern_verify(memory, 21);
	pattern_write(memory, 22);
	pattern_verify(memory, 22);
}

CASE_CALL(share_outlives_maker, WW_CAP_EXPORT, outlives_maker(WW_MEMORY_VMM))
CASE_CALL(share_outlives_maker_host_kind, WW_CAP_HOST_MEMORY, outlives_maker(WW_MEMORY_HOST))

/* Two mappings of the same bytes, one of them for reading only. */
static void read_only_aliases(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	ww_memory *writer = memory_make(device, kind, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(writer, device, WW_ACCESS_READ);
	struct ww_memory_info info = memory_info(reader);

	MUST(reader != writer);
	MUST(ww_memory_pointer(reader) != ww_memory_pointer(writer));
	MUST_EQUAL(WW_ACCESS_READ, info.access);
	MUST_MATCH(memory_info(writer).object_id, info.object_id, sizeof(info.object_id));
	pattern_write(writer, 31);
	pattern_verify(reader, 31);
	pattern_write(writer, 32);
	pattern_verify(reader, 32);
	ww_memory_unref(writer);
	pattern_verify(reader, 32);
}

CASE_CALL(share_read_only_aliases, WW_CAP_EXPORT, read_only_aliases(WW_MEMORY_VMM))
CASE_CALL(share_read_only_aliases_host_kind, WW_CAP_HOST_READ_ONLY,
	read_only_aliases(WW_MEMORY_HOST))

CASE(share_read_only_is_counted_apart, WW_CAP_EXPORT)
{
	OWN(device) ww_device *device;
	OWN(memory) ww_memory *writer;
	ww_memory *reader;

	need_comparison();
	device = subject_open();
	writer = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	reader = memory_reimport(writer, device, WW_ACCESS_READ);

	/* Exported for writing, imported for reading: what counts is how it is mapped. */
	MUST(memory_reimport(reader, device, WW_ACCESS_READ) == reader);
	MUST(memory_reimport(writer, device, WW_ACCESS_WRITE) == writer);
	ww_memory_unref(writer);
	ww_memory_unref(reader);
	ww_memory_unref(reader);
	pattern_write(writer, 33);
	pattern_verify(writer, 33);
}

DEVICE_CASE(share_read_only_unsupported, WW_CAP_HOST_MEMORY)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, 4096);
	struct ww_memory_description description;
	ww_memory *reader;
	OWN(fd) int fd;

	if (device_info(device).capabilities & WW_CAP_HOST_READ_ONLY) {
		ww_memory_unref(memory);
		ww_device_unref(device);
		check_skip("the device can map host memory read-only");
	}
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "read",
		ww_memory_import_fd(device, fd, &description, NULL, &reader));
	MUST(!reader);
}

DEVICE_CASE(share_access_only_shrinks, WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);
	ww_memory *wrong = memory;
	OWN(fd) int fd = 77;

	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_memory_export_fd(reader, WW_ACCESS_WRITE, &fd, &description));
	MUST_EQUAL(-1, fd);
	MUST_OK(ww_memory_export_fd(reader, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &wrong));
	MUST(!wrong);
}

/* The kernel itself keeps who holds a read-only descriptor of host memory from writing. */
static void read_only_descriptor(uint32_t kind)
{
	struct ww_memory_description description;
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 2 * MIB);
	uint64_t bytes = memory_info(memory).bytes;
	void *mapped;
	int fd;

	pattern_write(memory, 41);
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	MUST(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(mapped == MAP_FAILED && errno == EACCES);
	MUST(write(fd, "x", 1) == -1);
	MUST(ftruncate(fd, 0) == -1);
	mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	MUST(mapped != MAP_FAILED);
	MUST(mprotect(mapped, bytes, PROT_READ | PROT_WRITE) == -1);
	MUST_MATCH(ww_memory_host_pointer(memory), mapped, bytes);
	munmap(mapped, bytes);
	close(fd);
	pattern_verify(memory, 41);
}

CASE_CALL(share_read_only_descriptor, WW_CAP_HOST_MEMORY, read_only_descriptor(WW_MEMORY_HOST))
CASE_CALL(share_read_only_descriptor_vmm, NEEDS_HOST_BACKEND, read_only_descriptor(WW_MEMORY_VMM))

DEVICE_CASE(share_refuses_unknown_access, WW_CAP_EXPORT)
{
	static const uint32_t wrong[] = {0, 3, 4, UINT32_MAX};
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *none = memory;
	OWN(fd) int fd;
	int none_fd = 77;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
		MUST_REFUSE(WW_ERR_INVALID, "access",
			ww_memory_export_fd(memory, wrong[i], &none_fd,
				&(struct ww_memory_description){{0}}));
		MUST_EQUAL(-1, none_fd);
		if (wrong[i] == 0) /* means for reading */
			continue;
		MUST_REFUSE(WW_ERR_INVALID, "access",
			ww_memory_import_fd(device, fd, &description,
				WW_PARAMS(struct ww_import_params, .access = wrong[i]), &none));
		MUST(!none);
	}
}

DEVICE_CASE(share_with_other_gpu, WW_CAP_EXPORT | NEEDS_PEER)
{
	OWN(device) ww_device *other = subject_open_other();
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *there = memory_reimport(memory, other, WW_ACCESS_WRITE);
	struct ww_memory_info info = memory_info(there);
	ww_memory *again;

	MUST(there != memory);
	MUST(info.device == other);
	MUST_EQUAL(WW_ROUTE_PEER, info.route);
	MUST_EQUAL(WW_MEMORY_VMM, info.kind);
	MUST_MATCH(device_info(device).uuid, info.home_uuid, sizeof(info.home_uuid));
	pattern_write(memory, 51);
	pattern_verify(there, 51); /* by a stream of the other GPU */
	pattern_write(there, 52);
	pattern_verify(memory, 52);
	again = memory_reimport(memory, other, WW_ACCESS_WRITE);
	memory_must_be_same(there, again);
	ww_memory_unref(again);
	ww_memory_unref(memory);
	pattern_verify(there, 52); /* the maker's mapping is gone */
}

DEVICE_CASE(share_with_every_gpu, WW_CAP_EXPORT | NEEDS_PEER)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *mapped[16];
	uint32_t count;

	MUST_OK(ww_device_count(WW_BACKEND_CUDA, &count));
	count = count > CHECK_COUNT(mapped) ? CHECK_COUNT(mapped) : count;
	for (uint32_t i = 0; i < count; i++) {
		ww_device *gpu;
		char name[16];

		snprintf(name, sizeof(name), "cuda:%u", i);
		MUST_OK(ww_device_open(name, &gpu));
		mapped[i] = memory_reimport(memory, gpu, WW_ACCESS_WRITE);
		if (gpu == device)
			memory_must_be_same(memory, mapped[i]);
		else
			MUST(mapped[i] != memory);
		ww_device_unref(gpu);
	}
	for (uint32_t i = 0; i < count; i++) {
		pattern_write(mapped[i], 60 + i);
		for (uint32_t other = 0; other < count; other++)
			pattern_verify(mapped[other], 60 + i);
	}
	for (uint32_t i = 0; i < count; i++)
		ww_memory_unref(mapped[i]);
}

DEVICE_CASE(share_read_only_with_other_gpu, WW_CAP_EXPORT | NEEDS_PEER)
{
	OWN(device) ww_device *other = subject_open_other();
	OWN(stream) ww_stream *stream = stream_make(other);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, other, WW_ACCESS_READ);

	pattern_write(memory, 53);
	pattern_verify(reader, 53);
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_stream_fill(stream, ww_memory_pointer(reader), 0, 1, 2 * MIB));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pattern_verify(memory, 53);
}

DEVICE_CASE(share_with_unreachable_gpu_refused, WW_CAP_EXPORT | NEEDS_NO_PEER)
{
	struct ww_memory_description description;
	OWN(device) ww_device *other = subject_open_other();
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *none = memory;
	OWN(fd) int fd;

	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "",
		ww_memory_import_fd(other, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &none));
	MUST(!none);
}

/* Host memory made on one of the two devices and imported for the other. */
static void share_host_memory(ww_device *maker, ww_device *importer, uint32_t route)
{
	ww_memory *memory = memory_make(maker, WW_MEMORY_HOST, 3 * MIB);
	OWN(memory) ww_memory *there = memory_reimport(memory, importer, WW_ACCESS_WRITE);
	struct ww_memory_info info = memory_info(there);

	MUST(there != memory);
	MUST(info.device == importer);
	MUST_EQUAL(route, info.route);
	MUST_EQUAL(WW_MEMORY_HOST, info.kind);
	MUST_MATCH(device_info(maker).uuid, info.home_uuid, sizeof(info.home_uuid));
	pattern_write(memory, 71);
	pattern_verify(there, 71);
	pattern_write(there, 72);
	pattern_verify(memory, 72);
	pattern_make(info.host_pointer, info.bytes, 73);
	pattern_verify(memory, 73);
	ww_memory_unref(memory);
	pattern_verify(there, 73);
}

DEVICE_CASE(share_host_memory_into_cuda, NEEDS_CUDA | WW_CAP_HOST_MEMORY)
{
	OWN(device) ww_device *host;

	MUST_OK(ww_device_open("host", &host));
	share_host_memory(host, device, WW_ROUTE_HOST_REGISTERED);
}

DEVICE_CASE(share_cuda_host_memory_into_host, NEEDS_CUDA | WW_CAP_HOST_MEMORY)
{
	OWN(device) ww_device *host;

	MUST_OK(ww_device_open("host", &host));
	share_host_memory(device, host, WW_ROUTE_HOST);
}

DEVICE_CASE(share_vmm_into_host_refused, NEEDS_CUDA | WW_CAP_EXPORT)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *none = memory;
	OWN(device) ww_device *host;
	OWN(fd) int fd;

	MUST_OK(ww_device_open("host", &host));
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "host",
		ww_memory_import_fd(host, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &none));
	MUST(!none);
}

/* Over every type of socket, both ways, the memory comes back as itself. */
static void send_receive(uint32_t kind)
{
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = memory_make(device, kind, 2 * MIB);
	ww_memory *received;
	int sockets[2];

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++) {
		packet_pair(packet_types[i], sockets);
		for (int way = 0; way < 2; way++) {
			MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[way], WW_FOREVER,
				NULL));
			MUST_OK(ww_memory_receive(device, sockets[!way],
				WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
				WW_FOREVER, NULL, &received));
			memory_must_be_same(memory, received);
			ww_memory_unref(received);
		}
		/* Let go as soon as it is sent. */
		MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
		pattern_write(memory, (uint32_t)i + 80);
		memory = ww_memory_unref(memory);
		MUST_OK(ww_memory_receive(device, sockets[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&memory));
		pattern_verify(memory, (uint32_t)i + 80);
		close(sockets[0]);
		close(sockets[1]);
	}
}

CASE_CALL(share_send_receive, WW_CAP_EXPORT, send_receive(WW_MEMORY_VMM))
CASE_CALL(share_send_receive_host_kind, WW_CAP_HOST_MEMORY, send_receive(WW_MEMORY_HOST))

DEVICE_CASE(share_send_receive_read_only, WW_CAP_EXPORT)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *reader;
	int sockets[2];

	packet_pair(SOCK_SEQPACKET, sockets);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, sockets[0], 0, NULL));
	MUST_OK(ww_memory_receive(device, sockets[1], NULL, 0, NULL, &reader));
	MUST_EQUAL(WW_ACCESS_READ, memory_info(reader).access);
	MUST_REFUSE(WW_ERR_ACCESS, "read",
		ww_memory_send(reader, WW_ACCESS_WRITE, sockets[0], 0, NULL));
	MUST_STATUS(WW_TIMED_OUT,
		ww_memory_receive(device, sockets[1], NULL, 0, NULL, &(ww_memory *){NULL}));
	ww_memory_unref(reader);
	ww_memory_unref(memory);
	close(sockets[0]);
	close(sockets[1]);
}

/* A message is 128 bytes: what the peers say before and behind it stays theirs. */
DEVICE_CASE(share_stream_takes_its_own_bytes_only, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *received;
	char byte = 0;
	int sockets[2];

	packet_pair(SOCK_STREAM, sockets);
	packet_send(sockets[0], "<", 1, NULL, 0);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
	packet_send(sockets[0], ">", 1, NULL, 0);
	MUST_EQUAL(1, recv(sockets[1], &byte, 1, 0));
	MUST_EQUAL('<', byte);
	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_memory_receive(device, sockets[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&received));
		memory_must_be_same(memory, received);
		ww_memory_unref(received);
	}
	MUST_EQUAL(1, recv(sockets[1], &byte, 1, 0));
	MUST_EQUAL('>', byte);
	close(sockets[0]);
	close(sockets[1]);
}

/* Sends until the socket is full, then takes exactly as many out again. */
static void fill_socket(ww_device *device, ww_memory *memory, int type)
{
	ww_status status = WW_OK;
	ww_memory *received;
	int sockets[2];
	int small = 4096;
	int sent = 0;

	packet_pair(type, sockets);
	MUST_CALL(setsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	while (status == WW_OK && sent < 10000) {
		status = ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 0, NULL);
		sent += status == WW_OK;
	}
	MUST_STATUS(WW_TIMED_OUT, status);
	MUST_STATUS(WW_TIMED_OUT,
		ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 5000000, NULL));
	for (int i = 0; i < sent; i++) {
		MUST_OK(ww_memory_receive(device, sockets[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&received));
		memory_must_be_same(memory, received);
		ww_memory_unref(received);
	}
	MUST_STATUS(WW_TIMED_OUT,
		ww_memory_receive(device, sockets[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&received));
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
	close(sockets[0]);
	close(sockets[1]);
}

DEVICE_CASE(share_send_times_out, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	for (size_t i = 0; i < CHECK_COUNT(packet_types); i++)
		fill_socket(device, memory, packet_types[i]);
}

DEVICE_CASE(share_send_takes_no_descriptor_along, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *received;
	struct census before;
	int sockets[2];

	packet_pair(SOCK_SEQPACKET, sockets);
	for (int i = 0; i < 20; i++) {
		MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, sockets[0], 0, NULL));
		MUST_OK(ww_memory_receive(device, sockets[1],
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&received));
		ww_memory_unref(received);
		if (i == 0)
			census_take(&before); /* the first export makes the descriptor it keeps */
	}
	census_must_match(&before);
	close(sockets[0]);
	close(sockets[1]);
}

static int count_inheritable(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);

		count += flags != -1 && !(flags & FD_CLOEXEC);
	}
	return count;
}

/* Whatever the library keeps open is closed by exec(). */
DEVICE_CASE(share_leaves_nothing_to_children, WW_CAP_EXPORT)
{
	int before = count_inheritable();
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *reader;
	int sockets[2];

	packet_pair(SOCK_SEQPACKET, sockets);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, sockets[0], 0, NULL));
	memory = ww_memory_unref(memory);
	MUST_OK(ww_memory_receive(device, sockets[1], NULL, 0, NULL, &reader));
	MUST_EQUAL(before, count_inheritable());
	ww_memory_unref(reader);
	close(sockets[0]);
	close(sockets[1]);
}

DEVICE_CASE(share_misuse, WW_CAP_EXPORT | NEEDS_MISUSE_STATUS)
{
	struct ww_memory_description description;
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	ww_memory *none;
	int fd;

	MUST_REFUSE(WW_ERR_INVALID, "",
		ww_memory_export_fd(NULL, WW_ACCESS_READ, &fd, &description));
	MUST_REFUSE(WW_ERR_INVALID, "",
		ww_memory_export_fd(memory, WW_ACCESS_READ, NULL, &description));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_import_fd(NULL, 0, &description, NULL, &none));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_import_fd(device, 0, NULL, NULL, &none));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_send(NULL, WW_ACCESS_READ, 0, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_receive(NULL, 0, NULL, 0, NULL, &none));
	MUST_REFUSE(WW_ERR_INVALID, "", ww_memory_receive(device, 0, NULL, 0, NULL, NULL));
}
