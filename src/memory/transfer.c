/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - a memory over a socket that two processes share: its description, with its
 * descriptor
 */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/process.h"
#include "memory/memory.h"

ww_status ww_memory_send(ww_memory *memory, uint32_t access, int socket, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct ww_memory_description description;
	WW_AUTO_FD int fd = -1;

	ww_try(ww_process_enter());
	ww_require(memory, "ww_memory_send: memory is NULL");
	ww_try(ww_memory_export_fd(memory, access, &fd, &description));
	return ww_message_send(socket, description.bytes, sizeof(description.bytes), fd,
		deadline_ns);
}

ww_status ww_memory_receive(ww_device *device, int socket, const struct ww_import_params *params,
	uint64_t timeout_ns, ww_cancel *cancel, ww_memory **out_memory)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct ww_memory_description description;
	struct ww_import_options options;
	WW_AUTO_FD int fd = -1;
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && out_memory, "ww_memory_receive: device or out_memory is NULL");
	ww_try(ww_import_options_read(params, &options)); /* before the message is taken */
	status = ww_message_receive(socket, description.bytes, sizeof(description.bytes),
		deadline_ns, &fd);
	if (status != WW_OK)
		return status;
	return ww_memory_import_fd(device, fd, &description, params, out_memory);
}
