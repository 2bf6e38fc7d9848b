/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test_process.c - the rules of the fake driver that take several processes
 *
 * The other process is this program again, started with a verb and a Unix socket as descriptor 3.
 * Both sides talk in fixed steps, so nobody waits for time to pass. A helper that finds something
 * wrong prints the line and ends with 1, which closes the socket; the test then fails at its next
 * step. A helper that is to be killed waits in a read until it is.
 */
#include "fakecuda_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_SOCKET 3

/* ---- what both sides use ---- */

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#define CHECK_OK(call)           CHECK((call) == WW_CUDA_SUCCESS)
#define CHECK_FAILS(call, error) CHECK((call) == WW_CUDA_ERROR_##error)

static void put(int socket, const void *data, size_t bytes)
{
	CHECK(send(socket, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
}

static void get(int socket, void *data, size_t bytes)
{
	CHECK(recv(socket, data, bytes, MSG_WAITALL) == (ssize_t)bytes);
}

static void put_fd(int socket, int fd)
{
	char byte = 'f';
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	memset(&control, 0, sizeof(control));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &message, MSG_NOSIGNAL) == 1);
}

static int get_fd(int socket)
{
	char byte;
	int fd;
	struct iovec vector = {.iov_base = &byte, .iov_len = 1};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	CHECK(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
	CHECK(message.msg_controllen >= CMSG_LEN(sizeof(int)));
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

/* ---- the helper's side ---- */

static void current_context(void)
{
	ww_CUcontext context;
	CHECK_OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK_OK(cu.cuCtxPushCurrent(context));
}

static struct mapped helper_map(ww_CUmemGenericAllocationHandle handle, size_t bytes)
{
	struct mapped mapped = {.handle = handle, .bytes = bytes};
	ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, 0}, 3};
	CHECK_OK(cu.cuMemAddressReserve(&mapped.address, bytes, 0, 0, 0));
	CHECK_OK(cu.cuMemMap(mapped.address, bytes, 0, handle, 0));
	CHECK_OK(cu.cuMemSetAccess(mapped.address, bytes, &access, 1));
	return mapped;
}

static uint32_t helper_read(ww_CUdeviceptr address)
{
	uint32_t value;
	CHECK_OK(cu.cuMemcpyDtoH(&value, address, sizeof(value)));
	return value;
}

static void helper_write(ww_CUdeviceptr address, uint32_t value)
{
	CHECK_OK(cu.cuMemcpyHtoD(address, &value, sizeof(value)));
}

/* Imports memory, tells which device it is on, reads 42 and answers 43. */
static void import_vmm(int socket)
{
	ww_CUmemGenericAllocationHandle handle;
	ww_CUmemAllocationProp prop;

	current_context();
	int fd = get_fd(socket);
	CHECK_OK(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, 1));
	close(fd);
	CHECK_OK(cu.cuMemGetAllocationPropertiesFromHandle(&prop, handle));
	struct mapped mapped = helper_map(handle, GRANULARITY);
	CHECK(helper_read(mapped.address) == 42);
	helper_write(mapped.address, 43);
	put(socket, &prop.location.id, sizeof(prop.location.id));
}

/* Makes memory, hands it over, and waits to be killed. */
static void make_vmm(int socket)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	ww_CUmemGenericAllocationHandle handle;
	char byte;
	int fd;

	current_context();
	CHECK_OK(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0));
	struct mapped mapped = helper_map(handle, GRANULARITY);
	helper_write(mapped.address, 42);
	CHECK_OK(cu.cuMemExportToShareableHandle(&fd, handle, 1, 0));
	put_fd(socket, fd);
	get(socket, &byte, 1);
}

