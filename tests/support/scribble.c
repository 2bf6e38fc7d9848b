/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribble.c - a hostile process writes into all shared pages that it may write, see scribble.h
 */
#include "support/scribble.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

static void scribble(uint64_t *words, uint64_t count, uint64_t (*draw)(void))
{
	uint64_t at = draw() % count;
	uint64_t value = draw() % 2 ? draw() : draw() % 256;

	if (draw() % 2)
		at %= 512;
	__atomic_store_n(words + at, value, __ATOMIC_RELAXED);
}

void scribble_pages(uint32_t words, uint64_t (*draw)(void))
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	MUST(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long begin;
		unsigned long end;
		int rights = 0;

		if (sscanf(line, "%lx-%lx %n", &begin, &end, &rights) != 2 ||
			strncmp(line + rights, "rw-s", 4) != 0 || !strstr(line, "memfd:warpway"))
			continue;
		for (uint64_t i = draw() % words; i > 0; i--)
			scribble((uint64_t *)begin, (end - begin) / sizeof(uint64_t), draw);
	}
	fclose(maps);
}
