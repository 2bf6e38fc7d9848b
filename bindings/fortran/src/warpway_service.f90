! SPDX-License-Identifier: Apache-2.0
module warpway_service
  !! Services: functions that a process offers, and calls of them (warpway/service.h, client.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_broker, only: ww_broker
  use warpway_device, only: ww_device, ww_stream
  use warpway_memory, only: ww_memory
  use warpway_value
  use warpway_raw, only: ww_service_create, ww_service_export, ww_service_offer, &
    ww_service_start, ww_service_serve, ww_service_drain, ww_service_info_get, &
    ww_call_argument, ww_call_result, ww_call_stream, ww_call_fail, ww_call_is_cancelled, &
    ww_call_info_get, ww_client_open, ww_client_import, ww_client_wait_ready, ww_client_find, &
    ww_client_submit, ww_client_call, ww_client_service_info_get, ww_ticket_wait, &
    ww_ticket_result, ww_ticket_cancel, ww_ticket_info_get, ww_stream_ref, ww_memory_import
  implicit none
  private
  public :: ww_service, ww_client, ww_ticket, ww_call, ww_function, ww_function_context

  type :: ww_function_context
    !! Extend this type with what a function of a service needs.
  end type

  type :: ww_call
    !! A call that a function of a service runs. It is valid until the function returns.
    private
    type(c_ptr) :: object = c_null_ptr
    integer(c_int32_t) :: status = 0
    class(ww_function_context), pointer, public :: context => null()
      !! What was given to offer(); not associated if nothing was.
  contains
    procedure :: argument => call_argument
    procedure :: result => call_result
    procedure :: stream => call_stream
    procedure :: fail => call_fail
    procedure :: has_failed => call_has_failed
    procedure :: is_cancelled => call_is_cancelled
    procedure :: info => call_info
  end type

  abstract interface
    subroutine ww_function(call)
      !! A function of a service. It sets all results and returns, or calls call%fail() and returns.
      !! A call%argument() or call%result() that fails without stat fails the call, too: look at
      !! call%has_failed() before what it gave is used. Other procedures get stat here: without it
      !! their errors end the server.
      import :: ww_call
      type(ww_call), intent(inout) :: call
    end subroutine
  end interface

  type :: offer
    procedure(ww_function), pointer, nopass :: run => null()
    class(ww_function_context), pointer :: context => null()
    type(offer), pointer :: next => null()
  end type

  type, extends(ww_handle) :: ww_service
    !! Functions that this process offers to others. They run in serve(), on its thread.
  contains
    procedure :: create => service_create
    procedure :: offer => service_offer
    procedure :: start => service_start
    procedure :: serve => service_serve
    procedure :: drain => service_drain
    procedure :: export => service_export
    procedure :: info => service_info
  end type

  type, extends(ww_handle) :: ww_client
    !! A process that calls the functions of a service.
  contains
    procedure :: open => client_open
    procedure :: import => client_import
    procedure :: wait_ready => client_wait_ready
    procedure :: call => client_call
    procedure :: submit => client_submit
    procedure :: info => client_info
  end type

  type, extends(ww_handle) :: ww_ticket
    !! A call that was made.
  contains
    procedure :: wait => ticket_wait
    procedure :: result => ticket_result
    procedure :: import => ticket_import
    procedure :: cancel => ticket_cancel
    procedure :: info => ticket_info
  end type

contains
  subroutine service_create(self, device, name, params, broker, stat, errmsg)
    !! A service whose functions work on the memory of a device. Without a name it is found by its
    !! token only.
    class(ww_service), intent(inout) :: self
    type(ww_device), intent(in) :: device
    character(len=*), intent(in), optional :: name
    type(ww_service_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_service_create(object, c_broker, c_name, params, c_null_ptr, &
      object)
    call keep(self, kind_service, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine service_offer(self, name, signature, run, context, params, stat, errmsg)
    !! Offers a function before start(). signature: "f32[n] x read, f64 a -> f64 sum", see
    !! warpway-signature(7). context: what the function needs; it must stay until the service is
    !! closed.
    class(ww_service), intent(in) :: self
    character(len=*), intent(in) :: name, signature
    procedure(ww_function) :: run
    class(ww_function_context), intent(in), target, optional :: context
    type(ww_function_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:), c_signature(:)
    type(offer), pointer :: made
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_service, status)
    call c_text(name, c_name, status)
    call c_text(signature, c_signature, status)
    allocate (made)
    made%run => run
    if (present(context)) made%context => context
    if (status == ww_ok) status = ww_service_offer(object, c_name, c_signature, &
      c_funloc(run_function), c_loc(made), params)
    if (status == ww_ok) then
      call offer_keep(made)
    else
      deallocate (made)
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine offer_keep(made)
    !! The library uses it until the service has ended, which no variable of Fortran can tell: so it
    !! is kept as long as the process lives.
    type(offer), pointer, intent(in) :: made
    type(offer), pointer, save :: offers => null()
    made%next => offers
    offers => made
  end subroutine

  function run_function(context, object) bind(c) result(status)
    !! What the library calls: runs the procedure that was offered.
    type(c_ptr), value :: context, object
    integer(c_int32_t) :: status
    type(offer), pointer :: made
    type(ww_call) :: one

    call c_f_pointer(context, made)
    one%object = object
    one%context => made%context
    call made%run(one)
    status = one%status
  end function

  subroutine service_start(self, stat, errmsg)
    !! Lets clients call; all functions have been offered.
    class(ww_service), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_service, status)
    if (status == ww_ok) status = ww_service_start(object)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine service_serve(self, timeout_ns, stat, errmsg)
    !! Runs calls on this thread; without timeout_ns for ever. stat: ww_timed_out; ww_end, after
    !! drain(), when all calls have been run.
    class(ww_service), intent(in) :: self
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_service, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_service_serve(object, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine service_drain(self, stat, errmsg)
    !! Takes no further calls.
    class(ww_service), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_service, status)
    if (status == ww_ok) status = ww_service_drain(object)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine service_export(self, token, access, params, stat, errmsg)
    !! A token of the service. access: ww_access_write, to call, or ww_access_read, to observe.
    class(ww_service), intent(in) :: self
    type(ww_token), intent(inout) :: token
    integer(c_int32_t), intent(in) :: access
    type(ww_token_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_service, status)
    if (status == ww_ok) status = ww_service_export(object, access, params, c_null_ptr, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine service_info(self, info, stat, errmsg)
    !! Its state and how many clients and calls there are.
    class(ww_service), intent(in) :: self
    type(ww_service_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_service, status)
    if (status == ww_ok) status = ww_service_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine

  ! --- a call, in the server ---

  subroutine call_settle(self, status, stat, errmsg)
    !! An error fails the call, and no error ends the server.
    class(ww_call), intent(inout) :: self
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=ww_error_message_bytes) :: text
    character(kind=c_char), allocatable :: chars(:)
    integer :: same
    integer(c_int32_t) :: ok

    text = ''
    call settle(status, same, text)
    if (present(stat)) stat = same
    if (status == ww_ok) return
    if (present(errmsg)) errmsg = text
    ok = ww_ok
    call c_text(trim(text), chars, ok)
    if (status < 0 .and. .not. present(stat)) self%status = ww_call_fail(self%object, status, chars)
  end subroutine

  subroutine call_argument(self, index, value, stat, errmsg)
    !! An argument, from 1 on, for ww_get(). Without stat an error fails the call.
    class(ww_call), intent(inout) :: self
    integer, intent(in) :: index
    type(ww_value), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    status = check_call(self, index)
    if (status == ww_ok) status = ww_call_argument(self%object, int(index - 1, c_int32_t), value)
    if (status == ww_end) status = fail(ww_err_invalid, 'there is no argument of this index')
    call call_settle(self, status, stat, errmsg)
  end subroutine

  subroutine call_result(self, index, argument, stat, errmsg)
    !! Sets a result, from 1 on, to a value made by ww_arg(). Without stat an error fails the call.
    class(ww_call), intent(inout) :: self
    integer, intent(in) :: index
    type(ww_argument), intent(in), target :: argument
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(ww_value) :: value
    integer(c_int32_t) :: status

    status = check_call(self, index)
    value = value_of(argument, status)
    if (status == ww_ok) status = ww_call_result(self%object, int(index - 1, c_int32_t), value)
    call call_settle(self, status, stat, errmsg)
  end subroutine

  integer(c_int32_t) function check_call(self, index)
    class(ww_call), intent(in) :: self
    integer, intent(in) :: index
    check_call = ww_ok
    if (.not. c_associated(self%object)) then
      check_call = fail(ww_err_invalid, 'the call is none that a function was given')
    else if (index < 1) then
      check_call = fail(ww_err_invalid, 'arguments and results count from 1')
    end if
  end function

  subroutine call_stream(self, stream, stat, errmsg)
    !! The stream for the call's work. Close it, or have it finalized, before the function returns.
    class(ww_call), intent(inout) :: self
    type(ww_stream), intent(inout) :: stream
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = check_call(self, 1)
    if (status == ww_ok) status = ww_call_stream(self%object, object)
    if (status == ww_ok) object = ww_stream_ref(object)
    call keep(stream, kind_stream, object, status)
    call call_settle(self, status, stat, errmsg)
  end subroutine

  subroutine call_fail(self, status, message)
    !! Says why the call fails: the client gets both. status: an error, ww_err_...
    class(ww_call), intent(inout) :: self
    integer(c_int32_t), intent(in) :: status
    character(len=*), intent(in) :: message
    character(kind=c_char), allocatable :: chars(:)
    integer(c_int32_t) :: ok

    ok = ww_ok
    call c_text(message, chars, ok)
    self%status = status
    if (c_associated(self%object)) self%status = ww_call_fail(self%object, status, chars)
  end subroutine

  logical function call_has_failed(self)
    !! Whether fail() was called, or an argument() or a result() has failed.
    class(ww_call), intent(in) :: self
    call_has_failed = self%status /= ww_ok
  end function

  logical function call_is_cancelled(self)
    !! Whether the client has cancelled the call or ended, or its deadline has passed: the function may end early.
    class(ww_call), intent(in) :: self
    call_is_cancelled = .true.
    if (c_associated(self%object)) call_is_cancelled = ww_call_is_cancelled(self%object) /= 0
  end function

  subroutine call_info(self, info, stat, errmsg)
    !! Who makes the call.
    class(ww_call), intent(inout) :: self
    type(ww_call_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    status = check_call(self, 1)
    if (status == ww_ok) status = ww_call_info_get(self%object, info)
    call call_settle(self, status, stat, errmsg)
  end subroutine

  ! --- the client ---

  subroutine client_open(self, name, params, broker, timeout_ns, stat, errmsg)
    !! The service of a name. timeout_ns: how long to wait for the name; absent: not at all.
    class(ww_client), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(ww_client_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    type(c_ptr) :: object, c_broker
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: status

    status = ww_ok
    c_broker = find_optional(broker, kind_broker, status)
    limit_ns = limit(timeout_ns, 0_c_int64_t, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_client_open(c_broker, c_name, params, limit_ns, c_null_ptr, &
      object)
    call keep(self, kind_client, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine client_import(self, token, params, broker, stat, errmsg)
    !! The service of a token.
    class(ww_client), intent(inout) :: self
    type(ww_token), intent(in) :: token
    type(ww_client_params), intent(in), optional :: params
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object, c_broker
    integer(c_int32_t) :: status

    status = ww_ok
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_client_import(c_broker, token, params, c_null_ptr, object)
    call keep(self, kind_client, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine client_wait_ready(self, timeout_ns, stat, errmsg)
    !! Waits until the server has started the service; without timeout_ns for ever.
    class(ww_client), intent(in) :: self
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_client, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_client_wait_ready(object, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine make_call(self, waits, name, arguments, ticket, params, timeout_ns, status)
    !! What call() and submit() have in common.
    class(ww_client), intent(in) :: self
    logical, intent(in) :: waits
    character(len=*), intent(in) :: name
    type(ww_argument), intent(in), target :: arguments(:)
    type(ww_ticket), intent(inout) :: ticket
    type(ww_submit_params), intent(in), optional :: params
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer(c_int32_t), intent(out) :: status
    character(kind=c_char), allocatable :: c_name(:)
    type(ww_value) :: values(ww_call_args_max)
    integer(c_int64_t) :: limit_ns
    integer(c_int32_t) :: function, count, i
    type(c_ptr) :: object, made

    status = ww_ok
    object = find(self, kind_client, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    call c_text(name, c_name, status)
    count = size(arguments, kind=c_int32_t)
    if (count > ww_call_args_max .and. status == ww_ok) &
      status = fail(ww_err_limit, 'a call has at most 32 arguments')
    if (status /= ww_ok) return
    do i = 1, count
      values(i) = value_of(arguments(i), status)
    end do
    if (status == ww_ok) status = ww_client_find(object, c_name, timeout_ns=limit_ns, &
      cancel=c_null_ptr, out_function=function)
    if (status /= ww_ok) return
    if (waits) then
      status = ww_client_call(object, function, values, count, params, limit_ns, c_null_ptr, made)
    else
      status = ww_client_submit(object, function, values, count, params, limit_ns, c_null_ptr, made)
    end if
    call keep(ticket, kind_ticket, made, status)
  end subroutine

  subroutine client_call(self, name, arguments, ticket, params, timeout_ns, stat, errmsg)
    !! Calls a function and waits for its results, which ticket%result() reads; without timeout_ns
    !! for ever. arguments: [ww_arg(1), ww_arg(2.5d0)], or [ww_argument ::] for none. A function that
    !! fails gives its status and message.
    class(ww_client), intent(in) :: self
    character(len=*), intent(in) :: name
    type(ww_argument), intent(in), target :: arguments(:)
    type(ww_ticket), intent(inout) :: ticket
    type(ww_submit_params), intent(in), optional :: params
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    call make_call(self, .true., name, arguments, ticket, params, timeout_ns, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine client_submit(self, name, arguments, ticket, params, timeout_ns, stat, errmsg)
    !! Makes a call without waiting for its results: ticket%wait() does. timeout_ns: how long to
    !! wait for room; absent: for ever.
    class(ww_client), intent(in) :: self
    character(len=*), intent(in) :: name
    type(ww_argument), intent(in), target :: arguments(:)
    type(ww_ticket), intent(inout) :: ticket
    type(ww_submit_params), intent(in), optional :: params
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status

    call make_call(self, .false., name, arguments, ticket, params, timeout_ns, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine client_info(self, info, stat, errmsg)
    !! The state of the service, and which process is the server.
    class(ww_client), intent(in) :: self
    type(ww_service_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_client, status)
    if (status == ww_ok) status = ww_client_service_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ticket_wait(self, timeout_ns, stat, errmsg)
    !! Waits until the call has ended; without timeout_ns for ever. stat: ww_not_ready (it goes on),
    !! or how it has ended.
    class(ww_ticket), intent(in) :: self
    integer(c_int64_t), intent(in), optional :: timeout_ns
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: limit_ns
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_ticket, status)
    limit_ns = limit(timeout_ns, ww_forever, status)
    if (status == ww_ok) status = ww_ticket_wait(object, limit_ns, c_null_ptr)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ticket_result(self, index, value, stat, errmsg)
    !! A result, from 1 on, for ww_get(); valid until the ticket is closed. An array: see import().
    class(ww_ticket), intent(in) :: self
    integer, intent(in) :: index
    type(ww_value), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_ticket, status)
    if (status == ww_ok) status = ww_ticket_result(object, int(index - 1, c_int32_t), value)
    if (status == ww_end) status = fail(ww_err_invalid, 'there is no result of this index')
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ticket_import(self, index, device, memory, array, access, broker, stat, errmsg)
    !! Maps an array that is a result. access: ww_access_read, if it is absent, or ww_access_write.
    class(ww_ticket), intent(in) :: self
    integer, intent(in) :: index
    type(ww_device), intent(in) :: device
    type(ww_memory), intent(inout) :: memory
    type(ww_array), intent(inout) :: array
    integer(c_int32_t), intent(in), optional :: access
    type(ww_broker), intent(in), optional :: broker
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(ww_import_params) :: params
    type(ww_object_info) :: info
    type(ww_array), pointer :: shape
    type(ww_token), pointer :: token
    type(ww_value) :: value
    type(c_ptr) :: object, c_broker, c_device
    integer(c_int32_t) :: status

    status = ww_ok
    params%access = ww_access_read
    if (present(access)) params%access = access
    object = find(self, kind_ticket, status)
    c_device = find(device, kind_device, status)
    c_broker = find_optional(broker, kind_broker, status)
    if (status == ww_ok) status = ww_ticket_result(object, int(index - 1, c_int32_t), value)
    if (status == ww_end) status = fail(ww_err_invalid, 'there is no result of this index')
    if (status == ww_ok .and. (value%kind /= ww_argument_array .or. &
      .not. c_associated(value%token))) status = fail(ww_err_mismatch, 'the result is no array')
    if (status == ww_ok) then
      call c_f_pointer(value%token, token)
      status = ww_memory_import(c_device, c_broker, token, params, c_null_ptr, object, info)
      call keep(memory, kind_memory, object, status)
    end if
    if (status == ww_ok) then
      array = info%array
      if (c_associated(value%array)) then
        call c_f_pointer(value%array, shape)
        array = shape
      end if
    end if
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ticket_cancel(self)
    !! Cancels the call: one that was not started is not; one that runs can ask.
    class(ww_ticket), intent(in) :: self
    if (self%is_open()) call ww_ticket_cancel(self%c_pointer())
  end subroutine

  subroutine ticket_info(self, info, stat, errmsg)
    !! How far the call is.
    class(ww_ticket), intent(in) :: self
    type(ww_ticket_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: object
    integer(c_int32_t) :: status

    status = ww_ok
    object = find(self, kind_ticket, status)
    if (status == ww_ok) status = ww_ticket_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine
end module
