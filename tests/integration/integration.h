/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integration.h - memory between real processes
 *
 * Every case starts helpers of this same program and looks at what is left afterwards. Helpers open the
 * same device as the case, by WW_TEST_DEVICE, unless they are told another one.
 */
#ifndef WW_TESTS_INTEGRATION_INTEGRATION_H
#define WW_TESTS_INTEGRATION_INTEGRATION_H

#include "support/census.h"
#include "support/check.h"
#include "support/child.h"
#include "support/packet.h"
#include "support/subject.h"

#define NEEDS_EXPORT         (UINT64_C(1) << 0)
#define NEEDS_HOST_MEMORY    (UINT64_C(1) << 1)
#define NEEDS_PEER           (UINT64_C(1) << 2)
#define NEEDS_ROOT           (UINT64_C(1) << 3)
#define NEEDS_HOST_BACKEND   (UINT64_C(1) << 4)
#define NEEDS_HOST_READ_ONLY (UINT64_C(1) << 5)

#define INTEGRATION_CASES(X)                                           \
	X(pass_to_child, NEEDS_EXPORT)                                 \
	X(pass_to_child_host_kind, NEEDS_HOST_MEMORY)                  \
	X(pass_to_parent, NEEDS_EXPORT)                                \
	X(pass_to_parent_host_kind, NEEDS_HOST_MEMORY)                 \
	X(pass_read_only, NEEDS_EXPORT)                                \
	X(pass_read_only_host_kind, NEEDS_HOST_READ_ONLY)              \
	X(pass_on_by_child, NEEDS_EXPORT)                              \
	X(pass_home_again, NEEDS_EXPORT)                               \
	X(pass_large, NEEDS_EXPORT)                                    \
	X(pass_description_by_file, NEEDS_EXPORT)                      \
	X(pass_names_are_the_same, NEEDS_EXPORT)                       \
	X(pass_to_other_gpu, NEEDS_EXPORT | NEEDS_PEER)                \
	X(pass_to_gpu_that_sees_not_ours, NEEDS_EXPORT | NEEDS_PEER)   \
	X(pass_host_memory_between_backends, NEEDS_HOST_MEMORY)        \
	X(survive_exit_in_flight, NEEDS_EXPORT)                        \
	X(survive_exit_as_descriptor, NEEDS_EXPORT)                    \
	X(survive_exit_as_mapping, NEEDS_EXPORT)                       \
	X(survive_kill_in_flight, NEEDS_EXPORT)                        \
	X(survive_kill_as_descriptor, NEEDS_EXPORT)                    \
	X(survive_kill_as_mapping, NEEDS_EXPORT)                       \
	X(survive_kill_host_kind, NEEDS_HOST_MEMORY)                   \
	X(survive_kill_of_reader, NEEDS_EXPORT)                        \
	X(user_other_maps, NEEDS_EXPORT | NEEDS_ROOT)                  \
	X(user_other_makes, NEEDS_EXPORT | NEEDS_ROOT)                 \
	X(user_other_cannot_reopen, NEEDS_HOST_READ_ONLY | NEEDS_ROOT) \
	X(user_other_cannot_narrow, NEEDS_HOST_MEMORY | NEEDS_ROOT)    \
	X(cycle_import, NEEDS_EXPORT)                                  \
	X(cycle_import_read_only, NEEDS_EXPORT)                        \
	X(cycle_import_host_kind, NEEDS_HOST_MEMORY)                   \
	X(cycle_import_other_gpu, NEEDS_EXPORT | NEEDS_PEER)           \
	X(cycle_create, NEEDS_EXPORT)                                  \
	X(cycle_create_host_kind, NEEDS_HOST_MEMORY)                   \
	X(cycle_send_receive, NEEDS_EXPORT)                            \
	X(cycle_streams, 0)                                            \
	X(cycle_devices, 0)                                            \
	X(threads_import_one_object, NEEDS_EXPORT)                     \
	X(threads_import_and_drop, NEEDS_EXPORT)                       \
	X(threads_do_everything, NEEDS_EXPORT)                         \
	X(fork_refuses_every_call, NEEDS_EXPORT)                       \
	X(fork_while_others_are_busy, NEEDS_EXPORT)                    \
	X(fork_in_forked_child, NEEDS_EXPORT)                          \
	X(fork_then_exec_works, NEEDS_EXPORT)                          \
	X(fork_before_first_use_works, NEEDS_EXPORT)                   \
	X(driver_missing, 0)                                           \
	X(driver_broken, 0)                                            \
	X(driver_in_prohibited_mode, NEEDS_EXPORT)                     \
	X(driver_in_exclusive_mode, NEEDS_EXPORT)                      \
	X(prints_nothing_unless_asked, 0)

#define INTEGRATION_ROLES(X)         \
	X(role_take)                 \
	X(role_make)                 \
	X(role_pass_on)              \
	X(role_describe)             \
	X(role_take_as_other_user)   \
	X(role_make_as_other_user)   \
	X(role_reopen_as_other_user) \
	X(role_use_device)           \
	X(role_fork_first)           \
	X(role_without_driver)       \
	X(role_with_broken_driver)   \
	X(role_open_best)            \
	X(role_print)                \
	X(role_export_as_other_user)

#define INTEGRATION_DECLARE_CASE(name, needs) void name(void);
INTEGRATION_CASES(INTEGRATION_DECLARE_CASE)
#undef INTEGRATION_DECLARE_CASE

#define INTEGRATION_DECLARE_ROLE(name) void name(int count, char **arguments);
INTEGRATION_ROLES(INTEGRATION_DECLARE_ROLE)
#undef INTEGRATION_DECLARE_ROLE

/*
 * What helpers do, and say when it is done:
 *   role_take KIND-ROUTE ACCESS SEED   receives, verifies SEED, writes SEED + 1 if it may: "done"
 *   role_make KIND BYTES SEED          makes memory with SEED in it and sends it: "sent"
 * Both then wait for a word and end.
 */
void start_taker(struct child *child, int type, uint32_t route, uint32_t access, uint32_t seed);
void start_maker(struct child *child, int type, uint32_t kind, uint64_t bytes, uint32_t seed);

/* Receives from a helper, whatever there is to wait for. */
ww_memory *take_from(struct child *child, ww_device *device, uint32_t access);

#endif
