/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.c - listings of objects, holders and holds; how the broker is; see listing.h
 *
 * A cursor is the index of the next record, or the place of the next name. Records do not move, so
 * a record that exists all the time is listed exactly once, and the broker keeps nothing between
 * two listing pages. A listing page covers at most SCAN_BYTES of records, about 30 us, even if it
 * finds nothing. So one client's listing does not delay others.
 */
#include "daemon/broker/listing.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc_file.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/delivery.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

#define SCAN_BYTES  (512 << 10)
#define ENTRIES_MAX 64
#define HOLDERS_MAX 256
#define HOLDS_MAX   512

static uint64_t left_ns(uint64_t now_ns, uint64_t expires_ns)
{
	if (expires_ns == REGISTRY_NEVER)
		return REGISTRY_NEVER;
	return expires_ns > now_ns ? expires_ns - now_ns : 0;
}

void listing_fill_entry(const struct peer *peer, struct name name, struct ww_wire_entry *out_entry)
{
	const struct registry *registry = &peer->server->registry;
	const struct object *object = name.object;
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct name_fields fields = name_read(registry, name);
	uint64_t now_ns = ww_clock_now_ns();
	uint32_t may = peer_may(peer, record);

	*out_entry = (struct ww_wire_entry){
		.kind = record->kind,
		.state = (uint8_t)record->state,
		.life = fields.life,
		.flags = may,
		.mode = record->mode,
		.uid = record->uid,
		.gid = record->gid,
		.pid = record->maker_pid,
		.holders = object->holders,
		.escrows = object_escrows(object),
		.fd_count = record->fd_count,
		.bytes = record->bytes,
		.age_ns = now_ns - fields.since_ns,
		.left_ns = left_ns(now_ns, fields.expires_ns),
		.generation = record->generation,
	};
	if (object->creator && object->creator == peer->holder)
		out_entry->flags |= WW_WIRE_ENTRY_FLAG_OWN;
	memcpy(out_entry->id, record->id, sizeof(out_entry->id));
	memcpy(out_entry->home_uuid, record->home_uuid, sizeof(out_entry->home_uuid));
	memcpy(out_entry->name, fields.text, sizeof(out_entry->name));
	if (may & WW_WIRE_ENTRY_FLAG_MAY_READ) {
		out_entry->description_bytes = fields.description_bytes;
		memcpy(out_entry->description, fields.description, fields.description_bytes);
	}
}

static bool name_is_listed(const struct registry *registry, struct name name,
	const struct ww_wire_list *list)
{
	const struct ww_layout_object_record *record = object_record(registry, name.object);
	const char *text = name_text(registry, name);

	if (record->state == WW_WIRE_STATE_REMOVED || !text[0])
		return list->unnamed && !list->prefix[0] &&
			(!name.object->extra->further || object_may_have_parts(record));
	if (strncmp(text, list->prefix, strlen(list->prefix)))
		return false;
	/* An object that waits for its name is listed as one without a name. */
	return (list->unnamed && !list->prefix[0]) || !name_is_replacement(registry, name);
}

/* The records of one listing page: from one index on, up to another one. */
struct page {
	const struct table *table;
	uint32_t at;
	uint32_t end;
};

static struct page page_begin(const struct table *table, uint64_t cursor)
{
	uint32_t at = cursor < table->capacity ? (uint32_t)cursor : table->capacity;

	return (struct page){table, at, at + SCAN_BYTES / table->record_bytes};
}

static void *page_next(struct page *page)
{
	return table_next_before(page->table, &page->at, page->end);
}

/* The cursor of the next listing page; 0: there is none. */
static uint64_t page_end(const struct page *page)
{
	return page->at < page->table->capacity ? page->at : 0;
}

ww_status listing_objects(void *context, const struct ww_wire_header *header,
	const struct ww_wire_list *list)
{
	static struct ww_wire_entry entries[ENTRIES_MAX];
	struct peer *peer = context;
	const struct registry *registry = &peer->server->registry;
	struct ww_wire_listing listing = {.entries.items = entries};
	uint32_t records = SCAN_BYTES / registry->object_table.record_bytes;
	uint64_t place = list->cursor;
	struct name name;

	ww_try(ww_name_check_prefix(list->prefix));
	while (listing.entries.count < ENTRIES_MAX &&
		(name = name_walk(registry, &place, &records)).object) {
		if (name_is_listed(registry, name, list))
			listing_fill_entry(peer, name, &entries[listing.entries.count++]);
	}
	listing.next = place < PLACE_END ? place : 0;
	return peer_answer(peer, header->serial, listing, &listing);
}

void listing_fill_holder(const struct registry *registry, const struct holder *holder,
	struct ww_wire_holder *out_holder)
{
	const struct ww_layout_holder_record *record = holder_record(registry, holder);

