/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfd.h - memory that is a sealed file without a name
 *
 * The memory of the host device, and memory of kind host on every device. The seals against
 * shrinking and growing are what lets untrusted processes share it: no holder can cut pages off
 * under a mapping (which would kill with SIGBUS), and the size of the file is the size of the
 * memory. A holder with write access can punch holes: the bytes read as zero then, as if it had
 * written zeros.
 */
#ifndef WW_DEVICE_MEMFD_H
#define WW_DEVICE_MEMFD_H

#include <stdint.h>

#include <warpway/base.h>

/*
 * Makes a file of @bytes zeros, sealed, with all its pages allocated.
 * Return: WW_OK; WW_ERR_NO_MEMORY (the machine has not that much free); WW_ERR_OVERFLOW;
 *         WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_memfd_create(uint64_t bytes, int *out_fd);

/*
 * Checks a descriptor from an untrusted process.
 * Return: WW_OK; WW_ERR_DESCRIPTOR (not open, no memfd of ordinary pages, or not sealed);
 *         WW_ERR_MISMATCH (not @bytes long).
 */
ww_status ww_memfd_check(int fd, uint64_t bytes);

/*
 * Maps all of it into the CPU's address space.
 * @access:  WW_ACCESS_...
 * Return: WW_OK; WW_ERR_ACCESS (write, through a read-only descriptor); WW_ERR_LIMIT (address space
 *         or number of mappings); WW_ERR_SYSTEM.
 */
ww_status ww_memfd_map(int fd, uint64_t bytes, uint32_t access, void **out_pointer);

/* Changes what a mapping allows. Return: WW_OK; WW_ERR_SYSTEM, WW_ERR_ACCESS. */
ww_status ww_memfd_protect(void *pointer, uint64_t bytes, uint32_t access);

void ww_memfd_unmap(void *pointer, uint64_t bytes);

/*
 * Opens the same file a second time, for reading only: neither this descriptor nor a duplicate of
 * it can be mapped for writing. (A process of the same user can still open the file anew through
 * /proc.)
 * Return: WW_OK; WW_ERR_UNSUPPORTED (no /proc, or memory of another user that is not read-only
 *         already); WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_memfd_reopen_read_only(int fd, int *out_fd);

#endif
