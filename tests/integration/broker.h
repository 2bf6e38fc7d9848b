/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - memory with names, between real processes, through the public interface
 *
 * Each case begins a scene (support/scene.h) and ends it, when the broker must be back where it was. Most helpers are
 * agents (support/agent.h).
 */
#ifndef WW_TESTS_INTEGRATION_BROKER_H
#define WW_TESTS_INTEGRATION_BROKER_H

#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/container.h"
#include "support/scene.h"
#include "support/subject.h"

#define NEEDS_EXPORT         (UINT64_C(1) << 0)
#define NEEDS_HOST_MEMORY    (UINT64_C(1) << 1)
#define NEEDS_HOST_READ_ONLY (UINT64_C(1) << 2)
#define NEEDS_ROOT           (UINT64_C(1) << 3)
#define NEEDS_EVENT          (UINT64_C(1) << 4)
#define NEEDS_EVENT_HANDLE   (UINT64_C(1) << 5)

#define BROKER_PASS_CASES(X)                                            \
	X(pass_for_reading, NEEDS_EXPORT)                               \
	X(pass_for_writing, NEEDS_EXPORT)                               \
	X(pass_host_kind, NEEDS_HOST_READ_ONLY)                         \
	X(pass_from_agent_to_agent, NEEDS_EXPORT)                       \
	X(pass_read_only_is_read_only, NEEDS_EXPORT)                    \
	X(pass_read_only_is_read_only_host_kind, NEEDS_HOST_READ_ONLY)  \
	X(pass_token_by_socket, NEEDS_EXPORT)                           \
	X(pass_token_by_file, NEEDS_EXPORT)                             \
	X(pass_token_by_environment, NEEDS_EXPORT)                      \
	X(pass_token_grants_no_more, NEEDS_EXPORT)                      \
	X(pass_token_opens_what_mode_closes, NEEDS_EXPORT | NEEDS_ROOT) \
	X(pass_span, NEEDS_EXPORT)                                      \
	X(pass_array, NEEDS_EXPORT)                                     \
	X(pass_many_objects, NEEDS_HOST_MEMORY)

#define BROKER_LIFE_CASES(X)                          \
	X(life_kept, NEEDS_EXPORT)                    \
	X(life_kept_expires, NEEDS_EXPORT)            \
	X(life_owner, NEEDS_EXPORT)                   \
	X(life_owner_ends_with_process, NEEDS_EXPORT) \
	X(life_held_by_last_holder, NEEDS_EXPORT)     \
	X(life_escrow_keeps, NEEDS_EXPORT)            \
	X(life_escrow_ends_by_time, NEEDS_EXPORT)     \
	X(life_escrow_ends_by_uses, NEEDS_EXPORT)     \
	X(life_removed_is_still_mapped, NEEDS_EXPORT) \
	X(life_replaced, NEEDS_EXPORT)                \
	X(wait_for_name, NEEDS_EXPORT)                \
	X(wait_for_seal, NEEDS_EXPORT)                \
	X(wait_for_share, NEEDS_EXPORT)               \
	X(wait_in_vain, NEEDS_EXPORT)                 \
	X(wait_many, NEEDS_EXPORT)                    \
	X(wait_writer_killed, NEEDS_EXPORT)           \
	X(wait_writer_lets_go, NEEDS_EXPORT)          \
	X(wait_waiter_killed, NEEDS_EXPORT)           \
	X(watch_tells_of_others, NEEDS_EXPORT)        \
	X(snapshot_shows_who_holds, NEEDS_EXPORT)

#define BROKER_USER_CASES(X)                                           \
	X(user_owner_mode, NEEDS_EXPORT | NEEDS_ROOT)                  \
	X(user_group_mode, NEEDS_EXPORT | NEEDS_ROOT)                  \
	X(user_supplementary_group, NEEDS_EXPORT | NEEDS_ROOT)         \
	X(user_everybody_mode, NEEDS_EXPORT | NEEDS_ROOT)              \
	X(user_gives_to_group, NEEDS_EXPORT | NEEDS_ROOT)              \
	X(user_cannot_remove, NEEDS_EXPORT | NEEDS_ROOT)               \
	X(user_cannot_replace, NEEDS_EXPORT | NEEDS_ROOT)              \
	X(user_own_names, NEEDS_EXPORT | NEEDS_ROOT)                   \
	X(user_from_owner, NEEDS_EXPORT | NEEDS_ROOT)                  \
	X(user_reader_cannot_write, NEEDS_HOST_READ_ONLY | NEEDS_ROOT) \
	X(user_not_let_in, NEEDS_ROOT)

