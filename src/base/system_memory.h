/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_memory.h - how much memory this machine has for this process
 *
 * MemAvailable and MemTotal of /proc/meminfo, and no more than the control groups (version 2) of
 * the process leave it: its own and those around it. The kernel may kill a process instead of
 * refusing an allocation, so the library asks first how much memory is free.
 */
#ifndef WW_BASE_SYSTEM_MEMORY_H
#define WW_BASE_SYSTEM_MEMORY_H

#include <stdint.h>

#include <warpway/base.h>

/* Both in bytes. Without /proc, what sysinfo(2) knows. Return: WW_OK; WW_ERR_SYSTEM. */
ww_status ww_system_memory(uint64_t *out_free, uint64_t *out_total);

/* The same, of the files below @root instead of "/": for tests. */
ww_status ww_system_memory_at(const char *root, uint64_t *out_free, uint64_t *out_total);

#endif
