/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_fork.c - a child made by fork() gets an answer from every call, at once, and harms nobody
 *
 * After use of the host device alone the child begins anew: it uses the library as any process
 * does, reads and writes the parent's memory, and is refused the parent's streams. After use of a
 * GPU it is refused every call.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/memory.h"

#define CHILD_SECONDS ((unsigned int)child_limit_ms() / 1000)
#define FORKS         200

static struct {
	ww_device *device;
	ww_stream *stream;
	ww_memory *memory;
	int fd;
	struct ww_memory_description description;
	int sockets[2];
} ours;

static void set_up(void)
{
	if (CHECK_SANITIZES_THREAD)
		check_skip("the thread sanitizer starts no threads in a child made by fork()");
	ours.device = subject_open();
	ours.stream = stream_make(ours.device);
	ours.memory = memory_make(ours.device, WW_MEMORY_VMM, 2 * MIB);
	MUST_OK(ww_memory_export_fd(ours.memory, WW_ACCESS_WRITE, &ours.fd, &ours.description));
	packet_pair(SOCK_SEQPACKET, ours.sockets);
	pattern_write(ours.memory, 1);
}

/* All of it still works, and the counts are what they were. */
static void must_work_and_end(uint32_t seed)
{
	pattern_verify(ours.memory, seed);
	MUST_OK(ww_stream_synchronize(ours.stream, WW_FOREVER, NULL));
	close(ours.sockets[0]);
	close(ours.sockets[1]);
	close(ours.fd);
	ww_memory_unref(ours.memory);
	ww_stream_unref(ours.stream);
	ww_device_unref(ours.device);
}

static void nothing(void *context)
{
	(void)context;
}

/* The parent's objects are released more often than the parent has references. */
static void release_often(void)
{
	for (int i = 0; i < 3; i++) {
		MUST(!ww_memory_unref(ours.memory));
		MUST(!ww_stream_unref(ours.stream));
		MUST(!ww_device_unref(ours.device));
	}
	MUST(ww_memory_ref(ours.memory) == ours.memory);
	MUST(ww_stream_ref(ours.stream) == ours.stream);
	MUST(ww_device_ref(ours.device) == ours.device);
}

#define FORKED(call) MUST_REFUSE(WW_ERR_FORKED, "fork", call)

static void refuse_streams(void)
{
	uint8_t byte = 0;

	FORKED(ww_stream_synchronize(ours.stream, WW_FOREVER, NULL));
	FORKED(ww_stream_query(ours.stream));
	FORKED(ww_stream_recover(ours.stream));
	FORKED(ww_stream_call(ours.stream, nothing, NULL));
	FORKED(ww_stream_copy(ours.stream, &byte, &byte, 1));
	FORKED(ww_stream_fill(ours.stream, &byte, 0, 1, 1));
	MUST(!ww_stream_native(ours.stream));
}

/* --- after use of a GPU --- */

static void refuse_memory_calls(void)
{
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	struct ww_memory_description description;
	ww_memory *memory;
	int fd;

	FORKED(ww_memory_create(ours.device, WW_PARAMS(struct ww_memory_params, .bytes = 1),
		&memory));
	FORKED(ww_memory_info_get(ours.memory, &info));
	FORKED(ww_memory_write(ours.memory, 0, &info, 1, 0, NULL));
	FORKED(ww_memory_read(ours.memory, 0, &info, 1, 0, NULL));
	FORKED(ww_memory_find(&info, &memory, NULL));
	FORKED(ww_memory_export_fd(ours.memory, WW_ACCESS_READ, &fd, &description));
	FORKED(ww_memory_import_fd(ours.device, ours.fd, &ours.description, NULL, &memory));
	FORKED(ww_memory_send(ours.memory, WW_ACCESS_READ, ours.sockets[0], WW_FOREVER, NULL));
	FORKED(ww_memory_receive(ours.device, ours.sockets[1], NULL, WW_FOREVER, NULL, &memory));
	MUST(!ww_memory_pointer(ours.memory));
	MUST(!ww_memory_host_pointer(ours.memory));
}

static void refuse_every_call(void)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;
	ww_stream *stream;
	uint64_t bytes;
	uint32_t count;

	MUST_REFUSE(WW_ERR_FORKED, "multiprocessing.set_start_method(\"spawn\")",
		ww_device_open(NULL, &device));
	FORKED(ww_device_count(WW_BACKEND_HOST, &count));
	FORKED(ww_device_open("host", &device));
	FORKED(ww_device_info_get(ours.device, &info));
	FORKED(ww_device_free_bytes(ours.device, &bytes));
	FORKED(ww_stream_create(ours.device, &stream));
	FORKED(ww_stream_wrap(ours.device, NULL, &stream));
	refuse_streams();
	refuse_memory_calls();
	release_often();
	MUST(!strcmp(ww_status_name(WW_ERR_FORKED), "WW_ERR_FORKED"));
	MUST(!strcmp(ww_version(), WW_VERSION));
}

/* --- after use of the host alone --- */

/* As a process of its own does, with streams and locks of its own. */
static void use_device(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	OWN(memory) ww_memory *reader = memory_reimport(memory, device, WW_ACCESS_READ);

	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), 7, 1, 2 * MIB));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	memory_must_be(memory, 7);
}

