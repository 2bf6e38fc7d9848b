/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_survive.c - memory lives as long as somebody holds it, whoever made it; and other users
 *
 * "In flight" means that nobody but the kernel holds it: the message lies in a socket.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/memory.h"

#define NOBODY 65534

enum hold {
	IN_FLIGHT,
	AS_DESCRIPTOR,
	AS_MAPPING
};

static void end_maker(struct child *child, bool by_kill)
{
	if (by_kill) {
		child_kill(child);
		return;
	}
	child_tell(child, "end");
	child_finish(child);
}

static void survive(uint32_t kind, enum hold hold, bool by_kill)
{
	struct ww_memory_description description;
	OWN(device) ww_device *device = subject_open();
	OWN(memory) ww_memory *memory = NULL;
	struct child child;
	int socket;
	int fd = -1;

	start_maker(&child, SOCK_STREAM, kind, 4 * MIB, 5);
	child_hear(&child, "sent");
	socket = dup(child.socket);
	if (hold == AS_DESCRIPTOR)
		packet_receive(socket, &description, sizeof(description), &fd);
	if (hold == AS_MAPPING)
		memory = take_from(&child, device, WW_ACCESS_WRITE);
	end_maker(&child, by_kill);
	if (hold == IN_FLIGHT)
		MUST_OK(ww_memory_receive(device, socket,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), 0, NULL,
			&memory));
	if (hold == AS_DESCRIPTOR) {
		MUST_OK(ww_memory_import_fd(device, fd, &description,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
		close(fd);
	}
	close(socket);
	pattern_verify(memory, 5);
	pattern_write(memory, 6);
	pattern_verify(memory, 6);
}

CASE_CALL(survive_exit_in_flight, WW_CAP_EXPORT, survive(WW_MEMORY_VMM, IN_FLIGHT, false))
CASE_CALL(survive_exit_as_descriptor, WW_CAP_EXPORT, survive(WW_MEMORY_VMM, AS_DESCRIPTOR, false))
CASE_CALL(survive_exit_as_mapping, WW_CAP_EXPORT, survive(WW_MEMORY_VMM, AS_MAPPING, false))
CASE_CALL(survive_kill_in_flight, WW_CAP_EXPORT, survive(WW_MEMORY_VMM, IN_FLIGHT, true))
CASE_CALL(survive_kill_as_descriptor, WW_CAP_EXPORT, survive(WW_MEMORY_VMM, AS_DESCRIPTOR, true))
CASE_CALL(survive_kill_as_mapping, WW_CAP_EXPORT, survive(WW_MEMORY_VMM, AS_MAPPING, true))

CASE(survive_kill_host_kind, WW_CAP_HOST_MEMORY)
{
	survive(WW_MEMORY_HOST, IN_FLIGHT, true);
	survive(WW_MEMORY_HOST, AS_DESCRIPTOR, true);
	survive(WW_MEMORY_HOST, AS_MAPPING, true);
}

/* The death of one holder is nothing to the others. */
DEVICE_CASE(survive_kill_of_reader, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);
	uint32_t route = subject_is_cuda() ? WW_ROUTE_LOCAL : WW_ROUTE_HOST;
	struct child doomed;
	ENDED_BY(child_finish) struct child other;

	pattern_write(memory, 7);
	start_taker(&doomed, SOCK_STREAM, route, WW_ACCESS_READ, 7);
	start_taker(&other, SOCK_STREAM, route, WW_ACCESS_WRITE, 7);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, doomed.socket, WW_FOREVER, NULL));
	child_hear(&doomed, "done");
	child_kill(&doomed);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, other.socket, WW_FOREVER, NULL));
	child_hear(&other, "done");
	pattern_verify(memory, 8);
	child_tell(&other, "end");
}

/*
 * The change of user takes away what lets a process look into its own /proc and die with its
 * parent.
 */