/* Owns legacy memory and a pool and an event; serves until it is killed. */
static void own(int socket)
{
	ww_CUmemPoolProps props;
	ww_CUipcMemHandle handle;
	ww_CUipcEventHandle event_handle;
	ww_CUmemPoolPtrExportData data = {{0}};
	ww_CUmemoryPool pool;
	ww_CUdeviceptr address;
	ww_CUevent event;
	ww_CUstream stream;
	char byte;
	int fd;

	/*
	 * The first handle is stale: its memory was freed, and then other memory is in its place.
	 */
	current_context();
	CHECK_OK(cu.cuMemAlloc(&address, 4096));
	CHECK_OK(cu.cuIpcGetMemHandle(&handle, address));
	CHECK_OK(cu.cuMemFree(address));
	put(socket, &handle, sizeof(handle));
	get(socket, &byte, 1);
	CHECK_OK(cu.cuMemAlloc(&address, 4096));
	CHECK_OK(cu.cuMemsetD32(address, 42, 1024));
	put(socket, &byte, 1);
	get(socket, &byte, 1);
	CHECK_OK(cu.cuIpcGetMemHandle(&handle, address + 100));
	CHECK_FAILS(cu.cuIpcOpenMemHandle(&address, handle, 1), INVALID_CONTEXT);
	put(socket, &handle, sizeof(handle));

	memset(&props, 0, sizeof(props));
	props.allocType = WW_CU_MEM_ALLOCATION_TYPE_PINNED;
	props.handleTypes = WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	props.location.type = WW_CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK_OK(cu.cuMemPoolCreate(&pool, &props));
	CHECK_OK(cu.cuMemAllocFromPoolAsync(&address, 4, pool, NULL));
	helper_write(address, 42);
	CHECK_OK(cu.cuMemPoolExportToShareableHandle(&fd, pool, 1, 0));
	CHECK_OK(cu.cuMemPoolExportPointer(&data, address));
	put_fd(socket, fd);
	put(socket, &data, sizeof(data));

	/* The event is recorded behind a wait for the word that the other side will write. */
	CHECK_OK(cu.cuStreamCreate(&stream, WW_CU_STREAM_NON_BLOCKING));
	CHECK_OK(cu.cuEventCreate(&event, WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cu.cuStreamWaitValue32(stream, address, 43, WW_CU_STREAM_WAIT_VALUE_EQ));
	CHECK_OK(cu.cuEventRecord(event, stream));
	CHECK_OK(cu.cuIpcGetEventHandle(&event_handle, event));
	put(socket, &event_handle, sizeof(event_handle));
	get(socket, &byte, 1);
}

/* Says what it sees of the devices. */
static void look(int socket)
{
	struct {
		int count;
		int posix;
		ww_CUuuid uuid;
	} seen;
	CHECK_OK(cu.cuDeviceGetCount(&seen.count));
	CHECK_OK(cu.cuDeviceGetUuid(&seen.uuid, 0));
	CHECK_OK(cu.cuDeviceGetAttribute(&seen.posix,
		WW_CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
	put(socket, &seen, sizeof(seen));
}

/* Without descriptors and peers, and with the second cuMemCreate failing. */
static void limited(int socket)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, 1}, 3};
	ww_CUmemGenericAllocationHandle handle;
	int value;

	CHECK_FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0), NOT_SUPPORTED);
	CHECK_FAILS(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0), OUT_OF_MEMORY);
	prop.requestedHandleTypes = 0;
	CHECK_FAILS(cu.cuMemCreate(&handle, 32 * MIB, &prop, 0), OUT_OF_MEMORY);
	CHECK_OK(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0));
	struct mapped mapped = helper_map(handle, GRANULARITY);
	CHECK_FAILS(cu.cuMemSetAccess(mapped.address, GRANULARITY, &access, 1),
		PEER_ACCESS_UNSUPPORTED);
	CHECK_OK(cu.cuDeviceCanAccessPeer(&value, 0, 1));
	CHECK(value == 0);
	put(socket, &value, sizeof(value));
}

/* In the child of a fork every call fails, and nothing hangs. */
static void forked(int socket)
{
	char ok = 1;
	size_t bytes;

	pid_t child = fork();
	if (child == 0) {
		int count;
		bool right = cu.cuInit(0) == WW_CUDA_ERROR_NOT_INITIALIZED &&
			cu.cuDeviceGetCount(&count) == WW_CUDA_ERROR_NOT_INITIALIZED &&
			cu.cuMemGetInfo(&bytes, &bytes) == WW_CUDA_ERROR_NOT_INITIALIZED &&
			cu.cuMemRelease(1) == WW_CUDA_ERROR_NOT_INITIALIZED;
		_exit(right ? 0 : 1);
	}
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_OK(cu.cuInit(0));
	put(socket, &ok, 1);
}

static int compute_mode(void)
{
	int mode = -1;

	CHECK_OK(cu.cuDeviceGetAttribute(&mode, WW_CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0));
	return mode;
}

