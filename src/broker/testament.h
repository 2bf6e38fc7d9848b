/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testament.h - what a process leaves with the broker for its end: that whoever waits for it be released
 *
 * A process that signals puts its signal page (wire/signal_page.h) with two descriptors: one for its readers, and a
 * writable one (fd_access 4) that nobody is given. The second is its testament. It is executed when the process
 * has ended or was given up, see mourning.h: the page is poisoned, and says who it was.
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

struct testament {
	struct ww_list of_mourned; /* in registry.mourned */
	struct object *object;
	struct ww_layout_signal_page *page; /* NULL: is mapped when it is needed */
	uint64_t bytes;
	uint64_t until_ns; /* mourned no longer than this, unless there is a reason to */
	bool has_woken;    /* all who may sleep on it, since it is mourned */
};

/* Which of an object's descriptors is one. Return: -1 when there is none. */
int testament_find(const uint8_t fd_access[WW_WIRE_FDS], size_t fd_count);

/*
 * Checks what comes with a put that has one; others are fine.
 * @fds:  looked at by descriptor_check()
 * Return: WW_OK; WW_ERR_INVALID; WW_ERR_DESCRIPTOR; WW_ERR_VERSION (of the page); WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
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

/* Poisons the page. @is_thorough: wakes also those who would not be waiting if its owner had kept the rules. */
void testament_execute(struct registry *registry, const struct object *object, bool is_thorough);

/* Forgets it; its descriptor stays. The object may have none. */
void testament_close(struct registry *registry, struct object *object);

/* Of the descriptors of a removed object's record, leaves its testament only, or none. */
void testament_keep_only(struct ww_layout_object_record *record);

#endif
