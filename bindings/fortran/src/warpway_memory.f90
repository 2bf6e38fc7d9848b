! SPDX-License-Identifier: Apache-2.0
module warpway_memory
  !! Memory that processes share, and arrays in it (warpway/memory.h, broker.h, array.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_broker, only: ww_broker
  use warpway_device, only: ww_device
  use warpway_raw, only: ww_memory_create, ww_memory_wrap, ww_memory_put, ww_memory_publish, &
    ww_memory_get, ww_memory_export, ww_memory_import, ww_memory_revoke, ww_memory_info_get, &
    ww_memory_pointer, ww_memory_host_pointer, ww_array_set, ww_array_bytes, ww_array_bytes, ww_array_check, &
    ww_dtype_parse, ww_dtype_name
  implicit none
  private
  public :: ww_memory, ww_array_of, ww_shape, ww_type_name, ww_bits, ww_bytes_of
  public :: ww_open_views

  type, extends(ww_handle) :: ww_memory
    !! A span of memory of a device or of the CPU.
  contains
    procedure :: create => memory_create
    procedure :: wrap => memory_wrap
    procedure :: put => memory_put
    procedure :: publish => memory_publish
    procedure :: get => memory_get
    procedure :: export => memory_export
    procedure :: import => memory_import
    procedure :: revoke => memory_revoke
    procedure :: info => memory_info
    procedure :: pointer => memory_pointer
    procedure :: host_pointer => memory_host_pointer
  end type

  interface
    function c_views() bind(c, name='ww_fortran_views') result(count)
      import :: c_int64_t
      integer(c_int64_t) :: count
    end function
  end interface

contains
  subroutine memory_create(self, device, bytes, kind, stat, errmsg)
    !! New memory of at least so many bytes. kind: ww_memory_vmm, of the device, or ww_memory_host,
    !! which the CPU reaches too.
    class(ww_memory), intent(inout) :: self
    type(ww_device), intent(in) :: device
    integer(c_int64_t), intent(in) :: bytes
    integer(c_int32_t), intent(in), optional :: kind
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(ww_memory_params) :: params
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(device, kind_device, status)
    params%bytes = bytes
    if (present(kind)) params%kind = kind
    if (status == ww_ok .and. bytes < 0) status = fail(ww_err_invalid, 'bytes is negative')
    if (status == ww_ok) status = ww_memory_create(object, params, object)
    call keep(self, kind_memory, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_wrap(self, device, pointer, bytes, params, stat, errmsg)
    !! Memory that the program has allocated, such as by cudaMalloc(); it stays the program's.
    class(ww_memory), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(c_ptr), intent(in) :: pointer
    integer(c_int64_t), intent(in) :: bytes
    type(ww_wrap_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(device, kind_device, status)
    if (status == ww_ok) status = ww_memory_wrap(object, pointer, bytes, params, object)
    call keep(self, kind_memory, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_put(self, name, array, params, broker, timeout_ns, stat, errmsg)
    !! Puts the memory into a broker, under a name or, without one, for tokens. array: how an array
    !! lies in it. Without params it is for reading, by this user, as long as a process has it.
    !! timeout_ns: how long to wait for room in the quota; absent: not at all.
    class(ww_memory), intent(in) :: self
    character(len=*), intent(in), optional :: name
    type(ww_array), intent(in), target, optional :: array
    type(ww_put_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    type(ww_put_params) :: all
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    if (present(params)) all = params
    if (present(array)) all%array = c_loc(array)
    object = find(self, kind_memory, status)
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, 0_c_int64_t, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_memory_put(object, c_broker, c_name, all, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_publish(self, state, broker, stat, errmsg)
    !! Ends the writing of a memory that was put with ww_state_writing. state: ww_state_sealed, for
    !! reading from now on; ww_state_sealed + ww_state_read_only, if this process's mapping becomes
    !! read-only, too; or ww_state_shared.
    class(ww_memory), intent(in) :: self
    integer(c_int32_t), intent(in) :: state
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_memory, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_memory_publish(object, c_broker, state, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_get(self, device, name, array, info, access, params, broker, timeout_ns, stat, &
    errmsg)
    !! The memory of a name. access: ww_access_read, if it is absent, or ww_access_write. array and
    !! info are what the broker says of it; asking for the array of what was put without one is the
    !! error ww_err_mismatch. timeout_ns: how long to wait for the name; absent: not at all.
    class(ww_memory), intent(inout) :: self
    type(ww_device), intent(in) :: device
    character(len=*), intent(in) :: name
    type(ww_array), intent(out), optional :: array
    type(ww_object_info), intent(out), optional :: info
    integer(c_int32_t), intent(in), optional :: access
    type(ww_get_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    type(ww_get_params) :: all
    type(ww_object_info) :: found
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status
    integer(c_int64_t) :: limit_ns

    status = ww_ok
    if (present(params)) all = params
    if (present(access)) all%access = access
    if (all%access == 0) all%access = ww_access_read
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, 0_c_int64_t, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_memory_get(object, c_broker, c_name, all, limit_ns, &
      c_null_ptr, object, found)
    call keep_got(self, object, found, array, info, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine keep_got(self, object, found, array, info, status)
    !! What get and import have in common.
    class(ww_memory), intent(inout) :: self
    type(c_ptr), intent(in) :: object
    type(ww_object_info), intent(in) :: found
    type(ww_array), intent(out), optional :: array
    type(ww_object_info), intent(out), optional :: info
    integer(c_int32_t), intent(inout) :: status
    type(ww_memory) :: got

    call keep(got, kind_memory, object, status)
    if (status /= ww_ok) return
    if (present(array)) then
      if (found%has_array == 0) then
        status = fail(ww_err_mismatch, 'it was put without an array')
        return
      end if
      array = found%array
    end if
    if (present(info)) info = found
    self = got
  end subroutine

  subroutine memory_export(self, token, access, array, params, broker, stat, errmsg)
    !! A token by which other processes can import the memory. access: ww_access_read, if it is
    !! absent, or ww_access_write.
    class(ww_memory), intent(in) :: self
    type(ww_token), intent(inout) :: token
    integer(c_int32_t), intent(in), optional :: access
    type(ww_array), intent(in), target, optional :: array
    type(ww_export_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(ww_export_params) :: all
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status

    status = ww_ok
    if (present(params)) all = params
    if (present(access)) all%access = access
    if (all%access == 0) all%access = ww_access_read
    if (present(array)) all%array = c_loc(array)
    object = find(self, kind_memory, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_memory_export(object, c_broker, all, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_import(self, device, token, array, info, access, params, broker, stat, errmsg)
    !! The memory of a token; the arguments are those of get().
    class(ww_memory), intent(inout) :: self
    type(ww_device), intent(in) :: device
    type(ww_token), intent(in) :: token
    type(ww_array), intent(out), optional :: array
    type(ww_object_info), intent(out), optional :: info
    integer(c_int32_t), intent(in), optional :: access
    type(ww_import_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(ww_import_params) :: all
    type(ww_object_info) :: found
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status

    status = ww_ok
    if (present(params)) all = params
    if (present(access)) all%access = access
    if (all%access == 0) all%access = ww_access_read
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_memory_import(object, c_broker, token, all, c_null_ptr, &
      object, found)
    call keep_got(self, object, found, array, info, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_revoke(self, broker, stat, errmsg)
    !! Makes all tokens of the memory invalid: ww_memory_revoke(3).
    class(ww_memory), intent(in) :: self
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_memory, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_memory_revoke(object, c_broker, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine memory_info(self, info, stat, errmsg)
    !! What the memory is. The addresses in it are borrowed, and the device is not to be released.
    class(ww_memory), intent(in) :: self
    type(ww_memory_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_memory, status)
    if (status == ww_ok) status = ww_memory_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine

  type(c_ptr) function memory_pointer(self)
    !! Where the device finds the memory: for kernels, OpenMP's is_device_ptr, OpenACC's deviceptr
    !! and streams. c_null_ptr if the memory is closed.
    class(ww_memory), intent(in) :: self
    memory_pointer = c_null_ptr
    if (self%is_open()) memory_pointer = ww_memory_pointer(self%c_pointer())
  end function

  type(c_ptr) function memory_host_pointer(self)
    !! Where the CPU finds the memory; c_null_ptr: it does not reach it, or the memory is closed.
    class(ww_memory), intent(in) :: self
    memory_host_pointer = c_null_ptr
    if (self%is_open()) memory_host_pointer = ww_memory_host_pointer(self%c_pointer())
  end function

  ! --- arrays ---

  subroutine ww_array_of(array, type_name, shape, offset, stat, errmsg)
    !! Describes an array without gaps, offset bytes behind the start of a memory. type_name:
    !! "float32", "int64", "complex64", ...: ww_dtype_parse(3). shape: in Fortran's order, of at
    !! most 16 dimensions; [integer(c_int64_t) ::] for one element.
    type(ww_array), intent(inout) :: array
    character(len=*), intent(in) :: type_name
    integer(c_int64_t), intent(in) :: shape(:)
    integer(c_int64_t), intent(in), optional :: offset
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: chars(:)
    integer(c_int32_t) :: status
    integer(c_int64_t) :: start, lengths(ww_array_dims)
    type(ww_dtype) :: dtype
    integer :: i

    status = ww_ok
    start = 0
    lengths = 0
    do i = 1, min(size(shape), ww_array_dims)
      lengths(i) = shape(size(shape) + 1 - i)
    end do
    if (present(offset)) start = offset
    call c_text(trim(type_name), chars, status)
    if (status == ww_ok) status = ww_dtype_parse(chars, dtype)
    if (status == ww_ok) status = ww_array_set(array, dtype, size(shape, kind=c_int32_t), &
      lengths, offset=start)
    call settle(status, stat, errmsg)
  end subroutine

  function ww_shape(array) result(shape)
    !! The shape of an array in Fortran's order.
    type(ww_array), intent(in) :: array
    integer(c_int64_t), allocatable :: shape(:)
    integer :: n, i

    n = max(0, min(array%ndim, ww_array_dims))
    allocate (shape(n))
    do i = 1, n
      shape(i) = array%shape(n + 1 - i)
    end do
  end function

  function ww_type_name(array) result(name)
    !! The name of the type of its elements, such as "float32"; '' if there can be no such type.
    type(ww_array), intent(in) :: array
    character(len=:), allocatable :: name
    character(kind=c_char) :: chars(ww_dtype_name_bytes)
    integer(c_int32_t) :: status

    chars = c_null_char
    status = ww_dtype_name(array%dtype, chars)
    name = ''
    if (status == ww_ok) name = ww_text(chars)
  end function

  subroutine ww_bytes_of(array, bytes, stat, errmsg)
    !! How many bytes the elements of an array have.
    type(ww_array), intent(in) :: array
    integer(c_int64_t), intent(out) :: bytes
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    bytes = 0
    call settle(ww_array_bytes(array, bytes), stat, errmsg)
  end subroutine

  pure function ww_bits(array) result(bits)
    !! The same array with integers of the same size as elements: for types that Fortran does not
    !! have, such as uint8, bfloat16 or float8. Elements that are not of 1, 2, 4 or 8 bytes stay.
    type(ww_array), intent(in) :: array
    type(ww_array) :: bits
    integer :: count

    bits = array
    count = iand(int(array%dtype%bits), 255) * array%dtype%lanes
    if (any(count == [8, 16, 32, 64])) then
      bits%dtype%code = int(ww_dtype_int, c_int8_t)
      bits%dtype%bits = int(count, c_int8_t)
      bits%dtype%lanes = 1_c_int16_t
    end if
  end function

  integer(c_int64_t) function ww_open_views()
    !! How many views of memories have not ended.
    ww_open_views = c_views()
  end function
end module
