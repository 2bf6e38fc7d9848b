/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_live.c - what this process holds, counted for tests
 *
 * Nothing is kept for this: the lists and tables of the other files are walked when a test asks.
 */
#include "fake.h"

#include <string.h>

static void count_contexts(struct fakecuda_live *out)
{
	for (const struct fake_context *context = fake_contexts; context; context = context->next) {
		if (context->primary)
			out->primary_retains += context->retains;
		else if (!context->destroyed)
			out->contexts++;
	}
}

void fakecuda_live(struct fakecuda_live *out)
{
	memset(out, 0, sizeof(*out));
	fake_lock();
	count_contexts(out);
	out->handles = fake_vmm_handle_count();
	out->physical = fake_physical_count() - fake_pool_default_count();
	out->reservations = fake_arena_reservations();
	out->mappings = fake_range_count(FAKE_RANGE_VMM);
	out->streams = fake_stream_count();
	out->events = fake_event_count();
	out->allocations = fake_range_count(FAKE_RANGE_ALLOC) +
		fake_range_count(FAKE_RANGE_MANAGED) + fake_range_count(FAKE_RANGE_HOST) +
		fake_range_count(FAKE_RANGE_POOL);
	out->registrations = fake_range_count(FAKE_RANGE_REGISTERED);
	out->ipc_mappings = fake_range_count(FAKE_RANGE_IPC);
	out->pools = fake_pool_count();
	out->modules = fake_module_count();
	for (int i = 0; i < fake_device_count(); i++)
		out->bytes[i] = fake_device_get(i)->used;
	fake_unlock();
}
