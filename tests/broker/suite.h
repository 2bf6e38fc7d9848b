/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite.h - the cases of the broker's suite, and what they stand on
 *
 * A real warpwayd and connections that speak the codec by hand. One daemon serves all cases; those that need limits or a
 * restart start one of their own. Connections come from a pool and are closed when the case ends.
 *
 * After every case the daemon must be as it was: no objects, holders, holds, waits, and as many descriptors. So a case
 * closes nothing unless that is what it is about.
 */
#ifndef WW_TESTS_BROKER_SUITE_H
#define WW_TESTS_BROKER_SUITE_H

#include <string.h>

#include "support/broker.h"
#include "support/check.h"
#include "support/child.h"
#include "support/raw.h"

#define MS UINT64_C(1000000)

/* Users that nobody is. */
#define ALICE ((uid_t)54321)
#define BOB   ((uid_t)54322)
#define GROUP ((gid_t)54400)

#define AS_ROOT (UINT64_C(1) << 0) /* needs other users */
#define ONCE    (UINT64_C(1) << 1) /* too long to be repeated */

#define BROKER_CASES(X)                              \
	X(user_mode_decides, AS_ROOT)                \
	X(user_group_is_own, AS_ROOT)                \
	X(user_removes_own_only, AS_ROOT)            \
	X(user_sees_no_foreign_description, AS_ROOT) \
	X(user_process_id_is_own, 0)                 \
	X(user_id_alone_is_nothing, 0)               \
	X(user_secret_is_guarded, 0)                 \
	X(name_home_is_reserved, AS_ROOT)            \
	X(name_prefix_is_reserved, AS_ROOT)          \
	X(name_squatted, AS_ROOT)                    \
	X(name_tricks, 0)                            \
	X(message_order, 0)                          \
	X(message_versions, 0)                       \
	X(message_truncated, 0)                      \
	X(message_oversized, 0)                      \
	X(message_codes, 0)                          \
	X(message_values, 0)                         \
	X(message_refused_values, 0)                 \
	X(message_serials, 0)                        \
	X(message_watcher_only_watches, 0)           \
	X(descriptor_count, 0)                       \
	X(descriptor_flood, 0)                       \
	X(descriptor_types, 0)                       \
	X(descriptor_access, 0)                      \
	X(descriptor_bytes_are_the_kernels, 0)       \
	X(page_is_for_readers, 0)                    \
	X(page_refused, 0)                           \
	X(page_beside_others, 0)                     \
	X(page_of_another_version, 0)                \
	X(page_changes_afterwards, ONCE)             \
	X(page_released_in_order, 0)                 \
	X(page_released_with_restart, ONCE)          \
	X(page_put_anew_refused, ONCE)               \
	X(page_mourned_cost_connections, ONCE)       \
	X(page_charges, 0)                           \
	X(page_connection_ends, ONCE)                \
	X(page_maker_is_killed, 0)                   \
	X(page_lives_end_with_maker, 0)              \
	X(page_removed_first, 0)                     \
	X(page_stored_over, ONCE)                    \
	X(page_unshared_is_forgotten, ONCE)          \
	X(page_left_then_ended, ONCE)                \
	X(page_member_is_found_late, ONCE)           \
	X(page_member_ended_unseen, ONCE)            \
	X(page_broker_killed_before, ONCE)           \
	X(page_broker_killed_after, ONCE)            \
	X(page_maker_killed_without_broker, ONCE)    \
	X(page_maker_comes_back, ONCE)               \
	X(page_hundred_at_once, ONCE)                \
	X(page_among_a_thousand, ONCE)               \
	X(inside_needs_a_hold, 0)                    \
	X(inside_mode_decides, AS_ROOT)              \
	X(inside_names, 0)                           \
	X(inside_of_what_is_gone, 0)                 \
	X(inside_wait_met, 0)                        \
	X(inside_wait_ends_with_object, 0)           \
	X(inside_wait_ends_with_time, ONCE)          \
	X(inside_wait_ends_with_hold, 0)             \
	X(inside_not_in_version_1, 0)                \
	X(inside_access_is_the_outers, 0)            \
	X(inside_of_a_page_is_counted, 0)            \
	X(inside_member_is_its_own, ONCE)            \
	X(quota_bytes, 0)                            \
	X(quota_host_bytes, 0)                       \
	X(quota_objects, 0)                          \
	X(quota_fds, 0)                              \
	X(quota_holds, 0)                            \
	X(quota_connections, 0)                      \
	X(quota_waits, 0)                            \
	X(quota_watches, 0)                          \
	X(quota_of_each_user, AS_ROOT)               \
	X(quota_connections_of_one_user, AS_ROOT)    \
	X(quota_survives_huge_numbers, 0)            \
	X(reserve_in_turn, 0)                        \
	X(reserve_twice, 0)                          \
	X(reserve_ends_with_connection, 0)           \
	X(state_writing_then_ready, 0)               \
	X(state_writer_ends, 0)                      \
	X(state_removed, 0)                          \
	X(state_lives, 0)                            \
	X(state_time_to_live, 0)                     \
	X(state_replace, 0)                          \
	X(state_put_again, 0)                        \
	X(state_named_later, 0)                      \
	X(state_unnamed_goes_with_its_maker, 0)      \
	X(wait_answered_with_refusal, AS_ROOT)       \
	X(wait_cancelled, 0)                         \
	X(escrow_time, 0)                            \
	X(escrow_uses, 0)                            \
	X(escrow_limits, 0)                          \
	X(confirm_after_restart, ONCE)               \
	X(restart_keeps_all, ONCE)                   \
	X(list_pages, ONCE)                          \
	X(list_while_changing, ONCE)                 \
	X(list_who_holds_what, 0)                    \
	X(watch_events, 0)                           \
	X(watch_existing, 0)                         \
	X(watch_overflow, 0)                         \
	X(watch_by_a_hundred, 0)                     \
	X(peer_never_reads, 0)                       \
	X(peer_says_nothing, 0)                      \
	X(peer_half_closed, 0)                       \
	X(peer_too_many_for_the_process, ONCE)       \
	X(daemon_leaves_when_idle, ONCE)             \
	X(daemon_does_not_grow, ONCE)

