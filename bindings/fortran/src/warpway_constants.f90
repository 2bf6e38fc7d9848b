! SPDX-License-Identifier: Apache-2.0
! Made by bindings/fortran/make-modules from the public headers. Do not edit.

module warpway_constants
  !! The constants and the structs of the C interface. A struct has
  !! struct_size set and all else zero. Unsigned numbers are signed ones of the same bits.
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer(c_int32_t), parameter, public :: ww_ok = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_not_ready = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_timed_out = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_end = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_cancelled = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_invalid = -1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_overflow = -2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_no_memory = -3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_device_memory = -4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_limit = -5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_unsupported = -6_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_no_device = -7_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_device = -8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_access = -9_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_descriptor = -10_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_mismatch = -11_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_protocol = -12_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_truncated = -13_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_version = -14_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_peer_lost = -15_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_forked = -16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_system = -17_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_not_found = -18_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_exists = -19_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_quota = -20_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_state = -21_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_no_broker = -22_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_given_up = -23_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_evicted = -24_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_unavailable = -25_c_int32_t
  integer(c_int32_t), parameter, public :: ww_err_dependency_failed = -26_c_int32_t
  integer(c_int32_t), parameter, public :: ww_domain_warpway = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_domain_errno = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_domain_cuda = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_backend_host = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_backend_cuda = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_mps_unknown = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_mps_off = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_mps_on = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_memory_vmm = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_memory_host = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_memory_legacy = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_memory_cuda_pool = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_access_read = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_access_write = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_route_local = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_route_peer = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_route_peer_hidden = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_route_host = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_route_host_registered = 5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_int = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_uint = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_opaque = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_bfloat = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_complex = 5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_bool = 6_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e3m4 = 7_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e4m3 = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e4m3b11fnuz = 9_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e4m3fn = 10_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e4m3fnuz = 11_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e5m2 = 12_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e5m2fnuz = 13_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float8_e8m0fnu = 14_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float6_e2m3fn = 15_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float6_e3m2fn = 16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_float4_e2m1fn = 17_c_int32_t
  integer(c_int32_t), parameter, public :: ww_overlap_none = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_overlap_some = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_overlap_may = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_memory = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_timeline = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_event = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_barrier = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_channel = 5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_service = 6_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_pool = 7_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_work_queue = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_timeline_live = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_timeline_closed = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_timeline_lost = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_life_held = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_life_owner = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_life_kept = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_state_writing = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_state_sealed = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_state_shared = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_state_removed = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_state_read_only = 256_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_put = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_ready = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_removed = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_expired = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_gone = 5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_lost = 6_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_overflow = 7_c_int32_t
  integer(c_int32_t), parameter, public :: ww_watch_replaced = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_block = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_drop_oldest = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_latest = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_consumer_joined = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_consumer_left = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_consumer_ended = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_consumer_evicted = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_producer_waited = 5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_deadline_missed = 6_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_producer_closed = 7_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_producer_ended = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_reattached = 9_c_int32_t
  integer(c_int32_t), parameter, public :: ww_argument_none = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_argument_scalar = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_argument_bytes = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_argument_array = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_argument_timeline = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_starting = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_ready = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_draining = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_stopped = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_lost = 5_c_int32_t
  integer(c_int32_t), parameter, public :: ww_graph_signal = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_graph_wait = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_work_queue_keeper = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_work_queue_producer = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_work_queue_consumer = 3_c_int32_t
  integer(c_int32_t), parameter, public :: ww_work_queue_failed = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_address_bytes = 112_c_int32_t
  integer(c_int32_t), parameter, public :: ww_array_dims = 16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_barrier_any_rank = -1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_barrier_members_max = 1024_c_int32_t
  integer(c_int64_t), parameter, public :: ww_broker_no_start = 1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_call_args_max = 32_c_int32_t
  integer(c_int32_t), parameter, public :: ww_call_bytes_max = 4096_c_int32_t
  integer(c_int32_t), parameter, public :: ww_call_record_max = 32768_c_int32_t
  integer(c_int64_t), parameter, public :: ww_cap_cpu_access = 8_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_event = 128_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_event_imported = 256_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_export = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_foreign = 512_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_graph = 2048_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_host_memory = 2_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_host_read_only = 4_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_many_processes = 32_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_module = 1024_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_stream_value = 64_c_int64_t
  integer(c_int64_t), parameter, public :: ww_cap_stream_wrap = 16_c_int64_t
  integer(c_int32_t), parameter, public :: ww_channel_consumers_max = 32_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_events_max = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_nobody = -1_c_int32_t
  integer(c_int64_t), parameter, public :: ww_channel_oldest = -1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_channel_slots_max = 4096_c_int32_t
  integer(c_int64_t), parameter, public :: ww_channel_trust_users = 4294967296_c_int64_t
  integer(c_int32_t), parameter, public :: ww_channel_wait_max = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_channel_wait_told_ns = 10000000_c_int32_t
  integer(c_int32_t), parameter, public :: ww_client_observe = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_consumer_observe = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_consumer_reattach = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_consumer_trust_users = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_device_driver_bytes = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_device_name_bytes = 96_c_int32_t
  integer(c_int32_t), parameter, public :: ww_device_uuid_bytes = 16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_dtype_name_bytes = 40_c_int32_t
  integer(c_int32_t), parameter, public :: ww_error_message_bytes = 240_c_int32_t
  integer(c_int64_t), parameter, public :: ww_escrow_default = 0_c_int64_t
  integer(c_int64_t), parameter, public :: ww_escrow_none = -2_c_int64_t
  integer(c_int64_t), parameter, public :: ww_event_blocking_sync = 2_c_int64_t
  integer(c_int32_t), parameter, public :: ww_event_handle_bytes = 64_c_int32_t
  integer(c_int64_t), parameter, public :: ww_event_timing = 1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_export_delivery = 1_c_int32_t
  integer(c_int64_t), parameter, public :: ww_forever = -1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_frame_alignment = 512_c_int32_t
  integer(c_int32_t), parameter, public :: ww_frame_dims = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_frame_metadata_max = 4096_c_int32_t
  integer(c_int32_t), parameter, public :: ww_frame_metadata_type_bytes = 16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_function_enqueues = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_function_idempotent = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_function_name_bytes = 64_c_int32_t
  integer(c_int64_t), parameter, public :: ww_get_from_owner = 4294967296_c_int64_t
  integer(c_int32_t), parameter, public :: ww_gid_own = -1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_graph_nodes_max = 64_c_int32_t
  integer(c_int64_t), parameter, public :: ww_import_keep = 4_c_int64_t
  integer(c_int64_t), parameter, public :: ww_import_no_slow_route = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_import_own_mapping = 2_c_int64_t
  integer(c_int32_t), parameter, public :: ww_kernel_arguments_max = 256_c_int32_t
  integer(c_int32_t), parameter, public :: ww_kernel_arguments_unknown = -1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_kernel_argument_bytes_max = 32764_c_int32_t
  integer(c_int64_t), parameter, public :: ww_largest_of_user = 1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_memory_description_bytes = 128_c_int32_t
  integer(c_int32_t), parameter, public :: ww_memory_handle_bytes = 64_c_int32_t
  integer(c_int64_t), parameter, public :: ww_memory_is_slice = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_memory_is_wrapped = 2_c_int64_t
  integer(c_int32_t), parameter, public :: ww_name_bytes = 192_c_int32_t
  integer(c_int32_t), parameter, public :: ww_object_id_bytes = 16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_any_rank = 16_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_any_type = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_default = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_dimension = 32_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_optional = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_strided = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_parameter_write_only = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_pool_alignment = 256_c_int32_t
  integer(c_int32_t), parameter, public :: ww_pool_slices_max = 1048576_c_int32_t
  integer(c_int32_t), parameter, public :: ww_program_bytes = 32_c_int32_t
  integer(c_int64_t), parameter, public :: ww_put_replace = 1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_request_name_bytes = 24_c_int32_t
  integer(c_int32_t), parameter, public :: ww_scalar_text_bytes = 32_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_after_streams_max = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_batch_max = 256_c_int32_t
  integer(c_int64_t), parameter, public :: ww_service_builtin_alloc = 2_c_int64_t
  integer(c_int64_t), parameter, public :: ww_service_builtin_data = 1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_service_calls_max = 1024_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_clients_max = 4096_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_depends_max = 1024_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_functions_max = 1024_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_keep_memories = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_lanes_max = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_latencies = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_service_text_bytes = 32_c_int32_t
  integer(c_int32_t), parameter, public :: ww_signature_name_bytes = 32_c_int32_t
  integer(c_int32_t), parameter, public :: ww_signature_text_bytes = 1024_c_int32_t
  integer(c_int64_t), parameter, public :: ww_slice_none = -huge(0_c_int64_t) - 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_snapshot_holders = 4_c_int64_t
  integer(c_int64_t), parameter, public :: ww_snapshot_holds = 8_c_int64_t
  integer(c_int64_t), parameter, public :: ww_snapshot_objects = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_snapshot_unnamed = 2_c_int64_t
  integer(c_int64_t), parameter, public :: ww_submit_chain = 2_c_int64_t
  integer(c_int32_t), parameter, public :: ww_submit_depends_max = 6_c_int32_t
  integer(c_int64_t), parameter, public :: ww_submit_repeat = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_timeline_alone = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_timeline_max = 4611686018427387904_c_int64_t
  integer(c_int32_t), parameter, public :: ww_timeline_why_bytes = 48_c_int32_t
  integer(c_int32_t), parameter, public :: ww_token_bytes = 512_c_int32_t
  integer(c_int32_t), parameter, public :: ww_token_counted = 4_c_int32_t
  integer(c_int32_t), parameter, public :: ww_token_foreign = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_token_passed = 8_c_int32_t
  integer(c_int32_t), parameter, public :: ww_token_slice = 1_c_int32_t
  integer(c_int32_t), parameter, public :: ww_token_text_bytes = 696_c_int32_t
  character(len=*), parameter, public :: ww_version_text = '0.2.0'
  integer(c_int32_t), parameter, public :: ww_version_major = 0_c_int32_t
  integer(c_int32_t), parameter, public :: ww_version_minor = 2_c_int32_t
  integer(c_int32_t), parameter, public :: ww_version_patch = 0_c_int32_t
  integer(c_int64_t), parameter, public :: ww_wait_other_user = 2_c_int64_t
  integer(c_int64_t), parameter, public :: ww_wait_unsubmitted = 1_c_int64_t
  integer(c_int64_t), parameter, public :: ww_watch_existing = 1_c_int64_t
  integer(c_int32_t), parameter, public :: ww_work_queue_attempts_max = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_work_queue_members_max = 64_c_int32_t
  integer(c_int32_t), parameter, public :: ww_work_queue_slots_max = 1024_c_int32_t
  integer(c_int64_t), parameter, public :: ww_wrap_private = 2_c_int64_t
  integer(c_int64_t), parameter, public :: ww_wrap_read = 1_c_int64_t

  type, public, bind(c) :: ww_error
    !! why a call of this thread last failed
    integer(c_int32_t) :: status = 0
    integer(c_int32_t) :: domain = 0
    integer(c_int64_t) :: native = 0
    character(kind=c_char) :: message(240) = c_null_char
  end type

  type, public, bind(c) :: ww_device_info
    !! what a device is and what it can do
    integer(c_int32_t) :: struct_size = 232
    integer(c_int32_t) :: backend = 0
    integer(c_int32_t) :: index = 0
    integer(c_int32_t) :: mps = 0
    integer(c_int64_t) :: capabilities = 0
    integer(c_int64_t) :: granularity = 0
    integer(c_int64_t) :: bytes_total = 0
    integer(c_int8_t) :: uuid(16) = 0
    character(kind=c_char) :: selector(16) = c_null_char
    character(kind=c_char) :: name(96) = c_null_char
    character(kind=c_char) :: driver(64) = c_null_char
  end type

  type, public, bind(c) :: ww_memory_params
    !! what memory to make
    integer(c_int32_t) :: struct_size = 24
    integer(c_int32_t) :: kind = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_memory_info
    !! what a memory is and how this process reaches it
    integer(c_int32_t) :: struct_size = 104
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: route = 0
    integer(c_int64_t) :: bytes = 0
    type(c_ptr) :: pointer = c_null_ptr
    type(c_ptr) :: host_pointer = c_null_ptr
    type(c_ptr) :: device = c_null_ptr
    integer(c_int8_t) :: home_uuid(16) = 0
    integer(c_int8_t) :: object_id(16) = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: total_bytes = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_memory_description
    !! the bytes that are sent together with a memory's descriptor
    integer(c_int8_t) :: bytes(128) = 0
  end type

  type, public, bind(c) :: ww_wrap_params
    !! how memory is wrapped
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
    type(c_funptr) :: release = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
  end type

  type, public, bind(c) :: ww_import_params
    !! how memory of another process is mapped
    integer(c_int32_t) :: struct_size = 16
    integer(c_int32_t) :: access = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_memory_handle
    !! a CUipcMemHandle, which is a cudaIpcMemHandle_t
    integer(c_int8_t) :: bytes(64) = 0
  end type

  type, public, bind(c) :: ww_dtype
    !! the type of an element
    integer(c_int8_t) :: code = 0
    integer(c_int8_t) :: bits = 0
    integer(c_int16_t) :: lanes = 0
  end type

  type, public, bind(c) :: ww_array
    !! an array inside a memory
    integer(c_int32_t) :: struct_size = 280
    type(ww_dtype) :: dtype
    integer(c_int32_t) :: ndim = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: shape(16) = 0
    integer(c_int64_t) :: strides(16) = 0
  end type

  type, public, bind(c) :: ww_token
    !! the bytes
    integer(c_int8_t) :: bytes(512) = 0
  end type

  type, public, bind(c) :: ww_token_params
    !! how long a token keeps its object
    integer(c_int32_t) :: struct_size = 24
    integer(c_int32_t) :: uses = 0
    integer(c_int64_t) :: escrow_ns = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_token_info
    !! the content of a token, without its secret
    integer(c_int32_t) :: struct_size = 504
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: broker_uid = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: total_bytes = 0
    integer(c_int64_t) :: generation = 0
    integer(c_int32_t) :: has_array = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int8_t) :: object_id(16) = 0
    integer(c_int8_t) :: home_uuid(16) = 0
    integer(c_int8_t) :: broker_id(16) = 0
    character(kind=c_char) :: address(112) = c_null_char
    type(ww_array) :: array
    integer(c_int64_t) :: slice = 0
  end type

  type, public, bind(c) :: ww_timeline_params
    !! what timeline to make
    integer(c_int32_t) :: struct_size = 24
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int64_t) :: value = 0
  end type

  type, public, bind(c) :: ww_timeline_info
    !! the state of a timeline
    integer(c_int32_t) :: struct_size = 80
    integer(c_int32_t) :: state = 0
    integer(c_int32_t) :: is_own = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: submitted = 0
    integer(c_int64_t) :: completed = 0
    integer(c_int64_t) :: lost_ns = 0
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_name_params
    !! how the name of a timeline is kept in a broker
    integer(c_int32_t) :: struct_size = 24
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_barrier_params
    !! what barrier to make
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: count = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int64_t) :: escrow_ns = 0
    integer(c_int32_t) :: uses = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_barrier_info
    !! the state of a barrier, as known to this member
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: count = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int32_t) :: arrived = 0
    integer(c_int64_t) :: round = 0
    integer(c_int32_t) :: is_broken = 0
    integer(c_int32_t) :: broken_rank = 0
  end type

  type, public, bind(c) :: ww_broker_params
    !! which broker, and how long to wait for it
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int64_t) :: timeout_ns = 0
    type(c_ptr) :: address = c_null_ptr
  end type

  type, public, bind(c) :: ww_broker_info
    !! the state of a broker
    integer(c_int32_t) :: struct_size = 144
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: supervisor_pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: restarts = 0
    integer(c_int32_t) :: protocol = 0
    integer(c_int64_t) :: objects = 0
    integer(c_int64_t) :: holders = 0
    integer(c_int64_t) :: holds = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: fds = 0
    integer(c_int64_t) :: open_fds = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int64_t) :: up_ns = 0
    integer(c_int64_t) :: waits = 0
    integer(c_int8_t) :: broker_id(16) = 0
    character(kind=c_char) :: version(32) = c_null_char
  end type

  type, public, bind(c) :: ww_put_params
    !! how to put a memory
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: life = 0
    integer(c_int32_t) :: state = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int64_t) :: ttl_ns = 0
    type(c_ptr) :: array = c_null_ptr
  end type

  type, public, bind(c) :: ww_get_params
    !! how to get a memory
    integer(c_int32_t) :: struct_size = 24
    integer(c_int32_t) :: access = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int32_t) :: owner = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_object_info
    !! an object in a broker, under one of its names
    integer(c_int32_t) :: struct_size = 616
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: state = 0
    integer(c_int32_t) :: life = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: holders = 0
    integer(c_int32_t) :: escrows = 0
    integer(c_int32_t) :: fd_count = 0
    integer(c_int32_t) :: is_own = 0
    integer(c_int32_t) :: has_array = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: age_ns = 0
    integer(c_int64_t) :: left_ns = 0
    integer(c_int64_t) :: generation = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: span_bytes = 0
    integer(c_int8_t) :: object_id(16) = 0
    integer(c_int8_t) :: home_uuid(16) = 0
    character(kind=c_char) :: name(192) = c_null_char
    type(ww_array) :: array
    integer(c_int32_t) :: memory_kind = 0
    integer(c_int32_t) :: is_slice = 0
  end type

  type, public, bind(c) :: ww_export_params
    !! what a token names
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: access = 0
    integer(c_int64_t) :: offset = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: escrow_ns = 0
    integer(c_int32_t) :: uses = 0
    integer(c_int32_t) :: flags = 0
    type(c_ptr) :: array = c_null_ptr
  end type

  type, public, bind(c) :: ww_holder_info
    !! a process that is connected, or holds something
    integer(c_int32_t) :: struct_size = 96
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: is_attached = 0
    integer(c_int32_t) :: held = 0
    integer(c_int32_t) :: put = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: number = 0
    integer(c_int64_t) :: held_bytes = 0
    integer(c_int64_t) :: put_bytes = 0
    integer(c_int64_t) :: age_ns = 0
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_hold_info
    !! one hold of an object
    integer(c_int32_t) :: struct_size = 88
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: is_creator = 0
    integer(c_int32_t) :: is_escrow = 0
    integer(c_int64_t) :: holder = 0
    integer(c_int64_t) :: age_ns = 0
    integer(c_int64_t) :: left_ns = 0
    integer(c_int8_t) :: object_id(16) = 0
    integer(c_int64_t) :: delivery = 0
    integer(c_int64_t) :: exporter = 0
    integer(c_int32_t) :: uses = 0
    integer(c_int32_t) :: is_own = 0
    integer(c_int64_t) :: bytes = 0
  end type

  type, public, bind(c) :: ww_watch_event
    !! a change
    integer(c_int32_t) :: struct_size = 648
    integer(c_int32_t) :: what = 0
    type(ww_object_info) :: object
    integer(c_int8_t) :: former_id(16) = 0
    integer(c_int64_t) :: former_generation = 0
  end type

  type, public, bind(c) :: ww_frame
    !! a frame that is being written, or was received
    integer(c_int32_t) :: struct_size = 152
    integer(c_int32_t) :: slot = 0
    integer(c_int64_t) :: number = 0
    type(c_ptr) :: pointer = c_null_ptr
    type(c_ptr) :: host_pointer = c_null_ptr
    type(c_ptr) :: metadata = c_null_ptr
    integer(c_int64_t) :: capacity = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: submitted_ns = 0
    integer(c_int32_t) :: metadata_bytes = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int64_t) :: shape(8) = 0
    integer(c_int32_t) :: generation = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int32_t) :: producer = 0
    integer(c_int32_t) :: attempts = 0
  end type

  type, public, bind(c) :: ww_channel_params
    !! what channel to make
    integer(c_int32_t) :: struct_size = 104
    integer(c_int32_t) :: policy = 0
    integer(c_int64_t) :: slot_bytes = 0
    integer(c_int32_t) :: slots = 0
    integer(c_int32_t) :: consumers_max = 0
    integer(c_int32_t) :: held_max = 0
    integer(c_int32_t) :: ahead_max = 0
    integer(c_int32_t) :: metadata_bytes = 0
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int64_t) :: flags = 0
    character(kind=c_char) :: metadata_type(16) = c_null_char
    type(c_ptr) :: array = c_null_ptr
    integer(c_int64_t) :: evict_after_ns = 0
    integer(c_int64_t) :: deadline_ns = 0
    integer(c_int32_t) :: consumers_per_uid_max = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_consumer_params
    !! how a consumer begins, and what it expects
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: flags = 0
    integer(c_int64_t) :: history = 0
    type(c_ptr) :: metadata_type = c_null_ptr
    type(c_ptr) :: array = c_null_ptr
    integer(c_int64_t) :: deadline_ns = 0
  end type

  type, public, bind(c) :: ww_channel_info
    !! the state of a channel
    integer(c_int32_t) :: struct_size = 472
    integer(c_int32_t) :: is_producer = 0
    integer(c_int32_t) :: policy = 0
    integer(c_int32_t) :: slots = 0
    integer(c_int32_t) :: consumers = 0
    integer(c_int32_t) :: consumers_max = 0
    integer(c_int32_t) :: held_max = 0
    integer(c_int32_t) :: held = 0
    integer(c_int64_t) :: slot_bytes = 0
    integer(c_int32_t) :: metadata_bytes = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int64_t) :: published = 0
    integer(c_int64_t) :: received = 0
    integer(c_int64_t) :: dropped = 0
    character(kind=c_char) :: metadata_type(16) = c_null_char
    character(kind=c_char) :: program(32) = c_null_char
    integer(c_int32_t) :: has_array = 0
    integer(c_int32_t) :: is_observer = 0
    type(ww_array) :: array
    integer(c_int64_t) :: published_ns = 0
    integer(c_int64_t) :: deadline_ns = 0
    integer(c_int64_t) :: deadlines_missed = 0
    integer(c_int64_t) :: evict_after_ns = 0
    integer(c_int32_t) :: consumers_per_uid_max = 0
    integer(c_int32_t) :: number = 0
    integer(c_int32_t) :: waits_for = 0
    integer(c_int32_t) :: has_ended = 0
    integer(c_int64_t) :: waited_ns = 0
    integer(c_int32_t) :: generation = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_channel_consumer_info
    !! a consumer of a channel
    integer(c_int32_t) :: struct_size = 88
    integer(c_int32_t) :: number = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: is_asleep = 0
    integer(c_int32_t) :: is_evicted = 0
    integer(c_int32_t) :: is_waited_for = 0
    integer(c_int32_t) :: held = 0
    integer(c_int64_t) :: next = 0
    integer(c_int64_t) :: dropped = 0
    integer(c_int64_t) :: waited_ns = 0
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_channel_event
    !! what has happened to a channel
    integer(c_int32_t) :: struct_size = 88
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: consumer = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: generation = 0
    integer(c_int64_t) :: frame = 0
    integer(c_int64_t) :: time_ns = 0
    integer(c_int64_t) :: waited_ns = 0
    integer(c_int64_t) :: dropped = 0
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_signature_info
    !! a signature as a whole
    integer(c_int32_t) :: struct_size = 1048
    integer(c_int32_t) :: parameter_count = 0
    integer(c_int32_t) :: result_count = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: hash = 0
    character(kind=c_char) :: text(1024) = c_null_char
  end type

  type, public, bind(c) :: ww_parameter_info
    !! a parameter or a result
    integer(c_int32_t) :: struct_size = 1224
    integer(c_int32_t) :: kind = 0
    type(ww_dtype) :: dtype
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: bytes_max = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: scalar = 0
    integer(c_int64_t) :: shape(16) = 0
    character(kind=c_char) :: name(32) = c_null_char
    character(kind=c_char) :: type(1024) = c_null_char
  end type

  type, public, bind(c) :: ww_service_params
    !! what service to make
    integer(c_int32_t) :: struct_size = 120
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: functions_max = 0
    integer(c_int32_t) :: clients_max = 0
    integer(c_int32_t) :: clients_per_uid_max = 0
    integer(c_int32_t) :: calls_max = 0
    integer(c_int32_t) :: arguments_bytes = 0
    integer(c_int32_t) :: results_bytes = 0
    integer(c_int32_t) :: streams = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int64_t) :: memory_bytes_max = 0
    character(kind=c_char) :: version(32) = c_null_char
    integer(c_int64_t) :: builtin = 0
    integer(c_int64_t) :: alloc_bytes_max = 0
    integer(c_int64_t) :: keep_ns = 0
    integer(c_int32_t) :: after_streams = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_function_params
    !! how a function is offered
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: flags = 0
    type(c_ptr) :: uids = c_null_ptr
    type(c_ptr) :: gids = c_null_ptr
    integer(c_int32_t) :: uid_count = 0
    integer(c_int32_t) :: gid_count = 0
    integer(c_int64_t) :: batch_wait_ns = 0
    integer(c_int32_t) :: batch_calls_max = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_service_info
    !! the state of a service
    integer(c_int32_t) :: struct_size = 120
    integer(c_int32_t) :: state = 0
    integer(c_int32_t) :: functions = 0
    integer(c_int32_t) :: clients = 0
    integer(c_int32_t) :: clients_max = 0
    integer(c_int32_t) :: calls_max = 0
    integer(c_int32_t) :: arguments_bytes = 0
    integer(c_int32_t) :: results_bytes = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int64_t) :: calls = 0
    integer(c_int64_t) :: age_ns = 0
    character(kind=c_char) :: version(32) = c_null_char
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_function_info
    !! a function, with counts of its calls
    integer(c_int32_t) :: struct_size = 1664
    integer(c_int32_t) :: flags = 0
    integer(c_int64_t) :: hash = 0
    integer(c_int64_t) :: calls = 0
    integer(c_int64_t) :: failed = 0
    integer(c_int64_t) :: not_started = 0
    integer(c_int64_t) :: run_ns = 0
    integer(c_int64_t) :: latency(64) = 0
    character(kind=c_char) :: name(64) = c_null_char
    character(kind=c_char) :: signature(1024) = c_null_char
    integer(c_int64_t) :: batches = 0
    integer(c_int32_t) :: batch_calls_max = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_value
    !! an argument or a result
    integer(c_int32_t) :: kind = 0
    type(ww_dtype) :: dtype
    integer(c_int64_t) :: scalar = 0
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: bytes = 0
    type(c_ptr) :: memory = c_null_ptr
    type(c_ptr) :: token = c_null_ptr
    type(c_ptr) :: array = c_null_ptr
    type(c_ptr) :: timeline = c_null_ptr
    type(c_ptr) :: pointer = c_null_ptr
    type(c_ptr) :: host_pointer = c_null_ptr
  end type

  type, public, bind(c) :: ww_call_info
    !! a call, and the client that makes it
    integer(c_int32_t) :: struct_size = 136
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: client = 0
    integer(c_int32_t) :: lane = 0
    integer(c_int64_t) :: number = 0
    integer(c_int64_t) :: deadline_ns = 0
    character(kind=c_char) :: function(64) = c_null_char
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_client_params
    !! how a service is opened
    integer(c_int32_t) :: struct_size = 16
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_submit_params
    !! how a call is made
    integer(c_int32_t) :: struct_size = 72
    integer(c_int32_t) :: lane = 0
    integer(c_int64_t) :: deadline_ns = 0
    integer(c_int64_t) :: depends_on = 0
    type(c_ptr) :: after = c_null_ptr
    type(c_ptr) :: after_token = c_null_ptr
    integer(c_int64_t) :: after_value = 0
    integer(c_int64_t) :: flags = 0
    type(c_ptr) :: depends_more = c_null_ptr
    integer(c_int32_t) :: depends_more_count = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_ticket_info
    !! a call, as known to its client
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: has_ended = 0
    integer(c_int32_t) :: has_started = 0
    integer(c_int32_t) :: status = 0
    integer(c_int64_t) :: number = 0
    integer(c_int64_t) :: failed_call = 0
    integer(c_int32_t) :: function = 0
    integer(c_int32_t) :: lane = 0
    integer(c_int64_t) :: value = 0
  end type

  type, public, bind(c) :: ww_event_params
    !! what event to make
    integer(c_int32_t) :: struct_size = 16
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_event_handle
    !! a CUipcEventHandle, which is a cudaIpcEventHandle_t
    integer(c_int8_t) :: bytes(64) = 0
  end type

  type, public, bind(c) :: ww_graph_node_params
    !! what node to add, and where
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: kind = 0
    type(c_ptr) :: graph = c_null_ptr
    type(c_ptr) :: dependencies = c_null_ptr
    integer(c_int64_t) :: dependency_count = 0
  end type

  type, public, bind(c) :: ww_in_flight_info
    !! one delivery
    integer(c_int32_t) :: struct_size = 80
    integer(c_int32_t) :: is_slice = 0
    integer(c_int64_t) :: number = 0
    integer(c_int64_t) :: uses = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: age_ns = 0
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int8_t) :: object_id(16) = 0
    integer(c_int8_t) :: broker_id(16) = 0
  end type

  type, public, bind(c) :: ww_in_flight_which
    !! which deliveries
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: token = c_null_ptr
    type(c_ptr) :: info = c_null_ptr
    integer(c_int64_t) :: older_ns = 0
  end type

  type, public, bind(c) :: ww_module_params
    !! how to load a module
    integer(c_int32_t) :: struct_size = 16
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_kernel_info
    !! arguments and limits of a launch of a kernel
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: argument_count = 0
    integer(c_int32_t) :: threads_max = 0
    integer(c_int32_t) :: registers = 0
    integer(c_int32_t) :: local_bytes = 0
    integer(c_int32_t) :: shared_bytes = 0
    integer(c_int32_t) :: shared_bytes_max = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_launch_params
    !! how many threads run a kernel
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: shared_bytes = 0
    integer(c_int32_t) :: grid(3) = 0
    integer(c_int32_t) :: block(3) = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_kernel_argument
    !! one argument of a kernel
    type(c_ptr) :: value = c_null_ptr
    integer(c_int64_t) :: bytes = 0
  end type

  type, public, bind(c) :: ww_host_launch
    !! the launch, as a kernel of the host device gets it
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: argument_count = 0
    integer(c_int32_t) :: grid(3) = 0
    integer(c_int32_t) :: block(3) = 0
    integer(c_int32_t) :: shared_bytes = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_broker_totals
    !! totals over all users
    integer(c_int32_t) :: struct_size = 104
    integer(c_int32_t) :: is_all = 0
    integer(c_int64_t) :: objects = 0
    integer(c_int64_t) :: holders = 0
    integer(c_int64_t) :: holds = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: waits = 0
    integer(c_int64_t) :: fds = 0
    integer(c_int64_t) :: fds_limit = 0
    integer(c_int64_t) :: connections = 0
    integer(c_int64_t) :: connections_limit = 0
    integer(c_int64_t) :: refused_connections = 0
    integer(c_int64_t) :: unlogged = 0
    integer(c_int64_t) :: up_ns = 0
  end type

  type, public, bind(c) :: ww_user_total
    !! totals of one user, and the limits for them
    integer(c_int32_t) :: struct_size = 184
    integer(c_int32_t) :: uid = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: bytes_limit = 0
    integer(c_int64_t) :: host_bytes = 0
    integer(c_int64_t) :: host_bytes_limit = 0
    integer(c_int64_t) :: objects = 0
    integer(c_int64_t) :: objects_limit = 0
    integer(c_int64_t) :: fds = 0
    integer(c_int64_t) :: fds_limit = 0
    integer(c_int64_t) :: holds = 0
    integer(c_int64_t) :: holds_limit = 0
    integer(c_int64_t) :: connections = 0
    integer(c_int64_t) :: connections_limit = 0
    integer(c_int64_t) :: waits = 0
    integer(c_int64_t) :: waits_limit = 0
    integer(c_int64_t) :: watches = 0
    integer(c_int64_t) :: watches_limit = 0
    integer(c_int64_t) :: holders = 0
    integer(c_int64_t) :: tokens = 0
    integer(c_int64_t) :: deliveries = 0
    integer(c_int64_t) :: delivery_bytes = 0
    integer(c_int64_t) :: requests = 0
    integer(c_int64_t) :: refused = 0
  end type

  type, public, bind(c) :: ww_device_total
    !! objects of one user, of one kind, on one device
    integer(c_int32_t) :: struct_size = 64
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: is_others = 0
    integer(c_int8_t) :: home_uuid(16) = 0
    integer(c_int64_t) :: objects = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: removed = 0
    integer(c_int64_t) :: removed_bytes = 0
  end type

  type, public, bind(c) :: ww_request_total
    !! how often one kind of request came, or was refused
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: status = 0
    integer(c_int64_t) :: count = 0
    character(kind=c_char) :: request(24) = c_null_char
  end type

  type, public, bind(c) :: ww_largest_params
    !! which objects or processes to list
    integer(c_int32_t) :: struct_size = 56
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: count = 0
    integer(c_int64_t) :: contents = 0
    integer(c_int64_t) :: flags = 0
    integer(c_int64_t) :: after_bytes = 0
    integer(c_int64_t) :: after_number = 0
    type(c_ptr) :: prefix = c_null_ptr
  end type

  type, public, bind(c) :: ww_pool_params
    !! what pool to make
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: kind = 0
    integer(c_int64_t) :: bytes_max = 0
    integer(c_int64_t) :: chunk_bytes = 0
    integer(c_int32_t) :: slices_max = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: flags = 0
  end type

  type, public, bind(c) :: ww_pool_info
    !! the state of a pool
    integer(c_int32_t) :: struct_size = 104
    integer(c_int32_t) :: kind = 0
    integer(c_int64_t) :: bytes_max = 0
    integer(c_int64_t) :: chunk_bytes = 0
    integer(c_int64_t) :: bytes_reserved = 0
    integer(c_int64_t) :: bytes_used = 0
    integer(c_int64_t) :: bytes_waiting = 0
    integer(c_int64_t) :: bytes_free = 0
    integer(c_int64_t) :: bytes_largest = 0
    integer(c_int64_t) :: bytes_peak = 0
    integer(c_int64_t) :: allocations = 0
    integer(c_int32_t) :: chunk_count = 0
    integer(c_int32_t) :: slice_count = 0
    integer(c_int32_t) :: waiting_count = 0
    integer(c_int32_t) :: slices_max = 0
    integer(c_int32_t) :: holder_count = 0
    integer(c_int32_t) :: is_imported = 0
  end type

  type, public, bind(c) :: ww_pool_holder_info
    !! a process that has imported slices of a pool
    integer(c_int32_t) :: struct_size = 64
    integer(c_int32_t) :: pid = 0
    integer(c_int32_t) :: uid = 0
    integer(c_int32_t) :: slice_count = 0
    integer(c_int64_t) :: slice_bytes = 0
    integer(c_int32_t) :: is_lost = 0
    integer(c_int32_t) :: reserved = 0
    character(kind=c_char) :: program(32) = c_null_char
  end type

  type, public, bind(c) :: ww_work_queue_params
    !! what queue to make
    integer(c_int32_t) :: struct_size = 96
    integer(c_int32_t) :: role = 0
    integer(c_int64_t) :: slot_bytes = 0
    integer(c_int32_t) :: slots = 0
    integer(c_int32_t) :: producers_max = 0
    integer(c_int32_t) :: consumers_max = 0
    integer(c_int32_t) :: attempts_max = 0
    integer(c_int32_t) :: failed_max = 0
    integer(c_int32_t) :: held_max = 0
    integer(c_int32_t) :: metadata_bytes = 0
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: gid = 0
    integer(c_int32_t) :: end_after_producers = 0
    integer(c_int64_t) :: flags = 0
    character(kind=c_char) :: metadata_type(16) = c_null_char
    type(c_ptr) :: array = c_null_ptr
  end type

  type, public, bind(c) :: ww_work_member_params
    !! what a process that opens a queue does with it, and expects of it
    integer(c_int32_t) :: struct_size = 32
    integer(c_int32_t) :: role = 0
    type(c_ptr) :: metadata_type = c_null_ptr
    type(c_ptr) :: array = c_null_ptr
    integer(c_int32_t) :: end_after_producers = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, public, bind(c) :: ww_work_queue_info
    !! the state of a queue, as known to one of its members
    integer(c_int32_t) :: struct_size = 464
    integer(c_int32_t) :: role = 0
    integer(c_int32_t) :: is_closed = 0
    integer(c_int32_t) :: slots = 0
    integer(c_int32_t) :: producers = 0
    integer(c_int32_t) :: consumers = 0
    integer(c_int32_t) :: producers_max = 0
    integer(c_int32_t) :: consumers_max = 0
    integer(c_int32_t) :: attempts_max = 0
    integer(c_int32_t) :: failed_max = 0
    integer(c_int32_t) :: held_max = 0
    integer(c_int32_t) :: held = 0
    integer(c_int64_t) :: slot_bytes = 0
    integer(c_int32_t) :: metadata_bytes = 0
    integer(c_int32_t) :: available = 0
    integer(c_int32_t) :: claimed = 0
    integer(c_int32_t) :: failed = 0
    integer(c_int64_t) :: published = 0
    integer(c_int64_t) :: dropped = 0
    integer(c_int64_t) :: received = 0
    integer(c_int64_t) :: lost = 0
    character(kind=c_char) :: metadata_type(16) = c_null_char
    integer(c_int32_t) :: has_array = 0
    integer(c_int32_t) :: reserved = 0
    type(ww_array) :: array
    integer(c_int64_t) :: published_total = 0
    integer(c_int64_t) :: acknowledged_total = 0
    integer(c_int64_t) :: repeated_total = 0
    integer(c_int64_t) :: failed_total = 0
    integer(c_int64_t) :: dropped_total = 0
    integer(c_int64_t) :: lost_total = 0
    integer(c_int32_t) :: uncounted = 0
    integer(c_int32_t) :: reserved_1 = 0
  end type
end module
