! SPDX-License-Identifier: Apache-2.0
module heat_kept
  !! The simulation in a kept memory of the broker, which outlives the daemon.
  !!
  !! The memory has two copies, each a header (heat_state) and a field. A step reads the current
  !! one and writes the other, whose header then says that it is complete. So a daemon that is killed
  !! loses at most the step that it computed.
  use, intrinsic :: iso_c_binding
  use warpway
  use heat_interface
  use heat_field, only: resample
  implicit none
  private
  public :: kept

  integer(c_int64_t), parameter :: patience_ns = 10000000000_c_int64_t

  type :: kept
    type(ww_memory) :: memory
    type(heat_state) :: state !! as the current copy, with what calls have changed since
    integer :: current = 1
    integer(c_int8_t), pointer :: bytes(:) => null()
  contains
    procedure :: open => kept_open
    procedure :: field => kept_field
    procedure :: field_bytes => kept_field_bytes
    procedure :: field_offset => kept_field_offset
    procedure :: begin => kept_begin
    procedure :: commit => kept_commit
    procedure :: commit_same => kept_commit_same
    procedure :: rollback => kept_rollback
  end type

contains
  integer(c_int64_t) function kept_field_offset(self, copy)
    !! Where a copy's field begins in the memory.
    class(kept), intent(in) :: self
    integer, intent(in) :: copy
    kept_field_offset = (copy - 1) * (size(self%bytes, kind=c_int64_t) / 2) + header_bytes
  end function

  integer(c_int64_t) function kept_field_bytes(self)
    class(kept), intent(in) :: self
    kept_field_bytes = 4_c_int64_t * self%state%rows * self%state%columns
  end function

  function header_of(self, copy) result(header)
    class(kept), intent(in) :: self
    integer, intent(in) :: copy
    type(heat_state), pointer :: header
    call c_f_pointer(c_loc(self%bytes(self%field_offset(copy) - header_bytes + 1)), header)
  end function

  function field_of(self, copy, columns, rows) result(field)
    class(kept), intent(in) :: self
    integer, intent(in) :: copy
    integer(c_int32_t), intent(in) :: columns, rows
    real(c_float), pointer, contiguous :: field(:, :)
    call c_f_pointer(c_loc(self%bytes(self%field_offset(copy) + 1)), field, [columns, rows])
  end function

  function kept_field(self) result(field)
    !! The field of the current copy.
    class(kept), intent(in) :: self
    real(c_float), pointer, contiguous :: field(:, :)
    field => field_of(self, self%current, self%state%columns, self%state%rows)
  end function

  function kept_begin(self) result(field)
    !! The other copy, to be written: until it is committed it does not count. Its shape is that of
    !! the state, so set rows and columns first.
    class(kept), intent(inout) :: self
    real(c_float), pointer, contiguous :: field(:, :)
    type(heat_state), pointer :: header

    header => header_of(self, 3 - self%current)
    call heat_store_magic(header%magic, 0_c_int64_t)
    field => field_of(self, 3 - self%current, self%state%columns, self%state%rows)
  end function

  integer(c_int32_t) function checksum_of(state)
    type(heat_state), intent(in) :: state
    type(heat_state), target :: copy

    copy = state
    copy%magic = 0
    copy%checksum = 0
    checksum_of = heat_checksum(c_loc(copy), c_sizeof(copy))
  end function

  subroutine kept_commit(self)
    !! The other copy is complete, and is the current one from now on.
    class(kept), intent(inout) :: self
    type(heat_state), pointer :: header
    type(heat_state) :: next

    self%state%sequence = self%state%sequence + 1
    next = self%state
    next%magic = 0
    next%checksum = checksum_of(next)
    header => header_of(self, 3 - self%current)
    header = next
    call heat_store_magic(header%magic, state_magic)
    self%current = 3 - self%current
  end subroutine

  subroutine kept_commit_same(self)
    !! Keeps what has changed, but for the field.
    class(kept), intent(inout) :: self
    real(c_float), pointer, contiguous :: former(:, :), next(:, :)
    former => self%field()
    next => self%begin()
    next = former
    call self%commit()
  end subroutine

  subroutine kept_rollback(self)
    !! The state as it was committed last.
    class(kept), intent(inout) :: self
    type(heat_state), pointer :: header
    header => header_of(self, self%current)
    self%state = header
  end subroutine

  logical function is_complete(self, copy)
    class(kept), intent(in) :: self
    integer, intent(in) :: copy
    type(heat_state), pointer :: state

    state => header_of(self, copy)
    is_complete = state%magic == state_magic .and. state%checksum == checksum_of(state)
    if (.not. is_complete) return
    is_complete = min(state%rows, state%columns) >= cells_least .and. &
      max(state%rows, state%columns) <= cells_most
    if (.not. is_complete) return
    is_complete = header_bytes + 4_c_int64_t * state%rows * state%columns <= size(self%bytes) / 2
  end function

  integer function newer_of(self)
    !! The newer complete copy; 0: there is none.
    class(kept), intent(in) :: self
    type(heat_state), pointer :: state, best
    integer :: i

    newer_of = 0
    do i = 1, 2
      if (.not. is_complete(self, i)) cycle
      state => header_of(self, i)
      if (newer_of == 0) then
        newer_of = i
      else
        best => header_of(self, newer_of)
        if (state%sequence > best%sequence) newer_of = i
      end if
    end do
  end function

  integer(c_int64_t) function bytes_for(rows, columns)
    !! Two copies, each in whole pages.
    integer(c_int32_t), intent(in) :: rows, columns
    integer(c_int64_t) :: bytes
    bytes = header_bytes + 4_c_int64_t * rows * columns
    bytes_for = 2 * ((bytes + header_bytes - 1) / header_bytes * header_bytes)
  end function

  subroutine kept_open(self, config, device, broker, stat, errmsg)
    !! Goes on with the kept simulation, or begins one.
    class(kept), intent(inout) :: self
    type(heat_config), intent(in) :: config
    type(ww_device), intent(in) :: device
    type(ww_broker), intent(in) :: broker
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    type(ww_get_params) :: params
    integer :: newer

    params%access = ww_access_write
    params%flags = ww_get_from_owner
    params%owner = c_geteuid()
    call self%memory%get(device, state_name(config), params=params, broker=broker, stat=stat, &
      errmsg=errmsg)
    if (stat == ww_err_not_found) then
      call make(self, config, device, broker, stat=stat, errmsg=errmsg)
      return
    end if
    if (stat == ww_ok) call map(self, stat, errmsg)
    if (stat /= ww_ok) return
    newer = 0
    if (config%starts_anew == 0) newer = newer_of(self)
    if (newer == 0) then
      call make(self, config, device, broker, stat=stat, errmsg=errmsg)
      return
    end if
    self%current = newer
    call self%rollback()
    self%state%restarts = self%state%restarts + 1
    if (size(self%bytes) == bytes_for(config%rows_max, config%columns_max) .and. &
      self%state%rows <= config%rows_max .and. self%state%columns <= config%columns_max) then
      call self%commit_same()
    else
      call make(self, config, device, broker, self%field(), stat, errmsg)
    end if
  end subroutine

  function state_name(config) result(name)
    type(heat_config), intent(in) :: config
    character(len=:), allocatable :: name
    name = ww_text(config%name) // '/state'
  end function

  subroutine map(self, stat, errmsg)
    class(kept), intent(inout) :: self
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    type(ww_memory_info) :: info

    call self%memory%info(info, stat, errmsg)
    if (stat == ww_ok) call c_f_pointer(info%host_pointer, self%bytes, [info%bytes])
  end subroutine

  subroutine make(self, config, device, broker, former, stat, errmsg)
    !! A new kept memory with a field of zeros, or with a former one, whose memory it replaces.
    class(kept), intent(inout) :: self
    type(heat_config), intent(in) :: config
    type(ww_device), intent(in) :: device
    type(ww_broker), intent(in) :: broker
    real(c_float), intent(in), contiguous, optional :: former(:, :)
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    type(ww_memory) :: former_memory
    type(ww_put_params) :: params
    real(c_float), pointer, contiguous :: field(:, :)

    if (.not. present(former)) call init(self%state, config)
    former_memory = self%memory
    call self%memory%create(device, bytes_for(config%rows_max, config%columns_max), &
      ww_memory_host, stat, errmsg)
    if (stat == ww_ok) call map(self, stat, errmsg)
    if (stat /= ww_ok) return
    if (present(former)) then
      self%state%rows = min(self%state%rows, config%rows_max)
      self%state%columns = min(self%state%columns, config%columns_max)
      field => self%begin()
      call resample(former, field)
    end if
    call self%commit()
    params%life = ww_life_kept
    params%state = ww_state_shared
    params%mode = int(o'600', c_int32_t)
    params%flags = ww_put_replace
    call self%memory%put(state_name(config), params=params, broker=broker, &
      timeout_ns=patience_ns, stat=stat, errmsg=errmsg)
    call former_memory%close()
  end subroutine

  subroutine init(state, config)
    type(heat_state), intent(out) :: state
    type(heat_config), intent(in) :: config
    state%run = heat_random()
    state%diffusivity = config%diffusivity
    state%steps_per_second_max = config%steps_per_second_max
    state%rows = config%rows
    state%columns = config%columns
  end subroutine
end module