/* Everything but a context can be had. */
static void prohibited(int socket)
{
	ww_CUmemAllocationProp prop = vmm_prop(0, 0);
	ww_CUmemGenericAllocationHandle handle;
	ww_CUcontext context;

	CHECK(compute_mode() == WW_CU_COMPUTEMODE_PROHIBITED);
	CHECK_FAILS(cu.cuDevicePrimaryCtxRetain(&context, 0), DEVICE_UNAVAILABLE);
	CHECK_FAILS(cu.cuCtxCreate(&context, 0, 0), DEVICE_UNAVAILABLE);
	CHECK_OK(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0));
	CHECK_OK(cu.cuMemRelease(handle));
	put(socket, "!", 1);
}

static void exclusive(int socket)
{
	ww_CUcontext context;

	CHECK(compute_mode() == WW_CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
	CHECK_OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK_OK(cu.cuDevicePrimaryCtxRelease(0));
	put(socket, "!", 1);
}

/* Devices 0 and 1 of four do not reach each other, and 2 and 3 do not; the order is another one. */
static void some_peers(int socket)
{
	static const int numbers[] = {3, 0, 2, 1};

	current_context();
	for (int home = 0; home < 4; home++) {
		ww_CUmemAllocationProp prop = vmm_prop(home, 0);
		ww_CUmemGenericAllocationHandle handle;
		ww_CUdeviceptr address;

		CHECK_OK(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0));
		CHECK_OK(cu.cuMemAddressReserve(&address, GRANULARITY, 0, 0, 0));
		CHECK_OK(cu.cuMemMap(address, GRANULARITY, 0, handle, 0));
		for (int device = 0; device < 4; device++) {
			ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, device}, 3};
			int apart = device != home && numbers[device] / 2 == numbers[home] / 2;
			int can = -1;

			CHECK_OK(cu.cuDeviceCanAccessPeer(&can, device, home));
			CHECK(can == (device != home && !apart));
			CHECK(cu.cuMemSetAccess(address, GRANULARITY, &access, 1) ==
				(apart ? WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : WW_CUDA_SUCCESS));
		}
		CHECK_OK(cu.cuMemUnmap(address, GRANULARITY));
		CHECK_OK(cu.cuMemAddressFree(address, GRANULARITY));
		CHECK_OK(cu.cuMemRelease(handle));
	}
	put(socket, "!", 1);
}

/* Maps memory of device 1, which it does not see, on device 0. */
static void hidden_home(int socket)
{
	ww_CUmemAccessDesc access = {{WW_CU_MEM_LOCATION_TYPE_DEVICE, 0}, 3};
	ww_CUmemGenericAllocationHandle handle;
	ww_CUdeviceptr address;
	int fd = get_fd(socket);
	char can;

	current_context();
	CHECK_OK(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, 1));
	CHECK_OK(cu.cuMemAddressReserve(&address, GRANULARITY, 0, 0, 0));
	CHECK_OK(cu.cuMemMap(address, GRANULARITY, 0, handle, 0));
	can = cu.cuMemSetAccess(address, GRANULARITY, &access, 1) == WW_CUDA_SUCCESS;
	put(socket, &can, 1);
}

/* Neither values nor events between processes; all else can be had. */
static void unsynchronised(int socket)
{
	ww_CUdeviceptr address;
	ww_CUevent event;
	int can = -1;

	current_context();
	CHECK_OK(cu.cuDeviceGetAttribute(&can, WW_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
		0));
	CHECK(!can);
	CHECK_OK(cu.cuDeviceGetAttribute(&can, WW_CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0));
	CHECK(!can);
	CHECK_OK(cu.cuMemAlloc(&address, 8));
	CHECK_FAILS(cu.cuStreamWriteValue64(NULL, address, 1, 0), NOT_SUPPORTED);
	CHECK_FAILS(cu.cuStreamWaitValue64(NULL, address, 0, 0), NOT_SUPPORTED);
	CHECK_FAILS(cu.cuEventCreate(&event, WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING),
		NOT_SUPPORTED);
	CHECK_OK(cu.cuEventCreate(&event, 0));
	put(socket, "!", 1);
}

