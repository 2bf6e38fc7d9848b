/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - a bar on the terminal while many bytes are copied
 *
 * One line, written anew at most ten times a second.
 */
#include "warpway/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "warpway/format.h"
#include "common/child_link.h"
#include "common/number.h"

#define INTERVAL_NS UINT64_C(100000000)
#define BAR_COLUMNS 24
#define LINE_BYTES  320

void progress_start(struct progress *progress, const char *what, uint64_t total)
{
	*progress = (struct progress){
		.what = what,
		.total = total,
		.started_ns = link_now_ns(),
		.is_terminal = isatty(STDERR_FILENO) == 1,
	};
}

static uint64_t part_of(const struct progress *progress, uint64_t whole)
{
	return (uint64_t)((double)progress->done / (double)progress->total * (double)whole);
}

/* "[======>     ]  51%  ", or nothing where the end is not known. */
static void make_bar(const struct progress *progress, char *out_text, size_t room)
{
	char bar[BAR_COLUMNS + 1];
	size_t filled;

	out_text[0] = 0;
	if (progress->total == 0)
		return;
	filled = (size_t)part_of(progress, BAR_COLUMNS);
	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '=', filled);
	if (filled < BAR_COLUMNS)
		bar[filled] = '>';
	bar[BAR_COLUMNS] = 0;
	snprintf(out_text, room, "[%s] %3d%%  ", bar, (int)part_of(progress, 100));
}

static void show(struct progress *progress, uint64_t now_ns)
{
	double seconds = (double)(now_ns - progress->started_ns) / 1e9;
	char name[64];
	char bar[BAR_COLUMNS + 16];
	char done[NUMBER_BYTES];
	char speed[NUMBER_BYTES];
	char line[LINE_BYTES];

	format_safe(progress->what, name, sizeof(name));
	make_bar(progress, bar, sizeof(bar));
	number_size_text(progress->done, done);
	number_size_text(seconds > 0 ? (uint64_t)((double)progress->done / seconds) : 0, speed);
	snprintf(line, sizeof(line), "\r%s  %s%s  %s/s\x1b[K", name, bar, done, speed);
	fputs(line, stderr);
	fflush(stderr);
	progress->shown_ns = now_ns;
}

static bool is_large(const struct progress *progress)
{
	return (progress->total ? progress->total : progress->done) >= PROGRESS_LARGE_BYTES;
}

void progress_advance(struct progress *progress, uint64_t bytes)
{
	uint64_t now_ns;

	progress->done += bytes;
	if (!progress->is_terminal || !is_large(progress))
		return;
	now_ns = link_now_ns();
	if (progress->shown_ns == 0 || now_ns - progress->shown_ns >= INTERVAL_NS)
		show(progress, now_ns);
}

void progress_end(struct progress *progress)
{
	if (progress->shown_ns == 0)
		return;
	show(progress, link_now_ns());
	fputc('\n', stderr);
	progress->shown_ns = 0;
}
