! SPDX-License-Identifier: Apache-2.0
! Made by bindings/fortran/make-modules from the public headers. Do not edit.

module warpway_raw
  !! Every function of the C interface, as C has it: the manual page of each says what it does.
  !! An optional argument that is absent is NULL. Texts end with c_null_char.
  use, intrinsic :: iso_c_binding
  use warpway_constants
  implicit none
  public

  abstract interface
    subroutine ww_log_fn(context, line) bind(c)
      !! receives one line of the library's log
      import :: c_ptr, c_char
      type(c_ptr), value :: context
      character(kind=c_char), intent(in), optional :: line(*)
    end subroutine
  end interface

  abstract interface
    subroutine ww_stream_fn(context) bind(c)
      !! a function that a stream calls between two pieces of its work
      import :: c_ptr
      type(c_ptr), value :: context
    end subroutine
  end interface

  abstract interface
    function ww_service_fn(context, call) bind(c) result(answer)
      !! a function of a service
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: context
      type(c_ptr), value :: call
      integer(c_int32_t) :: answer
    end function
  end interface

  abstract interface
    function ww_service_batch_fn(context, calls, count) bind(c) result(answer)
      !! a function of a service that runs several calls at once
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: context
      type(c_ptr), intent(in) :: calls(*)
      integer(c_int32_t), value :: count
      integer(c_int32_t) :: answer
    end function
  end interface

  abstract interface
    subroutine ww_host_kernel(launch, arguments) bind(c)
      !! a kernel of the host device: a function that a shared object exports
      import :: c_ptr, ww_host_launch
      type(ww_host_launch), intent(in), optional :: launch
      type(c_ptr), intent(in) :: arguments(*)
    end subroutine
  end interface

  interface
    function ww_error_last() bind(c, name='ww_error_last') result(answer)
      !! the error record of the calling thread
      import :: c_ptr
      type(c_ptr) :: answer
    end function
    function ww_status_name(status) bind(c, name='ww_status_name') result(answer)
      !! the name of a status, such as "WW_ERR_ACCESS"
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: answer
    end function
    function ww_status_text(status) bind(c, name='ww_status_text') result(answer)
      !! what a status means, in a few words
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: answer
    end function
    function ww_version() bind(c, name='ww_version') result(answer)
      !! the version of the library in use, "MAJOR.MINOR.PATCH"
      import :: c_ptr
      type(c_ptr) :: answer
    end function
    subroutine ww_log_set(fn, context) bind(c, name='ww_log_set')
      !! set the function that receives the library's debug log
      import :: c_funptr, c_ptr
      type(c_funptr), value :: fn
      type(c_ptr), value :: context
    end subroutine
    function ww_cancel_create(out_cancel) bind(c, name='ww_cancel_create') result(answer)
      !! make a flag, which is not set
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(out) :: out_cancel
      integer(c_int32_t) :: answer
    end function
    function ww_cancel_nowait() bind(c, name='ww_cancel_nowait') result(answer)
      !! the flag of calls that must not wait
      import :: c_ptr
      type(c_ptr) :: answer
    end function
    function ww_cancel_ref(cancel) bind(c, name='ww_cancel_ref') result(answer)
      !! take one more reference of a flag
      import :: c_ptr
      type(c_ptr), value :: cancel
      type(c_ptr) :: answer
    end function
    function ww_cancel_unref(cancel) bind(c, name='ww_cancel_unref') result(answer)
      !! release a reference of a flag
      import :: c_ptr
      type(c_ptr), value :: cancel
      type(c_ptr) :: answer
    end function
    subroutine ww_cancel_set(cancel) bind(c, name='ww_cancel_set')
      !! end the calls that wait with this flag, now and until it is cleared
      import :: c_ptr
      type(c_ptr), value :: cancel
    end subroutine
    subroutine ww_cancel_clear(cancel) bind(c, name='ww_cancel_clear')
      !! let calls with this flag wait again
      import :: c_ptr
      type(c_ptr), value :: cancel
    end subroutine
    function ww_cancel_is_set(cancel) bind(c, name='ww_cancel_is_set') result(answer)
      !! whether the flag is set
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_device_count(backend, out_count) bind(c, name='ww_device_count') &
      result(answer)
      !! how many devices of a backend this process can see
      import :: c_int32_t
      integer(c_int32_t), value :: backend
      integer(c_int32_t), intent(out), optional :: out_count
      integer(c_int32_t) :: answer
    end function
    function ww_device_open(name, out_device) bind(c, name='ww_device_open') result(answer)
      !! open a device by name
      import :: c_int32_t, c_ptr, c_char
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(out) :: out_device
      integer(c_int32_t) :: answer
    end function
    function ww_device_ref(device) bind(c, name='ww_device_ref') result(answer)
      !! take one more reference of a device
      import :: c_ptr
      type(c_ptr), value :: device
      type(c_ptr) :: answer
    end function
    function ww_device_unref(device) bind(c, name='ww_device_unref') result(answer)
      !! release a reference of a device
      import :: c_ptr
      type(c_ptr), value :: device
      type(c_ptr) :: answer
    end function
    function ww_device_info_get(device, info) bind(c, name='ww_device_info_get') &
      result(answer)
      !! describe a device
      import :: c_int32_t, c_ptr, ww_device_info
      type(c_ptr), value :: device
      type(ww_device_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_device_free_bytes(device, out_bytes) bind(c, name='ww_device_free_bytes') &
      result(answer)
      !! how much memory of a device is free now
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: device
      integer(c_int64_t), intent(out), optional :: out_bytes
      integer(c_int32_t) :: answer
    end function
    function ww_stream_create(device, out_stream) bind(c, name='ww_stream_create') &
      result(answer)
      !! make a queue of work on a device
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: device
      type(c_ptr), intent(out) :: out_stream
      integer(c_int32_t) :: answer
    end function
    function ww_stream_wrap(device, native, out_stream) bind(c, name='ww_stream_wrap') &
      result(answer)
      !! use a stream that the caller made with CUDA
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: device
      type(c_ptr), value :: native
      type(c_ptr), intent(out) :: out_stream
      integer(c_int32_t) :: answer
    end function
    function ww_stream_ref(stream) bind(c, name='ww_stream_ref') result(answer)
      !! take one more reference of a stream
      import :: c_ptr
      type(c_ptr), value :: stream
      type(c_ptr) :: answer
    end function
    function ww_stream_unref(stream) bind(c, name='ww_stream_unref') result(answer)
      !! release a reference of a stream
      import :: c_ptr
      type(c_ptr), value :: stream
      type(c_ptr) :: answer
    end function
    function ww_stream_native(stream) bind(c, name='ww_stream_native') result(answer)
      !! the driver's own handle of a stream
      import :: c_ptr
      type(c_ptr), value :: stream
      type(c_ptr) :: answer
    end function
    function ww_stream_synchronize(stream, timeout_ns, cancel) bind(c, &
      name='ww_stream_synchronize') result(answer)
      !! wait until all work enqueued so far has run
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_stream_query(stream) bind(c, name='ww_stream_query') result(answer)
      !! ask whether all work enqueued so far has run, and whether the stream is lost
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_stream_recover(stream) bind(c, name='ww_stream_recover') result(answer)
      !! clear the loss of a stream, so that it can be used again
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_stream_call(stream, fn, context) bind(c, name='ww_stream_call') result(answer)
      !! enqueue a call of a function of the host
      import :: c_funptr, c_int32_t, c_ptr
      type(c_ptr), value :: stream
      type(c_funptr), value :: fn
      type(c_ptr), value :: context
      integer(c_int32_t) :: answer
    end function
    function ww_stream_copy(stream, destination, source, bytes) bind(c, name='ww_stream_copy') &
      result(answer)
      !! enqueue a copy of bytes
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: stream
      type(c_ptr), value :: destination
      type(c_ptr), value :: source
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: answer
    end function
    function ww_stream_fill(stream, destination, value, value_bytes, count) bind(c, &
      name='ww_stream_fill') result(answer)
      !! enqueue filling a span with one value
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: stream
      type(c_ptr), value :: destination
      integer(c_int32_t), value :: value
      integer(c_int32_t), value :: value_bytes
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: answer
    end function
    function ww_memory_create(device, params, out_memory) bind(c, name='ww_memory_create') &
      result(answer)
      !! make memory on a device and map it for reading and writing
      import :: c_int32_t, c_ptr, ww_memory_params
      type(c_ptr), value :: device
      type(ww_memory_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_memory_wrap(device, pointer, bytes, params, out_memory) bind(c, &
      name='ww_memory_wrap') result(answer)
      !! make a memory from bytes that another library allocated
      import :: c_int32_t, c_int64_t, c_ptr, ww_wrap_params
      type(c_ptr), value :: device
      type(c_ptr), value :: pointer
      integer(c_int64_t), value :: bytes
      type(ww_wrap_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_memory_copy_in(stream, source, params, out_memory) bind(c, &
      name='ww_memory_copy_in') result(answer)
      !! make a memory and enqueue a copy of other bytes into it
      import :: c_int32_t, c_ptr, ww_memory_params
      type(c_ptr), value :: stream
      type(c_ptr), value :: source
      type(ww_memory_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_memory_handle_get(memory, out_handle, out_offset) bind(c, &
      name='ww_memory_handle_get') result(answer)
      !! the legacy handle of a memory, for programs that do not use this library
      import :: c_int32_t, c_int64_t, c_ptr, ww_memory_handle
      type(c_ptr), value :: memory
      type(ww_memory_handle), intent(inout), optional :: out_handle
      integer(c_int64_t), intent(out), optional :: out_offset
      integer(c_int32_t) :: answer
    end function
    function ww_memory_handle_open(device, handle, params, out_memory) bind(c, &
      name='ww_memory_handle_open') result(answer)
      !! map the memory that a legacy handle of another program names
      import :: c_int32_t, c_ptr, ww_import_params, ww_memory_handle
      type(c_ptr), value :: device
      type(ww_memory_handle), intent(in), optional :: handle
      type(ww_import_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_memory_ref(memory) bind(c, name='ww_memory_ref') result(answer)
      !! take one more reference of a memory
      import :: c_ptr
      type(c_ptr), value :: memory
      type(c_ptr) :: answer
    end function
    function ww_memory_unref(memory) bind(c, name='ww_memory_unref') result(answer)
      !! release a reference of a memory
      import :: c_ptr
      type(c_ptr), value :: memory
      type(c_ptr) :: answer
    end function
    function ww_memory_retire(memory) bind(c, name='ww_memory_retire') result(answer)
      !! release a reference when the device has done its work
      import :: c_ptr
      type(c_ptr), value :: memory
      type(c_ptr) :: answer
    end function
    function ww_memory_retired() bind(c, name='ww_memory_retired') result(answer)
      !! how many references of ww_memory_retire() this process has not released yet
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function
    function ww_capture_begin() bind(c, name='ww_capture_begin') result(answer)
      !! keep the references of ww_memory_retire() until the captures have ended
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function
    function ww_capture_end() bind(c, name='ww_capture_end') result(answer)
      !! release these references again, in later calls
      import :: c_int32_t
      integer(c_int32_t) :: answer
    end function
    function ww_memory_pointer(memory) bind(c, name='ww_memory_pointer') result(answer)
      !! the address of the memory on its device
      import :: c_ptr
      type(c_ptr), value :: memory
      type(c_ptr) :: answer
    end function
    function ww_memory_host_pointer(memory) bind(c, name='ww_memory_host_pointer') &
      result(answer)
      !! the address of the memory for the CPU
      import :: c_ptr
      type(c_ptr), value :: memory
      type(c_ptr) :: answer
    end function
    function ww_memory_write(memory, offset, source, bytes, timeout_ns, cancel) bind(c, &
      name='ww_memory_write') result(answer)
      !! copy bytes into a memory, and wait until they are there
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: source
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_memory_read(memory, offset, destination, bytes, timeout_ns, cancel) bind(c, &
      name='ww_memory_read') result(answer)
      !! copy bytes out of a memory, and wait until they are there
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_int64_t), value :: offset
      type(c_ptr), value :: destination
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_memory_find(pointer, out_memory, out_offset) bind(c, name='ww_memory_find') &
      result(answer)
      !! the memory that contains an address
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pointer
      type(c_ptr), intent(out) :: out_memory
      integer(c_int64_t), intent(out), optional :: out_offset
      integer(c_int32_t) :: answer
    end function
    function ww_memory_info_get(memory, info) bind(c, name='ww_memory_info_get') &
      result(answer)
      !! describe a memory
      import :: c_int32_t, c_ptr, ww_memory_info
      type(c_ptr), value :: memory
      type(ww_memory_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_memory_export_fd(memory, access, out_fd, out_description) bind(c, &
      name='ww_memory_export_fd') result(answer)
      !! a descriptor and a description with which a process can import a memory
      import :: c_int, c_int32_t, c_ptr, ww_memory_description
      type(c_ptr), value :: memory
      integer(c_int32_t), value :: access
      integer(c_int), intent(out), optional :: out_fd
      type(ww_memory_description), intent(inout), optional :: out_description
      integer(c_int32_t) :: answer
    end function
    function ww_memory_import_fd(device, fd, description, params, out_memory) bind(c, &
      name='ww_memory_import_fd') result(answer)
      !! map memory that another process, or this one, exported
      import :: c_int, c_int32_t, c_ptr, ww_import_params, ww_memory_description
      type(c_ptr), value :: device
      integer(c_int), value :: fd
      type(ww_memory_description), intent(in), optional :: description
      type(ww_import_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_memory_send(memory, access, socket, timeout_ns, cancel) bind(c, &
      name='ww_memory_send') result(answer)
      !! send a memory to the process at the other end of a Unix socket
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: memory
      integer(c_int32_t), value :: access
      integer(c_int), value :: socket
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_memory_receive(device, socket, params, timeout_ns, cancel, out_memory) bind(c, &
      name='ww_memory_receive') result(answer)
      !! receive a memory that the other end sent, and map it
      import :: c_int, c_int32_t, c_int64_t, c_ptr, ww_import_params
      type(c_ptr), value :: device
      integer(c_int), value :: socket
      type(ww_import_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_dtype_parse(text, out_dtype) bind(c, name='ww_dtype_parse') result(answer)
      !! the type of an element by its name
      import :: c_int32_t, ww_dtype, c_char
      character(kind=c_char), intent(in), optional :: text(*)
      type(ww_dtype), intent(inout), optional :: out_dtype
      integer(c_int32_t) :: answer
    end function
    function ww_dtype_name(dtype, out_text) bind(c, name='ww_dtype_name') result(answer)
      !! the name of a type of elements
      import :: c_int32_t, ww_dtype, c_char
      type(ww_dtype), intent(in), optional :: dtype
      character(kind=c_char), intent(out) :: out_text(40)
      integer(c_int32_t) :: answer
    end function
    function ww_array_set(array, dtype, ndim, shape, strides, offset) bind(c, &
      name='ww_array_set') result(answer)
      !! describe an array
      import :: c_int32_t, c_int64_t, ww_array, ww_dtype
      type(ww_array), intent(inout), optional :: array
      type(ww_dtype), intent(in), optional :: dtype
      integer(c_int32_t), value :: ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      integer(c_int64_t), intent(in), optional :: strides(*)
      integer(c_int64_t), value :: offset
      integer(c_int32_t) :: answer
    end function
    function ww_array_check(array, bytes) bind(c, name='ww_array_check') result(answer)
      !! whether every element of an array lies inside a memory
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: answer
    end function
    function ww_array_bytes(array, out_bytes) bind(c, name='ww_array_bytes') result(answer)
      !! how many bytes the elements have, without gaps
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int64_t), intent(out), optional :: out_bytes
      integer(c_int32_t) :: answer
    end function
    function ww_array_span(array, out_first, out_end) bind(c, name='ww_array_span') &
      result(answer)
      !! which bytes of the memory an array reaches
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int64_t), intent(out), optional :: out_first
      integer(c_int64_t), intent(out), optional :: out_end
      integer(c_int32_t) :: answer
    end function
    function ww_array_is_contiguous(array) bind(c, name='ww_array_is_contiguous') &
      result(answer)
      !! whether the elements lie in C order without gaps
      import :: c_int32_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t) :: answer
    end function
    function ww_array_is_fortran(array) bind(c, name='ww_array_is_fortran') result(answer)
      !! whether the elements lie in Fortran order without gaps
      import :: c_int32_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t) :: answer
    end function
    function ww_array_overlap(array, other, out_overlap) bind(c, name='ww_array_overlap') &
      result(answer)
      !! whether two arrays in one memory share a byte
      import :: c_int32_t, ww_array
      type(ww_array), intent(in), optional :: array
      type(ww_array), intent(in), optional :: other
      integer(c_int32_t), intent(out), optional :: out_overlap
      integer(c_int32_t) :: answer
    end function
    function ww_array_self_overlap(array, out_overlap) bind(c, name='ww_array_self_overlap') &
      result(answer)
      !! whether two elements of one array share a byte
      import :: c_int32_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t), intent(out), optional :: out_overlap
      integer(c_int32_t) :: answer
    end function
    function ww_array_slice(array, dim, start, stop, step, out_view) bind(c, &
      name='ww_array_slice') result(answer)
      !! the view array[start:stop:step] in one dimension
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: start
      integer(c_int64_t), value :: stop
      integer(c_int64_t), value :: step
      type(ww_array), intent(inout), optional :: out_view
      integer(c_int32_t) :: answer
    end function
    function ww_array_index(array, dim, index, out_view) bind(c, name='ww_array_index') &
      result(answer)
      !! the view at one index of a dimension, without that dimension
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t), value :: dim
      integer(c_int64_t), value :: index
      type(ww_array), intent(inout), optional :: out_view
      integer(c_int32_t) :: answer
    end function
    function ww_array_permute(array, order, out_view) bind(c, name='ww_array_permute') &
      result(answer)
      !! the view with its dimensions in another order
      import :: c_int32_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t), intent(in), optional :: order(*)
      type(ww_array), intent(inout), optional :: out_view
      integer(c_int32_t) :: answer
    end function
    function ww_array_broadcast(array, ndim, shape, out_view) bind(c, &
      name='ww_array_broadcast') result(answer)
      !! the view in which an array is repeated until it has a shape
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t), value :: ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(ww_array), intent(inout), optional :: out_view
      integer(c_int32_t) :: answer
    end function
    function ww_array_reshape(array, ndim, shape, out_view) bind(c, name='ww_array_reshape') &
      result(answer)
      !! the view of the same elements, in C order, in another shape
      import :: c_int32_t, c_int64_t, ww_array
      type(ww_array), intent(in), optional :: array
      integer(c_int32_t), value :: ndim
      integer(c_int64_t), intent(in), optional :: shape(*)
      type(ww_array), intent(inout), optional :: out_view
      integer(c_int32_t) :: answer
    end function
    function ww_array_reinterpret(array, dtype, out_view) bind(c, name='ww_array_reinterpret') &
      result(answer)
      !! the view of the same bytes as elements of another type
      import :: c_int32_t, ww_array, ww_dtype
      type(ww_array), intent(in), optional :: array
      type(ww_dtype), intent(in), optional :: dtype
      type(ww_array), intent(inout), optional :: out_view
      integer(c_int32_t) :: answer
    end function
    function ww_array_handle_open(device, handle, array, params, out_memory) bind(c, &
      name='ww_array_handle_open') result(answer)
      !! map an array that a program shares by a legacy handle
      import :: c_int32_t, c_ptr, ww_array, ww_import_params, ww_memory_handle
      type(c_ptr), value :: device
      type(ww_memory_handle), intent(in), optional :: handle
      type(ww_array), intent(in), optional :: array
      type(ww_import_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_token_info_get(token, info) bind(c, name='ww_token_info_get') result(answer)
      !! read a token
      import :: c_int32_t, ww_token, ww_token_info
      type(ww_token), intent(in), optional :: token
      type(ww_token_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_token_to_text(token, out_text) bind(c, name='ww_token_to_text') result(answer)
      !! the text form of a token
      import :: c_int32_t, ww_token, c_char
      type(ww_token), intent(in), optional :: token
      character(kind=c_char), intent(out), optional :: out_text(*)
      integer(c_int32_t) :: answer
    end function
    function ww_token_from_text(text, out_token) bind(c, name='ww_token_from_text') &
      result(answer)
      !! a token from its text form
      import :: c_int32_t, ww_token, c_char
      character(kind=c_char), intent(in), optional :: text(*)
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_create(params, out_timeline) bind(c, name='ww_timeline_create') &
      result(answer)
      !! make a timeline whose signaller is this process
      import :: c_int32_t, c_ptr, ww_timeline_params
      type(ww_timeline_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_timeline
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_ref(timeline) bind(c, name='ww_timeline_ref') result(answer)
      !! take one more reference of a timeline
      import :: c_ptr
      type(c_ptr), value :: timeline
      type(c_ptr) :: answer
    end function
    function ww_timeline_unref(timeline) bind(c, name='ww_timeline_unref') result(answer)
      !! release a reference of a timeline
      import :: c_ptr
      type(c_ptr), value :: timeline
      type(c_ptr) :: answer
    end function
    function ww_timeline_prepare(timeline, device) bind(c, name='ww_timeline_prepare') &
      result(answer)
      !! map a timeline on a device before its streams use it
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: timeline
      type(c_ptr), value :: device
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_signal(timeline, value) bind(c, name='ww_timeline_signal') &
      result(answer)
      !! raise the value, now
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: timeline
      integer(c_int64_t), value :: value
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_stream_signal(timeline, stream, value) bind(c, &
      name='ww_timeline_stream_signal') result(answer)
      !! let a stream raise the value, after the work before it
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: timeline
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: value
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_fail(timeline, why) bind(c, name='ww_timeline_fail') result(answer)
      !! say that the values which are not reached yet will never be valid
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: timeline
      character(kind=c_char), intent(in), optional :: why(*)
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_wait(timeline, value, timeout_ns, cancel) bind(c, &
      name='ww_timeline_wait') result(answer)
      !! wait on the CPU until a value is reached
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: timeline
      integer(c_int64_t), value :: value
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_stream_wait(timeline, stream, value, flags, timeout_ns, cancel) &
      bind(c, name='ww_timeline_stream_wait') result(answer)
      !! let a stream's further work wait until a value is reached
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: timeline
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: value
      integer(c_int64_t), value :: flags
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_query(timeline, value) bind(c, name='ww_timeline_query') &
      result(answer)
      !! ask whether a value is reached
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: timeline
      integer(c_int64_t), value :: value
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_eventfd(timeline, stream, value, out_fd) bind(c, &
      name='ww_timeline_eventfd') result(answer)
      !! a descriptor that becomes readable when a wait for a value is over
      import :: c_int, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: timeline
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: value
      integer(c_int), intent(out), optional :: out_fd
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_info_get(timeline, info) bind(c, name='ww_timeline_info_get') &
      result(answer)
      !! describe a timeline
      import :: c_int32_t, c_ptr, ww_timeline_info
      type(c_ptr), value :: timeline
      type(ww_timeline_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_export(timeline, broker, params, cancel, out_token) bind(c, &
      name='ww_timeline_export') result(answer)
      !! a token by which any process can import a timeline, to wait on it
      import :: c_int32_t, c_ptr, ww_token, ww_token_params
      type(c_ptr), value :: timeline
      type(c_ptr), value :: broker
      type(ww_token_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_import(broker, token, cancel, out_timeline) bind(c, &
      name='ww_timeline_import') result(answer)
      !! the timeline that a token names
      import :: c_int32_t, c_ptr, ww_token
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_timeline
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_put(timeline, broker, name, params, cancel) bind(c, &
      name='ww_timeline_put') result(answer)
      !! name a timeline in a broker
      import :: c_int32_t, c_ptr, ww_name_params, c_char
      type(c_ptr), value :: timeline
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_name_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_timeline_get(broker, name, timeout_ns, cancel, out_timeline) bind(c, &
      name='ww_timeline_get') result(answer)
      !! the timeline of a name, to wait on it
      import :: c_int32_t, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_timeline
      integer(c_int32_t) :: answer
    end function
    function ww_barrier_create(broker, name, params, cancel, out_token) bind(c, &
      name='ww_barrier_create') result(answer)
      !! make a barrier in a broker, under a name or for a token, or both
      import :: c_int32_t, c_ptr, ww_barrier_params, ww_token, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_barrier_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_barrier_get(broker, name, rank, timeout_ns, cancel, out_barrier) bind(c, &
      name='ww_barrier_get') result(answer)
      !! become a member, and wait until all members have joined
      import :: c_int32_t, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_barrier
      integer(c_int32_t) :: answer
    end function
    function ww_barrier_import(broker, token, rank, timeout_ns, cancel, out_barrier) bind(c, &
      name='ww_barrier_import') result(answer)
      !! the same, for the barrier that a token names
      import :: c_int32_t, c_int64_t, c_ptr, ww_token
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_barrier
      integer(c_int32_t) :: answer
    end function
    function ww_barrier_ref(barrier) bind(c, name='ww_barrier_ref') result(answer)
      !! take one more reference of a membership
      import :: c_ptr
      type(c_ptr), value :: barrier
      type(c_ptr) :: answer
    end function
    function ww_barrier_unref(barrier) bind(c, name='ww_barrier_unref') result(answer)
      !! release a membership; the last unref leaves the barrier
      import :: c_ptr
      type(c_ptr), value :: barrier
      type(c_ptr) :: answer
    end function
    function ww_barrier_wait(barrier, timeout_ns, cancel) bind(c, name='ww_barrier_wait') &
      result(answer)
      !! arrive, and wait until all members have arrived
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: barrier
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_barrier_eventfd(barrier, out_fd) bind(c, name='ww_barrier_eventfd') &
      result(answer)
      !! a descriptor for event loops: readable when a round is complete
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: barrier
      integer(c_int), intent(out), optional :: out_fd
      integer(c_int32_t) :: answer
    end function
    function ww_barrier_info_get(barrier, info) bind(c, name='ww_barrier_info_get') &
      result(answer)
      !! describe a barrier
      import :: c_int32_t, c_ptr, ww_barrier_info
      type(c_ptr), value :: barrier
      type(ww_barrier_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_broker_open(params, out_broker) bind(c, name='ww_broker_open') result(answer)
      !! connect to a broker, and start the user's own if none runs
      import :: c_int32_t, c_ptr, ww_broker_params
      type(ww_broker_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_broker
      integer(c_int32_t) :: answer
    end function
    function ww_broker_ref(broker) bind(c, name='ww_broker_ref') result(answer)
      !! take one more reference of a broker
      import :: c_ptr
      type(c_ptr), value :: broker
      type(c_ptr) :: answer
    end function
    function ww_broker_unref(broker) bind(c, name='ww_broker_unref') result(answer)
      !! release a reference of a broker
      import :: c_ptr
      type(c_ptr), value :: broker
      type(c_ptr) :: answer
    end function
    function ww_broker_address(broker) bind(c, name='ww_broker_address') result(answer)
      !! the path of the broker's socket
      import :: c_ptr
      type(c_ptr), value :: broker
      type(c_ptr) :: answer
    end function
    function ww_broker_info_get(broker, info) bind(c, name='ww_broker_info_get') &
      result(answer)
      !! describe a broker
      import :: c_int32_t, c_ptr, ww_broker_info
      type(c_ptr), value :: broker
      type(ww_broker_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_memory_broker(memory) bind(c, name='ww_memory_broker') result(answer)
      !! the broker that a memory was put into or got from
      import :: c_ptr
      type(c_ptr), value :: memory
      type(c_ptr) :: answer
    end function
    function ww_memory_put(memory, broker, name, params, timeout_ns, cancel) bind(c, &
      name='ww_memory_put') result(answer)
      !! put a memory into a broker, under a name
      import :: c_int32_t, c_int64_t, c_ptr, ww_put_params, c_char
      type(c_ptr), value :: memory
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_put_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_memory_publish(memory, broker, state, cancel) bind(c, &
      name='ww_memory_publish') result(answer)
      !! end writing: the object is ready, and every get that waits for it returns
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: memory
      type(c_ptr), value :: broker
      integer(c_int32_t), value :: state
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_memory_get(device, broker, name, params, timeout_ns, cancel, out_memory, info) &
      bind(c, name='ww_memory_get') result(answer)
      !! hold a memory by its name, and map it
      import :: c_int32_t, c_int64_t, c_ptr, ww_get_params, ww_object_info, c_char
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_get_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_memory
      type(ww_object_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_memory_export(memory, broker, params, cancel, out_token) bind(c, &
      name='ww_memory_export') result(answer)
      !! a token by which any process can import a memory, or a span of it
      import :: c_int32_t, c_ptr, ww_export_params, ww_token
      type(c_ptr), value :: memory
      type(c_ptr), value :: broker
      type(ww_export_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_memory_revoke(memory, broker, cancel) bind(c, name='ww_memory_revoke') &
      result(answer)
      !! make all existing tokens of a memory invalid
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: memory
      type(c_ptr), value :: broker
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_memory_import(device, broker, token, params, cancel, out_memory, info) bind(c, &
      name='ww_memory_import') result(answer)
      !! hold and map the memory that a token names
      import :: c_int32_t, c_ptr, ww_import_params, ww_object_info, ww_token
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(ww_import_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_memory
      type(ww_object_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_object_import(broker, token, cancel, out_object, info) bind(c, &
      name='ww_object_import') result(answer)
      !! take the hold of a token, without mapping the memory
      import :: c_int32_t, c_ptr, ww_object_info, ww_token
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_object
      type(ww_object_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_object_get(broker, name, params, timeout_ns, cancel, out_object, info) bind(c, &
      name='ww_object_get') result(answer)
      !! hold a memory by its name, without mapping it
      import :: c_int32_t, c_int64_t, c_ptr, ww_get_params, ww_object_info, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_get_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_object
      type(ww_object_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_object_map(object, device, params, cancel, out_memory) bind(c, &
      name='ww_object_map') result(answer)
      !! map the memory that an object holds
      import :: c_int32_t, c_ptr, ww_import_params
      type(c_ptr), value :: object
      type(c_ptr), value :: device
      type(ww_import_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_object_ref(object) bind(c, name='ww_object_ref') result(answer)
      !! take one more reference of an object
      import :: c_ptr
      type(c_ptr), value :: object
      type(c_ptr) :: answer
    end function
    function ww_object_unref(object) bind(c, name='ww_object_unref') result(answer)
      !! release a reference of an object
      import :: c_ptr
      type(c_ptr), value :: object
      type(c_ptr) :: answer
    end function
    function ww_object_export(object, params, cancel, out_token) bind(c, &
      name='ww_object_export') result(answer)
      !! a token with the access of the hold and the span of the token
      import :: c_int32_t, c_ptr, ww_token, ww_token_params
      type(c_ptr), value :: object
      type(ww_token_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_broker_remove(broker, name) bind(c, name='ww_broker_remove') result(answer)
      !! remove a name from a broker
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int32_t) :: answer
    end function
    function ww_broker_end(broker, name, object_id) bind(c, name='ww_broker_end') &
      result(answer)
      !! end an object of a broker
      import :: c_int32_t, c_int8_t, c_ptr, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int8_t), intent(in), optional :: object_id(*)
      integer(c_int32_t) :: answer
    end function
    function ww_broker_stat(broker, name, info) bind(c, name='ww_broker_stat') result(answer)
      !! describe an object
      import :: c_int32_t, c_ptr, ww_object_info, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_object_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_create(broker, prefix, contents, out_snapshot) bind(c, &
      name='ww_snapshot_create') result(answer)
      !! list the objects and holders of a broker
      import :: c_int32_t, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: prefix(*)
      integer(c_int64_t), value :: contents
      type(c_ptr), intent(out) :: out_snapshot
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_free(snapshot) bind(c, name='ww_snapshot_free') result(answer)
      !! end a snapshot
      import :: c_ptr
      type(c_ptr), value :: snapshot
      type(c_ptr) :: answer
    end function
    function ww_snapshot_object(snapshot, index, info) bind(c, name='ww_snapshot_object') &
      result(answer)
      !! an object of a snapshot
      import :: c_int32_t, c_ptr, c_size_t, ww_object_info
      type(c_ptr), value :: snapshot
      integer(c_size_t), value :: index
      type(ww_object_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_holder(snapshot, index, info) bind(c, name='ww_snapshot_holder') &
      result(answer)
      !! a holder of a snapshot
      import :: c_int32_t, c_ptr, c_size_t, ww_holder_info
      type(c_ptr), value :: snapshot
      integer(c_size_t), value :: index
      type(ww_holder_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_hold(snapshot, index, info) bind(c, name='ww_snapshot_hold') &
      result(answer)
      !! a hold of a snapshot
      import :: c_int32_t, c_ptr, c_size_t, ww_hold_info
      type(c_ptr), value :: snapshot
      integer(c_size_t), value :: index
      type(ww_hold_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_watch_create(broker, prefix, flags, out_watch) bind(c, name='ww_watch_create') &
      result(answer)
      !! watch a broker for changes
      import :: c_int32_t, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: prefix(*)
      integer(c_int64_t), value :: flags
      type(c_ptr), intent(out) :: out_watch
      integer(c_int32_t) :: answer
    end function
    function ww_watch_free(watch) bind(c, name='ww_watch_free') result(answer)
      !! end a watch
      import :: c_ptr
      type(c_ptr), value :: watch
      type(c_ptr) :: answer
    end function
    function ww_watch_fd(watch) bind(c, name='ww_watch_fd') result(answer)
      !! a descriptor to poll in an event loop
      import :: c_int, c_ptr
      type(c_ptr), value :: watch
      integer(c_int) :: answer
    end function
    function ww_watch_next(watch, timeout_ns, cancel, event) bind(c, name='ww_watch_next') &
      result(answer)
      !! get the next change, or wait for it
      import :: c_int32_t, c_int64_t, c_ptr, ww_watch_event
      type(c_ptr), value :: watch
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(ww_watch_event), intent(inout), optional :: event
      integer(c_int32_t) :: answer
    end function
    function ww_channel_create(device, broker, name, params, cancel, out_channel) bind(c, &
      name='ww_channel_create') result(answer)
      !! make a channel in a broker; this process is its producer
      import :: c_int32_t, c_ptr, ww_channel_params, c_char
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_channel_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_channel
      integer(c_int32_t) :: answer
    end function
    function ww_channel_get(device, broker, name, params, timeout_ns, cancel, out_channel) &
      bind(c, name='ww_channel_get') result(answer)
      !! become a consumer of the channel of a name
      import :: c_int32_t, c_int64_t, c_ptr, ww_consumer_params, c_char
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_consumer_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_channel
      integer(c_int32_t) :: answer
    end function
    function ww_channel_export(channel, params, cancel, out_token) bind(c, &
      name='ww_channel_export') result(answer)
      !! a token by which any process can become a consumer
      import :: c_int32_t, c_ptr, ww_token, ww_token_params
      type(c_ptr), value :: channel
      type(ww_token_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_channel_import(device, broker, token, params, cancel, out_channel) bind(c, &
      name='ww_channel_import') result(answer)
      !! become a consumer of the channel that a token names
      import :: c_int32_t, c_ptr, ww_consumer_params, ww_token
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(ww_consumer_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_channel
      integer(c_int32_t) :: answer
    end function
    function ww_channel_ref(channel) bind(c, name='ww_channel_ref') result(answer)
      !! take one more reference of a channel
      import :: c_ptr
      type(c_ptr), value :: channel
      type(c_ptr) :: answer
    end function
    function ww_channel_unref(channel) bind(c, name='ww_channel_unref') result(answer)
      !! release a reference of a channel; the last one leaves it
      import :: c_ptr
      type(c_ptr), value :: channel
      type(c_ptr) :: answer
    end function
    function ww_channel_acquire(channel, stream, timeout_ns, cancel, out_frame) bind(c, &
      name='ww_channel_acquire') result(answer)
      !! get a slot to write a frame into
      import :: c_int32_t, c_int64_t, c_ptr, ww_frame
      type(c_ptr), value :: channel
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(ww_frame), intent(inout), optional :: out_frame
      integer(c_int32_t) :: answer
    end function
    function ww_channel_publish(channel, frame, stream) bind(c, name='ww_channel_publish') &
      result(answer)
      !! give a frame to the consumers
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: channel
      type(ww_frame), intent(inout), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_channel_discard(channel, frame, stream) bind(c, name='ww_channel_discard') &
      result(answer)
      !! give a slot back without publishing a frame
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: channel
      type(ww_frame), intent(in), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_channel_receive(channel, stream, timeout_ns, cancel, out_frame) bind(c, &
      name='ww_channel_receive') result(answer)
      !! get the next frame
      import :: c_int32_t, c_int64_t, c_ptr, ww_frame
      type(c_ptr), value :: channel
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(ww_frame), intent(inout), optional :: out_frame
      integer(c_int32_t) :: answer
    end function
    function ww_channel_release(channel, frame, stream) bind(c, name='ww_channel_release') &
      result(answer)
      !! let the producer use a frame's slot again
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: channel
      type(ww_frame), intent(in), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_channel_eventfd(channel, out_fd) bind(c, name='ww_channel_eventfd') &
      result(answer)
      !! a descriptor for event loops: readable while the channel can go on
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: channel
      integer(c_int), intent(out), optional :: out_fd
      integer(c_int32_t) :: answer
    end function
    function ww_channel_wait_any(channels, count, timeout_ns, cancel, out_index) bind(c, &
      name='ww_channel_wait_any') result(answer)
      !! wait until one of several channels can go on
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), intent(in) :: channels(*)
      integer(c_int32_t), value :: count
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t), intent(out), optional :: out_index
      integer(c_int32_t) :: answer
    end function
    function ww_channel_info_get(channel, info) bind(c, name='ww_channel_info_get') &
      result(answer)
      !! describe a channel
      import :: c_int32_t, c_ptr, ww_channel_info
      type(c_ptr), value :: channel
      type(ww_channel_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_channel_consumer_info_get(channel, index, out_info) bind(c, &
      name='ww_channel_consumer_info_get') result(answer)
      !! describe one of the consumers
      import :: c_int32_t, c_ptr, ww_channel_consumer_info
      type(c_ptr), value :: channel
      integer(c_int32_t), value :: index
      type(ww_channel_consumer_info), intent(inout), optional :: out_info
      integer(c_int32_t) :: answer
    end function
    function ww_channel_wait_consumers(channel, count, timeout_ns, cancel) bind(c, &
      name='ww_channel_wait_consumers') result(answer)
      !! wait until a channel has a number of consumers
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: channel
      integer(c_int32_t), value :: count
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_channel_evict(channel, consumer) bind(c, name='ww_channel_evict') &
      result(answer)
      !! end a consumer's subscription
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: channel
      integer(c_int32_t), value :: consumer
      integer(c_int32_t) :: answer
    end function
    function ww_channel_next_event(channel, timeout_ns, cancel, out_event) bind(c, &
      name='ww_channel_next_event') result(answer)
      !! the next event of a channel
      import :: c_int32_t, c_int64_t, c_ptr, ww_channel_event
      type(c_ptr), value :: channel
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(ww_channel_event), intent(inout), optional :: out_event
      integer(c_int32_t) :: answer
    end function
    function ww_signature_info_get(text, info) bind(c, name='ww_signature_info_get') &
      result(answer)
      !! check a signature, and write it in its canonical form
      import :: c_int32_t, ww_signature_info, c_char
      character(kind=c_char), intent(in), optional :: text(*)
      type(ww_signature_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_signature_parameter_get(text, index, info) bind(c, &
      name='ww_signature_parameter_get') result(answer)
      !! one parameter of a signature
      import :: c_int32_t, ww_parameter_info, c_char
      character(kind=c_char), intent(in), optional :: text(*)
      integer(c_int32_t), value :: index
      type(ww_parameter_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_signature_result_get(text, index, info) bind(c, &
      name='ww_signature_result_get') result(answer)
      !! one result of a signature
      import :: c_int32_t, ww_parameter_info, c_char
      character(kind=c_char), intent(in), optional :: text(*)
      integer(c_int32_t), value :: index
      type(ww_parameter_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_scalar_parse(dtype, text, out_scalar) bind(c, name='ww_scalar_parse') &
      result(answer)
      !! the value of a scalar from text
      import :: c_int32_t, c_int64_t, ww_dtype, c_char
      type(ww_dtype), intent(in), optional :: dtype
      character(kind=c_char), intent(in), optional :: text(*)
      integer(c_int64_t), intent(out), optional :: out_scalar
      integer(c_int32_t) :: answer
    end function
    function ww_scalar_text(dtype, scalar, out_text) bind(c, name='ww_scalar_text') &
      result(answer)
      !! the value of a scalar as text
      import :: c_int32_t, c_int64_t, ww_dtype, c_char
      type(ww_dtype), intent(in), optional :: dtype
      integer(c_int64_t), value :: scalar
      character(kind=c_char), intent(out) :: out_text(32)
      integer(c_int32_t) :: answer
    end function
    function ww_service_create(device, broker, name, params, cancel, out_service) bind(c, &
      name='ww_service_create') result(answer)
      !! make a service; this process is its server
      import :: c_int32_t, c_ptr, ww_service_params, c_char
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_service_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_service
      integer(c_int32_t) :: answer
    end function
    function ww_service_ref(service) bind(c, name='ww_service_ref') result(answer)
      !! take one more reference of a service
      import :: c_ptr
      type(c_ptr), value :: service
      type(c_ptr) :: answer
    end function
    function ww_service_unref(service) bind(c, name='ww_service_unref') result(answer)
      !! release a reference of a service; the last one ends it
      import :: c_ptr
      type(c_ptr), value :: service
      type(c_ptr) :: answer
    end function
    function ww_service_export(service, access, params, cancel, out_token) bind(c, &
      name='ww_service_export') result(answer)
      !! a token by which any process can open the service
      import :: c_int32_t, c_ptr, ww_token, ww_token_params
      type(c_ptr), value :: service
      integer(c_int32_t), value :: access
      type(ww_token_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_service_offer(service, name, signature, fn, context, params) bind(c, &
      name='ww_service_offer') result(answer)
      !! offer a function
      import :: c_funptr, c_int32_t, c_ptr, ww_function_params, c_char
      type(c_ptr), value :: service
      character(kind=c_char), intent(in), optional :: name(*)
      character(kind=c_char), intent(in), optional :: signature(*)
      type(c_funptr), value :: fn
      type(c_ptr), value :: context
      type(ww_function_params), intent(in), optional :: params
      integer(c_int32_t) :: answer
    end function
    function ww_service_offer_batch(service, name, signature, fn, context, params) bind(c, &
      name='ww_service_offer_batch') result(answer)
      !! offer a function that runs several calls at once
      import :: c_funptr, c_int32_t, c_ptr, ww_function_params, c_char
      type(c_ptr), value :: service
      character(kind=c_char), intent(in), optional :: name(*)
      character(kind=c_char), intent(in), optional :: signature(*)
      type(c_funptr), value :: fn
      type(c_ptr), value :: context
      type(ww_function_params), intent(in), optional :: params
      integer(c_int32_t) :: answer
    end function
    function ww_service_start(service) bind(c, name='ww_service_start') result(answer)
      !! tell clients that all functions are offered
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: service
      integer(c_int32_t) :: answer
    end function
    function ww_service_serve(service, timeout_ns, cancel) bind(c, name='ww_service_serve') &
      result(answer)
      !! run functions for clients, in the calling thread
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: service
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_service_eventfd(service, out_fd) bind(c, name='ww_service_eventfd') &
      result(answer)
      !! a descriptor for event loops: readable while there are calls
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: service
      integer(c_int), intent(out), optional :: out_fd
      integer(c_int32_t) :: answer
    end function
    function ww_service_drain(service) bind(c, name='ww_service_drain') result(answer)
      !! take no new calls
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: service
      integer(c_int32_t) :: answer
    end function
    function ww_service_info_get(service, info) bind(c, name='ww_service_info_get') &
      result(answer)
      !! describe a service
      import :: c_int32_t, c_ptr, ww_service_info
      type(c_ptr), value :: service
      type(ww_service_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_service_function_info_get(service, index, info) bind(c, &
      name='ww_service_function_info_get') result(answer)
      !! describe a function of this process's service
      import :: c_int32_t, c_ptr, ww_function_info
      type(c_ptr), value :: service
      integer(c_int32_t), value :: index
      type(ww_function_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_call_argument(call, index, out_value) bind(c, name='ww_call_argument') &
      result(answer)
      !! an argument of the call
      import :: c_int32_t, c_ptr, ww_value
      type(c_ptr), value :: call
      integer(c_int32_t), value :: index
      type(ww_value), intent(inout), optional :: out_value
      integer(c_int32_t) :: answer
    end function
    function ww_call_result(call, index, value) bind(c, name='ww_call_result') result(answer)
      !! set a result of the call
      import :: c_int32_t, c_ptr, ww_value
      type(c_ptr), value :: call
      integer(c_int32_t), value :: index
      type(ww_value), intent(in), optional :: value
      integer(c_int32_t) :: answer
    end function
    function ww_call_stream(call, out_stream) bind(c, name='ww_call_stream') result(answer)
      !! the stream for the call's work
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: call
      type(c_ptr), intent(out) :: out_stream
      integer(c_int32_t) :: answer
    end function
    function ww_call_fail(call, status, message) bind(c, name='ww_call_fail') result(answer)
      !! set the status and the message of a call that fails
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: call
      integer(c_int32_t), value :: status
      character(kind=c_char), intent(in), optional :: message(*)
      integer(c_int32_t) :: answer
    end function
    function ww_call_is_cancelled(call) bind(c, name='ww_call_is_cancelled') result(answer)
      !! whether the result of the call is not needed any more
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: call
      integer(c_int32_t) :: answer
    end function
    function ww_call_info_get(call, info) bind(c, name='ww_call_info_get') result(answer)
      !! describe a call
      import :: c_int32_t, c_ptr, ww_call_info
      type(c_ptr), value :: call
      type(ww_call_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_client_open(broker, name, params, timeout_ns, cancel, out_client) bind(c, &
      name='ww_client_open') result(answer)
      !! become a client of the service of a name
      import :: c_int32_t, c_int64_t, c_ptr, ww_client_params, c_char
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_client_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_client
      integer(c_int32_t) :: answer
    end function
    function ww_client_import(broker, token, params, cancel, out_client) bind(c, &
      name='ww_client_import') result(answer)
      !! become a client of the service that a token names
      import :: c_int32_t, c_ptr, ww_client_params, ww_token
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(ww_client_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_client
      integer(c_int32_t) :: answer
    end function
    function ww_client_ref(client) bind(c, name='ww_client_ref') result(answer)
      !! take one more reference of a client
      import :: c_ptr
      type(c_ptr), value :: client
      type(c_ptr) :: answer
    end function
    function ww_client_unref(client) bind(c, name='ww_client_unref') result(answer)
      !! release a reference of a client; the last one leaves the service
      import :: c_ptr
      type(c_ptr), value :: client
      type(c_ptr) :: answer
    end function
    function ww_client_service_info_get(client, info) bind(c, &
      name='ww_client_service_info_get') result(answer)
      !! describe the service
      import :: c_int32_t, c_ptr, ww_service_info
      type(c_ptr), value :: client
      type(ww_service_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_client_function_info_get(client, index, info) bind(c, &
      name='ww_client_function_info_get') result(answer)
      !! describe a function of the service
      import :: c_int32_t, c_ptr, ww_function_info
      type(c_ptr), value :: client
      integer(c_int32_t), value :: index
      type(ww_function_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_client_wait_ready(client, timeout_ns, cancel) bind(c, &
      name='ww_client_wait_ready') result(answer)
      !! wait until the server has started the service
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: client
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_client_find(client, name, signature, timeout_ns, cancel, out_function) bind(c, &
      name='ww_client_find') result(answer)
      !! look up a function
      import :: c_int32_t, c_int64_t, c_ptr, c_char
      type(c_ptr), value :: client
      character(kind=c_char), intent(in), optional :: name(*)
      character(kind=c_char), intent(in), optional :: signature(*)
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t), intent(out), optional :: out_function
      integer(c_int32_t) :: answer
    end function
    function ww_client_submit(client, function, arguments, count, params, timeout_ns, cancel, &
      out_ticket) bind(c, name='ww_client_submit') result(answer)
      !! make a call, without waiting for its results
      import :: c_int32_t, c_int64_t, c_ptr, ww_submit_params, ww_value
      type(c_ptr), value :: client
      integer(c_int32_t), value :: function
      type(ww_value), intent(in), optional :: arguments(*)
      integer(c_int32_t), value :: count
      type(ww_submit_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_ticket
      integer(c_int32_t) :: answer
    end function
    function ww_client_call(client, function, arguments, count, params, timeout_ns, cancel, &
      out_ticket) bind(c, name='ww_client_call') result(answer)
      !! make a call and wait for its results
      import :: c_int32_t, c_int64_t, c_ptr, ww_submit_params, ww_value
      type(c_ptr), value :: client
      integer(c_int32_t), value :: function
      type(ww_value), intent(in), optional :: arguments(*)
      integer(c_int32_t), value :: count
      type(ww_submit_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_ticket
      integer(c_int32_t) :: answer
    end function
    function ww_client_lane_timeline(client, lane, timeout_ns, cancel, out_timeline) bind(c, &
      name='ww_client_lane_timeline') result(answer)
      !! the timeline of a lane
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: client
      integer(c_int32_t), value :: lane
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_timeline
      integer(c_int32_t) :: answer
    end function
    function ww_ticket_wait(ticket, timeout_ns, cancel) bind(c, name='ww_ticket_wait') &
      result(answer)
      !! wait until a call has ended
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ticket
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_ticket_eventfd(ticket, out_fd) bind(c, name='ww_ticket_eventfd') &
      result(answer)
      !! a descriptor for event loops: readable when a call has ended
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: ticket
      integer(c_int), intent(out), optional :: out_fd
      integer(c_int32_t) :: answer
    end function
    function ww_ticket_stream_wait(ticket, stream, flags, timeout_ns, cancel) bind(c, &
      name='ww_ticket_stream_wait') result(answer)
      !! let a stream's further work wait until a call is complete
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ticket
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: flags
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_ticket_result(ticket, index, out_value) bind(c, name='ww_ticket_result') &
      result(answer)
      !! a result of a call that ended with WW_OK
      import :: c_int32_t, c_ptr, ww_value
      type(c_ptr), value :: ticket
      integer(c_int32_t), value :: index
      type(ww_value), intent(inout), optional :: out_value
      integer(c_int32_t) :: answer
    end function
    subroutine ww_ticket_cancel(ticket) bind(c, name='ww_ticket_cancel')
      !! cancel a call
      import :: c_ptr
      type(c_ptr), value :: ticket
    end subroutine
    function ww_ticket_info_get(ticket, info) bind(c, name='ww_ticket_info_get') &
      result(answer)
      !! describe a call
      import :: c_int32_t, c_ptr, ww_ticket_info
      type(c_ptr), value :: ticket
      type(ww_ticket_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_ticket_unref(ticket) bind(c, name='ww_ticket_unref') result(answer)
      !! release a ticket
      import :: c_ptr
      type(c_ptr), value :: ticket
      type(c_ptr) :: answer
    end function
    function ww_dlpack_export(memory, array, out_tensor) bind(c, name='ww_dlpack_export') &
      result(answer)
      !! make a tensor of an array in a memory
      import :: c_int32_t, c_ptr, ww_array
      type(c_ptr), value :: memory
      type(ww_array), intent(in), optional :: array
      type(c_ptr), intent(out) :: out_tensor
      integer(c_int32_t) :: answer
    end function
    function ww_dlpack_export_unversioned(memory, array, out_tensor) bind(c, &
      name='ww_dlpack_export_unversioned') result(answer)
      !! make a tensor in the format before DLPack 1.0
      import :: c_int32_t, c_ptr, ww_array
      type(c_ptr), value :: memory
      type(ww_array), intent(in), optional :: array
      type(c_ptr), intent(out) :: out_tensor
      integer(c_int32_t) :: answer
    end function
    function ww_dlpack_import(device, tensor, out_memory, out_array) bind(c, &
      name='ww_dlpack_import') result(answer)
      !! make a memory and an array from another library's tensor
      import :: c_int32_t, c_ptr, ww_array
      type(c_ptr), value :: device
      type(c_ptr), value :: tensor
      type(c_ptr), intent(out) :: out_memory
      type(ww_array), intent(inout), optional :: out_array
      integer(c_int32_t) :: answer
    end function
    function ww_dlpack_import_unversioned(device, tensor, out_memory, out_array) bind(c, &
      name='ww_dlpack_import_unversioned') result(answer)
      !! the same, from a tensor in the format before DLPack 1.0
      import :: c_int32_t, c_ptr, ww_array
      type(c_ptr), value :: device
      type(c_ptr), value :: tensor
      type(c_ptr), intent(out) :: out_memory
      type(ww_array), intent(inout), optional :: out_array
      integer(c_int32_t) :: answer
    end function
    function ww_event_create(device, params, out_event) bind(c, name='ww_event_create') &
      result(answer)
      !! make an event that other processes can open
      import :: c_int32_t, c_ptr, ww_event_params
      type(c_ptr), value :: device
      type(ww_event_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_event
      integer(c_int32_t) :: answer
    end function
    function ww_event_ref(event) bind(c, name='ww_event_ref') result(answer)
      !! take one more reference of an event
      import :: c_ptr
      type(c_ptr), value :: event
      type(c_ptr) :: answer
    end function
    function ww_event_unref(event) bind(c, name='ww_event_unref') result(answer)
      !! release a reference of an event
      import :: c_ptr
      type(c_ptr), value :: event
      type(c_ptr) :: answer
    end function
    function ww_event_record(event, stream) bind(c, name='ww_event_record') result(answer)
      !! from now on the event stands for the work enqueued on a stream so far
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: event
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_event_stream_wait(event, stream) bind(c, name='ww_event_stream_wait') &
      result(answer)
      !! let the further work of a stream wait for the last recording
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: event
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_event_synchronize(event, timeout_ns, cancel) bind(c, &
      name='ww_event_synchronize') result(answer)
      !! wait on the CPU for the last recording
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: event
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_event_query(event) bind(c, name='ww_event_query') result(answer)
      !! ask whether the work of the last recording has run
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: event
      integer(c_int32_t) :: answer
    end function
    function ww_event_handle_get(event, out_handle) bind(c, name='ww_event_handle_get') &
      result(answer)
      !! the 64 bytes by which any CUDA program can open the event
      import :: c_int32_t, c_ptr, ww_event_handle
      type(c_ptr), value :: event
      type(ww_event_handle), intent(inout), optional :: out_handle
      integer(c_int32_t) :: answer
    end function
    function ww_event_handle_open(device, handle, out_event) bind(c, &
      name='ww_event_handle_open') result(answer)
      !! open the event of another CUDA program by its 64 bytes
      import :: c_int32_t, c_ptr, ww_event_handle
      type(c_ptr), value :: device
      type(ww_event_handle), intent(in), optional :: handle
      type(c_ptr), intent(out) :: out_event
      integer(c_int32_t) :: answer
    end function
    function ww_event_export(event, broker, params, cancel, out_token) bind(c, &
      name='ww_event_export') result(answer)
      !! a token by which any process can import the event
      import :: c_int32_t, c_ptr, ww_token, ww_token_params
      type(c_ptr), value :: event
      type(c_ptr), value :: broker
      type(ww_token_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_event_import(device, broker, token, cancel, out_event) bind(c, &
      name='ww_event_import') result(answer)
      !! open the event that a token names
      import :: c_int32_t, c_ptr, ww_token
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_event
      integer(c_int32_t) :: answer
    end function
    function ww_graph_node_create(timeline, stream, params, out_node) bind(c, &
      name='ww_graph_node_create') result(answer)
      !! add a node to a CUDA graph
      import :: c_int32_t, c_ptr, ww_graph_node_params
      type(c_ptr), value :: timeline
      type(c_ptr), value :: stream
      type(ww_graph_node_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_node
      integer(c_int32_t) :: answer
    end function
    function ww_graph_node_ref(node) bind(c, name='ww_graph_node_ref') result(answer)
      !! take one more reference of a node
      import :: c_ptr
      type(c_ptr), value :: node
      type(c_ptr) :: answer
    end function
    function ww_graph_node_unref(node) bind(c, name='ww_graph_node_unref') result(answer)
      !! release a reference of a node
      import :: c_ptr
      type(c_ptr), value :: node
      type(c_ptr) :: answer
    end function
    function ww_graph_node_native(node) bind(c, name='ww_graph_node_native') result(answer)
      !! the driver's own handle of a node, for nodes that depend on it
      import :: c_ptr
      type(c_ptr), value :: node
      type(c_ptr) :: answer
    end function
    function ww_graph_launch(stream, executable, nodes, values, count, timeout_ns, cancel) &
      bind(c, name='ww_graph_launch') result(answer)
      !! launch a graph, with the values that its nodes signal and wait for
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: stream
      type(c_ptr), value :: executable
      type(c_ptr), intent(in) :: nodes(*)
      integer(c_int64_t), intent(in), optional :: values(*)
      integer(c_int32_t), value :: count
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      integer(c_int32_t) :: answer
    end function
    function ww_in_flight_create(broker, cancel, out_list) bind(c, name='ww_in_flight_create') &
      result(answer)
      !! list what this process has in flight
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: broker
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_list
      integer(c_int32_t) :: answer
    end function
    function ww_in_flight_free(list) bind(c, name='ww_in_flight_free') result(answer)
      !! end a list
      import :: c_ptr
      type(c_ptr), value :: list
      type(c_ptr) :: answer
    end function
    function ww_in_flight_get(list, index, info) bind(c, name='ww_in_flight_get') &
      result(answer)
      !! one delivery of a list
      import :: c_int32_t, c_ptr, c_size_t, ww_in_flight_info
      type(c_ptr), value :: list
      integer(c_size_t), value :: index
      type(ww_in_flight_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_in_flight_revoke(broker, which, cancel, out_count, out_bytes) bind(c, &
      name='ww_in_flight_revoke') result(answer)
      !! end deliveries of this process that are in flight
      import :: c_int32_t, c_int64_t, c_ptr, ww_in_flight_which
      type(c_ptr), value :: broker
      type(ww_in_flight_which), intent(in), optional :: which
      type(c_ptr), value :: cancel
      integer(c_int64_t), intent(out), optional :: out_count
      integer(c_int64_t), intent(out), optional :: out_bytes
      integer(c_int32_t) :: answer
    end function
    function ww_in_flight_limit(count, bytes) bind(c, name='ww_in_flight_limit') &
      result(answer)
      !! how much this process may have in flight
      import :: c_int32_t, c_int64_t
      integer(c_int32_t), value :: count
      integer(c_int64_t), value :: bytes
      integer(c_int32_t) :: answer
    end function
    function ww_module_load(device, path, params, out_module) bind(c, name='ww_module_load') &
      result(answer)
      !! load a module from a file
      import :: c_int32_t, c_ptr, ww_module_params, c_char
      type(c_ptr), value :: device
      character(kind=c_char), intent(in), optional :: path(*)
      type(ww_module_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_module
      integer(c_int32_t) :: answer
    end function
    function ww_module_load_image(device, image, bytes, params, out_module) bind(c, &
      name='ww_module_load_image') result(answer)
      !! load a module from memory
      import :: c_int32_t, c_int64_t, c_ptr, ww_module_params
      type(c_ptr), value :: device
      type(c_ptr), value :: image
      integer(c_int64_t), value :: bytes
      type(ww_module_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_module
      integer(c_int32_t) :: answer
    end function
    function ww_module_ref(module) bind(c, name='ww_module_ref') result(answer)
      !! take one more reference of a module
      import :: c_ptr
      type(c_ptr), value :: module
      type(c_ptr) :: answer
    end function
    function ww_module_unref(module) bind(c, name='ww_module_unref') result(answer)
      !! release a reference of a module
      import :: c_ptr
      type(c_ptr), value :: module
      type(c_ptr) :: answer
    end function
    function ww_module_kernel(module, name, out_kernel) bind(c, name='ww_module_kernel') &
      result(answer)
      !! find a kernel by its name, and load it
      import :: c_int32_t, c_ptr, c_char
      type(c_ptr), value :: module
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(out) :: out_kernel
      integer(c_int32_t) :: answer
    end function
    function ww_kernel_ref(kernel) bind(c, name='ww_kernel_ref') result(answer)
      !! take one more reference of a kernel
      import :: c_ptr
      type(c_ptr), value :: kernel
      type(c_ptr) :: answer
    end function
    function ww_kernel_unref(kernel) bind(c, name='ww_kernel_unref') result(answer)
      !! release a reference of a kernel
      import :: c_ptr
      type(c_ptr), value :: kernel
      type(c_ptr) :: answer
    end function
    function ww_kernel_info_get(kernel, info) bind(c, name='ww_kernel_info_get') &
      result(answer)
      !! describe a kernel
      import :: c_int32_t, c_ptr, ww_kernel_info
      type(c_ptr), value :: kernel
      type(ww_kernel_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_kernel_argument_bytes(kernel, index, out_bytes) bind(c, &
      name='ww_kernel_argument_bytes') result(answer)
      !! the size of one argument of a kernel
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: kernel
      integer(c_int32_t), value :: index
      integer(c_int64_t), intent(out), optional :: out_bytes
      integer(c_int32_t) :: answer
    end function
    function ww_kernel_launch(kernel, stream, params, arguments, argument_count) bind(c, &
      name='ww_kernel_launch') result(answer)
      !! enqueue a kernel
      import :: c_int32_t, c_ptr, ww_kernel_argument, ww_launch_params
      type(c_ptr), value :: kernel
      type(c_ptr), value :: stream
      type(ww_launch_params), intent(in), optional :: params
      type(ww_kernel_argument), intent(in), optional :: arguments(*)
      integer(c_int32_t), value :: argument_count
      integer(c_int32_t) :: answer
    end function
    function ww_totals_create(broker, out_totals) bind(c, name='ww_totals_create') &
      result(answer)
      !! ask a broker for its totals
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: broker
      type(c_ptr), intent(out) :: out_totals
      integer(c_int32_t) :: answer
    end function
    function ww_totals_free(totals) bind(c, name='ww_totals_free') result(answer)
      !! free the totals
      import :: c_ptr
      type(c_ptr), value :: totals
      type(c_ptr) :: answer
    end function
    function ww_totals_broker(totals, info) bind(c, name='ww_totals_broker') result(answer)
      !! totals over all users
      import :: c_int32_t, c_ptr, ww_broker_totals
      type(c_ptr), value :: totals
      type(ww_broker_totals), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_totals_user(totals, index, info) bind(c, name='ww_totals_user') result(answer)
      !! totals of one user
      import :: c_int32_t, c_ptr, c_size_t, ww_user_total
      type(c_ptr), value :: totals
      integer(c_size_t), value :: index
      type(ww_user_total), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_totals_device(totals, index, info) bind(c, name='ww_totals_device') &
      result(answer)
      !! objects of one user, of one kind, on one device
      import :: c_int32_t, c_ptr, c_size_t, ww_device_total
      type(c_ptr), value :: totals
      integer(c_size_t), value :: index
      type(ww_device_total), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_totals_request(totals, index, info) bind(c, name='ww_totals_request') &
      result(answer)
      !! how often one kind of request came, or was refused
      import :: c_int32_t, c_ptr, c_size_t, ww_request_total
      type(c_ptr), value :: totals
      integer(c_size_t), value :: index
      type(ww_request_total), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_largest(broker, params, out_snapshot) bind(c, &
      name='ww_snapshot_largest') result(answer)
      !! list the largest objects, or the processes that hold most bytes
      import :: c_int32_t, c_ptr, ww_largest_params
      type(c_ptr), value :: broker
      type(ww_largest_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_snapshot
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_place(snapshot, params) bind(c, name='ww_snapshot_place') &
      result(answer)
      !! the place where a list of the largest goes on
      import :: c_int32_t, c_ptr, ww_largest_params
      type(c_ptr), value :: snapshot
      type(ww_largest_params), intent(inout), optional :: params
      integer(c_int32_t) :: answer
    end function
    function ww_snapshot_of_object(broker, object, out_snapshot) bind(c, &
      name='ww_snapshot_of_object') result(answer)
      !! the processes that hold one object
      import :: c_int32_t, c_ptr, ww_object_info
      type(c_ptr), value :: broker
      type(ww_object_info), intent(in), optional :: object
      type(c_ptr), intent(out) :: out_snapshot
      integer(c_int32_t) :: answer
    end function
    function ww_pool_create(device, params, out_pool) bind(c, name='ww_pool_create') &
      result(answer)
      !! make a pool; this process is its owner
      import :: c_int32_t, c_ptr, ww_pool_params
      type(c_ptr), value :: device
      type(ww_pool_params), intent(in), optional :: params
      type(c_ptr), intent(out) :: out_pool
      integer(c_int32_t) :: answer
    end function
    function ww_pool_ref(pool) bind(c, name='ww_pool_ref') result(answer)
      !! take one more reference of a pool
      import :: c_ptr
      type(c_ptr), value :: pool
      type(c_ptr) :: answer
    end function
    function ww_pool_unref(pool) bind(c, name='ww_pool_unref') result(answer)
      !! release a reference of a pool
      import :: c_ptr
      type(c_ptr), value :: pool
      type(c_ptr) :: answer
    end function
    function ww_pool_alloc(pool, bytes, alignment, timeout_ns, cancel, out_memory) bind(c, &
      name='ww_pool_alloc') result(answer)
      !! allocate a slice
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pool
      integer(c_int64_t), value :: bytes
      integer(c_int64_t), value :: alignment
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_memory
      integer(c_int32_t) :: answer
    end function
    function ww_pool_release(slice, stream) bind(c, name='ww_pool_release') result(answer)
      !! release a slice when the work enqueued on a stream has run
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: slice
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_pool_export(pool, broker, params, cancel, out_token) bind(c, &
      name='ww_pool_export') result(answer)
      !! a token by which other processes can join a pool before its first slice
      import :: c_int32_t, c_ptr, ww_export_params, ww_token
      type(c_ptr), value :: pool
      type(c_ptr), value :: broker
      type(ww_export_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_pool_import(device, broker, token, cancel, out_pool) bind(c, &
      name='ww_pool_import') result(answer)
      !! join a pool of another process
      import :: c_int32_t, c_ptr, ww_token
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_pool
      integer(c_int32_t) :: answer
    end function
    function ww_pool_trim(pool, keep_bytes, out_bytes) bind(c, name='ww_pool_trim') &
      result(answer)
      !! free chunks that contain no slice
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pool
      integer(c_int64_t), value :: keep_bytes
      integer(c_int64_t), intent(out), optional :: out_bytes
      integer(c_int32_t) :: answer
    end function
    function ww_pool_info_get(pool, info) bind(c, name='ww_pool_info_get') result(answer)
      !! describe a pool
      import :: c_int32_t, c_ptr, ww_pool_info
      type(c_ptr), value :: pool
      type(ww_pool_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_pool_holder_get(pool, index, info) bind(c, name='ww_pool_holder_get') &
      result(answer)
      !! describe one of the processes that have imported slices
      import :: c_int32_t, c_ptr, ww_pool_holder_info
      type(c_ptr), value :: pool
      integer(c_int32_t), value :: index
      type(ww_pool_holder_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_create(device, broker, name, params, cancel, out_queue) bind(c, &
      name='ww_work_queue_create') result(answer)
      !! make a queue in a broker, and open it
      import :: c_int32_t, c_ptr, ww_work_queue_params, c_char
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_work_queue_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_queue
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_get(device, broker, name, params, timeout_ns, cancel, out_queue) &
      bind(c, name='ww_work_queue_get') result(answer)
      !! open the queue of a name
      import :: c_int32_t, c_int64_t, c_ptr, ww_work_member_params, c_char
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      character(kind=c_char), intent(in), optional :: name(*)
      type(ww_work_member_params), intent(in), optional :: params
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_queue
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_export(queue, access, params, cancel, out_token) bind(c, &
      name='ww_work_queue_export') result(answer)
      !! a token by which any process can open the queue
      import :: c_int32_t, c_ptr, ww_token, ww_token_params
      type(c_ptr), value :: queue
      integer(c_int32_t), value :: access
      type(ww_token_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(ww_token), intent(inout), optional :: out_token
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_import(device, broker, token, params, cancel, out_queue) bind(c, &
      name='ww_work_queue_import') result(answer)
      !! open the queue that a token names
      import :: c_int32_t, c_ptr, ww_token, ww_work_member_params
      type(c_ptr), value :: device
      type(c_ptr), value :: broker
      type(ww_token), intent(in), optional :: token
      type(ww_work_member_params), intent(in), optional :: params
      type(c_ptr), value :: cancel
      type(c_ptr), intent(out) :: out_queue
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_ref(queue) bind(c, name='ww_work_queue_ref') result(answer)
      !! take one more reference of a queue
      import :: c_ptr
      type(c_ptr), value :: queue
      type(c_ptr) :: answer
    end function
    function ww_work_queue_unref(queue) bind(c, name='ww_work_queue_unref') result(answer)
      !! release a reference of a queue; the last one leaves it
      import :: c_ptr
      type(c_ptr), value :: queue
      type(c_ptr) :: answer
    end function
    function ww_work_queue_close(queue) bind(c, name='ww_work_queue_close') result(answer)
      !! announce that no more work comes
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: queue
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_acquire(queue, stream, timeout_ns, cancel, out_frame) bind(c, &
      name='ww_work_queue_acquire') result(answer)
      !! get a slot to write a frame into
      import :: c_int32_t, c_int64_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(ww_frame), intent(inout), optional :: out_frame
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_publish(queue, frame, stream) bind(c, name='ww_work_queue_publish') &
      result(answer)
      !! give a frame to the consumers
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(ww_frame), intent(inout), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_discard(queue, frame, stream) bind(c, name='ww_work_queue_discard') &
      result(answer)
      !! give a slot back without publishing a frame
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(ww_frame), intent(in), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_receive(queue, stream, timeout_ns, cancel, out_frame) bind(c, &
      name='ww_work_queue_receive') result(answer)
      !! get a frame that no other consumer has
      import :: c_int32_t, c_int64_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(c_ptr), value :: stream
      integer(c_int64_t), value :: timeout_ns
      type(c_ptr), value :: cancel
      type(ww_frame), intent(inout), optional :: out_frame
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_acknowledge(queue, frame, stream) bind(c, &
      name='ww_work_queue_acknowledge') result(answer)
      !! mark the work of a frame as done
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(ww_frame), intent(in), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_finish(queue, frame, stream) bind(c, name='ww_work_queue_finish') &
      result(answer)
      !! mark the work of a frame as done, and go on reading its bytes
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(ww_frame), intent(in), optional :: frame
      type(c_ptr), value :: stream
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_reject(queue, frame) bind(c, name='ww_work_queue_reject') &
      result(answer)
      !! give back a frame that this consumer cannot work on
      import :: c_int32_t, c_ptr, ww_frame
      type(c_ptr), value :: queue
      type(ww_frame), intent(in), optional :: frame
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_eventfd(queue, out_fd) bind(c, name='ww_work_queue_eventfd') &
      result(answer)
      !! a descriptor for event loops: readable while the member can go on
      import :: c_int, c_int32_t, c_ptr
      type(c_ptr), value :: queue
      integer(c_int), intent(out), optional :: out_fd
      integer(c_int32_t) :: answer
    end function
    function ww_work_queue_info_get(queue, info) bind(c, name='ww_work_queue_info_get') &
      result(answer)
      !! describe a queue
      import :: c_int32_t, c_ptr, ww_work_queue_info
      type(c_ptr), value :: queue
      type(ww_work_queue_info), intent(inout), optional :: info
      integer(c_int32_t) :: answer
    end function
  end interface
end module
