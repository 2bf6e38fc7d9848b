/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page_map.c - signal pages as this process has them, see signal_page_map.h
 *
 * Locks: pages_lock for the list; page->lock is taken inside it only to take a cell. Nothing blocks
 * under pages_lock; under page->lock the driver is called.
 */
#include "sync/signal_page_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "base/random.h"
#include "device/memfd.h"
#include "device/native_stream.h"
#include "sync/stream_wait.h"

#define ALONE_BYTES 4096

static pthread_mutex_t pages_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list pages WW_PER_PROCESS = WW_LIST_INIT(pages);

static struct ww_signal_map *page_new(struct ww_mapping *cpu, bool is_own)
{
	struct ww_signal_map *page = calloc(1, sizeof(*page));

	if (!page) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a page of timelines: out of memory");
		return NULL;
	}
	ww_ref_init(&page->ref);
	ww_list_init(&page->link);
	ww_list_init(&page->timelines);
	pthread_mutex_init(&page->lock, NULL);
	page->cpu = cpu;
	page->header = cpu->host_pointer;
	page->is_own = is_own;
	return page;
}

static void set_creator(struct ww_signal_map *page, const struct ww_page_creator *by_broker)
{
	const struct ww_layout_signal_page *header = page->header;
	struct ww_page_creator *creator = &page->creator;

	*creator = *by_broker;
	/* An older broker does not name it, and no broker tells the program after its end. */
	if (creator->uid == geteuid()) {
		if (creator->pid == 0)
			creator->pid = header->pid;
		if (creator->program[0] == '\0')
			memcpy(creator->program, header->program, sizeof(creator->program));
	}
	creator->program[sizeof(creator->program) - 1] = '\0';
	for (char *at = creator->program; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
}

static ww_status create_own(bool is_alone, struct ww_signal_map **out_page)
{
	WW_AUTO_MAPPING struct ww_mapping *cpu = NULL;
	uint64_t bytes = is_alone ? ALONE_BYTES : WW_SIGNAL_PAGE_BYTES;
	struct ww_signal_map *page;

	ww_try(ww_shared_page_create(bytes, &cpu));
	page = page_new(cpu, true);
	if (!page)
		return WW_ERR_NO_MEMORY;
	*out_page = page;
	(void)ww_steal(cpu);
	page->is_alone = is_alone;
	ww_try(ww_random_bytes(page->id, sizeof(page->id)));
	ww_signal_page_init(page->header, bytes, page->id, (uint32_t)getpid(), (uint32_t)getuid(),
		program_invocation_short_name);
	set_creator(page, &(struct ww_page_creator){.uid = geteuid()});
	return WW_OK;
}

/* Return: whether the page had a free cell. */
static bool take_cell(struct ww_signal_map *page, uint64_t *out_offset)
{
	uint32_t cells = page->is_alone ? 1 : ww_signal_page_cells(page->cpu->bytes);
	bool has_cell;

	pthread_mutex_lock(&page->lock);
	has_cell = page->cells_used < cells;
	if (has_cell)
		*out_offset = sizeof(struct ww_layout_signal_page) +
			page->cells_used++ * sizeof(struct ww_layout_signal_cell);
	pthread_mutex_unlock(&page->lock);
	return has_cell;
}

/* Return: a reference; NULL when no shared page has a cell left. */
static struct ww_signal_map *find_shared(uint64_t *out_offset)
{
	struct ww_signal_map *found = NULL;

	pthread_mutex_lock(&pages_lock);
	ww_list_for_each (link, &pages) {
		struct ww_signal_map *page = ww_container(link, struct ww_signal_map, link);

		if (!page->is_own || page->is_alone || ww_signal_page_is_lost(page->header) ||
			!take_cell(page, out_offset))
			continue;
		if (ww_ref_try_get(&page->ref)) {
			found = page;
			break;
		} /* else it ends, and the cell with it */
	}
	pthread_mutex_unlock(&pages_lock);
	return found;
}

ww_status ww_signal_map_take_cell(bool is_alone, struct ww_signal_map **out_page,
	uint64_t *out_offset)
{
	WW_AUTO_SIGNAL_MAP struct ww_signal_map *page = NULL;

	*out_page = is_alone ? NULL : find_shared(out_offset);
	if (*out_page)
		return WW_OK;
	ww_try(create_own(is_alone, &page));
	(void)take_cell(page, out_offset);
	pthread_mutex_lock(&pages_lock);
	ww_list_append(&pages, &page->link);
	pthread_mutex_unlock(&pages_lock);
	*out_page = ww_steal(page);
	return WW_OK;
}

/* --- pages of others, and this process's own that came back --- */

/*
 * Under pages_lock. If processes of two users have put the same page, it is mapped once for each
 * user, since one of the two did not create it: also the own page that another user puts. Return: a
 * reference, or NULL.
 */
static struct ww_signal_map *find_page(const uint8_t id[WW_WIRE_ID_BYTES], int fd, uint32_t uid)
{
	ww_list_for_each (link, &pages) {
		struct ww_signal_map *page = ww_container(link, struct ww_signal_map, link);

		if (!memcmp(page->id, id, sizeof(page->id)) &&
			(page->creator.uid == uid || (page->is_own && uid == geteuid())) &&
			ww_mapping_is_named_by(page->cpu, fd) && ww_ref_try_get(&page->ref))
			return page;
	}
	return NULL;
}

static ww_status map_foreign(int fd, uint64_t bytes, const uint8_t id[WW_WIRE_ID_BYTES],
	const struct ww_page_creator *creator, struct ww_signal_map **out_page)
{
	WW_AUTO_MAPPING struct ww_mapping *cpu = NULL;
	struct ww_signal_map *page;

	ww_try(ww_shared_page_import(fd, bytes, WW_ACCESS_READ, &cpu));
	ww_try(ww_signal_page_check(cpu->host_pointer, bytes));
	page = page_new(cpu, false);
	if (!page)
		return WW_ERR_NO_MEMORY;
	(void)ww_steal(cpu);
	memcpy(page->id, id, sizeof(page->id));
	set_creator(page, creator);
	*out_page = page;
	return WW_OK;
}

ww_status ww_signal_map_import(int fd, uint64_t bytes, const uint8_t id[WW_WIRE_ID_BYTES],
	const struct ww_page_creator *creator, struct ww_signal_map **out_page)
{
	WW_AUTO_SIGNAL_MAP struct ww_signal_map *page = NULL;

	/*
	 * Under the lock it is looked at, and what is no memory may be a file that never answers.
	 */
	ww_try(ww_memfd_check(fd, bytes));
	pthread_mutex_lock(&pages_lock);
	*out_page = find_page(id, fd, creator->uid);
	pthread_mutex_unlock(&pages_lock);
	if (*out_page)
		return WW_OK;
	ww_try(map_foreign(fd, bytes, id, creator, &page));
	/* Another thread may have been faster. */
	pthread_mutex_lock(&pages_lock);
	*out_page = find_page(id, fd, creator->uid);
	if (!*out_page) {
		ww_list_append(&pages, &page->link);
		*out_page = ww_steal(page);
	}
	pthread_mutex_unlock(&pages_lock);
	return WW_OK;
}

/* --- use and end --- */

struct ww_signal_map *ww_signal_map_ref(struct ww_signal_map *page)
{
	ww_ref_get(&page->ref);
	return page;
}

struct ww_signal_map *ww_signal_map_unref(struct ww_signal_map *page)
{
	if (!page || !ww_ref_put(&page->ref))
		return NULL;
	pthread_mutex_lock(&pages_lock);
	ww_list_remove(&page->link);
	pthread_mutex_unlock(&pages_lock);
	ww_attachments_fini(&page->attachments);
	/* No look-up finds it any more, and no GPU is about to read it. */
	for (size_t i = 0; i < WW_SHARED_PAGE_DEVICES; i++)
		ww_mapping_unref_page(page->mapped.of[i]);
	ww_mapping_unref(page->cpu);
	pthread_mutex_destroy(&page->lock);
	free(page);
	return NULL;
}

/* Whether a stream has yet to signal: the driver would wait for that, too. */
static bool has_pending_signal(struct ww_signal_map *page)
{
	for (uint32_t i = 0; i < page->cells_used; i++) {
		const struct ww_layout_signal_cell *cell = ww_signal_map_cell(page,
			sizeof(struct ww_layout_signal_page) + i * sizeof(*cell));

		if (__atomic_load_n(&cell->completed, __ATOMIC_ACQUIRE) <
			__atomic_load_n(&cell->submitted, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* Whether a stream of this process is known to wait, or has yet to signal. */
static bool are_streams_busy(void)
{
	bool is_busy = false;

	ww_native_streams_settle();
	if (ww_stream_waits_pending())
		return true;
	pthread_mutex_lock(&pages_lock);
	for (struct ww_list *link = pages.next; link != &pages && !is_busy; link = link->next)
		is_busy = has_pending_signal(ww_container(link, struct ww_signal_map, link));
	pthread_mutex_unlock(&pages_lock);
	return is_busy;
}

struct ww_layout_signal_cell *ww_signal_map_cell(struct ww_signal_map *page, uint64_t offset)
{
	return ww_signal_page_cell(page->header, page->cpu->bytes, offset);
}

ww_status ww_signal_map_map(struct ww_signal_map *page, struct ww_device *device,
	struct ww_mapping **out_mapping)
{
	ww_status status;

	if (!(device->capabilities & WW_CAP_STREAM_VALUE))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the streams of %s cannot signal or wait for timelines: its driver has no 64-bit "
			"stream memory operations; signal and wait on the CPU",
			device->selector);
	if (device == page->cpu->device) {
		*out_mapping = page->cpu;
		return WW_OK;
	}
	*out_mapping = ww_shared_page_find(&page->mapped, device);
	if (*out_mapping)
		return WW_OK;
	ww_deferred_ask_streams(are_streams_busy); /* from now on a GPU can wait or signal */
	pthread_mutex_lock(&page->lock);
	status = ww_shared_page_map(&page->mapped, page->cpu, device,
		page->is_own ? WW_ACCESS_WRITE : WW_ACCESS_READ, "a timeline is used by",
		out_mapping);
	pthread_mutex_unlock(&page->lock);
	return status;
}

ww_status ww_signal_map_stream_value(struct ww_signal_map *page, struct ww_device *device,
	uint64_t offset, uint64_t value, struct ww_stream_value *out_word)
{
	*out_word = (struct ww_stream_value){
		.offset = offset + offsetof(struct ww_layout_signal_cell, completed),
		.wakes_offset = offset + offsetof(struct ww_layout_signal_cell, wakes),
		.by_gpu_offset = offset + offsetof(struct ww_layout_signal_cell, by_gpu),
		.value = value,
	};
	return ww_signal_map_map(page, device, &out_word->mapping);
}
