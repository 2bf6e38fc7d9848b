/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conformance.h - what every device must do, case by case
 *
 * One suite for every backend: the case is the same source on host, on the fake driver and on a GPU;
 * what a device cannot do is said by its capabilities, never by an #ifdef. A case is named
 * area_claim and belongs to the file of its area.
 */
#ifndef WW_TESTS_CONFORMANCE_CONFORMANCE_H
#define WW_TESTS_CONFORMANCE_CONFORMANCE_H

#include <stdint.h>

#include "support/census.h"
#include "support/check.h"
#include "support/gate.h"
#include "support/packet.h"
#include "support/subject.h"

/* What a case needs besides WW_CAP_... bits. */
#define NEEDS_CUDA            (UINT64_C(1) << 32)
#define NEEDS_HOST_BACKEND    (UINT64_C(1) << 33)
#define NEEDS_OTHER_GPU       (UINT64_C(1) << 34)
#define NEEDS_PEER            (UINT64_C(1) << 36) /* ... that reaches the subject's memory, and back */
#define NEEDS_NO_PEER         (UINT64_C(1) << 37) /* ... that does not */
#define NEEDS_NO_STREAM_VALUE (UINT64_C(1) << 38)
#define NEEDS_MISUSE_STATUS   (UINT64_C(1) << 35) /* a build in which misuse does not abort */

#define CONFORMANCE_BASE(X)                  \
	X(base_statuses_have_names, 0)       \
	X(base_record_is_kept_by_success, 0) \
	X(base_record_belongs_to_thread, 0)  \
	X(base_version_is_the_headers, 0)    \
	X(base_log_is_delivered_and_stops, 0)