/* With more queues than streams a wait holds up no other. */
static void many_queues(int socket)
{
	enum {
		COUNT = 20
	};
	ww_CUstream streams[COUNT];
	ww_CUdeviceptr address;

	current_context();
	CHECK_OK(cu.cuMemAlloc(&address, 8));
	CHECK_OK(cu.cuMemsetD8(address, 0, 8));
	for (int i = 0; i < COUNT; i++)
		CHECK_OK(cu.cuStreamCreate(&streams[i], WW_CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < COUNT - 1; i++)
		CHECK_OK(cu.cuStreamWaitValue64(streams[i], address, 1, 0));
	CHECK_OK(cu.cuStreamWriteValue64(streams[COUNT - 1], address, 1, 0));
	for (int i = 0; i < COUNT; i++)
		CHECK_OK(cu.cuStreamSynchronize(streams[i]));
	put(socket, "!", 1);
}

/* Makes an event, hands it over, and ends in order when it is told to. */
static void make_event(int socket)
{
	ww_CUipcEventHandle handle;
	ww_CUevent event;
	char byte;

	current_context();
	CHECK_OK(cu.cuEventCreate(&event, WW_CU_EVENT_INTERPROCESS | WW_CU_EVENT_DISABLE_TIMING));
	CHECK_OK(cu.cuIpcGetEventHandle(&handle, event));
	put(socket, &handle, sizeof(handle));
	get(socket, &byte, 1);
}

int helper_main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		void (*run)(int socket);
	} verbs[] = {
		{"import-vmm", import_vmm},
		{"make-vmm", make_vmm},
		{"own", own},
		{"look", look},
		{"limited", limited},
		{"some-peers", some_peers},
		{"hidden-home", hidden_home},
		{"forked", forked},
		{"prohibited", prohibited},
		{"exclusive", exclusive},
		{"unsynchronised", unsynchronised},
		{"many-queues", many_queues},
		{"make-event", make_event},
	};

	CHECK(argc == 2);
	if (!strcmp(argv[1], "no-device")) {
		CHECK_FAILS(cu.cuInit(0), NO_DEVICE);
		put(HELPER_SOCKET, "!", 1);
		return 0;
	}
	CHECK_OK(cu.cuInit(0));
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!strcmp(argv[1], verbs[i].verb)) {
			verbs[i].run(HELPER_SOCKET);
			return 0;
		}
	}
	CHECK(!"a known verb");
	return 1;
}

/* ---- the tests' side ---- */

struct helper {
	pid_t pid;
	int socket;
};

/* @settings: NULL-terminated "NAME=value", ahead of our own environment. */
static struct helper helper_start(const char *verb, const char *const *settings)
{
	struct helper helper;
	int sockets[2];
	char *argv[] = {(char *)"fakecuda_test", (char *)verb, NULL};
	char *environment[256];
	size_t count = 0;

	for (; settings && *settings; settings++)
		environment[count++] = (char *)*settings;
	for (char **at = environ; *at && count < 255; at++)
		environment[count++] = *at;
	environment[count] = NULL;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	/* Moved up, so that making it descriptor 3 clears close-on-exec for certain. */
	int theirs = fcntl(sockets[1], F_DUPFD_CLOEXEC, 10);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, theirs, HELPER_SOCKET);
	assert_int_equal(posix_spawn(&helper.pid, "/proc/self/exe", &actions, NULL, argv,
				 environment),
		0);
	posix_spawn_file_actions_destroy(&actions);
	close(theirs);
	close(sockets[1]);
	helper.socket = sockets[0];
	return helper;
}

static void read_all(struct helper *helper, void *data, size_t bytes)
{
	assert_int_equal(recv(helper->socket, data, bytes, MSG_WAITALL), bytes);
}

