! SPDX-License-Identifier: Apache-2.0
module warpway_broker
  !! The broker, which keeps objects by name, and tokens (warpway/broker.h, warpway/token.h).
  use, intrinsic :: iso_c_binding
  use warpway_constants
  use warpway_handle
  use warpway_raw, only: ww_broker_open, ww_broker_info_get, ww_broker_remove, ww_broker_end, ww_broker_stat, &
    ww_token_info_get, ww_token_to_text, ww_token_from_text
  implicit none
  private
  public :: ww_broker, ww_token_write, ww_token_read, ww_describe_token

  type, extends(ww_handle) :: ww_broker
    !! A connection to a broker. Calls that take a broker find one themselves if it is absent.
  contains
    procedure :: open => broker_open
    procedure :: info => broker_info
    procedure :: remove => broker_remove
    procedure :: end_object => broker_end
    procedure :: find => broker_find
  end type

contains
  subroutine broker_open(self, address, params, stat, errmsg)
    !! Connects to a broker: the default one, or the one whose socket has the path address.
    class(ww_broker), intent(inout) :: self
    character(len=*), intent(in), optional :: address
    type(ww_broker_params), intent(in), optional :: params
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: c_address(:)
    type(ww_broker_params) :: all
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    if (present(params)) all = params
    call c_text(address, c_address, status)
    if (allocated(c_address)) all%address = c_loc(c_address)
    if (status == ww_ok) status = ww_broker_open(all, object)
    call keep(self, kind_broker, object, status)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine broker_info(self, info, stat, errmsg)
    !! The state of the broker.
    class(ww_broker), intent(in) :: self
    type(ww_broker_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_broker, status)
    if (status == ww_ok) status = ww_broker_info_get(object, info)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine broker_remove(self, name, stat, errmsg)
    !! Removes a name. A memory goes on without it, and tokens in flight arrive; any other object ends.
    class(ww_broker), intent(in) :: self
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg

    call take_name(self, name, .false., stat, errmsg)
  end subroutine

  subroutine broker_end(self, name, stat, errmsg)
    !! Ends the object of a name, with its tokens in flight. Processes that have it keep what they mapped.
    class(ww_broker), intent(in) :: self
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg

    call take_name(self, name, .true., stat, errmsg)
  end subroutine

  subroutine take_name(self, name, ends, stat, errmsg)
    class(ww_broker), intent(in) :: self
    character(len=*), intent(in) :: name
    logical, intent(in) :: ends
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_broker, status)
    call c_text(name, c_name, status)
    if (status == ww_ok .and. ends) status = ww_broker_end(object, c_name)
    if (status == ww_ok .and. .not. ends) status = ww_broker_remove(object, c_name)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine broker_find(self, name, info, stat, errmsg)
    !! What the broker has under a name. stat: ww_err_not_found.
    class(ww_broker), intent(in) :: self
    character(len=*), intent(in) :: name
    type(ww_object_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: c_name(:)
    integer(c_int32_t) :: status
    type(c_ptr) :: object

    status = ww_ok
    object = find(self, kind_broker, status)
    call c_text(name, c_name, status)
    if (status == ww_ok) status = ww_broker_stat(object, c_name, info)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ww_token_write(token, text, stat, errmsg)
    !! A token as text of letters, digits, '-' and '_', for command lines and messages.
    type(ww_token), intent(in) :: token
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char) :: chars(ww_token_text_bytes)
    integer(c_int32_t) :: status

    status = ww_token_to_text(token, chars)
    text = ''
    if (status == ww_ok) text = ww_text(chars)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ww_token_read(text, token, stat, errmsg)
    !! The token that a text is; blanks at the end do not count.
    character(len=*), intent(in) :: text
    type(ww_token), intent(inout) :: token
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: chars(:)
    integer(c_int32_t) :: status

    status = ww_ok
    call c_text(trim(text), chars, status)
    if (status == ww_ok) status = ww_token_from_text(chars, token)
    call settle(status, stat, errmsg)
  end subroutine

  subroutine ww_describe_token(token, info, stat, errmsg)
    !! What a token names, as it says itself: nobody has checked it.
    type(ww_token), intent(in) :: token
    type(ww_token_info), intent(inout) :: info
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call settle(ww_token_info_get(token, info), stat, errmsg)
  end subroutine
end module
