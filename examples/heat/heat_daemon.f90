! SPDX-License-Identifier: Apache-2.0
module heat_daemon
  !! The simulation, its frames, and the functions of the service that steers it.
  use, intrinsic :: iso_c_binding
  use warpway
  use heat_interface
  use heat_field
  use heat_gpu
  use heat_kept
  implicit none
  private
  public :: daemon, offer_functions

  integer(c_int64_t), parameter :: second_ns = 1000000000_c_int64_t
  integer(c_int64_t), parameter :: patience_ns = 10 * second_ns
  integer(c_int64_t), parameter :: look_ns = second_ns / 5 !! for a kernel server
  real(c_double), parameter :: stable = 0.9d0 !! of the longest time step that is stable
  integer, parameter :: gpu_steps = 16 !! that are submitted at once

  type, extends(ww_function_context) :: daemon
    type(heat_config) :: config
    type(ww_broker) :: broker
    type(ww_device) :: device
    type(ww_memory) :: lock !! its name says that a daemon runs
    type(ww_channel) :: channel
    type(ww_service) :: service
    type(kept) :: kept
    type(gpu) :: gpu
    logical :: uses_gpu = .false.
    logical :: gpu_is_behind = .true. !! its field is not that of the kept memory
    logical :: gpu_is_ahead = .false. !! it has steps that are not kept yet
    logical :: gpu_is_missed = .false. !! the log says so
    logical :: is_stopping = .false.
    logical :: is_told = .false. !! the log says already why it fails
    integer(c_int64_t) :: frames = 0, started_ns = 0
    integer(c_int64_t) :: next_step_ns = 0, next_frame_ns = 0, next_look_ns = 0
    integer(c_int64_t) :: measured_ns = 0, measured_step = 0
    real(c_double) :: steps_per_second = 0
  contains
    procedure :: step => daemon_step
    procedure :: publish => daemon_publish
    procedure :: settle => daemon_settle
    procedure :: measure => daemon_measure
    procedure :: computes => daemon_computes
  end type