#define BROKER_START_CASES(X)                              \
	X(start_by_first_use, NEEDS_EXPORT)                \
	X(start_hundred_at_once, 0)                        \
	X(start_refused, 0)                                \
	X(start_for_other_user, NEEDS_EXPORT | NEEDS_ROOT) \
	X(start_refused_in_foreign_folder, NEEDS_ROOT)     \
	X(start_refused_in_open_folder, 0)                 \
	X(start_program_missing, 0)                        \
	X(start_program_fails, 0)                          \
	X(start_ends_when_idle, NEEDS_EXPORT)              \
	X(start_stays_while_kept, NEEDS_EXPORT)            \
	X(start_keeps_no_descriptor, 0)                    \
	X(start_two_never_serve_one_address, 0)            \
	X(start_after_kill_of_both, NEEDS_EXPORT)

#define BROKER_THREAD_CASES(X)                      \
	X(threads_put_and_get, NEEDS_HOST_MEMORY)   \
	X(threads_wait_beside_others, NEEDS_EXPORT) \
	X(threads_drop_and_get, NEEDS_EXPORT)       \
	X(threads_open_is_one, 0)                   \
	X(one_object_got_twice, NEEDS_EXPORT)       \
	X(one_object_put_and_got, NEEDS_EXPORT)     \
	X(unref_broker_before_memory, NEEDS_EXPORT) \
	X(fork_refuses_broker_calls, NEEDS_EXPORT)  \
	X(fork_keeps_nothing, NEEDS_EXPORT)

#define BROKER_CONTAINER_CASES(X)                             \
	X(container_gets_by_name, NEEDS_EXPORT | NEEDS_ROOT)  \
	X(container_puts, NEEDS_EXPORT | NEEDS_ROOT)          \
	X(container_takes_token, NEEDS_EXPORT | NEEDS_ROOT)   \
	X(container_to_container, NEEDS_EXPORT | NEEDS_ROOT)  \
	X(container_killed, NEEDS_EXPORT | NEEDS_ROOT)        \
	X(container_of_other_user, NEEDS_EXPORT | NEEDS_ROOT) \
	X(container_around_broker, NEEDS_EXPORT | NEEDS_ROOT) \
	X(daemon_is_free_of_libcuda, NEEDS_EXPORT)

#define BROKER_GPU_CASES(X)                            \
	X(gpu_memory_outlives_its_maker, NEEDS_EXPORT) \
	X(gpu_is_not_used_by_broker, NEEDS_EXPORT)

#define BROKER_EVENT_CASES(X)                                 \
	X(event_by_token, NEEDS_EVENT)                        \
	X(event_by_handle, NEEDS_EVENT_HANDLE)                \
	X(event_of_another_refuses, NEEDS_EVENT)              \
	X(event_maker_lets_go, NEEDS_EVENT)                   \
	X(event_maker_killed, NEEDS_EVENT)                    \
	X(event_maker_killed_while_stream_waits, NEEDS_EVENT) \
	X(event_maker_killed_afterwards, NEEDS_EVENT)         \
	X(event_into_container, NEEDS_EVENT | NEEDS_ROOT)     \
	X(event_between_equal_pids, NEEDS_EVENT | NEEDS_ROOT)

#define BROKER_CASES(X)           \
	BROKER_PASS_CASES(X)      \
	BROKER_LIFE_CASES(X)      \
	BROKER_USER_CASES(X)      \
	BROKER_START_CASES(X)     \
	BROKER_THREAD_CASES(X)    \
	BROKER_CONTAINER_CASES(X) \
	BROKER_GPU_CASES(X)       \
	BROKER_EVENT_CASES(X)

#define BROKER_ROLES(X)         \
	X(role_import_variable) \
	X(role_crowd)           \
	X(role_open)            \
	X(role_partner)         \
	X(role_partner_inside)  \
	X(role_container)       \
	X(role_daemon_inside)

#define BROKER_DECLARE_CASE(name, needs) void name(void);
BROKER_CASES(BROKER_DECLARE_CASE)
#undef BROKER_DECLARE_CASE

#define BROKER_DECLARE_ROLE(name) void name(int count, char **arguments);
BROKER_ROLES(BROKER_DECLARE_ROLE)
#undef BROKER_DECLARE_ROLE

#endif