/* The parent's memory: the same bytes, by each way to them, and one more mapping of them. */
static void use_inherited(void)
{
	OWN(stream) ww_stream *stream = stream_make(ours.device);
	ww_memory *memory, *found;
	uint64_t offset;
	uint8_t *bytes;

	pattern_verify(ours.memory, 1);
	pattern_write(ours.memory, 2);
	bytes = ww_memory_host_pointer(ours.memory);
	MUST(bytes && bytes == memory_info(ours.memory).pointer);
	MUST_OK(ww_memory_find(bytes + 5, &found, &offset));
	MUST(found == ours.memory && offset == 5);
	ww_memory_unref(found);
	MUST_OK(ww_memory_import_fd(ours.device, ours.fd, &ours.description, NULL, &memory));
	MUST(memory != ours.memory);
	pattern_verify(memory, 2);
	MUST_REFUSE(WW_ERR_ACCESS, "read-only",
		ww_stream_fill(stream, ww_memory_pointer(memory), 0, 1, 4096));
	MUST_OK(ww_stream_copy(stream, bytes, ww_memory_pointer(memory), 4096));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_memory_unref(memory);
}

static void pass_inherited(void)
{
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_memory_send(ours.memory, WW_ACCESS_WRITE, ours.sockets[0], WW_FOREVER, NULL));
	MUST_OK(ww_memory_receive(ours.device, ours.sockets[1], NULL, WW_FOREVER, NULL, &memory));
	pattern_verify(memory, 2);
}

static void begin_anew(void)
{
	ww_device *device = subject_open();

	MUST(device == ours.device); /* so that the parent's memory is of this device */
	use_inherited();
	pass_inherited();
	refuse_streams();
	release_often();
	use_device();
}

static void (*child_run(void))(void)
{
	return subject_is_cuda() ? refuse_every_call : begin_anew;
}

/* What the child wrote. */
static uint32_t seed_after(void)
{
	return subject_is_cuda() ? 1 : 2;
}

/* Waits for a forked child, which must end well and at once. */
static void must_end_well(pid_t pid)
{
	struct pollfd waiting = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int status = 0;

	MUST_CALL(waiting.fd);
	if (poll(&waiting, 1, (int)CHILD_SECONDS * 1000) != 1)
		kill(pid, SIGKILL);
	close(waiting.fd);
	MUST_EQUAL(pid, waitpid(pid, &status, 0));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		FAIL("the forked child ended with status %#x", status);
}

static pid_t fork_child(void (*run)(void))
{
	pid_t pid = fork();

	MUST_CALL(pid);
	if (pid == 0) {
		alarm(CHILD_SECONDS);
		run();
		_exit(0);
	}
	return pid;
}

CASE(fork_after_use, WW_CAP_EXPORT)
{
	set_up();
	must_end_well(fork_child(child_run()));
	must_work_and_end(seed_after());
}

static atomic_bool stop;

/* Holds every lock of the library as often as it can. */
static void *keep_busy(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop))
		use_device();
	return NULL;
}

static void use_device_or_not(void)
{
	ww_device *device;

	if (subject_is_cuda())
		FORKED(ww_device_open("host", &device));
	else
		use_device();
}

CASE(fork_while_others_are_busy, WW_CAP_EXPORT)
{
	pthread_t threads[3];

	if (CHECK_SANITIZES_ADDRESS || CHECK_SANITIZES_THREAD)
		check_skip("the sanitizer's own locks do not survive fork() beside busy threads");
	set_up();
	atomic_store(&stop, false);
	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		MUST(!pthread_create(&threads[i], NULL, keep_busy, NULL));
	for (int i = 0; i < FORKS; i++)
		must_end_well(fork_child(use_device_or_not));
	atomic_store(&stop, true);
	for (size_t i = 0; i < CHECK_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	must_work_and_end(1);
}

/* What the child made is inherited by its own child. */
static void fork_again(void)
{
	use_device_or_not();
	ours.stream = NULL;
	if (!subject_is_cuda()) {
		ours.stream = stream_make(ours.device);
		must_end_well(fork_child(refuse_streams));
		MUST_OK(ww_stream_synchronize(ours.stream, WW_FOREVER, NULL));
		ww_stream_unref(ours.stream);
	}
	must_end_well(fork_child(use_device_or_not));
}

CASE(fork_in_forked_child, WW_CAP_EXPORT)
{
	set_up();
	must_end_well(fork_child(fork_again));
	must_work_and_end(1);
}

ROLE(role_use_device)
{
	use_device();
}

static void exec_user(void)
{
	use_device_or_not();
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execl("/proc/self/exe", "helper", "--role", "role_use_device", (char *)NULL);
}

CASE(fork_then_exec_works, WW_CAP_EXPORT)
{
	set_up();
	must_end_well(fork_child(exec_user));
	must_work_and_end(1);
}

/* A process that has not used the library yet: its child may. */
ROLE(role_fork_first)
{
	must_end_well(fork_child(use_device));
	use_device();
	must_end_well(fork_child(use_device_or_not));
}

CASE(fork_before_first_use_works, WW_CAP_EXPORT)
{
	struct child child;

	set_up();
	child_start(&child, "role_fork_first", NULL);
	child_finish(&child);
	must_work_and_end(1);
}
