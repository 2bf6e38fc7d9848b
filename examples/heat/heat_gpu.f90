! SPDX-License-Identifier: Apache-2.0
module heat_gpu
  !! Computes on a GPU, by the functions of a kernel server (warpway offer): this process has no
  !! context of the GPU and makes no call of its driver.
  !!
  !! The server makes three memories of the GPU for this process: two fields, of which a step reads
  !! one and writes the other, and a table of the sources. They are known here by tokens, which calls
  !! pass on. If the server ends, they end with it.
  use, intrinsic :: iso_c_binding
  use warpway
  use heat_interface
  use heat_field, only: nearest_cell
  implicit none
  private
  public :: gpu

  integer(c_int64_t), parameter :: patience_ns = 10000000000_c_int64_t
  integer, parameter :: source_numbers = 8

  type :: gpu
    !! The fields on the GPU, and the way to them.
    type(ww_client) :: server
    type(ww_ticket) :: field_tickets(2), source_ticket
    type(ww_value) :: fields(2), sources
    integer :: current = 1
    logical :: is_ready = .false.
  contains
    procedure :: open => gpu_open
    procedure :: close => gpu_close
    procedure :: upload => gpu_upload
    procedure :: set_sources => gpu_set_sources
    procedure :: step => gpu_step
    procedure :: download => gpu_download
  end type

contains
  subroutine gpu_open(self, name, broker, cells, stat, errmsg)
    !! Finds a server that is ready, and has it make the memories. stat: an error, or ww_timed_out:
    !! there is none yet.
    class(gpu), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(ww_broker), intent(in) :: broker
    integer(c_int64_t), intent(in) :: cells
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    integer :: i

    call self%close()
    call self%server%open(name, broker=broker, stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call self%server%wait_ready(0_c_int64_t, stat, errmsg)
    do i = 1, 2
      if (stat == ww_ok) call make_memory(self%server, 4 * cells, self%field_tickets(i), &
        self%fields(i), stat, errmsg)
    end do
    if (stat == ww_ok) call make_memory(self%server, 4_c_int64_t * source_numbers * sources_max, &
      self%source_ticket, self%sources, stat, errmsg)
    self%is_ready = stat == ww_ok
    if (stat /= ww_ok) call self%close()
  end subroutine

  subroutine make_memory(server, bytes, ticket, value, stat, errmsg)
    type(ww_client), intent(in) :: server
    integer(c_int64_t), intent(in) :: bytes
    type(ww_ticket), intent(inout) :: ticket
    type(ww_value), intent(inout) :: value
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg

    call server%call('warpway.alloc', [ww_arg(bytes, unsigned=.true.)], ticket, &
      timeout_ns=patience_ns, stat=stat, errmsg=errmsg)
    if (stat == ww_ok) call ticket%result(1, value, stat, errmsg)
  end subroutine

  subroutine gpu_close(self)
    !! Leaves the server, which frees the memories.
    class(gpu), intent(inout) :: self
    integer :: i
    do i = 1, 2
      call self%field_tickets(i)%close()
    end do
    call self%source_ticket%close()
    call self%server%close()
    self%is_ready = .false.
  end subroutine

  subroutine gpu_upload(self, memory, offset, bytes, stat, errmsg)
    !! Copies a field from a memory of this process to the GPU.
    class(gpu), intent(inout) :: self
    type(ww_memory), intent(in) :: memory
    integer(c_int64_t), intent(in) :: offset, bytes
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    type(ww_ticket) :: ticket

    call self%server%call('warpway.copy', [ww_arg(memory), ww_arg(self%fields(self%current)), &
      ww_arg(bytes, unsigned=.true.), ww_arg(offset, unsigned=.true.)], ticket, &
      timeout_ns=patience_ns, stat=stat, errmsg=errmsg)
    call ticket%close()
  end subroutine

  subroutine gpu_download(self, memory, offset, bytes, stat, errmsg)
    !! Copies the field from the GPU to a memory of this process, after all steps.
    class(gpu), intent(inout) :: self
    type(ww_memory), intent(in) :: memory
    integer(c_int64_t), intent(in) :: offset, bytes
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    type(ww_ticket) :: ticket

    call self%server%call('warpway.copy', [ww_arg(self%fields(self%current)), ww_arg(memory), &
      ww_arg(bytes, unsigned=.true.), ww_arg(0_c_int64_t, unsigned=.true.), &
      ww_arg(offset, unsigned=.true.)], ticket, timeout_ns=patience_ns, stat=stat, errmsg=errmsg)
    call ticket%close()
  end subroutine

  subroutine gpu_set_sources(self, state, stat, errmsg)
    !! Writes the table of sources, the oldest first: x, y, radius, temperature, and the nearest
    !! column and row.
    class(gpu), intent(inout) :: self
    type(heat_state), intent(in) :: state
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    real(c_float) :: table(source_numbers, sources_max)
    character(len=4 * source_numbers * sources_max) :: bytes
    type(ww_ticket) :: ticket
    integer :: first, i, row

    table = 0
    first = max(0, state%source_count - sources_max)
    do i = first, state%source_count - 1
      row = i - first + 1
      associate (source => state%sources(1 + mod(i, sources_max)))
        table(1:4, row) = real([source%x, source%y, source%radius, source%temperature], c_float)
        table(5, row) = nearest_cell(source%x, state%columns) - 1
        table(6, row) = nearest_cell(source%y, state%rows) - 1
      end associate
    end do
    bytes = transfer(table, bytes)
    call self%server%call('warpway.write', [ww_arg(self%sources), ww_arg(bytes)], ticket, &
      timeout_ns=patience_ns, stat=stat, errmsg=errmsg)
    call ticket%close()
  end subroutine

  subroutine gpu_step(self, state, count, x, y, stat, errmsg)
    !! So many steps. They are submitted in one lane, so only the last one is waited for.
    class(gpu), intent(inout) :: self
    type(heat_state), intent(in) :: state
    integer, intent(in) :: count
    real(c_float), intent(in) :: x, y
    integer, intent(out) :: stat
    character(len=*), intent(inout) :: errmsg
    type(ww_ticket) :: ticket
    type(ww_array) :: shape, table
    integer :: i

    call ww_array_of(shape, 'float32', [int(state%columns, c_int64_t), &
      int(state%rows, c_int64_t)])
    call ww_array_of(table, 'float32', [int(source_numbers, c_int64_t), &
      int(sources_max, c_int64_t)])
    stat = ww_ok
    do i = 1, count
      call self%server%submit('heat_step', [ww_arg(self%fields(self%current), shape), &
        ww_arg(self%fields(3 - self%current), shape), ww_arg(self%sources, table), &
        ww_arg(min(state%source_count, sources_max), unsigned=.true.), ww_arg(x), ww_arg(y), &
        ww_arg(state%rows, unsigned=.true.), ww_arg(state%columns, unsigned=.true.)], ticket, &
        timeout_ns=patience_ns, stat=stat, errmsg=errmsg)
      if (stat /= ww_ok) return
      self%current = 3 - self%current
    end do
    call ticket%wait(patience_ns, stat, errmsg)
    call ticket%close()
  end subroutine
end module
