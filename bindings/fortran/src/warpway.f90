! SPDX-License-Identifier: Apache-2.0
module warpway
  !! All that a program needs: `use warpway`. The functions of C are in warpway_raw.
  use warpway_constants
  use warpway_handle, only: ww_handle, ww_text, ww_error_text, ww_open_handles, &
    assignment(=)
  use warpway_device
  use warpway_broker
  use warpway_memory
  use warpway_sync
  use warpway_pool
  use warpway_channel
  use warpway_view
  use warpway_value, only: ww_argument, ww_arg, ww_get
  use warpway_service
  implicit none
  public
end module
