! SPDX-License-Identifier: Apache-2.0
program heatd
  !! The heat daemon in Fortran: computes on the CPU with OpenMP, or on a GPU by a kernel server.
  !!
  !!   one thread:   step --> step --> ... --> publish a frame --> serve calls --> step ...
  !!
  !! Calls run between steps, in the same thread: there is no lock. Command line, configuration,
  !! signals and systemd are in C, see heat_interface.
  use, intrinsic :: iso_c_binding
  use warpway
  use heat_interface
  use heat_daemon
  implicit none
  integer(c_int64_t), parameter :: second_ns = 1000000000_c_int64_t
  integer(c_int64_t), parameter :: patience_ns = 10 * second_ns
  integer(c_int64_t), parameter :: serve_every_ns = 1000000 ! while it computes as fast as it can
  integer(c_int64_t), parameter :: wait_most_ns = 20000000  ! until it looks at signals
  type(daemon), target, save :: heat
  character(len=text_bytes) :: message
  integer :: code, stat

  code = command()
  if (code >= 0) stop code, quiet=.true.
  call heat_signals_start()
  heat%uses_gpu = ww_text(heat%config%backend) == 'gpu'
  message = ''
  call open_all(stat)
  if (stat == ww_ok) then
    heat%started_ns = heat_real_ns()
    call heat_log_begin(heat%config, heat%kept%state)
    call notify('READY=1')
    call run(stat)
  end if
  if (stat == ww_ok) call drain(stat)
  if (stat /= ww_ok .and. .not. heat%is_told) call say(log_error, trim(message))
  call close_all()
  if (stat /= ww_ok .or. heat%is_told) stop 1, quiet=.true.

