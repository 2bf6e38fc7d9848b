! SPDX-License-Identifier: Apache-2.0
! Made by bindings/fortran/make-modules from the public headers. Do not edit.

program raw_values
  use, intrinsic :: iso_c_binding
  use warpway_raw
  implicit none
  type(ww_error), target :: a_ww_error
  type(ww_device_info), target :: a_ww_device_info
  type(ww_memory_params), target :: a_ww_memory_params
  type(ww_memory_info), target :: a_ww_memory_info
  type(ww_memory_description), target :: a_ww_memory_description
  type(ww_wrap_params), target :: a_ww_wrap_params
  type(ww_import_params), target :: a_ww_import_params
  type(ww_memory_handle), target :: a_ww_memory_handle
  type(ww_dtype), target :: a_ww_dtype
  type(ww_array), target :: a_ww_array
  type(ww_token), target :: a_ww_token
  type(ww_token_params), target :: a_ww_token_params
  type(ww_token_info), target :: a_ww_token_info
  type(ww_timeline_params), target :: a_ww_timeline_params
  type(ww_timeline_info), target :: a_ww_timeline_info
  type(ww_name_params), target :: a_ww_name_params
  type(ww_barrier_params), target :: a_ww_barrier_params
  type(ww_barrier_info), target :: a_ww_barrier_info
  type(ww_broker_params), target :: a_ww_broker_params
  type(ww_broker_info), target :: a_ww_broker_info
  type(ww_put_params), target :: a_ww_put_params
  type(ww_get_params), target :: a_ww_get_params
  type(ww_object_info), target :: a_ww_object_info
  type(ww_export_params), target :: a_ww_export_params
  type(ww_holder_info), target :: a_ww_holder_info
  type(ww_hold_info), target :: a_ww_hold_info
  type(ww_watch_event), target :: a_ww_watch_event
  type(ww_channel_params), target :: a_ww_channel_params
  type(ww_consumer_params), target :: a_ww_consumer_params
  type(ww_frame), target :: a_ww_frame
  type(ww_channel_info), target :: a_ww_channel_info
  type(ww_channel_consumer_info), target :: a_ww_channel_consumer_info
  type(ww_channel_event), target :: a_ww_channel_event
  type(ww_signature_info), target :: a_ww_signature_info
  type(ww_parameter_info), target :: a_ww_parameter_info
  type(ww_service_params), target :: a_ww_service_params
  type(ww_function_params), target :: a_ww_function_params
  type(ww_service_info), target :: a_ww_service_info
  type(ww_function_info), target :: a_ww_function_info
  type(ww_value), target :: a_ww_value
  type(ww_call_info), target :: a_ww_call_info
  type(ww_client_params), target :: a_ww_client_params
  type(ww_submit_params), target :: a_ww_submit_params
  type(ww_ticket_info), target :: a_ww_ticket_info
  type(ww_event_params), target :: a_ww_event_params
  type(ww_event_handle), target :: a_ww_event_handle
  type(ww_in_flight_info), target :: a_ww_in_flight_info
  type(ww_in_flight_which), target :: a_ww_in_flight_which
  type(ww_module_params), target :: a_ww_module_params
  type(ww_kernel_info), target :: a_ww_kernel_info
  type(ww_launch_params), target :: a_ww_launch_params
  type(ww_kernel_argument), target :: a_ww_kernel_argument
  type(ww_host_launch), target :: a_ww_host_launch
  type(ww_broker_totals), target :: a_ww_broker_totals
  type(ww_user_total), target :: a_ww_user_total
  type(ww_device_total), target :: a_ww_device_total
  type(ww_request_total), target :: a_ww_request_total
  type(ww_largest_params), target :: a_ww_largest_params
  type(ww_pool_params), target :: a_ww_pool_params
  type(ww_pool_info), target :: a_ww_pool_info
  type(ww_pool_holder_info), target :: a_ww_pool_holder_info
  type(ww_work_queue_params), target :: a_ww_work_queue_params
  type(ww_work_member_params), target :: a_ww_work_member_params
  type(ww_work_frame), target :: a_ww_work_frame
  type(ww_work_queue_info), target :: a_ww_work_queue_info

  call put_number('ww_ok', int(ww_ok, c_int64_t))
  call put_number('ww_not_ready', int(ww_not_ready, c_int64_t))
  call put_number('ww_timed_out', int(ww_timed_out, c_int64_t))
  call put_number('ww_end', int(ww_end, c_int64_t))
  call put_number('ww_cancelled', int(ww_cancelled, c_int64_t))
  call put_number('ww_err_invalid', int(ww_err_invalid, c_int64_t))
  call put_number('ww_err_overflow', int(ww_err_overflow, c_int64_t))
  call put_number('ww_err_no_memory', int(ww_err_no_memory, c_int64_t))
  call put_number('ww_err_device_memory', int(ww_err_device_memory, c_int64_t))
  call put_number('ww_err_limit', int(ww_err_limit, c_int64_t))
  call put_number('ww_err_unsupported', int(ww_err_unsupported, c_int64_t))
  call put_number('ww_err_no_device', int(ww_err_no_device, c_int64_t))
  call put_number('ww_err_device', int(ww_err_device, c_int64_t))
  call put_number('ww_err_access', int(ww_err_access, c_int64_t))
  call put_number('ww_err_descriptor', int(ww_err_descriptor, c_int64_t))
  call put_number('ww_err_mismatch', int(ww_err_mismatch, c_int64_t))
  call put_number('ww_err_protocol', int(ww_err_protocol, c_int64_t))
  call put_number('ww_err_truncated', int(ww_err_truncated, c_int64_t))
  call put_number('ww_err_version', int(ww_err_version, c_int64_t))
  call put_number('ww_err_peer_lost', int(ww_err_peer_lost, c_int64_t))
  call put_number('ww_err_forked', int(ww_err_forked, c_int64_t))
  call put_number('ww_err_system', int(ww_err_system, c_int64_t))
  call put_number('ww_err_not_found', int(ww_err_not_found, c_int64_t))
  call put_number('ww_err_exists', int(ww_err_exists, c_int64_t))
  call put_number('ww_err_quota', int(ww_err_quota, c_int64_t))
  call put_number('ww_err_state', int(ww_err_state, c_int64_t))
  call put_number('ww_err_no_broker', int(ww_err_no_broker, c_int64_t))
  call put_number('ww_err_given_up', int(ww_err_given_up, c_int64_t))
  call put_number('ww_err_evicted', int(ww_err_evicted, c_int64_t))
  call put_number('ww_err_unavailable', int(ww_err_unavailable, c_int64_t))
  call put_number('ww_err_dependency_failed', int(ww_err_dependency_failed, c_int64_t))
  call put_number('ww_domain_warpway', int(ww_domain_warpway, c_int64_t))
  call put_number('ww_domain_errno', int(ww_domain_errno, c_int64_t))
  call put_number('ww_domain_cuda', int(ww_domain_cuda, c_int64_t))
  call put_number('ww_backend_host', int(ww_backend_host, c_int64_t))
  call put_number('ww_backend_cuda', int(ww_backend_cuda, c_int64_t))
  call put_number('ww_mps_unknown', int(ww_mps_unknown, c_int64_t))
  call put_number('ww_mps_off', int(ww_mps_off, c_int64_t))
  call put_number('ww_mps_on', int(ww_mps_on, c_int64_t))
  call put_number('ww_memory_vmm', int(ww_memory_vmm, c_int64_t))
  call put_number('ww_memory_host', int(ww_memory_host, c_int64_t))
  call put_number('ww_memory_legacy', int(ww_memory_legacy, c_int64_t))
  call put_number('ww_memory_cuda_pool', int(ww_memory_cuda_pool, c_int64_t))
  call put_number('ww_access_read', int(ww_access_read, c_int64_t))
  call put_number('ww_access_write', int(ww_access_write, c_int64_t))
  call put_number('ww_route_local', int(ww_route_local, c_int64_t))
  call put_number('ww_route_peer', int(ww_route_peer, c_int64_t))
  call put_number('ww_route_peer_hidden', int(ww_route_peer_hidden, c_int64_t))
  call put_number('ww_route_host', int(ww_route_host, c_int64_t))
  call put_number('ww_route_host_registered', int(ww_route_host_registered, c_int64_t))
  call put_number('ww_dtype_int', int(ww_dtype_int, c_int64_t))
  call put_number('ww_dtype_uint', int(ww_dtype_uint, c_int64_t))
  call put_number('ww_dtype_float', int(ww_dtype_float, c_int64_t))
  call put_number('ww_dtype_opaque', int(ww_dtype_opaque, c_int64_t))
  call put_number('ww_dtype_bfloat', int(ww_dtype_bfloat, c_int64_t))
  call put_number('ww_dtype_complex', int(ww_dtype_complex, c_int64_t))
  call put_number('ww_dtype_bool', int(ww_dtype_bool, c_int64_t))
  call put_number('ww_dtype_float8_e3m4', int(ww_dtype_float8_e3m4, c_int64_t))
  call put_number('ww_dtype_float8_e4m3', int(ww_dtype_float8_e4m3, c_int64_t))
  call put_number('ww_dtype_float8_e4m3b11fnuz', int(ww_dtype_float8_e4m3b11fnuz, c_int64_t))
  call put_number('ww_dtype_float8_e4m3fn', int(ww_dtype_float8_e4m3fn, c_int64_t))
  call put_number('ww_dtype_float8_e4m3fnuz', int(ww_dtype_float8_e4m3fnuz, c_int64_t))
  call put_number('ww_dtype_float8_e5m2', int(ww_dtype_float8_e5m2, c_int64_t))
  call put_number('ww_dtype_float8_e5m2fnuz', int(ww_dtype_float8_e5m2fnuz, c_int64_t))
  call put_number('ww_dtype_float8_e8m0fnu', int(ww_dtype_float8_e8m0fnu, c_int64_t))
  call put_number('ww_dtype_float6_e2m3fn', int(ww_dtype_float6_e2m3fn, c_int64_t))
  call put_number('ww_dtype_float6_e3m2fn', int(ww_dtype_float6_e3m2fn, c_int64_t))
  call put_number('ww_dtype_float4_e2m1fn', int(ww_dtype_float4_e2m1fn, c_int64_t))
  call put_number('ww_overlap_none', int(ww_overlap_none, c_int64_t))
  call put_number('ww_overlap_some', int(ww_overlap_some, c_int64_t))
  call put_number('ww_overlap_may', int(ww_overlap_may, c_int64_t))
  call put_number('ww_object_memory', int(ww_object_memory, c_int64_t))
  call put_number('ww_object_timeline', int(ww_object_timeline, c_int64_t))
  call put_number('ww_object_event', int(ww_object_event, c_int64_t))
  call put_number('ww_object_barrier', int(ww_object_barrier, c_int64_t))
  call put_number('ww_object_channel', int(ww_object_channel, c_int64_t))
  call put_number('ww_object_service', int(ww_object_service, c_int64_t))
  call put_number('ww_object_pool', int(ww_object_pool, c_int64_t))
  call put_number('ww_object_work_queue', int(ww_object_work_queue, c_int64_t))
  call put_number('ww_timeline_live', int(ww_timeline_live, c_int64_t))
  call put_number('ww_timeline_closed', int(ww_timeline_closed, c_int64_t))
  call put_number('ww_timeline_lost', int(ww_timeline_lost, c_int64_t))
  call put_number('ww_life_held', int(ww_life_held, c_int64_t))
  call put_number('ww_life_owner', int(ww_life_owner, c_int64_t))
  call put_number('ww_life_kept', int(ww_life_kept, c_int64_t))
  call put_number('ww_state_writing', int(ww_state_writing, c_int64_t))
  call put_number('ww_state_sealed', int(ww_state_sealed, c_int64_t))
  call put_number('ww_state_shared', int(ww_state_shared, c_int64_t))
  call put_number('ww_state_removed', int(ww_state_removed, c_int64_t))
  call put_number('ww_watch_put', int(ww_watch_put, c_int64_t))
  call put_number('ww_watch_ready', int(ww_watch_ready, c_int64_t))
  call put_number('ww_watch_removed', int(ww_watch_removed, c_int64_t))
  call put_number('ww_watch_expired', int(ww_watch_expired, c_int64_t))
  call put_number('ww_watch_gone', int(ww_watch_gone, c_int64_t))
  call put_number('ww_watch_lost', int(ww_watch_lost, c_int64_t))
  call put_number('ww_watch_overflow', int(ww_watch_overflow, c_int64_t))
  call put_number('ww_channel_block', int(ww_channel_block, c_int64_t))
  call put_number('ww_channel_drop_oldest', int(ww_channel_drop_oldest, c_int64_t))
  call put_number('ww_channel_latest', int(ww_channel_latest, c_int64_t))
  call put_number('ww_channel_consumer_joined', int(ww_channel_consumer_joined, c_int64_t))
  call put_number('ww_channel_consumer_left', int(ww_channel_consumer_left, c_int64_t))
  call put_number('ww_channel_consumer_ended', int(ww_channel_consumer_ended, c_int64_t))
  call put_number('ww_channel_consumer_evicted', int(ww_channel_consumer_evicted, c_int64_t))
  call put_number('ww_channel_producer_waited', int(ww_channel_producer_waited, c_int64_t))
  call put_number('ww_channel_deadline_missed', int(ww_channel_deadline_missed, c_int64_t))
  call put_number('ww_channel_producer_closed', int(ww_channel_producer_closed, c_int64_t))
  call put_number('ww_channel_producer_ended', int(ww_channel_producer_ended, c_int64_t))
  call put_number('ww_channel_reattached', int(ww_channel_reattached, c_int64_t))
  call put_number('ww_argument_none', int(ww_argument_none, c_int64_t))
  call put_number('ww_argument_scalar', int(ww_argument_scalar, c_int64_t))
  call put_number('ww_argument_bytes', int(ww_argument_bytes, c_int64_t))
  call put_number('ww_argument_array', int(ww_argument_array, c_int64_t))
  call put_number('ww_argument_timeline', int(ww_argument_timeline, c_int64_t))
  call put_number('ww_service_starting', int(ww_service_starting, c_int64_t))
  call put_number('ww_service_ready', int(ww_service_ready, c_int64_t))
  call put_number('ww_service_draining', int(ww_service_draining, c_int64_t))
  call put_number('ww_service_stopped', int(ww_service_stopped, c_int64_t))
  call put_number('ww_service_lost', int(ww_service_lost, c_int64_t))
  call put_number('ww_work_queue_keeper', int(ww_work_queue_keeper, c_int64_t))
  call put_number('ww_work_queue_producer', int(ww_work_queue_producer, c_int64_t))
  call put_number('ww_work_queue_consumer', int(ww_work_queue_consumer, c_int64_t))
  call put_number('ww_work_queue_failed', int(ww_work_queue_failed, c_int64_t))
  call put_number('ww_address_bytes', int(ww_address_bytes, c_int64_t))
  call put_number('ww_array_dims', int(ww_array_dims, c_int64_t))
  call put_number('ww_barrier_any_rank', int(ww_barrier_any_rank, c_int64_t))
  call put_number('ww_barrier_members_max', int(ww_barrier_members_max, c_int64_t))
  call put_number('ww_broker_no_start', int(ww_broker_no_start, c_int64_t))
  call put_number('ww_call_args_max', int(ww_call_args_max, c_int64_t))
  call put_number('ww_call_bytes_max', int(ww_call_bytes_max, c_int64_t))
  call put_number('ww_call_record_max', int(ww_call_record_max, c_int64_t))
  call put_number('ww_cap_cpu_access', int(ww_cap_cpu_access, c_int64_t))
  call put_number('ww_cap_event', int(ww_cap_event, c_int64_t))
  call put_number('ww_cap_event_imported', int(ww_cap_event_imported, c_int64_t))
  call put_number('ww_cap_export', int(ww_cap_export, c_int64_t))
  call put_number('ww_cap_foreign', int(ww_cap_foreign, c_int64_t))
  call put_number('ww_cap_host_memory', int(ww_cap_host_memory, c_int64_t))
  call put_number('ww_cap_host_read_only', int(ww_cap_host_read_only, c_int64_t))
  call put_number('ww_cap_many_processes', int(ww_cap_many_processes, c_int64_t))
  call put_number('ww_cap_module', int(ww_cap_module, c_int64_t))
  call put_number('ww_cap_stream_value', int(ww_cap_stream_value, c_int64_t))
  call put_number('ww_cap_stream_wrap', int(ww_cap_stream_wrap, c_int64_t))
  call put_number('ww_channel_alignment', int(ww_channel_alignment, c_int64_t))
  call put_number('ww_channel_consumers_max', int(ww_channel_consumers_max, c_int64_t))
  call put_number('ww_channel_dims', int(ww_channel_dims, c_int64_t))
  call put_number('ww_channel_events_max', int(ww_channel_events_max, c_int64_t))
  call put_number('ww_channel_metadata_max', int(ww_channel_metadata_max, c_int64_t))
  call put_number('ww_channel_metadata_type_bytes', int(ww_channel_metadata_type_bytes, c_int64_t))
  call put_number('ww_channel_nobody', int(ww_channel_nobody, c_int64_t))
  call put_number('ww_channel_oldest', int(ww_channel_oldest, c_int64_t))
  call put_number('ww_channel_slots_max', int(ww_channel_slots_max, c_int64_t))
  call put_number('ww_channel_trust_users', int(ww_channel_trust_users, c_int64_t))
  call put_number('ww_channel_wait_max', int(ww_channel_wait_max, c_int64_t))
  call put_number('ww_channel_wait_told_ns', int(ww_channel_wait_told_ns, c_int64_t))
  call put_number('ww_client_observe', int(ww_client_observe, c_int64_t))
  call put_number('ww_consumer_observe', int(ww_consumer_observe, c_int64_t))
  call put_number('ww_consumer_reattach', int(ww_consumer_reattach, c_int64_t))
  call put_number('ww_consumer_trust_users', int(ww_consumer_trust_users, c_int64_t))
  call put_number('ww_device_driver_bytes', int(ww_device_driver_bytes, c_int64_t))
  call put_number('ww_device_name_bytes', int(ww_device_name_bytes, c_int64_t))
  call put_number('ww_device_uuid_bytes', int(ww_device_uuid_bytes, c_int64_t))
  call put_number('ww_dtype_name_bytes', int(ww_dtype_name_bytes, c_int64_t))
  call put_number('ww_error_message_bytes', int(ww_error_message_bytes, c_int64_t))
  call put_number('ww_escrow_default', int(ww_escrow_default, c_int64_t))
  call put_number('ww_escrow_none', int(ww_escrow_none, c_int64_t))
  call put_number('ww_event_blocking_sync', int(ww_event_blocking_sync, c_int64_t))
  call put_number('ww_event_handle_bytes', int(ww_event_handle_bytes, c_int64_t))
  call put_number('ww_event_timing', int(ww_event_timing, c_int64_t))
  call put_number('ww_export_delivery', int(ww_export_delivery, c_int64_t))
  call put_number('ww_forever', int(ww_forever, c_int64_t))
  call put_number('ww_function_enqueues', int(ww_function_enqueues, c_int64_t))
  call put_number('ww_function_idempotent', int(ww_function_idempotent, c_int64_t))
  call put_number('ww_function_name_bytes', int(ww_function_name_bytes, c_int64_t))
  call put_number('ww_get_from_owner', int(ww_get_from_owner, c_int64_t))
  call put_number('ww_gid_own', int(ww_gid_own, c_int64_t))
  call put_number('ww_import_no_slow_route', int(ww_import_no_slow_route, c_int64_t))
  call put_number('ww_import_own_mapping', int(ww_import_own_mapping, c_int64_t))
  call put_number('ww_kernel_arguments_max', int(ww_kernel_arguments_max, c_int64_t))
  call put_number('ww_kernel_arguments_unknown', int(ww_kernel_arguments_unknown, c_int64_t))
  call put_number('ww_kernel_argument_bytes_max', int(ww_kernel_argument_bytes_max, c_int64_t))
  call put_number('ww_largest_of_user', int(ww_largest_of_user, c_int64_t))
  call put_number('ww_memory_description_bytes', int(ww_memory_description_bytes, c_int64_t))
  call put_number('ww_memory_handle_bytes', int(ww_memory_handle_bytes, c_int64_t))
  call put_number('ww_memory_is_slice', int(ww_memory_is_slice, c_int64_t))
  call put_number('ww_memory_is_wrapped', int(ww_memory_is_wrapped, c_int64_t))
  call put_number('ww_name_bytes', int(ww_name_bytes, c_int64_t))
  call put_number('ww_object_id_bytes', int(ww_object_id_bytes, c_int64_t))
  call put_number('ww_parameter_any_rank', int(ww_parameter_any_rank, c_int64_t))
  call put_number('ww_parameter_any_type', int(ww_parameter_any_type, c_int64_t))
  call put_number('ww_parameter_default', int(ww_parameter_default, c_int64_t))
  call put_number('ww_parameter_dimension', int(ww_parameter_dimension, c_int64_t))
  call put_number('ww_parameter_optional', int(ww_parameter_optional, c_int64_t))
  call put_number('ww_parameter_strided', int(ww_parameter_strided, c_int64_t))
  call put_number('ww_parameter_write_only', int(ww_parameter_write_only, c_int64_t))
  call put_number('ww_pool_alignment', int(ww_pool_alignment, c_int64_t))
  call put_number('ww_pool_slices_max', int(ww_pool_slices_max, c_int64_t))
  call put_number('ww_program_bytes', int(ww_program_bytes, c_int64_t))
  call put_number('ww_put_replace', int(ww_put_replace, c_int64_t))
  call put_number('ww_request_name_bytes', int(ww_request_name_bytes, c_int64_t))
  call put_number('ww_scalar_text_bytes', int(ww_scalar_text_bytes, c_int64_t))
  call put_number('ww_service_after_streams_max', int(ww_service_after_streams_max, c_int64_t))
  call put_number('ww_service_batch_max', int(ww_service_batch_max, c_int64_t))
  call put_number('ww_service_builtin_alloc', int(ww_service_builtin_alloc, c_int64_t))
  call put_number('ww_service_builtin_data', int(ww_service_builtin_data, c_int64_t))
  call put_number('ww_service_calls_max', int(ww_service_calls_max, c_int64_t))
  call put_number('ww_service_clients_max', int(ww_service_clients_max, c_int64_t))
  call put_number('ww_service_depends_max', int(ww_service_depends_max, c_int64_t))
  call put_number('ww_service_functions_max', int(ww_service_functions_max, c_int64_t))
  call put_number('ww_service_keep_memories', int(ww_service_keep_memories, c_int64_t))
  call put_number('ww_service_lanes_max', int(ww_service_lanes_max, c_int64_t))
  call put_number('ww_service_latencies', int(ww_service_latencies, c_int64_t))
  call put_number('ww_service_text_bytes', int(ww_service_text_bytes, c_int64_t))
  call put_number('ww_signature_name_bytes', int(ww_signature_name_bytes, c_int64_t))
  call put_number('ww_signature_text_bytes', int(ww_signature_text_bytes, c_int64_t))
  call put_number('ww_slice_none', int(ww_slice_none, c_int64_t))
  call put_number('ww_snapshot_holders', int(ww_snapshot_holders, c_int64_t))
  call put_number('ww_snapshot_holds', int(ww_snapshot_holds, c_int64_t))
  call put_number('ww_snapshot_objects', int(ww_snapshot_objects, c_int64_t))
  call put_number('ww_snapshot_unnamed', int(ww_snapshot_unnamed, c_int64_t))
  call put_number('ww_submit_chain', int(ww_submit_chain, c_int64_t))
  call put_number('ww_submit_depends_max', int(ww_submit_depends_max, c_int64_t))
  call put_number('ww_submit_repeat', int(ww_submit_repeat, c_int64_t))
  call put_number('ww_timeline_alone', int(ww_timeline_alone, c_int64_t))
  call put_number('ww_timeline_max', int(ww_timeline_max, c_int64_t))
  call put_number('ww_token_bytes', int(ww_token_bytes, c_int64_t))
  call put_number('ww_token_counted', int(ww_token_counted, c_int64_t))
  call put_number('ww_token_foreign', int(ww_token_foreign, c_int64_t))
  call put_number('ww_token_passed', int(ww_token_passed, c_int64_t))
  call put_number('ww_token_slice', int(ww_token_slice, c_int64_t))
  call put_number('ww_token_text_bytes', int(ww_token_text_bytes, c_int64_t))
  call put_text('ww_version', ww_version_text)
  call put_number('ww_version_major', int(ww_version_major, c_int64_t))
  call put_number('ww_version_minor', int(ww_version_minor, c_int64_t))
  call put_number('ww_version_patch', int(ww_version_patch, c_int64_t))
  call put_number('ww_wait_other_user', int(ww_wait_other_user, c_int64_t))
  call put_number('ww_wait_unsubmitted', int(ww_wait_unsubmitted, c_int64_t))
  call put_number('ww_watch_existing', int(ww_watch_existing, c_int64_t))
  call put_number('ww_work_queue_alignment', int(ww_work_queue_alignment, c_int64_t))
  call put_number('ww_work_queue_attempts_max', int(ww_work_queue_attempts_max, c_int64_t))
  call put_number('ww_work_queue_dims', int(ww_work_queue_dims, c_int64_t))
  call put_number('ww_work_queue_members_max', int(ww_work_queue_members_max, c_int64_t))
  call put_number('ww_work_queue_metadata_max', int(ww_work_queue_metadata_max, c_int64_t))
  call put_number('ww_work_queue_metadata_type_bytes', int(ww_work_queue_metadata_type_bytes, c_int64_t))
  call put_number('ww_work_queue_slots_max', int(ww_work_queue_slots_max, c_int64_t))
  call put_number('ww_wrap_private', int(ww_wrap_private, c_int64_t))
  call put_number('ww_wrap_read', int(ww_wrap_read, c_int64_t))
  call put_number('ww_error', int(c_sizeof(a_ww_error), c_int64_t))
  call put_number('ww_error%status', address(c_loc(a_ww_error%status)) - &
    address(c_loc(a_ww_error)))
  call put_number('ww_error%domain', address(c_loc(a_ww_error%domain)) - &
    address(c_loc(a_ww_error)))
  call put_number('ww_error%native', address(c_loc(a_ww_error%native)) - &
    address(c_loc(a_ww_error)))
  call put_number('ww_error%message', address(c_loc(a_ww_error%message)) - &
    address(c_loc(a_ww_error)))
  call put_number('ww_device_info', int(c_sizeof(a_ww_device_info), c_int64_t))
  call put_number('ww_device_info%struct_size', address(c_loc(a_ww_device_info%struct_size)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%backend', address(c_loc(a_ww_device_info%backend)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%index', address(c_loc(a_ww_device_info%index)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%mps', address(c_loc(a_ww_device_info%mps)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%capabilities', address(c_loc(a_ww_device_info%capabilities)) &
    - address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%granularity', address(c_loc(a_ww_device_info%granularity)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%bytes_total', address(c_loc(a_ww_device_info%bytes_total)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%uuid', address(c_loc(a_ww_device_info%uuid)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%selector', address(c_loc(a_ww_device_info%selector)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%name', address(c_loc(a_ww_device_info%name)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_device_info%driver', address(c_loc(a_ww_device_info%driver)) - &
    address(c_loc(a_ww_device_info)))
  call put_number('ww_memory_params', int(c_sizeof(a_ww_memory_params), c_int64_t))
  call put_number('ww_memory_params%struct_size', &
    address(c_loc(a_ww_memory_params%struct_size)) - address(c_loc(a_ww_memory_params)))
  call put_number('ww_memory_params%kind', address(c_loc(a_ww_memory_params%kind)) - &
    address(c_loc(a_ww_memory_params)))
  call put_number('ww_memory_params%bytes', address(c_loc(a_ww_memory_params%bytes)) - &
    address(c_loc(a_ww_memory_params)))
  call put_number('ww_memory_params%flags', address(c_loc(a_ww_memory_params%flags)) - &
    address(c_loc(a_ww_memory_params)))
  call put_number('ww_memory_info', int(c_sizeof(a_ww_memory_info), c_int64_t))
  call put_number('ww_memory_info%struct_size', address(c_loc(a_ww_memory_info%struct_size)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%kind', address(c_loc(a_ww_memory_info%kind)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%access', address(c_loc(a_ww_memory_info%access)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%route', address(c_loc(a_ww_memory_info%route)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%bytes', address(c_loc(a_ww_memory_info%bytes)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%pointer', address(c_loc(a_ww_memory_info%pointer)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%host_pointer', address(c_loc(a_ww_memory_info%host_pointer)) &
    - address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%device', address(c_loc(a_ww_memory_info%device)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%home_uuid', address(c_loc(a_ww_memory_info%home_uuid)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%object_id', address(c_loc(a_ww_memory_info%object_id)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%offset', address(c_loc(a_ww_memory_info%offset)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%total_bytes', address(c_loc(a_ww_memory_info%total_bytes)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_info%flags', address(c_loc(a_ww_memory_info%flags)) - &
    address(c_loc(a_ww_memory_info)))
  call put_number('ww_memory_description', int(c_sizeof(a_ww_memory_description), c_int64_t))
  call put_number('ww_memory_description%bytes', address(c_loc(a_ww_memory_description%bytes)) &
    - address(c_loc(a_ww_memory_description)))
  call put_number('ww_wrap_params', int(c_sizeof(a_ww_wrap_params), c_int64_t))
  call put_number('ww_wrap_params%struct_size', address(c_loc(a_ww_wrap_params%struct_size)) - &
    address(c_loc(a_ww_wrap_params)))
  call put_number('ww_wrap_params%reserved', address(c_loc(a_ww_wrap_params%reserved)) - &
    address(c_loc(a_ww_wrap_params)))
  call put_number('ww_wrap_params%flags', address(c_loc(a_ww_wrap_params%flags)) - &
    address(c_loc(a_ww_wrap_params)))
  call put_number('ww_wrap_params%release', address(c_loc(a_ww_wrap_params%release)) - &
    address(c_loc(a_ww_wrap_params)))
  call put_number('ww_wrap_params%context', address(c_loc(a_ww_wrap_params%context)) - &
    address(c_loc(a_ww_wrap_params)))
  call put_number('ww_import_params', int(c_sizeof(a_ww_import_params), c_int64_t))
  call put_number('ww_import_params%struct_size', &
    address(c_loc(a_ww_import_params%struct_size)) - address(c_loc(a_ww_import_params)))
  call put_number('ww_import_params%access', address(c_loc(a_ww_import_params%access)) - &
    address(c_loc(a_ww_import_params)))
  call put_number('ww_import_params%flags', address(c_loc(a_ww_import_params%flags)) - &
    address(c_loc(a_ww_import_params)))
  call put_number('ww_memory_handle', int(c_sizeof(a_ww_memory_handle), c_int64_t))
  call put_number('ww_memory_handle%bytes', address(c_loc(a_ww_memory_handle%bytes)) - &
    address(c_loc(a_ww_memory_handle)))
  call put_number('ww_dtype', int(c_sizeof(a_ww_dtype), c_int64_t))
  call put_number('ww_dtype%code', address(c_loc(a_ww_dtype%code)) - &
    address(c_loc(a_ww_dtype)))
  call put_number('ww_dtype%bits', address(c_loc(a_ww_dtype%bits)) - &
    address(c_loc(a_ww_dtype)))
  call put_number('ww_dtype%lanes', address(c_loc(a_ww_dtype%lanes)) - &
    address(c_loc(a_ww_dtype)))
  call put_number('ww_array', int(c_sizeof(a_ww_array), c_int64_t))
  call put_number('ww_array%struct_size', address(c_loc(a_ww_array%struct_size)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_array%dtype', address(c_loc(a_ww_array%dtype)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_array%ndim', address(c_loc(a_ww_array%ndim)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_array%reserved', address(c_loc(a_ww_array%reserved)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_array%offset', address(c_loc(a_ww_array%offset)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_array%shape', address(c_loc(a_ww_array%shape)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_array%strides', address(c_loc(a_ww_array%strides)) - &
    address(c_loc(a_ww_array)))
  call put_number('ww_token', int(c_sizeof(a_ww_token), c_int64_t))
  call put_number('ww_token%bytes', address(c_loc(a_ww_token%bytes)) - &
    address(c_loc(a_ww_token)))
  call put_number('ww_token_params', int(c_sizeof(a_ww_token_params), c_int64_t))
  call put_number('ww_token_params%struct_size', address(c_loc(a_ww_token_params%struct_size)) &
    - address(c_loc(a_ww_token_params)))
  call put_number('ww_token_params%uses', address(c_loc(a_ww_token_params%uses)) - &
    address(c_loc(a_ww_token_params)))
  call put_number('ww_token_params%escrow_ns', address(c_loc(a_ww_token_params%escrow_ns)) - &
    address(c_loc(a_ww_token_params)))
  call put_number('ww_token_params%flags', address(c_loc(a_ww_token_params%flags)) - &
    address(c_loc(a_ww_token_params)))
  call put_number('ww_token_params%reserved', address(c_loc(a_ww_token_params%reserved)) - &
    address(c_loc(a_ww_token_params)))
  call put_number('ww_token_info', int(c_sizeof(a_ww_token_info), c_int64_t))
  call put_number('ww_token_info%struct_size', address(c_loc(a_ww_token_info%struct_size)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%kind', address(c_loc(a_ww_token_info%kind)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%access', address(c_loc(a_ww_token_info%access)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%broker_uid', address(c_loc(a_ww_token_info%broker_uid)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%offset', address(c_loc(a_ww_token_info%offset)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%bytes', address(c_loc(a_ww_token_info%bytes)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%total_bytes', address(c_loc(a_ww_token_info%total_bytes)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%generation', address(c_loc(a_ww_token_info%generation)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%has_array', address(c_loc(a_ww_token_info%has_array)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%flags', address(c_loc(a_ww_token_info%flags)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%object_id', address(c_loc(a_ww_token_info%object_id)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%home_uuid', address(c_loc(a_ww_token_info%home_uuid)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%broker_id', address(c_loc(a_ww_token_info%broker_id)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%address', address(c_loc(a_ww_token_info%address)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%array', address(c_loc(a_ww_token_info%array)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_token_info%slice', address(c_loc(a_ww_token_info%slice)) - &
    address(c_loc(a_ww_token_info)))
  call put_number('ww_timeline_params', int(c_sizeof(a_ww_timeline_params), c_int64_t))
  call put_number('ww_timeline_params%struct_size', &
    address(c_loc(a_ww_timeline_params%struct_size)) - address(c_loc(a_ww_timeline_params)))
  call put_number('ww_timeline_params%reserved', address(c_loc(a_ww_timeline_params%reserved)) &
    - address(c_loc(a_ww_timeline_params)))
  call put_number('ww_timeline_params%flags', address(c_loc(a_ww_timeline_params%flags)) - &
    address(c_loc(a_ww_timeline_params)))
  call put_number('ww_timeline_params%value', address(c_loc(a_ww_timeline_params%value)) - &
    address(c_loc(a_ww_timeline_params)))
  call put_number('ww_timeline_info', int(c_sizeof(a_ww_timeline_info), c_int64_t))
  call put_number('ww_timeline_info%struct_size', &
    address(c_loc(a_ww_timeline_info%struct_size)) - address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%state', address(c_loc(a_ww_timeline_info%state)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%is_own', address(c_loc(a_ww_timeline_info%is_own)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%pid', address(c_loc(a_ww_timeline_info%pid)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%uid', address(c_loc(a_ww_timeline_info%uid)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%reserved', address(c_loc(a_ww_timeline_info%reserved)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%submitted', address(c_loc(a_ww_timeline_info%submitted)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%completed', address(c_loc(a_ww_timeline_info%completed)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%lost_ns', address(c_loc(a_ww_timeline_info%lost_ns)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_timeline_info%program', address(c_loc(a_ww_timeline_info%program)) - &
    address(c_loc(a_ww_timeline_info)))
  call put_number('ww_name_params', int(c_sizeof(a_ww_name_params), c_int64_t))
  call put_number('ww_name_params%struct_size', address(c_loc(a_ww_name_params%struct_size)) - &
    address(c_loc(a_ww_name_params)))
  call put_number('ww_name_params%mode', address(c_loc(a_ww_name_params%mode)) - &
    address(c_loc(a_ww_name_params)))
  call put_number('ww_name_params%gid', address(c_loc(a_ww_name_params%gid)) - &
    address(c_loc(a_ww_name_params)))
  call put_number('ww_name_params%reserved', address(c_loc(a_ww_name_params%reserved)) - &
    address(c_loc(a_ww_name_params)))
  call put_number('ww_name_params%flags', address(c_loc(a_ww_name_params%flags)) - &
    address(c_loc(a_ww_name_params)))
  call put_number('ww_barrier_params', int(c_sizeof(a_ww_barrier_params), c_int64_t))
  call put_number('ww_barrier_params%struct_size', &
    address(c_loc(a_ww_barrier_params%struct_size)) - address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%count', address(c_loc(a_ww_barrier_params%count)) - &
    address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%mode', address(c_loc(a_ww_barrier_params%mode)) - &
    address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%gid', address(c_loc(a_ww_barrier_params%gid)) - &
    address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%flags', address(c_loc(a_ww_barrier_params%flags)) - &
    address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%escrow_ns', address(c_loc(a_ww_barrier_params%escrow_ns)) &
    - address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%uses', address(c_loc(a_ww_barrier_params%uses)) - &
    address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_params%reserved', address(c_loc(a_ww_barrier_params%reserved)) - &
    address(c_loc(a_ww_barrier_params)))
  call put_number('ww_barrier_info', int(c_sizeof(a_ww_barrier_info), c_int64_t))
  call put_number('ww_barrier_info%struct_size', address(c_loc(a_ww_barrier_info%struct_size)) &
    - address(c_loc(a_ww_barrier_info)))
  call put_number('ww_barrier_info%count', address(c_loc(a_ww_barrier_info%count)) - &
    address(c_loc(a_ww_barrier_info)))
  call put_number('ww_barrier_info%rank', address(c_loc(a_ww_barrier_info%rank)) - &
    address(c_loc(a_ww_barrier_info)))
  call put_number('ww_barrier_info%arrived', address(c_loc(a_ww_barrier_info%arrived)) - &
    address(c_loc(a_ww_barrier_info)))
  call put_number('ww_barrier_info%round', address(c_loc(a_ww_barrier_info%round)) - &
    address(c_loc(a_ww_barrier_info)))
  call put_number('ww_barrier_info%is_broken', address(c_loc(a_ww_barrier_info%is_broken)) - &
    address(c_loc(a_ww_barrier_info)))
  call put_number('ww_barrier_info%broken_rank', address(c_loc(a_ww_barrier_info%broken_rank)) &
    - address(c_loc(a_ww_barrier_info)))
  call put_number('ww_broker_params', int(c_sizeof(a_ww_broker_params), c_int64_t))
  call put_number('ww_broker_params%struct_size', &
    address(c_loc(a_ww_broker_params%struct_size)) - address(c_loc(a_ww_broker_params)))
  call put_number('ww_broker_params%reserved', address(c_loc(a_ww_broker_params%reserved)) - &
    address(c_loc(a_ww_broker_params)))
  call put_number('ww_broker_params%flags', address(c_loc(a_ww_broker_params%flags)) - &
    address(c_loc(a_ww_broker_params)))
  call put_number('ww_broker_params%timeout_ns', address(c_loc(a_ww_broker_params%timeout_ns)) &
    - address(c_loc(a_ww_broker_params)))
  call put_number('ww_broker_params%address', address(c_loc(a_ww_broker_params%address)) - &
    address(c_loc(a_ww_broker_params)))
  call put_number('ww_broker_info', int(c_sizeof(a_ww_broker_info), c_int64_t))
  call put_number('ww_broker_info%struct_size', address(c_loc(a_ww_broker_info%struct_size)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%pid', address(c_loc(a_ww_broker_info%pid)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%supervisor_pid', &
    address(c_loc(a_ww_broker_info%supervisor_pid)) - address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%uid', address(c_loc(a_ww_broker_info%uid)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%restarts', address(c_loc(a_ww_broker_info%restarts)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%protocol', address(c_loc(a_ww_broker_info%protocol)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%objects', address(c_loc(a_ww_broker_info%objects)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%holders', address(c_loc(a_ww_broker_info%holders)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%holds', address(c_loc(a_ww_broker_info%holds)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%bytes', address(c_loc(a_ww_broker_info%bytes)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%fds', address(c_loc(a_ww_broker_info%fds)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%open_fds', address(c_loc(a_ww_broker_info%open_fds)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%memory_bytes', address(c_loc(a_ww_broker_info%memory_bytes)) &
    - address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%up_ns', address(c_loc(a_ww_broker_info%up_ns)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%waits', address(c_loc(a_ww_broker_info%waits)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%broker_id', address(c_loc(a_ww_broker_info%broker_id)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_broker_info%version', address(c_loc(a_ww_broker_info%version)) - &
    address(c_loc(a_ww_broker_info)))
  call put_number('ww_put_params', int(c_sizeof(a_ww_put_params), c_int64_t))
  call put_number('ww_put_params%struct_size', address(c_loc(a_ww_put_params%struct_size)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%mode', address(c_loc(a_ww_put_params%mode)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%life', address(c_loc(a_ww_put_params%life)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%state', address(c_loc(a_ww_put_params%state)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%gid', address(c_loc(a_ww_put_params%gid)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%reserved', address(c_loc(a_ww_put_params%reserved)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%flags', address(c_loc(a_ww_put_params%flags)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%ttl_ns', address(c_loc(a_ww_put_params%ttl_ns)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_put_params%array', address(c_loc(a_ww_put_params%array)) - &
    address(c_loc(a_ww_put_params)))
  call put_number('ww_get_params', int(c_sizeof(a_ww_get_params), c_int64_t))
  call put_number('ww_get_params%struct_size', address(c_loc(a_ww_get_params%struct_size)) - &
    address(c_loc(a_ww_get_params)))
  call put_number('ww_get_params%access', address(c_loc(a_ww_get_params%access)) - &
    address(c_loc(a_ww_get_params)))
  call put_number('ww_get_params%flags', address(c_loc(a_ww_get_params%flags)) - &
    address(c_loc(a_ww_get_params)))
  call put_number('ww_get_params%owner', address(c_loc(a_ww_get_params%owner)) - &
    address(c_loc(a_ww_get_params)))
  call put_number('ww_get_params%reserved', address(c_loc(a_ww_get_params%reserved)) - &
    address(c_loc(a_ww_get_params)))
  call put_number('ww_object_info', int(c_sizeof(a_ww_object_info), c_int64_t))
  call put_number('ww_object_info%struct_size', address(c_loc(a_ww_object_info%struct_size)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%kind', address(c_loc(a_ww_object_info%kind)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%state', address(c_loc(a_ww_object_info%state)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%life', address(c_loc(a_ww_object_info%life)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%mode', address(c_loc(a_ww_object_info%mode)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%uid', address(c_loc(a_ww_object_info%uid)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%gid', address(c_loc(a_ww_object_info%gid)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%access', address(c_loc(a_ww_object_info%access)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%pid', address(c_loc(a_ww_object_info%pid)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%holders', address(c_loc(a_ww_object_info%holders)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%escrows', address(c_loc(a_ww_object_info%escrows)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%fd_count', address(c_loc(a_ww_object_info%fd_count)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%is_own', address(c_loc(a_ww_object_info%is_own)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%has_array', address(c_loc(a_ww_object_info%has_array)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%bytes', address(c_loc(a_ww_object_info%bytes)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%age_ns', address(c_loc(a_ww_object_info%age_ns)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%left_ns', address(c_loc(a_ww_object_info%left_ns)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%generation', address(c_loc(a_ww_object_info%generation)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%offset', address(c_loc(a_ww_object_info%offset)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%span_bytes', address(c_loc(a_ww_object_info%span_bytes)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%object_id', address(c_loc(a_ww_object_info%object_id)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%home_uuid', address(c_loc(a_ww_object_info%home_uuid)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%name', address(c_loc(a_ww_object_info%name)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%array', address(c_loc(a_ww_object_info%array)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%memory_kind', address(c_loc(a_ww_object_info%memory_kind)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_object_info%reserved', address(c_loc(a_ww_object_info%reserved)) - &
    address(c_loc(a_ww_object_info)))
  call put_number('ww_export_params', int(c_sizeof(a_ww_export_params), c_int64_t))
  call put_number('ww_export_params%struct_size', &
    address(c_loc(a_ww_export_params%struct_size)) - address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%access', address(c_loc(a_ww_export_params%access)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%offset', address(c_loc(a_ww_export_params%offset)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%bytes', address(c_loc(a_ww_export_params%bytes)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%escrow_ns', address(c_loc(a_ww_export_params%escrow_ns)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%uses', address(c_loc(a_ww_export_params%uses)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%flags', address(c_loc(a_ww_export_params%flags)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_export_params%array', address(c_loc(a_ww_export_params%array)) - &
    address(c_loc(a_ww_export_params)))
  call put_number('ww_holder_info', int(c_sizeof(a_ww_holder_info), c_int64_t))
  call put_number('ww_holder_info%struct_size', address(c_loc(a_ww_holder_info%struct_size)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%pid', address(c_loc(a_ww_holder_info%pid)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%uid', address(c_loc(a_ww_holder_info%uid)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%gid', address(c_loc(a_ww_holder_info%gid)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%is_attached', address(c_loc(a_ww_holder_info%is_attached)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%held', address(c_loc(a_ww_holder_info%held)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%put', address(c_loc(a_ww_holder_info%put)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%reserved', address(c_loc(a_ww_holder_info%reserved)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%number', address(c_loc(a_ww_holder_info%number)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%held_bytes', address(c_loc(a_ww_holder_info%held_bytes)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%put_bytes', address(c_loc(a_ww_holder_info%put_bytes)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%age_ns', address(c_loc(a_ww_holder_info%age_ns)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_holder_info%program', address(c_loc(a_ww_holder_info%program)) - &
    address(c_loc(a_ww_holder_info)))
  call put_number('ww_hold_info', int(c_sizeof(a_ww_hold_info), c_int64_t))
  call put_number('ww_hold_info%struct_size', address(c_loc(a_ww_hold_info%struct_size)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%access', address(c_loc(a_ww_hold_info%access)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%is_creator', address(c_loc(a_ww_hold_info%is_creator)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%is_escrow', address(c_loc(a_ww_hold_info%is_escrow)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%holder', address(c_loc(a_ww_hold_info%holder)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%age_ns', address(c_loc(a_ww_hold_info%age_ns)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%left_ns', address(c_loc(a_ww_hold_info%left_ns)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%object_id', address(c_loc(a_ww_hold_info%object_id)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%delivery', address(c_loc(a_ww_hold_info%delivery)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%exporter', address(c_loc(a_ww_hold_info%exporter)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%uses', address(c_loc(a_ww_hold_info%uses)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%is_own', address(c_loc(a_ww_hold_info%is_own)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_hold_info%bytes', address(c_loc(a_ww_hold_info%bytes)) - &
    address(c_loc(a_ww_hold_info)))
  call put_number('ww_watch_event', int(c_sizeof(a_ww_watch_event), c_int64_t))
  call put_number('ww_watch_event%struct_size', address(c_loc(a_ww_watch_event%struct_size)) - &
    address(c_loc(a_ww_watch_event)))
  call put_number('ww_watch_event%what', address(c_loc(a_ww_watch_event%what)) - &
    address(c_loc(a_ww_watch_event)))
  call put_number('ww_watch_event%object', address(c_loc(a_ww_watch_event%object)) - &
    address(c_loc(a_ww_watch_event)))
  call put_number('ww_channel_params', int(c_sizeof(a_ww_channel_params), c_int64_t))
  call put_number('ww_channel_params%struct_size', &
    address(c_loc(a_ww_channel_params%struct_size)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%policy', address(c_loc(a_ww_channel_params%policy)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%slot_bytes', &
    address(c_loc(a_ww_channel_params%slot_bytes)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%slots', address(c_loc(a_ww_channel_params%slots)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%consumers_max', &
    address(c_loc(a_ww_channel_params%consumers_max)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%held_max', address(c_loc(a_ww_channel_params%held_max)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%ahead_max', address(c_loc(a_ww_channel_params%ahead_max)) &
    - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%metadata_bytes', &
    address(c_loc(a_ww_channel_params%metadata_bytes)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%kind', address(c_loc(a_ww_channel_params%kind)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%mode', address(c_loc(a_ww_channel_params%mode)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%gid', address(c_loc(a_ww_channel_params%gid)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%flags', address(c_loc(a_ww_channel_params%flags)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%metadata_type', &
    address(c_loc(a_ww_channel_params%metadata_type)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%array', address(c_loc(a_ww_channel_params%array)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%evict_after_ns', &
    address(c_loc(a_ww_channel_params%evict_after_ns)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%deadline_ns', &
    address(c_loc(a_ww_channel_params%deadline_ns)) - address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%consumers_per_uid_max', &
    address(c_loc(a_ww_channel_params%consumers_per_uid_max)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_channel_params%reserved', address(c_loc(a_ww_channel_params%reserved)) - &
    address(c_loc(a_ww_channel_params)))
  call put_number('ww_consumer_params', int(c_sizeof(a_ww_consumer_params), c_int64_t))
  call put_number('ww_consumer_params%struct_size', &
    address(c_loc(a_ww_consumer_params%struct_size)) - address(c_loc(a_ww_consumer_params)))
  call put_number('ww_consumer_params%flags', address(c_loc(a_ww_consumer_params%flags)) - &
    address(c_loc(a_ww_consumer_params)))
  call put_number('ww_consumer_params%history', address(c_loc(a_ww_consumer_params%history)) - &
    address(c_loc(a_ww_consumer_params)))
  call put_number('ww_consumer_params%metadata_type', &
    address(c_loc(a_ww_consumer_params%metadata_type)) - address(c_loc(a_ww_consumer_params)))
  call put_number('ww_consumer_params%array', address(c_loc(a_ww_consumer_params%array)) - &
    address(c_loc(a_ww_consumer_params)))
  call put_number('ww_consumer_params%deadline_ns', &
    address(c_loc(a_ww_consumer_params%deadline_ns)) - address(c_loc(a_ww_consumer_params)))
  call put_number('ww_frame', int(c_sizeof(a_ww_frame), c_int64_t))
  call put_number('ww_frame%struct_size', address(c_loc(a_ww_frame%struct_size)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%slot', address(c_loc(a_ww_frame%slot)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%number', address(c_loc(a_ww_frame%number)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%pointer', address(c_loc(a_ww_frame%pointer)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%host_pointer', address(c_loc(a_ww_frame%host_pointer)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%metadata', address(c_loc(a_ww_frame%metadata)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%capacity', address(c_loc(a_ww_frame%capacity)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%bytes', address(c_loc(a_ww_frame%bytes)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%submitted_ns', address(c_loc(a_ww_frame%submitted_ns)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%metadata_bytes', address(c_loc(a_ww_frame%metadata_bytes)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%ndim', address(c_loc(a_ww_frame%ndim)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%shape', address(c_loc(a_ww_frame%shape)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%generation', address(c_loc(a_ww_frame%generation)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_frame%reserved', address(c_loc(a_ww_frame%reserved)) - &
    address(c_loc(a_ww_frame)))
  call put_number('ww_channel_info', int(c_sizeof(a_ww_channel_info), c_int64_t))
  call put_number('ww_channel_info%struct_size', address(c_loc(a_ww_channel_info%struct_size)) &
    - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%is_producer', address(c_loc(a_ww_channel_info%is_producer)) &
    - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%policy', address(c_loc(a_ww_channel_info%policy)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%slots', address(c_loc(a_ww_channel_info%slots)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%consumers', address(c_loc(a_ww_channel_info%consumers)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%consumers_max', &
    address(c_loc(a_ww_channel_info%consumers_max)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%held_max', address(c_loc(a_ww_channel_info%held_max)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%held', address(c_loc(a_ww_channel_info%held)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%slot_bytes', address(c_loc(a_ww_channel_info%slot_bytes)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%metadata_bytes', &
    address(c_loc(a_ww_channel_info%metadata_bytes)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%pid', address(c_loc(a_ww_channel_info%pid)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%published', address(c_loc(a_ww_channel_info%published)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%received', address(c_loc(a_ww_channel_info%received)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%dropped', address(c_loc(a_ww_channel_info%dropped)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%metadata_type', &
    address(c_loc(a_ww_channel_info%metadata_type)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%program', address(c_loc(a_ww_channel_info%program)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%has_array', address(c_loc(a_ww_channel_info%has_array)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%is_observer', address(c_loc(a_ww_channel_info%is_observer)) &
    - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%array', address(c_loc(a_ww_channel_info%array)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%published_ns', &
    address(c_loc(a_ww_channel_info%published_ns)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%deadline_ns', address(c_loc(a_ww_channel_info%deadline_ns)) &
    - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%deadlines_missed', &
    address(c_loc(a_ww_channel_info%deadlines_missed)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%evict_after_ns', &
    address(c_loc(a_ww_channel_info%evict_after_ns)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%consumers_per_uid_max', &
    address(c_loc(a_ww_channel_info%consumers_per_uid_max)) - address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%number', address(c_loc(a_ww_channel_info%number)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%waits_for', address(c_loc(a_ww_channel_info%waits_for)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%has_ended', address(c_loc(a_ww_channel_info%has_ended)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%waited_ns', address(c_loc(a_ww_channel_info%waited_ns)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%generation', address(c_loc(a_ww_channel_info%generation)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_info%reserved', address(c_loc(a_ww_channel_info%reserved)) - &
    address(c_loc(a_ww_channel_info)))
  call put_number('ww_channel_consumer_info', int(c_sizeof(a_ww_channel_consumer_info), c_int64_t))
  call put_number('ww_channel_consumer_info%struct_size', &
    address(c_loc(a_ww_channel_consumer_info%struct_size)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%number', &
    address(c_loc(a_ww_channel_consumer_info%number)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%pid', &
    address(c_loc(a_ww_channel_consumer_info%pid)) - address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%uid', &
    address(c_loc(a_ww_channel_consumer_info%uid)) - address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%is_asleep', &
    address(c_loc(a_ww_channel_consumer_info%is_asleep)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%is_evicted', &
    address(c_loc(a_ww_channel_consumer_info%is_evicted)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%is_waited_for', &
    address(c_loc(a_ww_channel_consumer_info%is_waited_for)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%held', &
    address(c_loc(a_ww_channel_consumer_info%held)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%next', &
    address(c_loc(a_ww_channel_consumer_info%next)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%dropped', &
    address(c_loc(a_ww_channel_consumer_info%dropped)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%waited_ns', &
    address(c_loc(a_ww_channel_consumer_info%waited_ns)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_consumer_info%program', &
    address(c_loc(a_ww_channel_consumer_info%program)) - &
    address(c_loc(a_ww_channel_consumer_info)))
  call put_number('ww_channel_event', int(c_sizeof(a_ww_channel_event), c_int64_t))
  call put_number('ww_channel_event%struct_size', &
    address(c_loc(a_ww_channel_event%struct_size)) - address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%kind', address(c_loc(a_ww_channel_event%kind)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%consumer', address(c_loc(a_ww_channel_event%consumer)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%pid', address(c_loc(a_ww_channel_event%pid)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%uid', address(c_loc(a_ww_channel_event%uid)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%generation', address(c_loc(a_ww_channel_event%generation)) &
    - address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%frame', address(c_loc(a_ww_channel_event%frame)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%time_ns', address(c_loc(a_ww_channel_event%time_ns)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%waited_ns', address(c_loc(a_ww_channel_event%waited_ns)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%dropped', address(c_loc(a_ww_channel_event%dropped)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_channel_event%program', address(c_loc(a_ww_channel_event%program)) - &
    address(c_loc(a_ww_channel_event)))
  call put_number('ww_signature_info', int(c_sizeof(a_ww_signature_info), c_int64_t))
  call put_number('ww_signature_info%struct_size', &
    address(c_loc(a_ww_signature_info%struct_size)) - address(c_loc(a_ww_signature_info)))
  call put_number('ww_signature_info%parameter_count', &
    address(c_loc(a_ww_signature_info%parameter_count)) - address(c_loc(a_ww_signature_info)))
  call put_number('ww_signature_info%result_count', &
    address(c_loc(a_ww_signature_info%result_count)) - address(c_loc(a_ww_signature_info)))
  call put_number('ww_signature_info%reserved', address(c_loc(a_ww_signature_info%reserved)) - &
    address(c_loc(a_ww_signature_info)))
  call put_number('ww_signature_info%hash', address(c_loc(a_ww_signature_info%hash)) - &
    address(c_loc(a_ww_signature_info)))
  call put_number('ww_signature_info%text', address(c_loc(a_ww_signature_info%text)) - &
    address(c_loc(a_ww_signature_info)))
  call put_number('ww_parameter_info', int(c_sizeof(a_ww_parameter_info), c_int64_t))
  call put_number('ww_parameter_info%struct_size', &
    address(c_loc(a_ww_parameter_info%struct_size)) - address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%kind', address(c_loc(a_ww_parameter_info%kind)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%dtype', address(c_loc(a_ww_parameter_info%dtype)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%access', address(c_loc(a_ww_parameter_info%access)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%flags', address(c_loc(a_ww_parameter_info%flags)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%bytes_max', address(c_loc(a_ww_parameter_info%bytes_max)) &
    - address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%ndim', address(c_loc(a_ww_parameter_info%ndim)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%reserved', address(c_loc(a_ww_parameter_info%reserved)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%scalar', address(c_loc(a_ww_parameter_info%scalar)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%shape', address(c_loc(a_ww_parameter_info%shape)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%name', address(c_loc(a_ww_parameter_info%name)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_parameter_info%type', address(c_loc(a_ww_parameter_info%type)) - &
    address(c_loc(a_ww_parameter_info)))
  call put_number('ww_service_params', int(c_sizeof(a_ww_service_params), c_int64_t))
  call put_number('ww_service_params%struct_size', &
    address(c_loc(a_ww_service_params%struct_size)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%mode', address(c_loc(a_ww_service_params%mode)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%gid', address(c_loc(a_ww_service_params%gid)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%functions_max', &
    address(c_loc(a_ww_service_params%functions_max)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%clients_max', &
    address(c_loc(a_ww_service_params%clients_max)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%clients_per_uid_max', &
    address(c_loc(a_ww_service_params%clients_per_uid_max)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%calls_max', address(c_loc(a_ww_service_params%calls_max)) &
    - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%arguments_bytes', &
    address(c_loc(a_ww_service_params%arguments_bytes)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%results_bytes', &
    address(c_loc(a_ww_service_params%results_bytes)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%streams', address(c_loc(a_ww_service_params%streams)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%flags', address(c_loc(a_ww_service_params%flags)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%memory_bytes_max', &
    address(c_loc(a_ww_service_params%memory_bytes_max)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%version', address(c_loc(a_ww_service_params%version)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%builtin', address(c_loc(a_ww_service_params%builtin)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%alloc_bytes_max', &
    address(c_loc(a_ww_service_params%alloc_bytes_max)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%keep_ns', address(c_loc(a_ww_service_params%keep_ns)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%after_streams', &
    address(c_loc(a_ww_service_params%after_streams)) - address(c_loc(a_ww_service_params)))
  call put_number('ww_service_params%reserved', address(c_loc(a_ww_service_params%reserved)) - &
    address(c_loc(a_ww_service_params)))
  call put_number('ww_function_params', int(c_sizeof(a_ww_function_params), c_int64_t))
  call put_number('ww_function_params%struct_size', &
    address(c_loc(a_ww_function_params%struct_size)) - address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%flags', address(c_loc(a_ww_function_params%flags)) - &
    address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%uids', address(c_loc(a_ww_function_params%uids)) - &
    address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%gids', address(c_loc(a_ww_function_params%gids)) - &
    address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%uid_count', &
    address(c_loc(a_ww_function_params%uid_count)) - address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%gid_count', &
    address(c_loc(a_ww_function_params%gid_count)) - address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%batch_wait_ns', &
    address(c_loc(a_ww_function_params%batch_wait_ns)) - address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%batch_calls_max', &
    address(c_loc(a_ww_function_params%batch_calls_max)) - address(c_loc(a_ww_function_params)))
  call put_number('ww_function_params%reserved', address(c_loc(a_ww_function_params%reserved)) &
    - address(c_loc(a_ww_function_params)))
  call put_number('ww_service_info', int(c_sizeof(a_ww_service_info), c_int64_t))
  call put_number('ww_service_info%struct_size', address(c_loc(a_ww_service_info%struct_size)) &
    - address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%state', address(c_loc(a_ww_service_info%state)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%functions', address(c_loc(a_ww_service_info%functions)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%clients', address(c_loc(a_ww_service_info%clients)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%clients_max', address(c_loc(a_ww_service_info%clients_max)) &
    - address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%calls_max', address(c_loc(a_ww_service_info%calls_max)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%arguments_bytes', &
    address(c_loc(a_ww_service_info%arguments_bytes)) - address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%results_bytes', &
    address(c_loc(a_ww_service_info%results_bytes)) - address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%pid', address(c_loc(a_ww_service_info%pid)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%uid', address(c_loc(a_ww_service_info%uid)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%calls', address(c_loc(a_ww_service_info%calls)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%age_ns', address(c_loc(a_ww_service_info%age_ns)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%version', address(c_loc(a_ww_service_info%version)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_service_info%program', address(c_loc(a_ww_service_info%program)) - &
    address(c_loc(a_ww_service_info)))
  call put_number('ww_function_info', int(c_sizeof(a_ww_function_info), c_int64_t))
  call put_number('ww_function_info%struct_size', &
    address(c_loc(a_ww_function_info%struct_size)) - address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%flags', address(c_loc(a_ww_function_info%flags)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%hash', address(c_loc(a_ww_function_info%hash)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%calls', address(c_loc(a_ww_function_info%calls)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%failed', address(c_loc(a_ww_function_info%failed)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%not_started', &
    address(c_loc(a_ww_function_info%not_started)) - address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%run_ns', address(c_loc(a_ww_function_info%run_ns)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%latency', address(c_loc(a_ww_function_info%latency)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%name', address(c_loc(a_ww_function_info%name)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%signature', address(c_loc(a_ww_function_info%signature)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%batches', address(c_loc(a_ww_function_info%batches)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%batch_calls_max', &
    address(c_loc(a_ww_function_info%batch_calls_max)) - address(c_loc(a_ww_function_info)))
  call put_number('ww_function_info%reserved', address(c_loc(a_ww_function_info%reserved)) - &
    address(c_loc(a_ww_function_info)))
  call put_number('ww_value', int(c_sizeof(a_ww_value), c_int64_t))
  call put_number('ww_value%kind', address(c_loc(a_ww_value%kind)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%dtype', address(c_loc(a_ww_value%dtype)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%scalar', address(c_loc(a_ww_value%scalar)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%data', address(c_loc(a_ww_value%data)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%bytes', address(c_loc(a_ww_value%bytes)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%memory', address(c_loc(a_ww_value%memory)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%token', address(c_loc(a_ww_value%token)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%array', address(c_loc(a_ww_value%array)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%timeline', address(c_loc(a_ww_value%timeline)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%pointer', address(c_loc(a_ww_value%pointer)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_value%host_pointer', address(c_loc(a_ww_value%host_pointer)) - &
    address(c_loc(a_ww_value)))
  call put_number('ww_call_info', int(c_sizeof(a_ww_call_info), c_int64_t))
  call put_number('ww_call_info%struct_size', address(c_loc(a_ww_call_info%struct_size)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%uid', address(c_loc(a_ww_call_info%uid)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%gid', address(c_loc(a_ww_call_info%gid)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%pid', address(c_loc(a_ww_call_info%pid)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%client', address(c_loc(a_ww_call_info%client)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%lane', address(c_loc(a_ww_call_info%lane)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%number', address(c_loc(a_ww_call_info%number)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%deadline_ns', address(c_loc(a_ww_call_info%deadline_ns)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%function', address(c_loc(a_ww_call_info%function)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_call_info%program', address(c_loc(a_ww_call_info%program)) - &
    address(c_loc(a_ww_call_info)))
  call put_number('ww_client_params', int(c_sizeof(a_ww_client_params), c_int64_t))
  call put_number('ww_client_params%struct_size', &
    address(c_loc(a_ww_client_params%struct_size)) - address(c_loc(a_ww_client_params)))
  call put_number('ww_client_params%flags', address(c_loc(a_ww_client_params%flags)) - &
    address(c_loc(a_ww_client_params)))
  call put_number('ww_client_params%gid', address(c_loc(a_ww_client_params%gid)) - &
    address(c_loc(a_ww_client_params)))
  call put_number('ww_client_params%reserved', address(c_loc(a_ww_client_params%reserved)) - &
    address(c_loc(a_ww_client_params)))
  call put_number('ww_submit_params', int(c_sizeof(a_ww_submit_params), c_int64_t))
  call put_number('ww_submit_params%struct_size', &
    address(c_loc(a_ww_submit_params%struct_size)) - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%lane', address(c_loc(a_ww_submit_params%lane)) - &
    address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%deadline_ns', &
    address(c_loc(a_ww_submit_params%deadline_ns)) - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%depends_on', address(c_loc(a_ww_submit_params%depends_on)) &
    - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%after', address(c_loc(a_ww_submit_params%after)) - &
    address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%after_token', &
    address(c_loc(a_ww_submit_params%after_token)) - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%after_value', &
    address(c_loc(a_ww_submit_params%after_value)) - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%flags', address(c_loc(a_ww_submit_params%flags)) - &
    address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%depends_more', &
    address(c_loc(a_ww_submit_params%depends_more)) - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%depends_more_count', &
    address(c_loc(a_ww_submit_params%depends_more_count)) - address(c_loc(a_ww_submit_params)))
  call put_number('ww_submit_params%reserved', address(c_loc(a_ww_submit_params%reserved)) - &
    address(c_loc(a_ww_submit_params)))
  call put_number('ww_ticket_info', int(c_sizeof(a_ww_ticket_info), c_int64_t))
  call put_number('ww_ticket_info%struct_size', address(c_loc(a_ww_ticket_info%struct_size)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%has_ended', address(c_loc(a_ww_ticket_info%has_ended)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%has_started', address(c_loc(a_ww_ticket_info%has_started)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%status', address(c_loc(a_ww_ticket_info%status)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%number', address(c_loc(a_ww_ticket_info%number)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%failed_call', address(c_loc(a_ww_ticket_info%failed_call)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%function', address(c_loc(a_ww_ticket_info%function)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%lane', address(c_loc(a_ww_ticket_info%lane)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_ticket_info%value', address(c_loc(a_ww_ticket_info%value)) - &
    address(c_loc(a_ww_ticket_info)))
  call put_number('ww_event_params', int(c_sizeof(a_ww_event_params), c_int64_t))
  call put_number('ww_event_params%struct_size', address(c_loc(a_ww_event_params%struct_size)) &
    - address(c_loc(a_ww_event_params)))
  call put_number('ww_event_params%reserved', address(c_loc(a_ww_event_params%reserved)) - &
    address(c_loc(a_ww_event_params)))
  call put_number('ww_event_params%flags', address(c_loc(a_ww_event_params%flags)) - &
    address(c_loc(a_ww_event_params)))
  call put_number('ww_event_handle', int(c_sizeof(a_ww_event_handle), c_int64_t))
  call put_number('ww_event_handle%bytes', address(c_loc(a_ww_event_handle%bytes)) - &
    address(c_loc(a_ww_event_handle)))
  call put_number('ww_in_flight_info', int(c_sizeof(a_ww_in_flight_info), c_int64_t))
  call put_number('ww_in_flight_info%struct_size', &
    address(c_loc(a_ww_in_flight_info%struct_size)) - address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%is_slice', address(c_loc(a_ww_in_flight_info%is_slice)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%number', address(c_loc(a_ww_in_flight_info%number)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%uses', address(c_loc(a_ww_in_flight_info%uses)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%bytes', address(c_loc(a_ww_in_flight_info%bytes)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%age_ns', address(c_loc(a_ww_in_flight_info%age_ns)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%access', address(c_loc(a_ww_in_flight_info%access)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%reserved', address(c_loc(a_ww_in_flight_info%reserved)) - &
    address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%object_id', address(c_loc(a_ww_in_flight_info%object_id)) &
    - address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_info%broker_id', address(c_loc(a_ww_in_flight_info%broker_id)) &
    - address(c_loc(a_ww_in_flight_info)))
  call put_number('ww_in_flight_which', int(c_sizeof(a_ww_in_flight_which), c_int64_t))
  call put_number('ww_in_flight_which%struct_size', &
    address(c_loc(a_ww_in_flight_which%struct_size)) - address(c_loc(a_ww_in_flight_which)))
  call put_number('ww_in_flight_which%reserved', address(c_loc(a_ww_in_flight_which%reserved)) &
    - address(c_loc(a_ww_in_flight_which)))
  call put_number('ww_in_flight_which%token', address(c_loc(a_ww_in_flight_which%token)) - &
    address(c_loc(a_ww_in_flight_which)))
  call put_number('ww_in_flight_which%info', address(c_loc(a_ww_in_flight_which%info)) - &
    address(c_loc(a_ww_in_flight_which)))
  call put_number('ww_in_flight_which%older_ns', address(c_loc(a_ww_in_flight_which%older_ns)) &
    - address(c_loc(a_ww_in_flight_which)))
  call put_number('ww_module_params', int(c_sizeof(a_ww_module_params), c_int64_t))
  call put_number('ww_module_params%struct_size', &
    address(c_loc(a_ww_module_params%struct_size)) - address(c_loc(a_ww_module_params)))
  call put_number('ww_module_params%reserved', address(c_loc(a_ww_module_params%reserved)) - &
    address(c_loc(a_ww_module_params)))
  call put_number('ww_module_params%flags', address(c_loc(a_ww_module_params%flags)) - &
    address(c_loc(a_ww_module_params)))
  call put_number('ww_kernel_info', int(c_sizeof(a_ww_kernel_info), c_int64_t))
  call put_number('ww_kernel_info%struct_size', address(c_loc(a_ww_kernel_info%struct_size)) - &
    address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%argument_count', &
    address(c_loc(a_ww_kernel_info%argument_count)) - address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%threads_max', address(c_loc(a_ww_kernel_info%threads_max)) - &
    address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%registers', address(c_loc(a_ww_kernel_info%registers)) - &
    address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%local_bytes', address(c_loc(a_ww_kernel_info%local_bytes)) - &
    address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%shared_bytes', address(c_loc(a_ww_kernel_info%shared_bytes)) &
    - address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%shared_bytes_max', &
    address(c_loc(a_ww_kernel_info%shared_bytes_max)) - address(c_loc(a_ww_kernel_info)))
  call put_number('ww_kernel_info%reserved', address(c_loc(a_ww_kernel_info%reserved)) - &
    address(c_loc(a_ww_kernel_info)))
  call put_number('ww_launch_params', int(c_sizeof(a_ww_launch_params), c_int64_t))
  call put_number('ww_launch_params%struct_size', &
    address(c_loc(a_ww_launch_params%struct_size)) - address(c_loc(a_ww_launch_params)))
  call put_number('ww_launch_params%shared_bytes', &
    address(c_loc(a_ww_launch_params%shared_bytes)) - address(c_loc(a_ww_launch_params)))
  call put_number('ww_launch_params%grid', address(c_loc(a_ww_launch_params%grid)) - &
    address(c_loc(a_ww_launch_params)))
  call put_number('ww_launch_params%block', address(c_loc(a_ww_launch_params%block)) - &
    address(c_loc(a_ww_launch_params)))
  call put_number('ww_launch_params%flags', address(c_loc(a_ww_launch_params%flags)) - &
    address(c_loc(a_ww_launch_params)))
  call put_number('ww_kernel_argument', int(c_sizeof(a_ww_kernel_argument), c_int64_t))
  call put_number('ww_kernel_argument%value', address(c_loc(a_ww_kernel_argument%value)) - &
    address(c_loc(a_ww_kernel_argument)))
  call put_number('ww_kernel_argument%bytes', address(c_loc(a_ww_kernel_argument%bytes)) - &
    address(c_loc(a_ww_kernel_argument)))
  call put_number('ww_host_launch', int(c_sizeof(a_ww_host_launch), c_int64_t))
  call put_number('ww_host_launch%struct_size', address(c_loc(a_ww_host_launch%struct_size)) - &
    address(c_loc(a_ww_host_launch)))
  call put_number('ww_host_launch%argument_count', &
    address(c_loc(a_ww_host_launch%argument_count)) - address(c_loc(a_ww_host_launch)))
  call put_number('ww_host_launch%grid', address(c_loc(a_ww_host_launch%grid)) - &
    address(c_loc(a_ww_host_launch)))
  call put_number('ww_host_launch%block', address(c_loc(a_ww_host_launch%block)) - &
    address(c_loc(a_ww_host_launch)))
  call put_number('ww_host_launch%shared_bytes', address(c_loc(a_ww_host_launch%shared_bytes)) &
    - address(c_loc(a_ww_host_launch)))
  call put_number('ww_host_launch%reserved', address(c_loc(a_ww_host_launch%reserved)) - &
    address(c_loc(a_ww_host_launch)))
  call put_number('ww_broker_totals', int(c_sizeof(a_ww_broker_totals), c_int64_t))
  call put_number('ww_broker_totals%struct_size', &
    address(c_loc(a_ww_broker_totals%struct_size)) - address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%is_all', address(c_loc(a_ww_broker_totals%is_all)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%objects', address(c_loc(a_ww_broker_totals%objects)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%holders', address(c_loc(a_ww_broker_totals%holders)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%holds', address(c_loc(a_ww_broker_totals%holds)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%bytes', address(c_loc(a_ww_broker_totals%bytes)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%waits', address(c_loc(a_ww_broker_totals%waits)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%fds', address(c_loc(a_ww_broker_totals%fds)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%fds_limit', address(c_loc(a_ww_broker_totals%fds_limit)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%connections', &
    address(c_loc(a_ww_broker_totals%connections)) - address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%connections_limit', &
    address(c_loc(a_ww_broker_totals%connections_limit)) - address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%refused_connections', &
    address(c_loc(a_ww_broker_totals%refused_connections)) - address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%unlogged', address(c_loc(a_ww_broker_totals%unlogged)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_broker_totals%up_ns', address(c_loc(a_ww_broker_totals%up_ns)) - &
    address(c_loc(a_ww_broker_totals)))
  call put_number('ww_user_total', int(c_sizeof(a_ww_user_total), c_int64_t))
  call put_number('ww_user_total%struct_size', address(c_loc(a_ww_user_total%struct_size)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%uid', address(c_loc(a_ww_user_total%uid)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%bytes', address(c_loc(a_ww_user_total%bytes)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%bytes_limit', address(c_loc(a_ww_user_total%bytes_limit)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%host_bytes', address(c_loc(a_ww_user_total%host_bytes)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%host_bytes_limit', &
    address(c_loc(a_ww_user_total%host_bytes_limit)) - address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%objects', address(c_loc(a_ww_user_total%objects)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%objects_limit', address(c_loc(a_ww_user_total%objects_limit)) &
    - address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%fds', address(c_loc(a_ww_user_total%fds)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%fds_limit', address(c_loc(a_ww_user_total%fds_limit)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%holds', address(c_loc(a_ww_user_total%holds)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%holds_limit', address(c_loc(a_ww_user_total%holds_limit)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%connections', address(c_loc(a_ww_user_total%connections)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%connections_limit', &
    address(c_loc(a_ww_user_total%connections_limit)) - address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%waits', address(c_loc(a_ww_user_total%waits)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%waits_limit', address(c_loc(a_ww_user_total%waits_limit)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%watches', address(c_loc(a_ww_user_total%watches)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%watches_limit', address(c_loc(a_ww_user_total%watches_limit)) &
    - address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%holders', address(c_loc(a_ww_user_total%holders)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%tokens', address(c_loc(a_ww_user_total%tokens)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%deliveries', address(c_loc(a_ww_user_total%deliveries)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%delivery_bytes', &
    address(c_loc(a_ww_user_total%delivery_bytes)) - address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%requests', address(c_loc(a_ww_user_total%requests)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_user_total%refused', address(c_loc(a_ww_user_total%refused)) - &
    address(c_loc(a_ww_user_total)))
  call put_number('ww_device_total', int(c_sizeof(a_ww_device_total), c_int64_t))
  call put_number('ww_device_total%struct_size', address(c_loc(a_ww_device_total%struct_size)) &
    - address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%uid', address(c_loc(a_ww_device_total%uid)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%kind', address(c_loc(a_ww_device_total%kind)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%is_others', address(c_loc(a_ww_device_total%is_others)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%home_uuid', address(c_loc(a_ww_device_total%home_uuid)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%objects', address(c_loc(a_ww_device_total%objects)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%bytes', address(c_loc(a_ww_device_total%bytes)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%removed', address(c_loc(a_ww_device_total%removed)) - &
    address(c_loc(a_ww_device_total)))
  call put_number('ww_device_total%removed_bytes', &
    address(c_loc(a_ww_device_total%removed_bytes)) - address(c_loc(a_ww_device_total)))
  call put_number('ww_request_total', int(c_sizeof(a_ww_request_total), c_int64_t))
  call put_number('ww_request_total%struct_size', &
    address(c_loc(a_ww_request_total%struct_size)) - address(c_loc(a_ww_request_total)))
  call put_number('ww_request_total%status', address(c_loc(a_ww_request_total%status)) - &
    address(c_loc(a_ww_request_total)))
  call put_number('ww_request_total%count', address(c_loc(a_ww_request_total%count)) - &
    address(c_loc(a_ww_request_total)))
  call put_number('ww_request_total%request', address(c_loc(a_ww_request_total%request)) - &
    address(c_loc(a_ww_request_total)))
  call put_number('ww_largest_params', int(c_sizeof(a_ww_largest_params), c_int64_t))
  call put_number('ww_largest_params%struct_size', &
    address(c_loc(a_ww_largest_params%struct_size)) - address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%uid', address(c_loc(a_ww_largest_params%uid)) - &
    address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%kind', address(c_loc(a_ww_largest_params%kind)) - &
    address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%count', address(c_loc(a_ww_largest_params%count)) - &
    address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%contents', address(c_loc(a_ww_largest_params%contents)) - &
    address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%flags', address(c_loc(a_ww_largest_params%flags)) - &
    address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%after_bytes', &
    address(c_loc(a_ww_largest_params%after_bytes)) - address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%after_number', &
    address(c_loc(a_ww_largest_params%after_number)) - address(c_loc(a_ww_largest_params)))
  call put_number('ww_largest_params%prefix', address(c_loc(a_ww_largest_params%prefix)) - &
    address(c_loc(a_ww_largest_params)))
  call put_number('ww_pool_params', int(c_sizeof(a_ww_pool_params), c_int64_t))
  call put_number('ww_pool_params%struct_size', address(c_loc(a_ww_pool_params%struct_size)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_params%kind', address(c_loc(a_ww_pool_params%kind)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_params%bytes_max', address(c_loc(a_ww_pool_params%bytes_max)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_params%chunk_bytes', address(c_loc(a_ww_pool_params%chunk_bytes)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_params%slices_max', address(c_loc(a_ww_pool_params%slices_max)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_params%reserved', address(c_loc(a_ww_pool_params%reserved)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_params%flags', address(c_loc(a_ww_pool_params%flags)) - &
    address(c_loc(a_ww_pool_params)))
  call put_number('ww_pool_info', int(c_sizeof(a_ww_pool_info), c_int64_t))
  call put_number('ww_pool_info%struct_size', address(c_loc(a_ww_pool_info%struct_size)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%kind', address(c_loc(a_ww_pool_info%kind)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_max', address(c_loc(a_ww_pool_info%bytes_max)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%chunk_bytes', address(c_loc(a_ww_pool_info%chunk_bytes)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_reserved', address(c_loc(a_ww_pool_info%bytes_reserved)) &
    - address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_used', address(c_loc(a_ww_pool_info%bytes_used)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_waiting', address(c_loc(a_ww_pool_info%bytes_waiting)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_free', address(c_loc(a_ww_pool_info%bytes_free)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_largest', address(c_loc(a_ww_pool_info%bytes_largest)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%bytes_peak', address(c_loc(a_ww_pool_info%bytes_peak)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%allocations', address(c_loc(a_ww_pool_info%allocations)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%chunk_count', address(c_loc(a_ww_pool_info%chunk_count)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%slice_count', address(c_loc(a_ww_pool_info%slice_count)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%waiting_count', address(c_loc(a_ww_pool_info%waiting_count)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%slices_max', address(c_loc(a_ww_pool_info%slices_max)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%holder_count', address(c_loc(a_ww_pool_info%holder_count)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_info%is_imported', address(c_loc(a_ww_pool_info%is_imported)) - &
    address(c_loc(a_ww_pool_info)))
  call put_number('ww_pool_holder_info', int(c_sizeof(a_ww_pool_holder_info), c_int64_t))
  call put_number('ww_pool_holder_info%struct_size', &
    address(c_loc(a_ww_pool_holder_info%struct_size)) - address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%pid', address(c_loc(a_ww_pool_holder_info%pid)) - &
    address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%uid', address(c_loc(a_ww_pool_holder_info%uid)) - &
    address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%slice_count', &
    address(c_loc(a_ww_pool_holder_info%slice_count)) - address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%slice_bytes', &
    address(c_loc(a_ww_pool_holder_info%slice_bytes)) - address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%is_lost', address(c_loc(a_ww_pool_holder_info%is_lost)) &
    - address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%reserved', &
    address(c_loc(a_ww_pool_holder_info%reserved)) - address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_pool_holder_info%program', address(c_loc(a_ww_pool_holder_info%program)) &
    - address(c_loc(a_ww_pool_holder_info)))
  call put_number('ww_work_queue_params', int(c_sizeof(a_ww_work_queue_params), c_int64_t))
  call put_number('ww_work_queue_params%struct_size', &
    address(c_loc(a_ww_work_queue_params%struct_size)) - address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%role', address(c_loc(a_ww_work_queue_params%role)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%slot_bytes', &
    address(c_loc(a_ww_work_queue_params%slot_bytes)) - address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%slots', address(c_loc(a_ww_work_queue_params%slots)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%producers_max', &
    address(c_loc(a_ww_work_queue_params%producers_max)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%consumers_max', &
    address(c_loc(a_ww_work_queue_params%consumers_max)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%attempts_max', &
    address(c_loc(a_ww_work_queue_params%attempts_max)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%failed_max', &
    address(c_loc(a_ww_work_queue_params%failed_max)) - address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%held_max', &
    address(c_loc(a_ww_work_queue_params%held_max)) - address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%metadata_bytes', &
    address(c_loc(a_ww_work_queue_params%metadata_bytes)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%kind', address(c_loc(a_ww_work_queue_params%kind)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%mode', address(c_loc(a_ww_work_queue_params%mode)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%gid', address(c_loc(a_ww_work_queue_params%gid)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%reserved', &
    address(c_loc(a_ww_work_queue_params%reserved)) - address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%flags', address(c_loc(a_ww_work_queue_params%flags)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%metadata_type', &
    address(c_loc(a_ww_work_queue_params%metadata_type)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_queue_params%array', address(c_loc(a_ww_work_queue_params%array)) - &
    address(c_loc(a_ww_work_queue_params)))
  call put_number('ww_work_member_params', int(c_sizeof(a_ww_work_member_params), c_int64_t))
  call put_number('ww_work_member_params%struct_size', &
    address(c_loc(a_ww_work_member_params%struct_size)) - &
    address(c_loc(a_ww_work_member_params)))
  call put_number('ww_work_member_params%role', address(c_loc(a_ww_work_member_params%role)) - &
    address(c_loc(a_ww_work_member_params)))
  call put_number('ww_work_member_params%metadata_type', &
    address(c_loc(a_ww_work_member_params%metadata_type)) - &
    address(c_loc(a_ww_work_member_params)))
  call put_number('ww_work_member_params%array', address(c_loc(a_ww_work_member_params%array)) &
    - address(c_loc(a_ww_work_member_params)))
  call put_number('ww_work_frame', int(c_sizeof(a_ww_work_frame), c_int64_t))
  call put_number('ww_work_frame%struct_size', address(c_loc(a_ww_work_frame%struct_size)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%slot', address(c_loc(a_ww_work_frame%slot)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%number', address(c_loc(a_ww_work_frame%number)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%producer', address(c_loc(a_ww_work_frame%producer)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%attempts', address(c_loc(a_ww_work_frame%attempts)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%pointer', address(c_loc(a_ww_work_frame%pointer)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%host_pointer', address(c_loc(a_ww_work_frame%host_pointer)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%metadata', address(c_loc(a_ww_work_frame%metadata)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%capacity', address(c_loc(a_ww_work_frame%capacity)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%bytes', address(c_loc(a_ww_work_frame%bytes)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%submitted_ns', address(c_loc(a_ww_work_frame%submitted_ns)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%metadata_bytes', &
    address(c_loc(a_ww_work_frame%metadata_bytes)) - address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%ndim', address(c_loc(a_ww_work_frame%ndim)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_frame%shape', address(c_loc(a_ww_work_frame%shape)) - &
    address(c_loc(a_ww_work_frame)))
  call put_number('ww_work_queue_info', int(c_sizeof(a_ww_work_queue_info), c_int64_t))
  call put_number('ww_work_queue_info%struct_size', &
    address(c_loc(a_ww_work_queue_info%struct_size)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%role', address(c_loc(a_ww_work_queue_info%role)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%is_closed', &
    address(c_loc(a_ww_work_queue_info%is_closed)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%slots', address(c_loc(a_ww_work_queue_info%slots)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%producers', &
    address(c_loc(a_ww_work_queue_info%producers)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%consumers', &
    address(c_loc(a_ww_work_queue_info%consumers)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%producers_max', &
    address(c_loc(a_ww_work_queue_info%producers_max)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%consumers_max', &
    address(c_loc(a_ww_work_queue_info%consumers_max)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%attempts_max', &
    address(c_loc(a_ww_work_queue_info%attempts_max)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%failed_max', &
    address(c_loc(a_ww_work_queue_info%failed_max)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%held_max', address(c_loc(a_ww_work_queue_info%held_max)) &
    - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%held', address(c_loc(a_ww_work_queue_info%held)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%slot_bytes', &
    address(c_loc(a_ww_work_queue_info%slot_bytes)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%metadata_bytes', &
    address(c_loc(a_ww_work_queue_info%metadata_bytes)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%available', &
    address(c_loc(a_ww_work_queue_info%available)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%claimed', address(c_loc(a_ww_work_queue_info%claimed)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%failed', address(c_loc(a_ww_work_queue_info%failed)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%published', &
    address(c_loc(a_ww_work_queue_info%published)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%dropped', address(c_loc(a_ww_work_queue_info%dropped)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%received', address(c_loc(a_ww_work_queue_info%received)) &
    - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%lost', address(c_loc(a_ww_work_queue_info%lost)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%metadata_type', &
    address(c_loc(a_ww_work_queue_info%metadata_type)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%has_array', &
    address(c_loc(a_ww_work_queue_info%has_array)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%reserved', address(c_loc(a_ww_work_queue_info%reserved)) &
    - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%array', address(c_loc(a_ww_work_queue_info%array)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%published_total', &
    address(c_loc(a_ww_work_queue_info%published_total)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%acknowledged_total', &
    address(c_loc(a_ww_work_queue_info%acknowledged_total)) - &
    address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%repeated_total', &
    address(c_loc(a_ww_work_queue_info%repeated_total)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%failed_total', &
    address(c_loc(a_ww_work_queue_info%failed_total)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%dropped_total', &
    address(c_loc(a_ww_work_queue_info%dropped_total)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%lost_total', &
    address(c_loc(a_ww_work_queue_info%lost_total)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%uncounted', &
    address(c_loc(a_ww_work_queue_info%uncounted)) - address(c_loc(a_ww_work_queue_info)))
  call put_number('ww_work_queue_info%reserved_1', &
    address(c_loc(a_ww_work_queue_info%reserved_1)) - address(c_loc(a_ww_work_queue_info)))
contains
  subroutine put_number(name, value)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: value
    print '(a, 1x, i0)', name, value
  end subroutine

  subroutine put_text(name, value)
    character(len=*), intent(in) :: name, value
    print '(a, 1x, a)', name, value
  end subroutine

  integer(c_int64_t) function address(pointer)
    type(c_ptr), intent(in) :: pointer
    address = transfer(pointer, address)
  end function
end program
