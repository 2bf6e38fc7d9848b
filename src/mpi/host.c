/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - see host.h
 */
#include "mpi/host.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_START_BRK 47 /* the field of /proc/PID/stat with the start of the heap; man 5 proc */
#define STAT_STATE     3  /* the field behind the name, which may contain anything */

struct range {
	uintptr_t start, end;
};

/* Both are constant once the library is loaded. */
static struct range program_data;
static uintptr_t heap_start;

static __thread struct range stack; /* of this thread; end is 0 until it is looked for */

static bool is_in(const struct range *range, uintptr_t address)
{
	return address >= range->start && address < range->end;
}

/* The first object is the program. */
static int read_program(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)bytes;
	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W)) {
			program_data.start = info->dlpi_addr + segment->p_vaddr;
			program_data.end = program_data.start + segment->p_memsz;
		}
	}
	return 1;
}

__attribute__((constructor)) static void look(void)
{
	char text[2048];
	const char *at;
	ssize_t length;
	int file;

	dl_iterate_phdr(read_program, NULL);
	file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (file < 0) {
		heap_start = 0;
	} else {
		length = read(file, text, sizeof(text) - 1);
		close(file);
		text[length > 0 ? length : 0] = '\0';
		at = strrchr(text, ')');
		for (int field = STAT_STATE - 1; at && field < STAT_START_BRK; field++)
			at = strchr(at + 1, ' ');
		heap_start = at ? (uintptr_t)strtoull(at, NULL, 10) : 0;
	}
	if (!heap_start)
		heap_start = (uintptr_t)sbrk(0);
}

bool ww_mpi_host_owns(const void *pointer)
{
	uintptr_t address = (uintptr_t)pointer;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (is_in(&program_data, address) ||
		(address >= heap_start && address < (uintptr_t)sbrk(0)))
		return true;
	if (!stack.end) {
		pthread_attr_t attributes;
		void *start;
		size_t bytes;

		stack.end = 1; /* where it cannot be found it is looked for once */
		if (!pthread_getattr_np(pthread_self(), &attributes)) {
			if (!pthread_attr_getstack(&attributes, &start, &bytes)) {
				stack.start = (uintptr_t)start;
				stack.end = stack.start + bytes;
			}
			pthread_attr_destroy(&attributes);
		}
	}
	/*
	 * A program may run on a stack of its own, and the range may contain addresses that the
	 * stack has not grown to yet.
	 */
	return is_in(&stack, here) && address >= here && address < stack.end;
}
