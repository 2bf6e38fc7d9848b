/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder.h - holders: the processes that put and hold objects
 *
 * A holder is a process, known by 128 random bits that it chose and, where the kernel gives one, by
 * its pidfd. It may have several connections. When the last of them ends, the holder ends: it
 * releases all that it holds, and the objects that live with it end. If it has left last wills and
 * its process may still run, it stays and awaits its exit (exit_wait.h): such a holder has no
 * connections, holds nothing and is not found by its process id.
 *
 * Two files: holder.c finds holders and keeps their records; holder_end.c ends them.
 */
#ifndef WW_DAEMON_REGISTRY_HOLDER_H
#define WW_DAEMON_REGISTRY_HOLDER_H

#include "daemon/registry/registry.h"

/* The state of a holder's record; 1: as usual. */
#define HOLDER_AWAITS_EXIT 2

/* In a holder's record. */
#define HOLDER_NO_PIDFD UINT32_MAX

struct holder {
	struct item_node by_number;
	struct item_node by_process; /* unless it awaits its exit */
	struct size_node by_size;    /* by held_bytes */
	struct ww_list holds;        /* struct hold.of_holder */
	struct ww_list put;          /* struct object.of_creator */
	struct ww_list signal_pages; /* the same, of those with a last will */
	struct ww_list peers;        /* struct peer.of_holder: its connections */
	struct ww_list deliveries;   /* struct delivery.of_exporter; by age, if are_in_order */
	struct account *account;
	uv_poll_t *exit_poll; /* of its pidfd; NULL: none */
	uint32_t index;
	uint32_t held;
	uint32_t put_count;
	byte_sum held_bytes;
	byte_sum put_bytes;
	uint32_t delivery_count;
	byte_sum delivery_bytes; /* of their objects together */
	struct ww_list of_done;  /* in registry.done */
	/* from before a restart, and has not connected again: counts as a connection */
	bool is_awaited;
	bool has_reservation;
	bool are_in_order;         /* the deliveries */
	bool is_confirming;        /* between a reconnection and its last `confirm` */
	struct charge reservation; /* charged already */
};

static inline struct ww_layout_holder_record *holder_record(const struct registry *registry,
	const struct holder *holder)
{
	return table_record(&registry->holder_table, holder->index);
}

/* --- holder.c --- */

struct holder *holder_find(const struct registry *registry, const uint8_t process_id[16]);
struct holder *holder_find_number(const struct registry *registry, uint64_t number);

/*
 * Adds a process.
 * @pidfd:  borrowed; -1: none
 * Return: WW_OK; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_PEER_LOST (the supervisor is gone).
 */
ww_status holder_add(struct registry *registry, const uint8_t process_id[16], uint32_t pid,
	uid_t uid, gid_t gid, int pidfd, const char *program, struct holder **out_holder);

/*
 * Makes the item of a filled record, with its account, and maps it. Return: WW_OK;
 * WW_ERR_NO_MEMORY.
 */
ww_status holder_item(struct registry *registry, uint32_t index, struct holder **out_holder);

/* A process has connected, for the first time or again. */
void holder_attach(struct registry *registry, struct holder *holder);

/*
 * A process from before a restart: it is awaited as long as it holds something, has put something
 * or has a delivery in flight.
 */
void holder_await(struct registry *registry, struct holder *holder);

/*
 * It may have lost the last thing that it had. If it is awaited, it ends soon (holder_end_done()).
 */
void holder_check_done(struct registry *registry, struct holder *holder);

bool holder_awaits_exit(const struct registry *registry, const struct holder *holder);

/*
 * Has it await its exit from now on: it is charged for that, and no longer found by its process id.
 */
void holder_begin_exit_wait(struct registry *registry, struct holder *holder);

/* The key of a holder in registry.holders_by_size. */
struct size_key holder_size_key(const struct table *table, uint32_t index);

/* It holds one object more, or less, of so many bytes. */
void holder_count_hold(struct registry *registry, struct holder *holder, uint64_t bytes);
void holder_count_release(struct registry *registry, struct holder *holder, uint64_t bytes);

/* Frees the item and the record of a holder that has nothing any more. */
void holder_free(struct registry *registry, struct holder *holder);

/* Whether the kernel says that the process has ended; and whether it ever will. */
bool holder_is_over(const struct registry *registry, const struct holder *holder);
bool holder_has_pidfd(const struct registry *registry, const struct holder *holder);

/* --- holder_end.c --- */

/* The first step for a process that is to end: executes its last wills, at once. */
void holder_await_exit(struct registry *registry, struct holder *holder);

/*
 * Releases all that it holds, and ends what lives with it. It has no connections any more. It is
 * freed; but if it has left last wills and its process may still run, it awaits its exit, and this
 * is called again when the process has ended.
 */
void holder_end(struct registry *registry, struct holder *holder);

/* Ends those of registry.done. */
void holder_end_done(struct registry *registry);

/* Looks after a last will in the exit wait: executes it again, or for the last time. */
void holder_look_after(struct registry *registry, struct last_will *last_will, uint64_t now_ns);

#endif