static void become_other_user(void)
{
	/* While it can still be read: a build folder may lie where the other user must not look. */
	(void)dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	MUST_CALL(setresgid(NOBODY, NOBODY, NOBODY));
	MUST_CALL(setresuid(NOBODY, NOBODY, NOBODY));
	MUST_CALL(prctl(PR_SET_DUMPABLE, 1));
	MUST_CALL(prctl(PR_SET_PDEATHSIG, SIGKILL));
}

ROLE(role_take_as_other_user)
{
	become_other_user();
	take_serve(count, arguments);
}

ROLE(role_make_as_other_user)
{
	become_other_user();
	make_serve(count, arguments);
}

DEVICE_CASE(user_other_maps, WW_CAP_EXPORT | NEEDS_ROOT)
{
	char route[16];
	const char *const writes[] = {route, "2", "9", NULL};
	const char *const reads[] = {route, "1", "10", NULL};
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 2 * MIB);

	snprintf(route, sizeof(route), "%u", memory_info(memory).route);
	pattern_write(memory, 9);
	for (int i = 0; i < 2; i++) {
		struct child child;

		child_start(&child, "role_take_as_other_user",
			&(struct child_options){.arguments = i == 0 ? writes : reads});
		MUST_OK(ww_memory_send(memory, i == 0 ? WW_ACCESS_WRITE : WW_ACCESS_READ,
			child.socket, WW_FOREVER, NULL));
		child_hear(&child, "done");
		pattern_verify(memory, 10);
		child_tell(&child, "end");
		child_finish(&child);
	}
}

DEVICE_CASE(user_other_makes, WW_CAP_EXPORT | NEEDS_ROOT)
{
	const char *const arguments[] = {"1", "2097152", "3", NULL};
	struct child child;
	OWN(memory) ww_memory *memory;

	child_start(&child, "role_make_as_other_user",
		&(struct child_options){.arguments = arguments});
	memory = take_from(&child, device, WW_ACCESS_WRITE);
	child_hear(&child, "sent");
	pattern_verify(memory, 3);
	child_kill(&child);
	pattern_verify(memory, 3);
}

/* Another user cannot make a writable descriptor of a read-only one. */
ROLE(role_reopen_as_other_user)
{
	struct ww_memory_description description;
	char path[64];
	OWN(fd) int fd;

	become_other_user();
	packet_receive(CHILD_SOCKET, &description, sizeof(description), &fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(open(path, O_RDWR | O_CLOEXEC) == -1 && errno == EACCES);
	MUST(open(path, O_WRONLY | O_CLOEXEC) == -1 && errno == EACCES);
}

DEVICE_CASE(user_other_cannot_reopen, WW_CAP_HOST_READ_ONLY | NEEDS_ROOT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, 4096);
	ENDED_BY(child_finish) struct child child;

	child_start(&child, "role_reopen_as_other_user", NULL);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_READ, child.socket, WW_FOREVER, NULL));
}

/* Host memory of another user, exported for writing, cannot be narrowed: the file is not ours. */
ROLE(role_export_as_other_user)
{
	struct ww_memory_description description;
	OWN(device) ww_device *device;
	OWN(memory) ww_memory *memory;
	OWN(fd) int fd = 77;

	become_other_user();
	device = subject_open();
	MUST_OK(ww_memory_receive(device, CHILD_SOCKET,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), WW_FOREVER, NULL,
		&memory));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "",
		ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	MUST_EQUAL(-1, fd);
	MUST_OK(ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description));
}

DEVICE_CASE(user_other_cannot_narrow, WW_CAP_HOST_MEMORY | NEEDS_ROOT)
{
	OWN(memory) ww_memory *memory = memory_make(device, WW_MEMORY_HOST, 4096);
	ENDED_BY(child_finish) struct child child;

	child_start(&child, "role_export_as_other_user", NULL);
	MUST_OK(ww_memory_send(memory, WW_ACCESS_WRITE, child.socket, WW_FOREVER, NULL));
}