#define BROKER_DECLARE(name, needs) void name(void);
BROKER_CASES(BROKER_DECLARE)
#undef BROKER_DECLARE

#define BROKER_ROLES(X)          \
	X(role_steal_process_id) \
	X(role_signaller)        \
	X(role_leaver)

#define BROKER_DECLARE_ROLE(name) void name(int count, char **arguments);
BROKER_ROLES(BROKER_DECLARE_ROLE)
#undef BROKER_DECLARE_ROLE

/* The daemon that this case talks to: the shared one, or its own after suite_start(). */
extern struct broker *daemon_now;

/* Has a daemon of the case's own, with this configuration and limit of open files (NULL, 0: as usual). */
void suite_start(const char *config, uint64_t files);
void suite_stop(void);

/* Skips the case if the daemon could raise the limit of open files that it was given. */
void suite_want_small(void);

/* A connection from the pool: welcome; silent yet; a watcher's; another user's. */
struct raw *peer(void);
struct raw *stranger(void);
struct raw *watcher(void);
struct raw *peer_of(uid_t uid, gid_t gid);

/* Tidies up after a case that failed. */
void suite_begin(void);

/* Closes the connections that are left, and waits until the daemon has forgotten them. */
void suite_settle(void);

/* Waits until the daemon's condition has this many objects, holders and so on; UINT64_MAX: any number. */
struct want {
	uint64_t objects;
	uint64_t holders;
	uint64_t holds;
	uint64_t fds;
	uint64_t waits;
};
void wait_for(struct raw *raw, const struct want *want);

/* A connection from the pool that speaks version 1. */
struct raw *old_peer(void);

/* Kills the broker process and waits until another one serves; and the same process, over another connection. */
void suite_kill_broker(struct raw *raw);
void suite_come_back(struct raw *raw, bool is_known);

/* Puts an object with no descriptors that is easy to tell: sealed, held, mode 0600. */
struct ww_wire_put put_named(struct raw *raw, const char *name);

/* What may take no time to speak of has to be done in this: very long, but no hang. */
uint64_t suite_at_once_ns(void);

/* The case that runs all the others many times over; in main.c. */
void suite_repeat(int times);

#endif