contains
  ! --- the computation ---

  logical function daemon_computes(self)
    !! Whether steps are made now.
    class(daemon), intent(in) :: self
    daemon_computes = self%kept%state%paused == 0 .and. (.not. self%uses_gpu .or. self%gpu%is_ready)
  end function

  subroutine hold_sources(state, field)
    type(heat_state), intent(in) :: state
    real(c_float), intent(inout), contiguous :: field(:, :)
    integer :: i
    do i = max(0, state%source_count - sources_max), state%source_count - 1
      call hold_source(state%sources(1 + mod(i, sources_max)), field)
    end do
  end subroutine

  subroutine daemon_step(self)
    !! The next step; on a GPU several of them, if nothing limits how many.
    class(daemon), intent(inout) :: self
    real(c_float), pointer, contiguous :: former(:, :), next(:, :)
    real(c_double) :: time_step, per_dx2, per_dy2
    real(c_float) :: x, y

    associate (state => self%kept%state)
      per_dx2 = (state%columns - 1d0)**2
      per_dy2 = (state%rows - 1d0)**2
      time_step = stable / (2 * state%diffusivity * (per_dx2 + per_dy2))
      x = real(state%diffusivity * time_step * per_dx2, c_float)
      y = real(state%diffusivity * time_step * per_dy2, c_float)
      if (self%uses_gpu) then
        call step_on_gpu(self, x, y, time_step)
        return
      end if
      former => self%kept%field()
      next => self%kept%begin()
      call diffuse(former, next, x, y)
      call hold_sources(state, next)
      state%step = state%step + 1
      state%time = state%time + time_step
      call self%kept%commit()
    end associate
  end subroutine

  ! --- on a GPU ---

  subroutine step_on_gpu(self, x, y, time_step)
    class(daemon), intent(inout) :: self
    real(c_float), intent(in) :: x, y
    real(c_double), intent(in) :: time_step
    character(len=text_bytes) :: message
    integer :: stat, count

    count = gpu_steps
    if (self%kept%state%steps_per_second_max > 0 .or. self%config%frames_per_second <= 0) count = 1
    stat = ww_ok
    if (self%gpu_is_behind) then
      call self%gpu%upload(self%kept%memory, self%kept%field_offset(self%kept%current), &
        self%kept%field_bytes(), stat, message)
      if (stat == ww_ok) call self%gpu%set_sources(self%kept%state, stat, message)
    end if
    if (stat == ww_ok) then
      self%gpu_is_behind = .false.
      call self%gpu%step(self%kept%state, count, x, y, stat, message)
    end if
    if (stat /= ww_ok) then
      call lose_gpu(self, message)
      return
    end if
    self%gpu_is_ahead = .true.
    self%kept%state%step = self%kept%state%step + count
    self%kept%state%time = self%kept%state%time + count * time_step
  end subroutine

  subroutine daemon_settle(self)
    !! Has the field of the GPU in the kept memory, by one copy for all who watch.
    class(daemon), intent(inout) :: self
    real(c_float), pointer, contiguous :: next(:, :)
    character(len=text_bytes) :: message
    integer :: stat

    if (.not. self%gpu_is_ahead) return
    next => self%kept%begin()
    call self%gpu%download(self%kept%memory, self%kept%field_offset(3 - self%kept%current), &
      self%kept%field_bytes(), stat, message)
    if (stat /= ww_ok) then
      call lose_gpu(self, message)
      return
    end if
    self%gpu_is_ahead = .false.
    call self%kept%commit()
  end subroutine

  subroutine lose_gpu(self, message)
    !! The kernel server has ended, or fails: the simulation is as it was kept last.
    class(daemon), intent(inout) :: self
    character(len=*), intent(in) :: message

    call say(log_warning, 'the kernel server ' // ww_text(self%config%kernels) // ' is lost: ' // &
      trim(message) // '; the daemon waits for the next one')
    call self%gpu%close()
    call self%kept%rollback()
    self%gpu_is_ahead = .false.
    self%gpu_is_behind = .true.
    self%gpu_is_missed = .true.
  end subroutine

  subroutine find_gpu(self, now_ns)
    !! Looks for a kernel server from time to time.
    class(daemon), intent(inout) :: self
    integer(c_int64_t), intent(in) :: now_ns
    character(len=text_bytes) :: message
    integer :: stat

    if (.not. self%uses_gpu .or. self%gpu%is_ready .or. now_ns < self%next_look_ns) return
    self%next_look_ns = now_ns + look_ns
    call self%gpu%open(ww_text(self%config%kernels), self%broker, &
      int(self%config%rows_max, c_int64_t) * self%config%columns_max, stat, message)
    if (stat == ww_ok) then
      self%gpu_is_behind = .true.
      self%gpu_is_missed = .false.
      self%next_step_ns = now_ns
      call say(log_notice, 'the daemon computes by the kernel server ' // ww_text(self%config%kernels))
    else if (.not. self%gpu_is_missed) then
      self%gpu_is_missed = .true.
      if (stat == ww_timed_out) message = 'that one is not ready'
      call say(log_warning, 'there is no kernel server ' // ww_text(self%config%kernels) // ' (' // &
        trim(message) // '): start one by warpway offer; the daemon waits for it')
    end if
  end subroutine

  ! --- frames ---

  subroutine daemon_measure(self, now_ns)
    !! Once a second: how many steps there were. Also looks for a kernel server.
    class(daemon), intent(inout) :: self
    integer(c_int64_t), intent(in) :: now_ns

    call find_gpu(self, now_ns)
    if (now_ns - self%measured_ns < second_ns) return
    self%steps_per_second = max(0_c_int64_t, self%kept%state%step - self%measured_step) * &
      real(second_ns, c_double) / (now_ns - self%measured_ns)
    self%measured_ns = now_ns
    self%measured_step = self%kept%state%step
  end subroutine

  subroutine daemon_publish(self, stat, errmsg)
    !! A frame of the field as it is now.
    class(daemon), intent(inout) :: self
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    real(c_float), pointer, contiguous :: field(:, :)
    real(c_float), pointer :: shown(:, :)
    type(heat_metadata), pointer :: metadata
    type(ww_frame) :: frame

    call self%settle()
    call self%channel%acquire(frame, patience_ns, stat=stat, errmsg=errmsg)
    if (stat /= ww_ok) return
    field => self%kept%field()
    frame%ndim = 2
    frame%shape(1:2) = [self%kept%state%rows, self%kept%state%columns]
    call ww_view(self%channel, frame, shown, stat=stat, errmsg=errmsg)
    if (stat /= ww_ok) return
    shown = field
    call c_f_pointer(frame%metadata, metadata)
    metadata = heat_metadata()
    call describe_state(self, metadata)
    call describe(field, metadata)
    metadata%checksum = heat_checksum(frame%host_pointer, self%kept%field_bytes())
    frame%metadata_bytes = metadata_bytes
    call self%channel%publish(frame, self%kept%field_bytes(), stat=stat, errmsg=errmsg)
    self%frames = self%frames + 1
  end subroutine

  subroutine describe_state(self, metadata)
    class(daemon), intent(in) :: self
    type(heat_metadata), intent(inout) :: metadata

    associate (state => self%kept%state)
      metadata%run = state%run
      metadata%step = state%step
      metadata%time = state%time
      metadata%diffusivity = state%diffusivity
      metadata%steps_per_second = merge(self%steps_per_second, 0d0, state%paused == 0)
      metadata%rows = state%rows
      metadata%columns = state%columns
      metadata%flags = merge(is_paused, 0, state%paused /= 0) + merge(is_last, 0, self%is_stopping) + &
        merge(is_gpu, 0, self%uses_gpu)
      metadata%restarts = state%restarts
      metadata%pid = c_getpid()
      metadata%steps_per_second_max = state%steps_per_second_max
      if (state%source_count > 0) then
        metadata%source_x = state%sources(1 + mod(state%source_count - 1, sources_max))%x
        metadata%source_y = state%sources(1 + mod(state%source_count - 1, sources_max))%y
      end if
    end associate
  end subroutine

  ! --- functions of the service ---

  subroutine offer_functions(self, stat, errmsg)
    type(daemon), intent(in), target :: self
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg

    call self%service%offer('status', status_signature, run_status, self, stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('pause', 'bool paused', run_pause, self, &
      stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('source', &
      'f64 x, f64 y, f64 radius, f64 temperature', run_source, self, stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('clear_sources', '', run_clear_sources, self, &
      stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('reset', '', run_reset, self, stat=stat, &
      errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('parameters', &
      'f64 diffusivity, f64 steps_per_second_max = -1', run_parameters, self, stat=stat, &
      errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('resolution', 'u32 rows, u32 columns', &
      run_resolution, self, stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call self%service%offer('stop', '', run_stop, self, stat=stat, &
      errmsg=errmsg)
  end subroutine

  function daemon_of(call) result(self)
    type(ww_call), intent(in) :: call
    type(daemon), pointer :: self
    self => null()
    select type (context => call%context)
    type is (daemon)
      self => context
    end select
  end function

  logical function may_steer(self, call)
    !! Else the call fails, with a sentence that says who may.
    type(daemon), intent(in) :: self
    type(ww_call), intent(inout) :: call
    character(kind=c_char) :: text(text_bytes)
    type(ww_call_info) :: info

    may_steer = .false.
    call call%info(info)
    if (call%has_failed()) return
    may_steer = heat_may_steer(self%config, info%uid, info%gid) /= 0
    if (may_steer) return
    call heat_refusal(self%config, info%uid, text)
    call call%fail(ww_err_access, ww_text(text))
  end function

  function numbers_of(call, count) result(numbers)
    !! Arguments of type f64.
    type(ww_call), intent(inout) :: call
    integer, intent(in) :: count
    real(c_double) :: numbers(count)
    type(ww_value) :: value
    integer :: i

    numbers = 0
    do i = 1, count
      call call%argument(i, value)
      if (.not. call%has_failed()) call ww_get(value, numbers(i))
    end do
  end function

  subroutine run_status(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    type(ww_channel_info) :: info
    character(len=:), allocatable :: message
    integer :: stat

    self => daemon_of(call)
    message = repeat(' ', text_bytes)
    call self%channel%info(info, stat, message)
    if (stat /= ww_ok) then
      call call%fail(int(stat, c_int32_t), trim(message))
      return
    end if
    call self%settle()
    associate (state => self%kept%state)
      call call%result(1, ww_arg(state%run, unsigned=.true.))
      call call%result(2, ww_arg(state%step, unsigned=.true.))
      call call%result(3, ww_arg(state%time))
      call call%result(4, ww_arg(state%rows, unsigned=.true.))
      call call%result(5, ww_arg(state%columns, unsigned=.true.))
      call call%result(6, ww_arg(state%diffusivity))
      call call%result(7, ww_arg(state%paused /= 0))
      call call%result(8, ww_arg(merge(self%steps_per_second, 0d0, state%paused == 0)))
      call call%result(9, ww_arg(state%restarts, unsigned=.true.))
      call call%result(10, ww_arg(self%frames, unsigned=.true.))
      call call%result(11, ww_arg(info%consumers, unsigned=.true.))
      call call%result(12, ww_arg(info%consumers_max, unsigned=.true.))
      call call%result(13, ww_arg(c_getpid(), unsigned=.true.))
      call call%result(14, ww_arg(self%started_ns, unsigned=.true.))
      call call%result(15, ww_arg(ww_text(self%config%backend)))
    end associate
  end subroutine

  subroutine run_pause(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    type(ww_value) :: value
    logical :: paused

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    call call%argument(1, value)
    call ww_get(value, paused)
    call self%settle()
    self%kept%state%paused = merge(1, 0, paused)
    call self%kept%commit_same()
    self%next_step_ns = heat_now_ns()
    self%next_frame_ns = self%next_step_ns
  end subroutine

  subroutine run_source(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    real(c_float), pointer, contiguous :: former(:, :), next(:, :)
    real(c_double) :: numbers(4)

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    numbers = numbers_of(call, 4)
    if (.not. all(numbers(1:2) >= 0 .and. numbers(1:2) <= 1)) then
      call call%fail(ww_err_invalid, 'a source is on the plate: x and y are from 0 to 1')
      return
    end if
    if (.not. (numbers(3) >= 0 .and. numbers(3) <= 1 .and. abs(numbers(4)) <= 1d6)) then
      call call%fail(ww_err_invalid, 'the radius of a source is from 0 to 1, and its ' // &
        'temperature from -1e6 to 1e6')
      return
    end if
    call self%settle()
    associate (state => self%kept%state)
      state%sources(1 + mod(state%source_count, sources_max)) = &
        heat_source(numbers(1), numbers(2), numbers(3), numbers(4))
      state%source_count = state%source_count + 1
      ! The same places, for ever.
      if (state%source_count == 2 * sources_max) state%source_count = sources_max
      former => self%kept%field()
      next => self%kept%begin()
      next = former
      call hold_sources(state, next)
    end associate
    call changed(self)
  end subroutine

  subroutine changed(self)
    !! Keeps what a call has written to the other copy, and shows it.
    type(daemon), intent(inout) :: self
    call self%kept%commit()
    self%gpu_is_behind = .true.
    self%next_frame_ns = heat_now_ns()
  end subroutine

  subroutine run_clear_sources(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    type(heat_source) :: none

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    call self%settle()
    self%kept%state%source_count = 0
    self%kept%state%sources = none
    call self%kept%commit_same()
    self%gpu_is_behind = .true.
  end subroutine

  subroutine run_reset(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    real(c_float), pointer, contiguous :: next(:, :)

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    call self%settle()
    next => self%kept%begin()
    next = 0
    call changed(self)
  end subroutine

  subroutine run_parameters(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    real(c_double) :: numbers(2)

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    numbers = numbers_of(call, 2)
    if (numbers(2) == rate_same) numbers(2) = self%kept%state%steps_per_second_max
    if (.not. (numbers(1) >= 1d-9 .and. numbers(1) <= 1d9 .and. numbers(2) >= 0 .and. &
      numbers(2) <= 1d9)) then
      call call%fail(ww_err_invalid, 'the diffusivity is from 1e-9 to 1e9, and ' // &
        'steps_per_second_max from 0 (as fast as it can) to 1e9, or -1 (as it is)')
      return
    end if
    call self%settle()
    self%kept%state%diffusivity = numbers(1)
    self%kept%state%steps_per_second_max = numbers(2)
    call self%kept%commit_same()
    self%next_step_ns = heat_now_ns()
  end subroutine

  subroutine run_resolution(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self
    real(c_float), pointer, contiguous :: former(:, :), next(:, :)
    integer(c_int64_t) :: rows, columns
    type(ww_value) :: value
    character(len=text_bytes) :: text

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    call call%argument(1, value)
    call ww_get(value, rows)
    call call%argument(2, value)
    call ww_get(value, columns)
    if (min(rows, columns) < cells_least .or. rows > self%config%rows_max .or. &
      columns > self%config%columns_max) then
      write (text, '(4(a, i0), a)') 'rows are from ', cells_least, ' to ', self%config%rows_max, &
        ', and columns from ', cells_least, ' to ', self%config%columns_max, &
        ': the most is in the daemon''s configuration'
      call call%fail(ww_err_invalid, trim(text))
      return
    end if
    call self%settle()
    former => self%kept%field()
    self%kept%state%rows = int(rows, c_int32_t)
    self%kept%state%columns = int(columns, c_int32_t)
    next => self%kept%begin()
    call resample(former, next)
    call hold_sources(self%kept%state, next)
    call changed(self)
  end subroutine

  subroutine run_stop(call)
    type(ww_call), intent(inout) :: call
    type(daemon), pointer :: self

    self => daemon_of(call)
    if (.not. may_steer(self, call)) return
    self%is_stopping = .true.
  end subroutine
end module
