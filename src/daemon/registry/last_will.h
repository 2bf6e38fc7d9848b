/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_will.h - what the broker does to a process's signal page when the process ends
 *
 * A process that signals puts its signal page (wire/signal_page.h) with two descriptors: one for
 * its readers, and a writable one (fd_access 4) that no process is given. The second is its last
 * will. When the process has ended, or has lost its connection, the broker executes it: it poisons
 * the page, and writes there which process it was. So all waits for the process end. While the
 * process lives, the broker writes one word: how many objects were put inside the page's object.
 *
 * The page belongs to an untrusted process. It is sealed, so it can neither shrink nor become
 * unwritable. Its header is checked once, when it comes, and never read again. Pages stay mapped,
 * so that the end of a process costs only the stores; but not more than MAPPED_MAX bytes of all
 * pages together.
 */
#ifndef WW_DAEMON_REGISTRY_LAST_WILL_H
#define WW_DAEMON_REGISTRY_LAST_WILL_H

#include "daemon/registry/registry.h"
#include "wire/signal_page.h"

#define LAST_WILL_ACCESS 4 /* in fd_access: for no process */
/* in addition, in a record: other processes than the creator have had the object */
#define LAST_WILL_HAS_READERS 8
/*
 * in addition: the object stays without its creator (put_flag stays); also when the last will is
 * closed
 */
#define LAST_WILL_STAYS 16

struct last_will {
	struct ww_list of_exit_waits; /* in registry.exit_waits */
	struct object *object;
	struct ww_layout_signal_page *page; /* NULL: is mapped when it is needed */
	uint64_t bytes;
	uint64_t until_ns; /* awaits the exit no longer than this, unless there is a reason */
	uint64_t look_ns;  /* when it is looked at again in the exit wait */
	bool has_woken;    /* all threads that may sleep on it, since the exit wait began */
};

/* Which of an object's descriptors is one. Return: -1 when there is none. */
int last_will_find(const uint8_t *fd_access, size_t fd_count);

/*
 * Checks a put that has one; any other put is accepted.
 * @fds:  looked at by descriptor_check()
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_DESCRIPTOR; WW_ERR_VERSION (of the page); WW_ERR_NO_MEMORY.
 */
ww_status last_will_check(const struct ww_wire_put *put, const int *fds, size_t fd_count);

/*
 * Opens the last will of an object whose record names its descriptors; for an object without one,
 * does nothing.
 * Return: WW_OK; WW_ERR_DESCRIPTOR (it is no such page: the record is damaged); WW_ERR_NO_MEMORY.
 */
ww_status last_will_open(struct registry *registry, struct object *object);

/*
 * Whether so many last wills were executed in this turn of the loop that other clients must be
 * served first. The exit wait executes the rest soon.
 */
bool last_will_is_enough(const struct registry *registry);

/* Another process than its creator gets the object. The object may have no last will. */
void last_will_note_reader(struct registry *registry, const struct object *object);
bool last_will_has_readers(const struct registry *registry, const struct object *object);

/*
 * Poisons the page. @is_thorough: also wakes threads that would not wait if the page's owner had
 * kept the protocol.
 * Return: false: the page cannot be had at the moment; try again later.
 */
bool last_will_execute(struct registry *registry, const struct object *object, bool is_thorough);

/* The same for the last time. @has_ended: the process has ended, and the page says so. */
bool last_will_execute_last(struct registry *registry, const struct object *object, bool has_ended);

/* Frees it; its descriptor stays. The object may have none. */
void last_will_close(struct registry *registry, struct object *object);

/*
 * Maps the page of an object for writing, until last_will_give_back().
 * @out_page:  NULL: the object has none
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status last_will_borrow(const struct registry *registry, const struct object *object,
	struct ww_layout_signal_page **out_page);
void last_will_give_back(const struct object *object, struct ww_layout_signal_page *page);

/*
 * Ends the last will of an object that lives on: its descriptor is for no process, and no last
 * will.
 */
void last_will_close_record(struct ww_layout_object_record *record);
bool last_will_is_closed(const struct ww_layout_object_record *record);

/* Marks the record of an object that stays without its creator; and reads that mark. */
void last_will_stay(struct ww_layout_object_record *record);
bool last_will_stays(const struct ww_layout_object_record *record);

/* Removes all descriptors from the record of a removed object, but not that of its last will. */
void last_will_keep_only(struct ww_layout_object_record *record);

#endif