	*out_holder = (struct ww_wire_holder){
		.number = record->number,
		.pid = record->pid,
		.uid = record->uid,
		.gid = record->gid,
		.attached = !ww_list_is_empty(&holder->peers),
		.held = holder->held,
		.held_bytes = byte_sum_told(holder->held_bytes),
		.put = holder->put_count,
		.put_bytes = byte_sum_told(holder->put_bytes),
		.age_ns = ww_clock_now_ns() - record->since_ns,
	};
	memcpy(out_holder->program, record->program, sizeof(out_holder->program));
}

ww_status listing_holders(void *context, const struct ww_wire_header *header,
	const struct ww_wire_holders *holders)
{
	static struct ww_wire_holder items[HOLDERS_MAX];
	struct peer *peer = context;
	const struct registry *registry = &peer->server->registry;
	struct page page = page_begin(&registry->holder_table, holders->cursor);
	struct ww_wire_holder_listing listing = {.holders.items = items};
	const struct holder *holder;

	while (listing.holders.count < HOLDERS_MAX && (holder = page_next(&page))) {
		if (!holder_awaits_exit(registry, holder))
			listing_fill_holder(registry, holder, &items[listing.holders.count++]);
	}
	listing.next = page_end(&page);
	return peer_answer(peer, header->serial, holder_listing, &listing);
}

void listing_fill_hold(const struct peer *peer, const struct hold *hold,
	struct ww_wire_hold *out_hold)
{
	const struct registry *registry = &peer->server->registry;
	const struct ww_layout_hold_record *record = hold_record(registry, hold);
	const struct ww_layout_object_record *object = object_record(registry,
		hold_object(registry, hold));
	uint64_t now_ns = ww_clock_now_ns();

	*out_hold = (struct ww_wire_hold){
		.holder = record->holder,
		.access = record->access,
		.flags = record->flags,
		.left_ns = left_ns(now_ns, record->expires_ns),
		.age_ns = now_ns - record->since_ns,
		.delivery = record->delivery,
		.exporter = record->exporter,
		.uses = record->uses,
		.bytes = object->bytes,
	};
	if (hold->is_escrow && hold->delivery && peer->holder &&
		hold->delivery->exporter == peer->holder)
		out_hold->flags |= WW_WIRE_HOLD_FLAG_OWN;
	memcpy(out_hold->id, object->id, sizeof(out_hold->id));
}

ww_status listing_holds(void *context, const struct ww_wire_header *header,
	const struct ww_wire_holds *holds)
{
	static struct ww_wire_hold items[HOLDS_MAX];
	struct peer *peer = context;
	const struct registry *registry = &peer->server->registry;
	struct page page = page_begin(&registry->hold_table, holds->cursor);
	struct ww_wire_hold_listing listing = {.holds.items = items};
	const struct hold *hold;

	while (listing.holds.count < HOLDS_MAX && (hold = page_next(&page)))
		listing_fill_hold(peer, hold, &items[listing.holds.count++]);
	listing.next = page_end(&page);
	return peer_answer(peer, header->serial, hold_listing, &listing);
}

/* Since Linux 6.2 the size of the folder is their number. Before, they are counted one by one. */
static uint64_t count_open_fds(void)
{
	struct stat status;
	uint64_t count = 0;
	DIR *folder;

	if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0)
		return (uint64_t)status.st_size;
	folder = opendir("/proc/self/fd");
	if (!folder)
		return 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count > 3 ? count - 3 : 0; /* ".", ".." and the folder's own */
}

/* The second number of statm is what is resident, in pages. */
static uint64_t resident_bytes(void)
{
	char line[128];
	char *rest;

	if (!ww_proc_file_read_line("/proc/self/statm", line, sizeof(line)))
		return 0;
	strtoull(line, &rest, 10);
	return strtoull(rest, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * The process that made the socket to it. getppid() would name another process as soon as the
 * supervisor was killed.
 */
static uint32_t supervisor_pid(const struct server *server)
{
	struct ucred credentials = {.pid = 0};
	socklen_t length = sizeof(credentials);

	(void)getsockopt(server->setup->supervisor, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
	return (uint32_t)credentials.pid;
}

ww_status listing_status(void *context, const struct ww_wire_header *header,
	const struct ww_wire_status *status)
{
	struct peer *peer = context;
	const struct server *server = peer->server;
	const struct registry *registry = &server->registry;
	struct ww_wire_condition condition = {
		.pid = (uint32_t)getpid(),
		.supervisor_pid = supervisor_pid(server),
		.uid = (uint32_t)geteuid(),
		.restarts = server->setup->restarts,
		.objects = registry->object_table.used,
		.holders = registry->holder_table.used,
		.holds = registry->hold_table.used,
		.bytes = byte_sum_told(registry->bytes),
		.fds = registry->accounts.fds,
		.open_fds = count_open_fds(),
		.memory_bytes = resident_bytes(),
		.up_ns = ww_clock_now_ns() - server->setup->started_ns,
		.waits = server->wait_count,
		.version = WW_VERSION,
	};

	(void)status;
	return peer_answer(peer, header->serial, condition, &condition);
}
