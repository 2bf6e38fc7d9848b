/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_plain.c - programs that use CUDA's legacy handles and nothing of this library
 */
#include <string.h>
#include <unistd.h>

#include "integration/foreign.h"
#include "support/driver.h"
#include "support/timeline.h"

static struct foreign_handle receive_handle(int socket)
{
	struct foreign_handle handle;

	MUST_EQUAL(sizeof(handle), read(socket, &handle, sizeof(handle)));
	return handle;
}

/* Allocates, gives its handle away, and says what it finds at the end. */
ROLE(role_plain_owner)
{
	struct allocation allocation;
	struct foreign_handle handle = {.offset = 0};

	MUST(allocation_make(&allocation, ALLOCATION_LEGACY, FOREIGN_BYTES));
	allocation_write(&allocation, 1);
	MUST_EQUAL(WW_CUDA_SUCCESS,
		driver_get()->cuIpcGetMemHandle((ww_CUipcMemHandle *)(void *)&handle.ipc,
			allocation.address));
	MUST_EQUAL(sizeof(handle), write(CHILD_SOCKET, &handle, sizeof(handle)));
	role_hear("written");
	allocation_verify(&allocation, 2);
	allocation_free(&allocation);
	allocation_leave();
}

/* Gives two handles away, of small allocations. */
ROLE(role_plain_small)
{
	struct allocation allocations[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct foreign_handle handle = {.offset = 0};

		MUST(allocation_make(&allocations[i], ALLOCATION_LEGACY, FOREIGN_SMALL));
		allocation_write(&allocations[i], i);
		MUST_EQUAL(WW_CUDA_SUCCESS,
			driver_get()->cuIpcGetMemHandle((ww_CUipcMemHandle *)(void *)&handle.ipc,
				allocations[i].address));
		MUST_EQUAL(sizeof(handle), write(CHILD_SOCKET, &handle, sizeof(handle)));
	}
	role_hear("written");
	for (uint32_t i = 0; i < 2; i++) {
		allocation_verify(&allocations[i], 10 + i);
		allocation_free(&allocations[i]);
	}
	allocation_leave();
}

/* Opens a handle, and looks at what it was told is there. */
ROLE(role_plain_user)
{
	struct foreign_handle handle = receive_handle(CHILD_SOCKET);
	ww_CUipcMemHandle native;
	ww_CUdeviceptr address;

	allocation_enter();
	memcpy(&native, &handle.ipc, sizeof(native));
	MUST_EQUAL(WW_CUDA_SUCCESS,
		driver_get()->cuIpcOpenMemHandle(&address, native,
			WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	address_verify(address + handle.offset, FOREIGN_SPAN, 4);
	address_write(address + handle.offset, FOREIGN_SPAN, 5);
	MUST_EQUAL(WW_CUDA_SUCCESS, driver_get()->cuIpcCloseMemHandle(address));
	allocation_leave();
}

static struct foreign_handle start_owner(struct child *owner)
{
	child_start(owner, "role_plain_owner", NULL);
	return receive_handle(owner->socket);
}

static ww_memory *open_handle(ww_device *device, const struct foreign_handle *handle,
	uint32_t access)
{
	ww_memory *memory;

	MUST_OK(ww_memory_handle_open(device, &handle->ipc,
		WW_PARAMS(struct ww_import_params, .access = access), &memory));
	return memory;
}

DEVICE_CASE(plain_program_gives_handle, WW_CAP_FOREIGN)
{
	struct ww_memory_description description;
	struct child owner;
	ww_memory *again;
	int fd;
	struct foreign_handle handle = start_owner(&owner);
	ww_memory *memory = open_handle(device, &handle, WW_ACCESS_WRITE);

	MUST_EQUAL(WW_MEMORY_LEGACY, memory_info(memory).kind);
	MUST_EQUAL(FOREIGN_BYTES, memory_info(memory).bytes);
	MUST_EQUAL(WW_ROUTE_LOCAL, memory_info(memory).route);
	pattern_verify(memory, 1);
	again = open_handle(device, &handle, WW_ACCESS_READ);
	MUST(ww_memory_pointer(memory) == ww_memory_pointer(again));
	pattern_verify(again, 1);
	ww_memory_unref(again);
	pattern_write(memory, 2);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "owner",
		ww_memory_export_fd(memory, WW_ACCESS_READ, &fd, &description));
	ww_memory_unref(memory);
	again = open_handle(device, &handle, WW_ACCESS_READ);
	pattern_verify(again, 2);
	ww_memory_unref(again);
	child_tell(&owner, "written");
	child_finish(&owner);
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_memory_handle_open(device, &handle.ipc, NULL, &again));
}

