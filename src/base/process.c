/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - what a child made by fork() has of its parent's state, see process.h
 *
 * All variables of WW_PER_PROCESS stand in one section of the library. Their initial values are
 * copied when the library is loaded, and the handler in the child writes them back. It takes no
 * lock and allocates nothing: which locks were held at the fork() is not known. What it overwrites
 * is kept, so that a leak checker finds what the parent's lists referred to.
 *
 * Children of _Fork() or a bare clone() go unseen.
 */
#include "base/process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Defined by the linker if there is such a variable; hidden.map keeps them inside the library. */
extern char first_of_section[] __asm__("__start_ww_per_process")
	__attribute__((visibility("hidden"), weak));
extern char end_of_section[] __asm__("__stop_ww_per_process")
	__attribute__((visibility("hidden"), weak));

_Atomic uint32_t ww_process_epoch;

static bool is_watched; /* the handler is in place; constant once the library is loaded */
static _Atomic bool uses_gpu;
static _Atomic bool is_barred; /* set by the handler in a child, never cleared */
static void *initial;          /* a copy of the section; constant once the library is loaded */
static void *inherited;        /* another one; written by the handler in a child */

static size_t section_bytes(void)
{
	return (size_t)(end_of_section - first_of_section);
}

/* A program that is linked statically may lack a section: its ends are NULL then. */
static void section_copy(void *to, const void *from)
{
	if (section_bytes() > 0)
		memcpy(to, from, section_bytes());
}

static void process_begin_child(void)
{
	section_copy(inherited, first_of_section);
	section_copy(first_of_section, initial);
	atomic_fetch_add_explicit(&ww_process_epoch, 1, memory_order_relaxed);
	if (atomic_load_explicit(&uses_gpu, memory_order_relaxed))
		atomic_store_explicit(&is_barred, true, memory_order_relaxed);
}

__attribute__((constructor)) static void process_watch_fork(void)
{
	initial = malloc(section_bytes());
	inherited = malloc(section_bytes());
	if (!initial || !inherited)
		return;
	section_copy(initial, first_of_section);
	is_watched = pthread_atfork(NULL, NULL, process_begin_child) == 0;
}

void ww_process_set_uses_gpu(bool value)
{
	atomic_store_explicit(&uses_gpu, value, memory_order_relaxed);
}

ww_status ww_process_enter(void)
{
	if (atomic_load_explicit(&is_barred, memory_order_relaxed))
		return ww_fail(WW_ERR_FORKED,
			"this process was made by fork() after its parent had used a GPU, which CUDA does not "
			"survive: start it with posix_spawn() or exec(); in Python, first call "
			"multiprocessing.set_start_method(\"spawn\")");
	if (!is_watched)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot watch for fork(): there was no memory when the library was loaded");
	return WW_OK;
}
