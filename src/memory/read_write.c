/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_write.c - bytes of the caller into a memory and back, without a stream of the caller
 *
 * Where the CPU reaches the memory it copies by itself. Else the backend copies, behind no other
 * work of the device.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "memory/memory.h"

static ww_status span_check(const struct ww_memory *memory, uint64_t offset, uint64_t bytes)
{
	uint64_t end;

	if (__builtin_add_overflow(offset, bytes, &end))
		return ww_fail(WW_ERR_OVERFLOW,
			"%" PRIu64 " bytes at offset %" PRIu64 " end behind what 64 bits count",
			bytes, offset);
	if (end > memory->bytes)
		return ww_fail(WW_ERR_INVALID,
			"%" PRIu64 " bytes at offset %" PRIu64 " leave the memory of %" PRIu64
			" bytes",
			bytes, offset, memory->bytes);
	return WW_OK;
}

/* The address of a span for the copy: the CPU's if it has one. */
static void *span_address(const struct ww_memory *memory, uint64_t offset)
{
	const struct ww_mapping *mapping = memory->mapping;
	char *start = mapping->host_pointer ? mapping->host_pointer : mapping->pointer;

	return start + memory->offset + offset;
}

static ww_status span_copy(const struct ww_memory *memory, void *destination, const void *source,
	uint64_t bytes, uint64_t timeout_ns)
{
	struct ww_device *device = memory->mapping->device;

	if (!memory->mapping->host_pointer)
		return device->backend->copy(device, destination, source, bytes,
			ww_clock_deadline_ns(timeout_ns));
	memmove(destination, source, bytes);
	/* A thread that learns of it by other means sees the bytes. */
	atomic_thread_fence(memory_order_seq_cst);
	return WW_OK;
}

ww_status ww_memory_write(ww_memory *memory, uint64_t offset, const void *source, uint64_t bytes,
	uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

	ww_try(ww_process_enter());
	ww_require(memory && (source || bytes == 0), "ww_memory_write: memory or source is NULL");
	ww_try(ww_memory_check(memory));
	if (bytes == 0)
		return WW_OK;
	ww_try(span_check(memory, offset, bytes));
	if (ww_memory_access(memory) < WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_ACCESS,
			"cannot write: this memory is mapped read-only; get or import it "
			"with WW_ACCESS_WRITE if its owner allows that and it is not sealed");
	return span_copy(memory, span_address(memory, offset), source, bytes, timeout_ns);
}

ww_status ww_memory_read(ww_memory *memory, uint64_t offset, void *destination, uint64_t bytes,
	uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

	ww_try(ww_process_enter());
	ww_require(memory && (destination || bytes == 0),
		"ww_memory_read: memory or destination is NULL");
	ww_try(ww_memory_check(memory));
	if (bytes == 0)
		return WW_OK;
	ww_try(span_check(memory, offset, bytes));
	return span_copy(memory, destination, span_address(memory, offset), bytes, timeout_ns);
}