static void helper_finish(struct helper *helper)
{
	int status;
	close(helper->socket);
	assert_int_equal(waitpid(helper->pid, &status, 0), helper->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void helper_kill(struct helper *helper)
{
	int status;
	assert_int_equal(kill(helper->pid, SIGKILL), 0);
	assert_int_equal(waitpid(helper->pid, &status, 0), helper->pid);
	assert_true(WIFSIGNALED(status));
	close(helper->socket);
}

static int share_with(const char *visible)
{
	const char *settings[] = {visible, NULL};
	int location;
	int fd;

	struct mapped mapped = map_new(GRANULARITY, WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	write_word(mapped.address, 42);
	OK(cu.cuMemExportToShareableHandle(&fd, mapped.handle, 1, 0));
	struct helper helper = helper_start("import-vmm", visible ? settings : NULL);
	put_fd(helper.socket, fd);
	read_all(&helper, &location, sizeof(location));
	helper_finish(&helper);
	assert_int_equal(read_word(mapped.address), 43);
	close(fd);
	unmap(&mapped);
	return location;
}

TEST(test_vmm_memory_is_shared)
{
	assert_int_equal(share_with(NULL), 0);
}

TEST(test_location_is_the_importers)
{
	assert_int_equal(share_with("CUDA_VISIBLE_DEVICES=1,0"), 1);
	assert_int_equal(share_with("CUDA_VISIBLE_DEVICES=1"), -2);
}

TEST(test_vmm_memory_survives_its_maker)
{
	ww_CUmemGenericAllocationHandle handle;

	struct helper helper = helper_start("make-vmm", NULL);
	int fd = get_fd(helper.socket);
	helper_kill(&helper);
	OK(cu.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, 1));
	close(fd);
	struct mapped mapped = map_handle(handle, GRANULARITY);
	assert_int_equal(read_word(mapped.address), 42);
	unmap(&mapped);
}

static void check_legacy_handle(ww_CUipcMemHandle handle, ww_CUdeviceptr *out_address)
{
	ww_CUipcMemHandle garbage;
	ww_CUdeviceptr again;
	ww_CUdeviceptr base;
	size_t bytes;

	memset(&garbage, 5, sizeof(garbage));
	FAILS(cu.cuIpcOpenMemHandle(&again, garbage, 1), INVALID_VALUE);
	FAILS(cu.cuIpcOpenMemHandle(&again, handle, 0), INVALID_VALUE);
	OK(cu.cuIpcOpenMemHandle(out_address, handle, 1));
	OK(cu.cuIpcOpenMemHandle(&again, handle, 1));
	assert_int_equal(again, *out_address);
	OK(cu.cuIpcCloseMemHandle(again));

	/* The whole allocation, although the handle was made from an address inside of it. */
	OK(cu.cuMemGetAddressRange(&base, &bytes, again));
	assert_int_equal(base, again);
	assert_int_equal(bytes, 4096);
	assert_int_equal(read_word(again + 4092), 42);
	FAILS(cu.cuMemFree(again), INVALID_VALUE);
	FAILS(cu.cuIpcGetMemHandle(&garbage, again), INVALID_VALUE);
}

static void check_pool(struct helper *helper, ww_CUdeviceptr *out_address,
	ww_CUmemoryPool *out_pool)
{
	ww_CUmemPoolPtrExportData data = {{0}};
	ww_CUmemoryPool again;
	ww_CUdeviceptr address;
	int fd = get_fd(helper->socket);
	read_all(helper, &data, sizeof(data));
	OK(cu.cuMemPoolImportFromShareableHandle(out_pool, (void *)(intptr_t)fd, 1, 0));
	OK(cu.cuMemPoolImportFromShareableHandle(&again, (void *)(intptr_t)fd, 1, 0));
	assert_ptr_equal(again, *out_pool);
	OK(cu.cuMemPoolDestroy(again));
	close(fd);
	OK(cu.cuMemPoolImportPointer(out_address, *out_pool, &data));
	OK(cu.cuMemPoolImportPointer(&address, *out_pool, &data));
	assert_int_equal(address, *out_address);
	FAILS(cu.cuMemPoolDestroy(*out_pool), INVALID_VALUE);
	assert_int_equal(read_word(*out_address), 42);
}

/* Its file is still there, and so it opens, as it was recorded last. */
static void check_dead_event(ww_CUipcEventHandle handle)
{
	ww_CUevent event;

	OK(cu.cuIpcOpenEventHandle(&event, handle));
	OK(cu.cuEventQuery(event));
	OK(cu.cuEventDestroy(event));
	memset(&handle, 5, sizeof(handle));
	FAILS(cu.cuIpcOpenEventHandle(&event, handle), MAP_FAILED);
}

TEST(test_what_an_owner_shares)
{
	ww_CUipcEventHandle event_handle;
	ww_CUipcMemHandle handle;
	ww_CUmemoryPool pool;
	ww_CUdeviceptr legacy;
	ww_CUdeviceptr pooled;
	ww_CUdeviceptr other;
	ww_CUevent event;
	ww_CUstream stream;
	char byte;

	struct helper helper = helper_start("own", NULL);
	ww_CUipcMemHandle stale;
	read_all(&helper, &stale, sizeof(stale));
	FAILS(cu.cuIpcOpenMemHandle(&other, stale, 1), INVALID_VALUE);
	put(helper.socket, "x", 1);
	read_all(&helper, &byte, 1);
	FAILS(cu.cuIpcOpenMemHandle(&other, stale, 1), NOT_PERMITTED);
	put(helper.socket, "x", 1);
	read_all(&helper, &handle, sizeof(handle));
	OK(cu.cuIpcOpenMemHandle(&other, stale, 1));
	check_legacy_handle(handle, &legacy);
	assert_int_equal(other, legacy);
	OK(cu.cuIpcCloseMemHandle(other));
	check_pool(&helper, &pooled, &pool);

	/* Its event completes once its stream has seen what we write. */
	read_all(&helper, &event_handle, sizeof(event_handle));
	OK(cu.cuIpcOpenEventHandle(&event, event_handle));
	FAILS(cu.cuEventQuery(event), NOT_READY);
	OK(cu.cuStreamCreate(&stream, WW_CU_STREAM_NON_BLOCKING));
	OK(cu.cuStreamWaitEvent(stream, event, 0));
	FAILS(cu.cuEventQuery(event), NOT_READY);
	write_word(pooled, 43);
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuEventSynchronize(event));
	FAILS(cu.cuIpcGetEventHandle(&event_handle, event), INVALID_HANDLE);

	/* Killed: what is open stays, and opens again; nothing else can be opened any more. */
	helper_kill(&helper);
	assert_int_equal(read_word(legacy), 42);
	assert_int_equal(read_word(pooled), 43);
	OK(cu.cuIpcOpenMemHandle(&other, handle, 1));
	assert_int_equal(other, legacy);
	OK(cu.cuIpcCloseMemHandle(other));
	OK(cu.cuEventDestroy(event));
	check_dead_event(event_handle);
	OK(cu.cuStreamDestroy(stream));
	OK(cu.cuIpcCloseMemHandle(legacy));
	FAILS(cu.cuIpcCloseMemHandle(legacy), INVALID_VALUE);
	FAILS(cu.cuIpcOpenMemHandle(&other, handle, 1), INVALID_HANDLE);
	OK(cu.cuMemFreeAsync(pooled, NULL));
	OK(cu.cuStreamSynchronize(NULL));
	OK(cu.cuMemPoolDestroy(pool));
}

static void look_through(const char *setting, int expected_count, int expected_posix, int device)
{
	const char *settings[] = {setting, NULL};
	struct {
		int count;
		int posix;
		ww_CUuuid uuid;
	} seen;
	ww_CUuuid uuid;

	struct helper helper = helper_start("look", settings);
	read_all(&helper, &seen, sizeof(seen));
	helper_finish(&helper);
	assert_int_equal(seen.count, expected_count);
	assert_int_equal(seen.posix, expected_posix);
	OK(cu.cuDeviceGetUuid(&uuid, device));
	assert_memory_equal(&seen.uuid, &uuid, sizeof(uuid));
}

TEST(test_devices_are_configured)
{
	look_through("FAKECUDA_DEVICES=3", 3, 1, 0);
	look_through("FAKECUDA_NO_FD=1", 2, 0, 0);
	look_through("CUDA_VISIBLE_DEVICES=1", 1, 1, 1);
	look_through("CUDA_VISIBLE_DEVICES= 1 , 7, 0", 1, 1, 1);
	look_through("CUDA_VISIBLE_DEVICES=GPU-fa4ecda0-0000-4000-8000-000000000001,0", 2, 1, 1);
}

static void run_with(const char *verb, const char *const *settings, size_t answer)
{
	char answers[8];
	struct helper helper = helper_start(verb, settings);
	read_all(&helper, answers, answer);
	helper_finish(&helper);
}

TEST(test_no_device_at_all)
{
	static const char *const none[] = {"FAKECUDA_DEVICES=0", NULL};
	static const char *const hidden[] = {"CUDA_VISIBLE_DEVICES=", NULL};
	static const char *const unclear[] = {"CUDA_VISIBLE_DEVICES=GPU-fa4e", NULL};

	run_with("no-device", none, 1);
	run_with("no-device", hidden, 1);
	run_with("no-device", unclear, 1);
}

TEST(test_limited_devices)
{
	static const char *const settings[] = {"FAKECUDA_NO_FD=1", "FAKECUDA_NO_PEER=1",
		"FAKECUDA_BYTES=16M", "FAKECUDA_FAIL=cuMemCreate:2:2", NULL};

	run_with("limited", settings, sizeof(int));
}

TEST(test_some_pairs_are_no_peers)
{
	static const char *const settings[] = {"FAKECUDA_DEVICES=4", "FAKECUDA_NO_PEER=0-1,3-2",
		"CUDA_VISIBLE_DEVICES=3,0,2,1", NULL};

	run_with("some-peers", settings, 1);
}

TEST(test_a_hidden_device_is_no_peer)
{
	static const char *const pairs[] = {"FAKECUDA_NO_PEER=1-2", "FAKECUDA_NO_PEER=1-2,0-1"};
	ww_CUmemAllocationProp prop = vmm_prop(1, 1);
	ww_CUmemGenericAllocationHandle handle;
	int fd;

	OK(cu.cuMemCreate(&handle, GRANULARITY, &prop, 0));
	OK(cu.cuMemExportToShareableHandle(&fd, handle, 1, 0));
	for (int i = 0; i < 2; i++) {
		const char *const settings[] = {"FAKECUDA_DEVICES=3", pairs[i],
			"CUDA_VISIBLE_DEVICES=0", NULL};
		struct helper helper = helper_start("hidden-home", settings);
		char can;

		put_fd(helper.socket, fd);
		read_all(&helper, &can, 1);
		helper_finish(&helper);
		assert_int_equal(can, i == 0);
	}
	close(fd);
	OK(cu.cuMemRelease(handle));
}

/* A list that makes no sense ends the process. */
TEST(test_wrong_pairs_are_refused)
{
	static const char *const lists[] = {"0-", "-1", "0-0", "0-2", "0-1,", "0-1;1-0", "0-1x",
		"0--1", "0-1-0", "0,1", "0- 1"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char setting[64];
		const char *const settings[] = {setting, NULL};
		struct helper helper;
		int status;

		snprintf(setting, sizeof(setting), "FAKECUDA_NO_PEER=%s", lists[i]);
		helper = helper_start("look", settings);
		assert_int_equal(waitpid(helper.pid, &status, 0), helper.pid);
		close(helper.socket);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

TEST(test_compute_modes)
{
	static const char *const closed[] = {"FAKECUDA_COMPUTE_MODE=2", NULL};
	static const char *const single[] = {"FAKECUDA_COMPUTE_MODE=3", NULL};

	run_with("prohibited", closed, 1);
	run_with("exclusive", single, 1);
}

TEST(test_queues_are_configured)
{
	static const char *const settings[] = {"CUDA_DEVICE_MAX_CONNECTIONS=32", NULL};
	static const char *const none[] = {"FAKECUDA_NO_SYNC=1", NULL};

	run_with("many-queues", settings, 1);
	run_with("unsynchronised", none, 1);
}

/* Who imports an event may record it too; the file goes when its maker ends in order. */
TEST(test_events_are_shared)
{
	ww_CUipcEventHandle handle;
	ww_CUevent event;
	ww_CUevent again;

	struct helper helper = helper_start("make-event", NULL);
	read_all(&helper, &handle, sizeof(handle));
	OK(cu.cuIpcOpenEventHandle(&event, handle));
	OK(cu.cuIpcOpenEventHandle(&again, handle));
	OK(cu.cuEventRecord(event, NULL));
	OK(cu.cuEventSynchronize(again));
	OK(cu.cuEventDestroy(again));
	put(helper.socket, "!", 1);
	helper_finish(&helper);
	FAILS(cu.cuIpcOpenEventHandle(&again, handle), MAP_FAILED);
	OK(cu.cuEventQuery(event));
	OK(cu.cuEventDestroy(event));
}

TEST(test_a_fork_ends_it)
{
	run_with("forked", NULL, 1);
}
