/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testament.h - what a process leaves with the broker for its end: that whoever waits for it be released
 *
 * A process that signals puts its signal page (wire/signal_page.h) with two descriptors: one for its readers, and a
 * writable one (fd_access 4) that nobody is given. The second is its testament. It is executed when the process
 * has ended or was given up, see mourning.h: the page is poisoned, and says who it was. While the process lives the broker
 * writes one word: how many objects were put inside the page's object.
 *
 * The page is a stranger's. It can neither shrink nor be closed to us, for it is sealed; what its header says is
 * looked at once, when it comes, and never again. It stays mapped, so that the end of a process costs no more than the
 * stores; but not more than MAPPED_MAX bytes of all.
 */
#ifndef WW_BROKER_TESTAMENT_H
#define WW_BROKER_TESTAMENT_H

#include "broker/registry.h"
#include "wire/signal_page.h"

#define TESTAMENT_ACCESS 4 /* in fd_access: nobody's */
#define TESTAMENT_SHARED 8 /* beside that, in a record: others than the maker have had the object */

struct testament {
	struct ww_list of_mourned; /* in registry.mourned */
	struct object *object;
	struct ww_layout_signal_page *page; /* NULL: is mapped when it is needed */
	uint64_t bytes;
	uint64_t until_ns; /* mourned no longer than this, unless there is a reason to */
	uint64_t look_ns;  /* when it is looked at again, while it is mourned */
	bool has_woken;    /* all who may sleep on it, since it is mourned */
};

/* Which of an object's descriptors is one. Return: -1 when there is none. */
int testament_find(const uint8_t fd_access[WW_WIRE_FDS], size_t fd_count);

/*
 * Checks what comes with a put that has one; others are fine.
 * @fds:  looked at by descriptor_check()
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_DESCRIPTOR; WW_ERR_VERSION (of the page); WW_ERR_NO_MEMORY.
 */
ww_status testament_check(const struct ww_wire_put *put, const int *fds, size_t fd_count);

/*
 * Opens that of an object whose record names its descriptors; of one without, nothing.
 * Return: WW_OK; WW_ERR_DESCRIPTOR (it is no such page: the record is damaged); WW_ERR_NO_MEMORY.
 */
ww_status testament_open(struct registry *registry, struct object *object);

/*
 * Whether as much was executed in this turn of the loop as others may have to wait for; what is left is mourned over, and
 * so comes soon.
 */
bool testament_is_enough(const struct registry *registry);

/* Somebody else than its maker gets the object, which may have none. */
void testament_share(struct registry *registry, const struct object *object);
bool testament_is_shared(const struct registry *registry, const struct object *object);

/*
 * Poisons the page. @is_thorough: wakes also those who would not be waiting if its owner had kept the rules.
 * Return: false: the page cannot be had at the moment; try again later.
 */
bool testament_execute(struct registry *registry, const struct object *object, bool is_thorough);

/* The same for the last time. @has_ended: its process has: the page says so. */
bool testament_execute_last(struct registry *registry, const struct object *object, bool has_ended);

/* Forgets it; its descriptor stays. The object may have none. */
void testament_close(struct registry *registry, struct object *object);

/*
 * Has the page of an object at hand for writing, until it is given back.
 * @out_page:  NULL: the object has none
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status testament_borrow(const struct registry *registry, const struct object *object,
	struct ww_layout_signal_page **out_page);
void testament_give_back(const struct object *object, struct ww_layout_signal_page *page);

/* Of an object that lives on without it: its descriptor is nobody's, and no testament. */
void testament_close_record(struct ww_layout_object_record *record);
bool testament_is_closed(const struct ww_layout_object_record *record);

/* Of the descriptors of a removed object's record, leaves its testament only, or none. */
void testament_keep_only(struct ww_layout_object_record *record);

#endif