/* The driver may tell of more than the allocation, but never of less, nor of another place. */
DEVICE_CASE(plain_program_gives_small_handles, WW_CAP_FOREIGN)
{
	struct foreign_handle handles[2];
	ww_memory *memories[2];
	ENDED_BY(child_finish) struct child owner;

	child_start(&owner, "role_plain_small", NULL);
	for (int i = 0; i < 2; i++) {
		handles[i] = receive_handle(owner.socket);
		memories[i] = open_handle(device, &handles[i], WW_ACCESS_WRITE);
		MUST(memory_info(memories[i]).bytes >= FOREIGN_SMALL);
	}
	for (int i = 0; i < 2; i++) {
		foreign_verify_part(memories[i], 0, FOREIGN_SMALL, 0, FOREIGN_SMALL, (uint32_t)i);
		address_write((ww_CUdeviceptr)(uintptr_t)ww_memory_pointer(memories[i]),
			FOREIGN_SMALL, (uint32_t)(10 + i));
	}
	for (int i = 0; i < 2; i++) {
		foreign_verify_part(memories[i], 0, FOREIGN_SMALL, 0, FOREIGN_SMALL,
			(uint32_t)(10 + i));
		ww_memory_unref(memories[i]);
	}
	child_tell(&owner, "written");
}

DEVICE_CASE(plain_program_opens_handle, WW_CAP_FOREIGN)
{
	struct allocation allocation;
	struct foreign_handle handle;
	struct child user;
	ww_memory *memory;

	MUST(allocation_make(&allocation, ALLOCATION_LEGACY, FOREIGN_BYTES));
	MUST_OK(ww_memory_wrap(device, allocation_at(&allocation, FOREIGN_OFFSET), FOREIGN_SPAN,
		NULL, &memory));
	pattern_write(memory, 4);
	MUST_OK(ww_memory_handle_get(memory, &handle.ipc, &handle.offset));
	MUST_EQUAL(FOREIGN_OFFSET, handle.offset);
	child_start(&user, "role_plain_user", NULL);
	MUST_EQUAL(sizeof(handle), write(user.socket, &handle, sizeof(handle)));
	child_finish(&user);
	pattern_verify(memory, 5);
	ww_memory_unref(memory);
	allocation_free(&allocation);
	allocation_leave();
}

DEVICE_CASE(plain_program_killed, WW_CAP_FOREIGN)
{
	struct child owner;
	ww_memory *again;
	struct foreign_handle handle = start_owner(&owner);
	ww_memory *memory = open_handle(device, &handle, WW_ACCESS_WRITE);

	child_kill(&owner);
	pattern_verify(memory, 1); /* what is mapped stays, and the driver opens it again */
	again = open_handle(device, &handle, WW_ACCESS_READ);
	pattern_verify(again, 1);
	ww_memory_unref(again);
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_PEER_LOST, "ended",
		ww_memory_handle_open(device, &handle.ipc, NULL, &again));
}

/*
 * What was let go while a stream waits stays open, so nobody knows what the same handle means by
 * now.
 */
DEVICE_CASE(plain_handle_again_while_stream_waits, WW_CAP_FOREIGN)
{
	ww_stream *stream = stream_make(device);
	struct child owner;
	struct foreign_handle handle = start_owner(&owner);
	ww_timeline *timeline = timeline_make(0, 0);
	ww_memory *memory = open_handle(device, &handle, WW_ACCESS_WRITE);

	stream_hold(stream, timeline, 1);
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_STATE, "streams wait",
		ww_memory_handle_open(device, &handle.ipc,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), &memory));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	memory = open_handle(device, &handle, WW_ACCESS_WRITE);
	ww_memory_unref(memory);
	ww_timeline_unref(timeline);
	ww_stream_unref(stream);
	child_kill(&owner);
}