contains
  integer function command()
    !! Does what the command line says; -1: it is to run.
    type :: argument
      character(kind=c_char), allocatable :: chars(:)
    end type
    type(argument), allocatable, target :: arguments(:)
    type(c_ptr), allocatable :: pointers(:)
    character(len=:), allocatable :: text
    integer :: i, j, length

    allocate (arguments(0:command_argument_count()), pointers(0:command_argument_count() + 1))
    do i = 0, command_argument_count()
      call get_command_argument(i, length=length)
      text = repeat(' ', length)
      if (length > 0) call get_command_argument(i, text)
      arguments(i)%chars = [(text(j:j), j = 1, length), c_null_char]
      pointers(i) = c_loc(arguments(i)%chars)
    end do
    pointers(command_argument_count() + 1) = c_null_ptr
    command = heat_command(int(command_argument_count() + 1, c_int), pointers, heat%config)
  end function

  ! --- starting and ending ---

  function name_of(what) result(name)
    character(len=*), intent(in) :: what
    character(len=:), allocatable :: name
    name = ww_text(heat%config%name) // '/' // what
  end function

  subroutine open_all(stat)
    integer, intent(out) :: stat

    call heat%device%open('host', stat, message)
    if (stat /= ww_ok) return
    if (ww_text(heat%config%broker) == '') then
      call heat%broker%open(stat=stat, errmsg=message)
    else
      call heat%broker%open(ww_text(heat%config%broker), stat=stat, errmsg=message)
    end if
    if (stat /= ww_ok) return
    call look_at_broker(0_c_int64_t) ! which one it is
    call take_lock(stat)
    if (stat == ww_ok) call heat%kept%open(heat%config, heat%device, heat%broker, stat, message)
    if (stat == ww_ok) call open_channel(stat)
    if (stat == ww_ok) call open_service(stat)
  end subroutine

  subroutine take_lock(stat)
    !! One daemon for one name: the name of a memory which ends with the process that put it.
    integer, intent(out) :: stat
    type(ww_put_params) :: params

    call heat%lock%create(heat%device, 1_c_int64_t, ww_memory_host, stat, message)
    if (stat /= ww_ok) return
    params%life = ww_life_owner
    do
      call heat%lock%put(name_of('daemon'), params=params, broker=heat%broker, &
        timeout_ns=patience_ns, stat=stat, errmsg=message)
      if (stat /= ww_err_exists) exit
      heat%is_told = heat_wait_for_name(heat%broker%c_pointer(), heat%config%name) /= 0
      if (heat%is_told) exit
    end do
  end subroutine

  subroutine look_at_broker(every_ns)
    !! Whether it is lost, and with it the simulation.
    integer(c_int64_t), intent(in) :: every_ns
    heat%is_told = heat_broker_is_lost(heat%broker%c_pointer(), heat%kept%state%step, every_ns) /= 0
  end subroutine

  subroutine open_channel(stat)
    integer, intent(out) :: stat
    type(ww_channel_params) :: params
    type(ww_array) :: array

    associate (config => heat%config)
      call ww_array_of(array, 'float32', [int(config%columns_max, c_int64_t), &
        int(config%rows_max, c_int64_t)])
      params%policy = ww_channel_latest
      params%consumers_max = ww_channel_consumers_max
      params%held_max = 1
      params%metadata_bytes = metadata_bytes
      params%kind = ww_memory_host
      params%mode = int(o'600', c_int32_t)
      if (config%gid /= 0) params%mode = int(o'640', c_int32_t)
      params%gid = config%gid
      params%flags = ww_put_replace
      params%consumers_per_uid_max = config%consumers_per_uid_max
      call heat%channel%create(heat%device, name_of('field'), &
        4_c_int64_t * config%rows_max * config%columns_max, array, metadata_type, params, &
        heat%broker, stat, message)
    end associate
  end subroutine

  subroutine open_service(stat)
    integer, intent(out) :: stat
    type(ww_service_params) :: params
    integer :: i

    params%mode = int(o'600', c_int32_t)
    if (heat%config%gid /= 0) params%mode = int(o'660', c_int32_t)
    params%gid = heat%config%gid
    params%flags = ww_put_replace
    do i = 1, len(service_version)
      params%version(i) = service_version(i:i)
    end do
    call heat%service%create(heat%device, name_of('steer'), params, heat%broker, stat, message)
    if (stat == ww_ok) call offer_functions(heat, stat, message)
    if (stat == ww_ok) call heat%service%start(stat, message)
  end subroutine

  subroutine close_all()
    !! Consumers receive the last frame, and then the end.
    call heat%gpu%close()
    call heat%channel%close()
    call heat%service%close()
    call heat%kept%memory%close()
    call heat%lock%close()
    call heat%broker%close()
    call heat%device%close()
  end subroutine

  subroutine drain(stat)
    !! A last frame for all, then the end.
    integer, intent(out) :: stat
    integer :: served

    call notify('STOPPING=1')
    call heat%settle()
    if (.not. heat%is_told) call look_at_broker(0_c_int64_t)
    if (.not. heat%is_told) call heat_log_end(heat%broker%c_pointer(), heat%config, heat%kept%state)
    heat%is_stopping = .true.
    call heat%publish(stat, message)
    if (stat == ww_ok) call heat%service%drain(stat, message)
    if (stat /= ww_ok) return
    call heat%service%serve(second_ns, served, message)
    if (served < 0) stat = served
  end subroutine

  ! --- running ---

  subroutine run(stat)
    integer, intent(out) :: stat
    integer(c_int64_t) :: next_serve_ns
    integer(c_int) :: signals

    heat%next_step_ns = heat_now_ns()
    heat%next_frame_ns = heat%next_step_ns
    heat%measured_ns = heat%next_step_ns
    heat%measured_step = heat%kept%state%step
    next_serve_ns = 0
    stat = ww_ok
    do while (stat == ww_ok .and. .not. heat%is_stopping)
      signals = heat_signals()
      call look_at_broker(second_ns)
      if (heat%is_told .or. iand(signals, signal_stop) /= 0) exit
      if (iand(signals, signal_reload) /= 0) call reload()
      call heat_notify_alive()
      call heat%measure(heat_now_ns())
      call step_if_due(heat_now_ns())
      call publish_if_due(heat_now_ns(), stat)
      if (stat == ww_ok) call serve(next_serve_ns, stat)
    end do
  end subroutine

  integer(c_int64_t) function next_after(due_ns, now_ns, rate)
    !! When the next of something is due that should come so often a second.
    integer(c_int64_t), intent(in) :: due_ns, now_ns
    real(c_double), intent(in) :: rate
    next_after = max(now_ns, due_ns + int(second_ns / rate, c_int64_t))
  end function

  subroutine step_if_due(now_ns)
    integer(c_int64_t), intent(in) :: now_ns

    if (.not. heat%computes() .or. now_ns < heat%next_step_ns) return
    call heat%step()
    if (heat%kept%state%steps_per_second_max > 0) heat%next_step_ns = &
      next_after(heat%next_step_ns, now_ns, heat%kept%state%steps_per_second_max)
    if (heat%config%frames_per_second <= 0) heat%next_frame_ns = 0
  end subroutine

  subroutine publish_if_due(now_ns, stat)
    integer(c_int64_t), intent(in) :: now_ns
    integer, intent(out) :: stat
    real(c_double) :: rate

    stat = ww_ok
    if (now_ns < heat%next_frame_ns) return
    rate = 1
    if (heat%computes()) rate = heat%config%frames_per_second
    if (rate > 0) then
      heat%next_frame_ns = next_after(heat%next_frame_ns, now_ns, rate)
    else
      heat%next_frame_ns = huge(now_ns)
    end if
    call heat%publish(stat, message)
  end subroutine

  subroutine serve(next_serve_ns, stat)
    !! Runs calls: those that are there, or, if there is nothing to compute, until there is.
    integer(c_int64_t), intent(inout) :: next_serve_ns
    integer, intent(out) :: stat
    integer(c_int64_t) :: now_ns, due_ns, wait_ns

    stat = ww_ok
    now_ns = heat_now_ns()
    due_ns = heat%next_frame_ns
    if (heat%computes()) due_ns = min(due_ns, heat%next_step_ns)
    wait_ns = min(max(due_ns - now_ns, 0_c_int64_t), wait_most_ns)
    if (wait_ns == 0 .and. now_ns < next_serve_ns) return
    next_serve_ns = now_ns + serve_every_ns
    call heat%service%serve(wait_ns, stat, message)
    if (stat == ww_timed_out) stat = ww_ok
  end subroutine

  subroutine reload()
    type(heat_config) :: former

    call heat_notify_reloading()
    former = heat%config
    if (heat_config_reload(heat%config) == 0) then
      call heat%settle()
      if (heat%config%diffusivity /= former%diffusivity) &
        heat%kept%state%diffusivity = heat%config%diffusivity
      if (heat%config%steps_per_second_max /= former%steps_per_second_max) &
        heat%kept%state%steps_per_second_max = heat%config%steps_per_second_max
      call heat%kept%commit_same()
      heat%next_step_ns = heat_now_ns()
      heat%next_frame_ns = heat%next_step_ns
      call say(log_notice, 'the configuration was read again')
    end if
    call notify('READY=1')
  end subroutine
end program
