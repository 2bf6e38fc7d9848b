/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_write.c - a waiter that tries to write its signaller's page: refused by the kernel, or dead
 * alone
 *
 * The attempts go below the public interface, which has no way to write: to the descriptor, the
 * mapping and the stream operation that the library itself uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/backend.h"
#include "integration/sync_agent.h"
#include "sync/timeline.h"

/* --- what agents do --- */

static ww_status refused_or_not(bool is_done)
{
	if (is_done)
		return WW_OK;
	return errno == EACCES || errno == EPERM ? WW_ERR_ACCESS : WW_ERR_SYSTEM;
}

COMMAND(sync, map_page)
{
	const struct ww_signal_map *page = agent_timeline(1)->page;
	void *mapped = mmap(NULL, page->cpu->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		page->cpu->fd, 0);

	return refused_or_not(mapped != MAP_FAILED);
}

COMMAND(sync, protect_page)
{
	const struct ww_signal_map *page = agent_timeline(1)->page;

	return refused_or_not(!mprotect(page->header, page->cpu->bytes, PROT_READ | PROT_WRITE));
}

/* As any process can that sees a descriptor of its own. */
COMMAND(sync, reopen_page)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", agent_timeline(1)->page->cpu->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return refused_or_not(fd >= 0);
}

/* A copy of one's own can be written, and harms nobody. */
COMMAND(sync, private_page)
{
	const struct ww_timeline *timeline = agent_timeline(1);
	const struct ww_signal_map *page = timeline->page;
	uint8_t *mapped = mmap(NULL, page->cpu->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
		page->cpu->fd, 0);

	if (mapped == MAP_FAILED)
		return refused_or_not(false);
	memset(mapped, 0xff, page->cpu->bytes);
	MUST(timeline->cell->completed != UINT64_MAX);
	munmap(mapped, page->cpu->bytes);
	return WW_OK;
}

/* Through the public interface, at the address that streams know the page by. */
COMMAND(sync, fill_page)
{
	struct ww_mapping *mapping;
	ww_status status = ww_signal_map_map(agent_timeline(1)->page, agent_device(), &mapping);

	if (status)
		return status;
	return ww_stream_fill(agent_stream(), mapping->pointer, 9, 4, 64);
}

COMMAND(sync, store_page)
{
	struct ww_layout_signal_cell *cell = agent_timeline(1)->cell;

	signal(SIGSEGV, SIG_DFL); /* as it is without a sanitizer */
	__atomic_store_n(&cell->completed, 99, __ATOMIC_RELEASE);
	return WW_OK;
}

/* Of a GPU it is a fault that its context does not survive; the host's thread ends its process. */
COMMAND(sync, stream_store_page)
{
	struct ww_timeline *timeline = agent_timeline(1);
	struct ww_stream *stream = agent_stream();
	struct ww_stream_value word;
	ww_status status;

	MUST_OK(ww_signal_map_stream_value(timeline->page, stream->device, timeline->offset, 99,
		&word));
	signal(SIGSEGV, SIG_DFL);
	status = stream->device->backend->stream_write_value(stream, &word);
	return status < 0 ? status : ww_stream_synchronize(stream, WW_FOREVER, NULL);
}

/* --- cases --- */

static struct child signaller;
static struct child waiters[2];

static void start(const char *user)
{
	agent_begin(&signaller, "sync", "create 0");
	agent_does(&signaller, "put 0 x mode=0644", "signal 0 3");
	for (int i = 0; i < 2; i++) {
		sync_start(&waiters[i], NULL);
		if (user)
			agent_must(&waiters[i], WW_OK, "user %s", user);
		agent_must(&waiters[i], WW_OK, "get 0 x");
	}
}

/* The page is as it was, and goes on. */
static void must_go_on(void)
{
	agent_must(&waiters[1], WW_OK, "is 0 live 3 3");
	agent_must(&signaller, WW_OK, "is 0 live 3 3");
	agent_tell(&waiters[1], "wait 0 4 wait_ms=forever");
	agent_must(&signaller, WW_OK, "signal 0 4");
	agent_answers(&waiters[1], WW_OK);
}

SCENE_CASE(write_is_refused, 0)
{
	start(NULL);
	agent_must(&waiters[0], WW_ERR_ACCESS, "map_page 0");
	agent_must(&waiters[0], WW_ERR_ACCESS, "protect_page 0");
	agent_must(&waiters[0], WW_OK, "private_page 0");
	must_go_on();
	agent_must(&waiters[0], WW_OK, "wait 0 4");
}

SCENE_CASE(write_is_refused_to_other_user, NEEDS_ROOT)
{
	start("61002 61002");
	agent_must(&waiters[0], WW_ERR_ACCESS, "reopen_page 0");
	agent_must(&waiters[0], WW_ERR_ACCESS, "map_page 0");
	agent_must(&waiters[0], WW_ERR_ACCESS, "protect_page 0");
	must_go_on();
}

static void must_have_died(struct child *waiter)
{
	int status = child_wait(waiter);

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		FAIL("the waiter that wrote ended with status %#x, not of SIGSEGV", status);
}

SCENE_CASE(write_by_store_dies_alone, 0)
{
	start(NULL);
	agent_tell(&waiters[0], "store_page 0");
	must_have_died(&waiters[0]);
	must_go_on();
}

SCENE_CASE(write_by_stream_is_refused, NEEDS_VALUES)
{
	start(NULL);
	agent_must(&waiters[0], WW_ERR_ACCESS, "fill_page 0");
	agent_must(&waiters[0], WW_ERR_ACCESS, "stream_signal 0 9");
	agent_must(&waiters[0], WW_OK, "sync");
	must_go_on();
}

SCENE_CASE(write_by_raw_stream_dies_alone, NEEDS_VALUES)
{
	start(NULL);
	agent_must(&waiters[1], WW_OK, "stream_wait 0 3");
	agent_tell(&waiters[0], "stream_store_page 0");
	if (subject_is_cuda()) {
		char answer[CHILD_WORD_BYTES];

		child_hear_any(&waiters[0], answer);
		if (strncmp(answer, "WW_ERR_DEVICE", 13))
			FAIL("a GPU wrote to a page that it may only read: %s", answer);
		child_kill(&waiters[0]);
	} else {
		must_have_died(&waiters[0]);
	}
	must_go_on();
	agent_does(&waiters[1], "stream_wait 0 4", "sync");
}
