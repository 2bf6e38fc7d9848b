/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim.c - makes and ends a victim, see victim.h
 */
#include "conformance/victim.h"

#include <unistd.h>

#include "conformance/conformance.h"

void victim_make(struct victim *victim, uint32_t kind)
{
	victim->device = subject_open();
	victim->memory = memory_make(victim->device, kind, 2 * MIB);
	MUST_OK(ww_memory_export_fd(victim->memory, WW_ACCESS_WRITE, &victim->fd,
		&victim->description));
}

void victim_end(struct victim *victim)
{
	close(victim->fd);
	ww_memory_unref(victim->memory);
	ww_device_unref(victim->device);
}