#define CONFORMANCE_DEVICE(X)                      \
	X(device_count, 0)                         \
	X(device_count_cuda, NEEDS_CUDA)           \
	X(device_count_refuses_unknown, 0)         \
	X(device_open_by_selector, 0)              \
	X(device_open_by_index, NEEDS_CUDA)        \
	X(device_open_by_uuid, NEEDS_CUDA)         \
	X(device_open_default, 0)                  \
	X(device_open_refuses_no_name, 0)          \
	X(device_open_refuses_missing, NEEDS_CUDA) \
	X(device_open_twice_is_one, 0)             \
	X(device_open_by_many_threads_is_one, 0)   \
	X(device_ref_is_the_device, 0)             \
	X(device_info_fields, 0)                   \
	X(device_info_is_versioned, 0)             \
	X(device_other_differs, NEEDS_OTHER_GPU)   \
	X(device_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_STREAM(X)                                                     \
	X(stream_new_is_idle, 0)                                                  \
	X(stream_native, 0)                                                       \
	X(stream_keeps_device, 0)                                                 \
	X(stream_calls_in_order, 0)                                               \
	X(stream_orders_copies_and_calls, 0)                                      \
	X(stream_is_asynchronous, 0)                                              \
	X(stream_fill_is_asynchronous, 0)                                         \
	X(stream_two_are_independent, 0)                                          \
	X(stream_many, 0)                                                         \
	X(stream_calls_from_threads, 0)                                           \
	X(stream_unref_runs_what_was_enqueued, 0)                                 \
	X(stream_ref_counts, 0)                                                   \
	X(stream_host_blocks_signals, NEEDS_HOST_BACKEND)                         \
	X(stream_host_refuses_to_wait_for_itself, NEEDS_HOST_BACKEND)             \
	X(stream_host_unref_by_itself, NEEDS_HOST_BACKEND)                        \
	X(stream_wrap_unsupported, NEEDS_HOST_BACKEND)                            \
	X(stream_wrap_works, WW_CAP_STREAM_WRAP | NEEDS_CUDA)                     \
	X(stream_wrap_default_streams, WW_CAP_STREAM_WRAP | NEEDS_CUDA)           \
	X(stream_wrap_refuses_other_device, WW_CAP_STREAM_WRAP | NEEDS_OTHER_GPU) \
	X(stream_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_COPY(X)                                 \
	X(copy_all_directions, 0)                           \
	X(copy_odd_offsets, 0)                              \
	X(copy_host_kind, WW_CAP_HOST_MEMORY)               \
	X(copy_between_kinds, WW_CAP_HOST_MEMORY)           \
	X(copy_between_devices, WW_CAP_EXPORT | NEEDS_PEER) \
	X(copy_nothing, 0)                                  \
	X(copy_refuses_leaving, 0)                          \
	X(copy_refuses_entering, 0)                         \
	X(copy_refuses_overflow, 0)                         \
	X(copy_refuses_read_only, WW_CAP_EXPORT)            \
	X(copy_from_read_only, WW_CAP_EXPORT)               \
	X(copy_read_only_host_kind, WW_CAP_HOST_READ_ONLY)  \
	X(copy_keeps_memory_on_host, NEEDS_HOST_BACKEND)    \
	X(copy_host_stream_refuses_gpu_memory, NEEDS_CUDA)  \
	X(copy_misuse, NEEDS_MISUSE_STATUS)                 \
	X(fill_values, 0)                                   \
	X(fill_counts, 0)                                   \
	X(fill_host_kind, WW_CAP_HOST_MEMORY)               \
	X(fill_refuses_misaligned, 0)                       \
	X(fill_refuses_value_bytes, 0)                      \
	X(fill_refuses_leaving, 0)                          \
	X(fill_refuses_overflow, 0)                         \
	X(fill_refuses_read_only, WW_CAP_EXPORT)            \
	X(fill_refuses_read_only_host_kind, WW_CAP_HOST_READ_ONLY)

#define CONFORMANCE_MEMORY(X)                                \
	X(memory_vmm_info, 0)                                \
	X(memory_host_info, WW_CAP_HOST_MEMORY)              \
	X(memory_kind_zero_is_vmm, 0)                        \
	X(memory_rounds_up, 0)                               \
	X(memory_is_zero, 0)                                 \
	X(memory_host_is_zero, WW_CAP_HOST_MEMORY)           \
	X(memory_is_zero_after_use, 0)                       \
	X(memory_cpu_pointer, 0)                             \
	X(memory_host_pointer_is_shared, WW_CAP_HOST_MEMORY) \
	X(memory_ids_differ, 0)                              \
	X(memory_ref_counts, 0)                              \
	X(memory_keeps_device, 0)                            \
	X(memory_info_is_versioned, 0)                       \
	X(memory_params_are_versioned, 0)                    \
	X(memory_refuses_no_bytes, 0)                        \
	X(memory_refuses_overflow, 0)                        \
	X(memory_refuses_too_much, 0)                        \
	X(memory_host_refuses_too_much, WW_CAP_HOST_MEMORY)  \
	X(memory_refuses_unknown, 0)                         \
	X(memory_unref_of_null, 0)                           \
	X(memory_release_gives_back, 0)                      \
	X(memory_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_SHARE(X)                                                 \
	X(share_descriptor, WW_CAP_EXPORT)                                   \
	X(share_import_is_counted, WW_CAP_EXPORT)                            \
	X(share_import_host_kind_is_counted, WW_CAP_HOST_MEMORY)             \
	X(share_outlives_maker, WW_CAP_EXPORT)                               \
	X(share_outlives_maker_host_kind, WW_CAP_HOST_MEMORY)                \
	X(share_read_only_aliases, WW_CAP_EXPORT)                            \
	X(share_read_only_aliases_host_kind, WW_CAP_HOST_READ_ONLY)          \
	X(share_read_only_is_counted_apart, WW_CAP_EXPORT)                   \
	X(share_read_only_unsupported, WW_CAP_HOST_MEMORY)                   \
	X(share_access_only_shrinks, WW_CAP_EXPORT)                          \
	X(share_read_only_descriptor, WW_CAP_HOST_MEMORY)                    \
	X(share_read_only_descriptor_vmm, NEEDS_HOST_BACKEND)                \
	X(share_refuses_unknown_access, WW_CAP_EXPORT)                       \
	X(share_with_other_gpu, WW_CAP_EXPORT | NEEDS_PEER)                  \
	X(share_with_every_gpu, WW_CAP_EXPORT | NEEDS_PEER)                  \
	X(share_read_only_with_other_gpu, WW_CAP_EXPORT | NEEDS_PEER)        \
	X(share_with_unreachable_gpu_refused, WW_CAP_EXPORT | NEEDS_NO_PEER) \
	X(share_host_memory_into_cuda, NEEDS_CUDA | WW_CAP_HOST_MEMORY)      \
	X(share_cuda_host_memory_into_host, NEEDS_CUDA | WW_CAP_HOST_MEMORY) \
	X(share_vmm_into_host_refused, NEEDS_CUDA | WW_CAP_EXPORT)           \
	X(share_send_receive, WW_CAP_EXPORT)                                 \
	X(share_send_receive_host_kind, WW_CAP_HOST_MEMORY)                  \
	X(share_send_receive_read_only, WW_CAP_EXPORT)                       \
	X(share_stream_takes_its_own_bytes_only, WW_CAP_EXPORT)              \
	X(share_send_times_out, WW_CAP_EXPORT)                               \
	X(share_send_takes_no_descriptor_along, WW_CAP_EXPORT)               \
	X(share_leaves_nothing_to_children, WW_CAP_EXPORT)                   \
	X(share_misuse, WW_CAP_EXPORT | NEEDS_MISUSE_STATUS)

#define CONFORMANCE_REFUSE(X)                                                               \
	X(refuse_descriptor_not_open, WW_CAP_EXPORT)                                        \
	X(refuse_descriptor_of_other_things, WW_CAP_EXPORT)                                 \
	X(refuse_descriptor_of_other_things_host_kind, WW_CAP_HOST_MEMORY)                  \
	X(refuse_memfd_sealed_wrongly, WW_CAP_HOST_MEMORY)                                  \
	X(refuse_size_described_wrongly, WW_CAP_EXPORT)                                     \
	X(refuse_size_described_wrongly_host_kind, WW_CAP_HOST_MEMORY)                      \
	X(refuse_descriptor_of_other_kind, WW_CAP_EXPORT | WW_CAP_HOST_MEMORY | NEEDS_CUDA) \
	X(refuse_every_flipped_bit, WW_CAP_EXPORT)                                          \
	X(refuse_foreign_description, WW_CAP_EXPORT)                                        \
	X(refuse_newer_version, WW_CAP_EXPORT)                                              \
	X(refuse_more_access_than_described, WW_CAP_EXPORT)                                 \
	X(refuse_forged_fields, WW_CAP_EXPORT)                                              \
	X(refuse_forged_access, WW_CAP_HOST_MEMORY)                                         \
	X(refuse_forged_home, WW_CAP_EXPORT | NEEDS_CUDA)                                   \
	X(refuse_to_confuse_objects, WW_CAP_EXPORT)                                         \
	X(refuse_foreign_message, WW_CAP_EXPORT)                                            \
	X(refuse_message_too_long, WW_CAP_EXPORT)                                           \
	X(refuse_truncated_packet, WW_CAP_EXPORT)                                           \
	X(refuse_truncated_stream, WW_CAP_EXPORT)                                           \
	X(refuse_empty_packet, WW_CAP_EXPORT)                                               \
	X(refuse_no_descriptor, WW_CAP_EXPORT)                                              \
	X(refuse_two_descriptors, WW_CAP_EXPORT)                                            \
	X(refuse_many_descriptors, WW_CAP_EXPORT)                                           \
	X(refuse_received_pipe, WW_CAP_EXPORT)                                              \
	X(refuse_closed_socket, WW_CAP_EXPORT)                                              \
	X(refuse_no_socket, WW_CAP_EXPORT)                                                  \
	X(refuse_other_sockets, WW_CAP_EXPORT)                                              \
	X(refuse_datagram_socket, WW_CAP_EXPORT)                                            \
	X(refuse_unconnected_socket, WW_CAP_EXPORT)                                         \
	X(receive_times_out, WW_CAP_EXPORT)                                                 \
	X(receive_stream_in_pieces, WW_CAP_EXPORT)                                          \
	X(receive_beside_credentials, WW_CAP_EXPORT)                                        \
	X(receive_from_one_who_left_bytes_unread, WW_CAP_EXPORT)                            \
	X(receive_refuses_access_not_granted, WW_CAP_EXPORT)

#define CONFORMANCE_CONTEXT(X)                                   \
	X(context_none_stays_none, NEEDS_CUDA)                   \
	X(context_primary_stays, NEEDS_CUDA)                     \
	X(context_own_stays, NEEDS_CUDA)                         \
	X(context_other_stays, NEEDS_OTHER_GPU)                  \
	X(context_failures_leave_it, WW_CAP_EXPORT | NEEDS_CUDA) \
	X(context_open_makes_none, NEEDS_CUDA)

#define CONFORMANCE_BACKEND(X)                                                                 \
	X(backend_stream_waits_for_value, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)            \
	X(backend_streams_signal_each_other, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)         \
	X(backend_stream_waits_on_read_only_page, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY) \
	X(backend_event_records, WW_CAP_EVENT | WW_CAP_STREAM_VALUE | NEEDS_CUDA)              \
	X(backend_event_refuses_handles, WW_CAP_EVENT | NEEDS_CUDA)                            \
	X(backend_events_are_limited, WW_CAP_EVENT | NEEDS_CUDA)                               \
	X(backend_event_belongs_to_its_context, WW_CAP_EVENT | NEEDS_CUDA)                     \
	X(backend_event_survives_failures, WW_CAP_EVENT | NEEDS_CUDA)                          \
	X(backend_event_belongs_to_its_device, WW_CAP_EVENT | NEEDS_OTHER_GPU)

#define CONFORMANCE_EVENT(X)                                                                     \
	X(event_never_recorded_is_ready, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                     \
	X(event_stands_for_work_before, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                      \
	X(event_orders_streams, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                              \
	X(event_wait_means_last_recording, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                   \
	X(event_recorded_by_streams_in_turn, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                 \
	X(event_recorded_by_threads, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                         \
	X(event_refuses_lost_stream, WW_CAP_EVENT | WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY) \
	X(event_unref_leaves_waits, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                          \
	X(event_keeps_device, WW_CAP_EVENT)                                                      \
	X(event_blocking_sync, WW_CAP_EVENT)                                                     \
	X(event_create_refuses, WW_CAP_EVENT)                                                    \
	X(event_create_unsupported, NEEDS_CUDA)                                                  \
	X(event_limit, WW_CAP_EVENT | NEEDS_CUDA)                                                \
	X(event_refuses_streams_of_other_backend, WW_CAP_EVENT | NEEDS_CUDA)                     \
	X(event_refuses_streams_of_other_gpu, WW_CAP_EVENT | NEEDS_OTHER_GPU)                    \
	X(event_has_no_handle_on_host, NEEDS_HOST_BACKEND)                                       \
	X(event_handle_of_this_process, WW_CAP_EVENT | NEEDS_CUDA)                               \
	X(event_import_here_is_the_event, WW_CAP_EVENT)                                          \
	X(event_unref_while_pending, WW_CAP_EVENT | WW_CAP_STREAM_VALUE)                         \
	X(event_export_refuses, WW_CAP_EVENT)                                                    \
	X(event_import_refuses_other_kinds, WW_CAP_EVENT)                                        \
	X(event_import_refuses_other_backend, WW_CAP_EVENT | NEEDS_CUDA)                         \
	X(event_import_refuses_descriptions, WW_CAP_EVENT)                                       \
	X(event_import_refuses_pages, NEEDS_HOST_BACKEND)                                        \
	X(event_import_refuses_equal_pid, WW_CAP_EVENT | NEEDS_CUDA)                             \
	X(event_misuse, WW_CAP_EVENT | NEEDS_MISUSE_STATUS)

#define CONFORMANCE_BROKER(X)                                     \
	X(broker_array_set_refuses, 0)                            \
	X(broker_array_check_refuses, 0)                          \
	X(broker_token_calls_refuse, WW_CAP_EXPORT)               \
	X(broker_open_refuses_parameters, 0)                      \
	X(broker_open_refuses_addresses, 0)                       \
	X(broker_refuses_names, WW_CAP_EXPORT)                    \
	X(broker_put_refuses_parameters, WW_CAP_EXPORT)           \
	X(broker_put_refuses_arrays, WW_CAP_EXPORT)               \
	X(broker_put_refuses_what_is_there, WW_CAP_EXPORT)        \
	X(broker_put_names_what_was_exported, WW_CAP_EXPORT)      \
	X(broker_seal_refuses, WW_CAP_EXPORT)                     \
	X(broker_get_refuses, WW_CAP_EXPORT)                      \
	X(broker_export_refuses, WW_CAP_EXPORT)                   \
	X(broker_import_refuses, WW_CAP_EXPORT)                   \
	X(broker_import_refuses_every_flipped_bit, WW_CAP_EXPORT) \
	X(broker_snapshot_refuses, 0)                             \
	X(broker_watch_refuses, 0)                                \
	X(broker_misuse, WW_CAP_EXPORT | NEEDS_MISUSE_STATUS)

#define CONFORMANCE_TIMELINE(X)                    \
	X(timeline_begins_at_its_value, 0)         \
	X(timeline_create_refuses, 0)              \
	X(timeline_params_are_versioned, 0)        \
	X(timeline_info_says_who, 0)               \
	X(timeline_info_is_versioned, 0)           \
	X(timeline_ref_counts, 0)                  \
	X(timeline_alone_shares_no_page, 0)        \
	X(timeline_many, 0)                        \
	X(timeline_ten_thousand, 0)                \
	X(timeline_values_only_grow, 0)            \
	X(timeline_wait_times_out, 0)              \
	X(timeline_wait_refuses, 0)                \
	X(timeline_threads_wait_for_each_other, 0) \
	X(timeline_threads_signal_one, 0)          \
	X(timeline_threads_come_and_go, 0)         \
	X(timeline_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_TIMELINE_STREAM(X)                                                          \
	X(timeline_orders_two_streams, WW_CAP_STREAM_VALUE)                                     \
	X(timeline_missing_wait_is_visible, WW_CAP_STREAM_VALUE)                                \
	X(timeline_streams_take_turns, WW_CAP_STREAM_VALUE)                                     \
	X(timeline_orders_host_and_device, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)            \
	X(timeline_orders_two_gpus, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY | NEEDS_OTHER_GPU) \
	X(timeline_cpu_must_not_overtake_stream, WW_CAP_STREAM_VALUE)                           \
	X(timeline_signals_of_streams_keep_order, WW_CAP_STREAM_VALUE)                          \
	X(timeline_signals_of_threads_keep_order, WW_CAP_STREAM_VALUE | WW_CAP_STREAM_WRAP)     \
	X(timeline_threads_signal_by_streams, WW_CAP_STREAM_VALUE)                              \
	X(timeline_stream_waits_for_submission, WW_CAP_STREAM_VALUE)                            \
	X(timeline_stream_waits_unsubmitted, WW_CAP_STREAM_VALUE)                               \
	X(timeline_memory_goes_while_stream_waits, WW_CAP_STREAM_VALUE | WW_CAP_HOST_MEMORY)    \
	X(timeline_stream_wait_refuses, WW_CAP_STREAM_VALUE)                                    \
	X(timeline_without_stream_values, NEEDS_NO_STREAM_VALUE)                                \
	X(timeline_prepare_is_once, WW_CAP_STREAM_VALUE)                                        \
	X(timeline_eventfd_tells, WW_CAP_STREAM_VALUE)                                          \
	X(timeline_eventfd_tells_by_host_stream, 0)                                             \
	X(timeline_eventfd_of_what_streams_signal, WW_CAP_STREAM_VALUE)                         \
	X(timeline_eventfd_refuses, WW_CAP_STREAM_VALUE)                                        \
	X(timeline_closed_while_streams_signal, WW_CAP_STREAM_VALUE)                            \
	X(timeline_closed_releases_streams, WW_CAP_STREAM_VALUE)                                \
	X(timeline_stream_ends_first, WW_CAP_STREAM_VALUE)                                      \
	X(timeline_unref_does_not_wait, WW_CAP_STREAM_VALUE)                                    \
	X(timeline_unref_does_not_wait_for_signals, WW_CAP_STREAM_VALUE)                        \
	X(timeline_unref_does_not_wait_for_closing, WW_CAP_STREAM_VALUE)                        \
	X(timeline_create_does_not_wait_for_closing, WW_CAP_STREAM_VALUE)

#define CONFORMANCE_TIMELINE_SHARE(X)                                                    \
	X(timeline_comes_home, 0)                                                        \
	X(timeline_uses_default_broker, 0)                                               \
	X(timeline_name_ends_with_it, 0)                                                 \
	X(timeline_put_again_after_loss, 0)                                              \
	X(timeline_put_refuses, 0)                                                       \
	X(timeline_export_refuses, 0)                                                    \
	X(timeline_get_refuses, WW_CAP_EXPORT)                                           \
	X(timeline_token_of_other_kinds, WW_CAP_EXPORT)                                  \
	X(timeline_import_refuses_every_flipped_bit, 0)                                  \
	X(timeline_import_refuses_forged, 0)                                             \
	X(timeline_import_of_dropped, 0)                                                 \
	X(timeline_page_refused, 0)                                                      \
	X(timeline_description_refused, 0)                                               \
	X(timeline_of_another_is_only_read, 0)                                           \
	X(timeline_of_another_is_exported, 0)                                            \
	X(timeline_poison_is_told, 0)                                                    \
	X(timeline_close_is_told, 0)                                                     \
	X(timeline_poison_releases_streams, WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY) \
	X(timeline_of_another_is_dropped_without_waiting,                                \
		WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY)                             \
	X(timeline_share_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_BARRIER(X)                       \
	X(barrier_create_refuses, 0)                 \
	X(barrier_join_refuses, WW_CAP_EXPORT)       \
	X(barrier_of_one, 0)                         \
	X(barrier_info_is_versioned, 0)              \
	X(barrier_nobody_joins, 0)                   \
	X(barrier_join_times_out, 0)                 \
	X(barrier_passes_rounds, 0)                  \
	X(barrier_wait_times_out, 0)                 \
	X(barrier_is_broken_by_who_leaves, 0)        \
	X(barrier_wakes_who_waits_for_who_leaves, 0) \
	X(barrier_is_full, 0)                        \
	X(barrier_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_FOREIGN(X)                                                   \
	X(foreign_wrap_says_what_it_is, WW_CAP_FOREIGN)                          \
	X(foreign_wrap_twice_is_one_object, WW_CAP_FOREIGN)                      \
	X(foreign_release_is_called_once, 0)                                     \
	X(foreign_release_waits_for_imports, WW_CAP_FOREIGN)                     \
	X(foreign_release_comes_after_withdrawal, WW_CAP_FOREIGN)                \
	X(foreign_wrap_refuses_slices, WW_CAP_EXPORT)                            \
	X(foreign_wrap_own_memory, 0)                                            \
	X(foreign_wrap_own_memory_host_kind, WW_CAP_HOST_MEMORY)                 \
	X(foreign_freed_while_wrapped, WW_CAP_FOREIGN)                           \
	X(foreign_wrap_refuses_kinds, WW_CAP_FOREIGN)                            \
	X(foreign_wrap_refuses_other_memory, 0)                                  \
	X(foreign_wrap_refuses_no_memory, WW_CAP_FOREIGN)                        \
	X(foreign_wrap_refuses_spans, WW_CAP_FOREIGN)                            \
	X(foreign_wrap_refuses_several_allocations, WW_CAP_FOREIGN)              \
	X(foreign_wrap_refuses_other_gpu, WW_CAP_FOREIGN | NEEDS_OTHER_GPU)      \
	X(foreign_wrap_params_are_versioned, 0)                                  \
	X(foreign_token_comes_home, WW_CAP_FOREIGN)                              \
	X(foreign_name_comes_home, WW_CAP_FOREIGN)                               \
	X(foreign_read_at_home_is_for_reading, WW_CAP_FOREIGN)                   \
	X(foreign_name_after_token, WW_CAP_EXPORT)                               \
	X(foreign_name_of_other_part_refused, WW_CAP_EXPORT)                     \
	X(foreign_descriptor_is_of_the_part, WW_CAP_FOREIGN)                     \
	X(foreign_descriptor_is_of_the_own_part, WW_CAP_EXPORT)                  \
	X(foreign_pool_needs_two_descriptors, WW_CAP_FOREIGN)                    \
	X(foreign_page_is_for_reading, WW_CAP_FOREIGN)                           \
	X(foreign_page_refused, WW_CAP_FOREIGN)                                  \
	X(foreign_equal_pid_is_said, WW_CAP_FOREIGN)                             \
	X(foreign_handle_is_the_drivers, WW_CAP_FOREIGN)                         \
	X(foreign_handle_of_other_kinds_refused, WW_CAP_FOREIGN | WW_CAP_EXPORT) \
	X(foreign_handle_of_own_memory_refused, 0)                               \
	X(foreign_open_handle_refuses, 0)                                        \
	X(foreign_copy_in, 0)                                                    \
	X(foreign_copy_in_of_managed_memory, WW_CAP_FOREIGN)                     \
	X(foreign_strict_takes_fast_routes, WW_CAP_EXPORT)                       \
	X(foreign_strict_refuses_host_memory, WW_CAP_HOST_MEMORY | NEEDS_CUDA)   \
	X(foreign_known_token_asks_nobody, WW_CAP_EXPORT)                        \
	X(foreign_unknown_token_is_asked_for, WW_CAP_EXPORT)

#define CONFORMANCE_ARRAY(X)                                 \
	X(array_exports_a_tensor, 0)                         \
	X(array_exports_one_element_and_none, 0)             \
	X(array_exports_host_kind, WW_CAP_HOST_MEMORY)       \
	X(array_exports_read_only, WW_CAP_EXPORT)            \
	X(array_tensor_keeps_the_memory, 0)                  \
	X(array_export_refuses, 0)                           \
	X(array_imports_a_tensor, 0)                         \
	X(array_imports_negative_strides, 0)                 \
	X(array_imports_read_only, WW_CAP_EXPORT)            \
	X(array_imports_nothing, WW_CAP_HOST_MEMORY)         \
	X(array_goes_round, 0)                               \
	X(array_imports_an_allocation, WW_CAP_FOREIGN)       \
	X(array_import_refuses, 0)                           \
	X(array_import_refuses_other_memory, 0)              \
	X(array_opens_a_handle, WW_CAP_FOREIGN)              \
	X(array_open_handle_refuses_outside, WW_CAP_FOREIGN) \
	X(array_open_handle_refuses, 0)                      \
	X(array_misuse, NEEDS_MISUSE_STATUS)
#define CONFORMANCE_POOL(X)                                                          \
	X(pool_slices_are_apart, WW_CAP_EXPORT)                                      \
	X(pool_slices_are_apart_host_kind, WW_CAP_HOST_MEMORY)                       \
	X(pool_slice_is_a_memory, WW_CAP_EXPORT)                                     \
	X(pool_aligns, WW_CAP_EXPORT)                                                \
	X(pool_bytes_come_back, WW_CAP_EXPORT)                                       \
	X(pool_trim_keeps_what_is_used, WW_CAP_EXPORT)                               \
	X(pool_large_slice_has_its_chunk, WW_CAP_EXPORT)                             \
	X(pool_empty_chunks_give_way, WW_CAP_EXPORT)                                 \
	X(pool_full, WW_CAP_EXPORT)                                                  \
	X(pool_slots_full, WW_CAP_EXPORT)                                            \
	X(pool_create_refuses, WW_CAP_EXPORT)                                        \
	X(pool_alloc_refuses, WW_CAP_EXPORT)                                         \
	X(pool_ends_with_its_slices, WW_CAP_EXPORT)                                  \
	X(pool_info_is_versioned, WW_CAP_EXPORT)                                     \
	X(pool_token_comes_home, WW_CAP_EXPORT)                                      \
	X(pool_part_comes_home, WW_CAP_EXPORT)                                       \
	X(pool_slice_in_flight_stays, WW_CAP_EXPORT)                                 \
	X(pool_token_without_escrow, WW_CAP_EXPORT)                                  \
	X(pool_token_refuses_every_flipped_bit, WW_CAP_EXPORT)                       \
	X(pool_slice_is_handed_over_by_token_only, WW_CAP_EXPORT)                    \
	X(pool_release_waits_for_the_stream, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)    \
	X(pool_may_end_before_the_stream, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)       \
	X(pool_release_refuses, WW_CAP_EXPORT)                                       \
	X(pool_goes_while_stream_waits, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)         \
	X(pool_release_without_stream_values, WW_CAP_EXPORT | NEEDS_NO_STREAM_VALUE) \
	X(pool_misuse, NEEDS_MISUSE_STATUS)

#define CONFORMANCE_CASES(X)           \
	CONFORMANCE_BASE(X)            \
	CONFORMANCE_DEVICE(X)          \
	CONFORMANCE_STREAM(X)          \
	CONFORMANCE_BACKEND(X)         \
	CONFORMANCE_EVENT(X)           \
	CONFORMANCE_COPY(X)            \
	CONFORMANCE_MEMORY(X)          \
	CONFORMANCE_POOL(X)            \
	CONFORMANCE_SHARE(X)           \
	CONFORMANCE_REFUSE(X)          \
	CONFORMANCE_CONTEXT(X)         \
	CONFORMANCE_BROKER(X)          \
	CONFORMANCE_TIMELINE(X)        \
	CONFORMANCE_TIMELINE_STREAM(X) \
	CONFORMANCE_TIMELINE_SHARE(X)  \
	CONFORMANCE_BARRIER(X)         \
	CONFORMANCE_FOREIGN(X)         \
	CONFORMANCE_ARRAY(X)

#define CONFORMANCE_DECLARE(name, needs) void name(void);
CONFORMANCE_CASES(CONFORMANCE_DECLARE)
#undef CONFORMANCE_DECLARE

#endif
