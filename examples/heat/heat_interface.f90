! SPDX-License-Identifier: Apache-2.0
module heat_interface
  !! heat.h for Fortran: what the daemons in C and in Fortran have in common.
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: text_bytes = 512, name_bytes = 96
  integer(c_int64_t), parameter :: header_bytes = 4096
  integer(c_int64_t), parameter :: state_magic = int(z'3165746174736848', c_int64_t)
  integer(c_int32_t), parameter :: metadata_bytes = 128
  integer(c_int32_t), parameter :: cells_least = 16, cells_most = 16384, sources_max = 16
  integer(c_int32_t), parameter :: is_paused = 1, is_last = 2, is_gpu = 4
  integer(c_int), parameter :: signal_stop = 1, signal_reload = 2
  integer(c_int), parameter :: log_error = 3, log_warning = 4, log_notice = 5, log_info = 6

  real(c_double), parameter :: rate_same = -1 !! for steps_per_second_max: as it is

  character(len=*), parameter :: metadata_type = 'heat-frame/1', service_version = 'heat-steer/1'
  character(len=*), parameter :: status_signature = &
    '-> u64 run, u64 step, f64 time, u32 rows, u32 columns, f64 diffusivity, bool paused, ' // &
    'f64 steps_per_second, u32 restarts, u64 frames, u32 watchers, u32 watchers_max, ' // &
    'u32 pid, u64 started_ns, bytes backend'

  type, bind(c) :: heat_metadata
    integer(c_int64_t) :: run = 0, step = 0
    real(c_double) :: time = 0, diffusivity = 0, steps_per_second = 0
    real(c_double) :: minimum = 0, maximum = 0, mean = 0
    integer(c_int32_t) :: checksum = 0, rows = 0, columns = 0, flags = 0, restarts = 0, pid = 0
    real(c_double) :: source_x = 0, source_y = 0, steps_per_second_max = 0
    integer(c_int64_t) :: reserved(2) = 0
  end type

  type, bind(c) :: heat_source
    real(c_double) :: x = 0, y = 0, radius = 0, temperature = 0
  end type

  type, bind(c) :: heat_state
    integer(c_int64_t) :: magic = 0, sequence = 0, run = 0, step = 0
    real(c_double) :: time = 0, diffusivity = 0, steps_per_second_max = 0
    integer(c_int32_t) :: rows = 0, columns = 0, restarts = 0, paused = 0
    integer(c_int32_t) :: source_count = 0, checksum = 0
    type(heat_source) :: sources(sources_max)
  end type

  type, bind(c) :: heat_config
    character(kind=c_char) :: name(name_bytes), kernels(name_bytes), broker(108), backend(16)
    character(kind=c_char) :: group(64), operators(64), path(text_bytes)
    integer(c_int32_t) :: gid, operators_gid, rows, columns, rows_max, columns_max
    integer(c_int32_t) :: consumers_per_uid_max, starts_anew
    real(c_double) :: diffusivity, steps_per_second_max, frames_per_second
  end type

  interface
    function heat_command(argc, argv, config) bind(c) result(code)
      import
      integer(c_int), value :: argc
      type(c_ptr), intent(in) :: argv(*)
      type(heat_config), intent(inout) :: config
      integer(c_int) :: code
    end function
    function heat_config_reload(config) bind(c) result(status)
      import
      type(heat_config), intent(inout) :: config
      integer(c_int) :: status
    end function
    function heat_may_steer(config, uid, gid) bind(c) result(may)
      import
      type(heat_config), intent(in) :: config
      integer(c_int32_t), value :: uid, gid
      integer(c_int) :: may
    end function
    subroutine heat_refusal(config, uid, text) bind(c)
      import
      type(heat_config), intent(in) :: config
      integer(c_int32_t), value :: uid
      character(kind=c_char), intent(out) :: text(*)
    end subroutine
    function heat_wait_for_name(broker, prefix) bind(c) result(status)
      import
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in) :: prefix(*)
      integer(c_int) :: status
    end function
    function heat_broker_is_lost(broker, step, every_ns) bind(c) result(is_lost)
      import
      type(c_ptr), value :: broker
      integer(c_int64_t), value :: step, every_ns
      integer(c_int) :: is_lost
    end function
    subroutine heat_log_begin(config, state) bind(c)
      import
      type(heat_config), intent(in) :: config
      type(heat_state), intent(in) :: state
    end subroutine
    subroutine heat_log_end(broker, config, state) bind(c)
      import
      type(c_ptr), value :: broker
      type(heat_config), intent(in) :: config
      type(heat_state), intent(in) :: state
    end subroutine
    subroutine heat_say(priority, text) bind(c)
      import
      integer(c_int), value :: priority
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine heat_notify(text) bind(c)
      import
      character(kind=c_char), intent(in) :: text(*)
    end subroutine
    subroutine heat_notify_reloading() bind(c)
    end subroutine
    subroutine heat_notify_alive() bind(c)
    end subroutine
    subroutine heat_signals_start() bind(c)
    end subroutine
    function heat_signals() bind(c) result(signals)
      import
      integer(c_int) :: signals
    end function
    function heat_now_ns() bind(c) result(now_ns)
      import
      integer(c_int64_t) :: now_ns
    end function
    function heat_real_ns() bind(c) result(now_ns)
      import
      integer(c_int64_t) :: now_ns
    end function
    function heat_random() bind(c) result(number)
      import
      integer(c_int64_t) :: number
    end function
    function heat_checksum(bytes, count) bind(c) result(checksum)
      import
      type(c_ptr), value :: bytes
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: checksum
    end function
    subroutine heat_store_magic(magic, value) bind(c)
      import
      integer(c_int64_t), intent(inout) :: magic
      integer(c_int64_t), value :: value
    end subroutine
    subroutine heat_pause(ns) bind(c)
      import
      integer(c_int64_t), value :: ns
    end subroutine
    function c_getpid() bind(c, name='getpid') result(pid)
      import
      integer(c_int32_t) :: pid
    end function
    function c_geteuid() bind(c, name='geteuid') result(uid)
      import
      integer(c_int32_t) :: uid
    end function
  end interface

contains
  subroutine say(priority, text)
    !! A line in the log.
    integer(c_int), intent(in) :: priority
    character(len=*), intent(in) :: text
    call heat_say(priority, text // c_null_char)
  end subroutine

  subroutine notify(text)
    !! Tells systemd a state.
    character(len=*), intent(in) :: text
    call heat_notify(text // c_null_char)
  end subroutine
end module
