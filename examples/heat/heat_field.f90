! SPDX-License-Identifier: Apache-2.0
module heat_field
  !! What the daemon in Fortran computes on the CPU, in the threads of OpenMP.
  !!
  !! A field has the shape [columns, rows], which in memory is the same as [rows][columns] in C.
  use, intrinsic :: iso_c_binding
  use heat_interface, only: heat_source, heat_metadata
  implicit none
  private
  public :: diffuse, hold_source, resample, describe, nearest_cell

  integer, parameter :: serial_most = 2**18 !! cells: up to here one thread is as fast, or faster

contains
  subroutine diffuse(from, to, x, y)
    !! One step, into another field; x and y are diffusivity * time step / dx**2, and / dy**2.
    real(c_float), intent(in), contiguous :: from(:, :)
    real(c_float), intent(inout), contiguous :: to(:, :)
    real(c_float), intent(in) :: x, y
    integer :: columns, rows, row

    columns = size(from, 1)
    rows = size(from, 2)
    to(:, 1) = 0
    to(:, rows) = 0
    !$omp parallel do if(columns * rows > serial_most) schedule(static)
    do row = 2, rows - 1
      to(1, row) = 0
      to(columns, row) = 0
      to(2:columns - 1, row) = from(2:columns - 1, row) + &
        x * (from(1:columns - 2, row) - 2 * from(2:columns - 1, row) + from(3:columns, row)) + &
        y * (from(2:columns - 1, row - 1) - 2 * from(2:columns - 1, row) + &
        from(2:columns - 1, row + 1))
    end do
    !$omp end parallel do
  end subroutine

  integer function nearest_cell(place, cells)
    !! The cell that is nearest to a place from 0 to 1, counted from 1, and not at the edge.
    real(c_double), intent(in) :: place
    integer, intent(in) :: cells
    nearest_cell = 1 + nint(min(max(anint(place * (cells - 1)), 1d0), cells - 2d0))
  end function

  subroutine hold_source(source, field)
    !! Holds the cells of a source at its temperature, at least one; the edges stay at 0.
    type(heat_source), intent(in) :: source
    real(c_float), intent(inout), contiguous :: field(:, :)
    real(c_double) :: dx, dy
    integer :: columns, rows, row, column

    columns = size(field, 1)
    rows = size(field, 2)
    do row = nearest_cell(source%y - source%radius, rows), nearest_cell(source%y + source%radius, rows)
      do column = nearest_cell(source%x - source%radius, columns), &
        nearest_cell(source%x + source%radius, columns)
        dx = (column - 1d0) / (columns - 1) - source%x
        dy = (row - 1d0) / (rows - 1) - source%y
        if (dx**2 + dy**2 <= source%radius**2) &
          field(column, row) = real(source%temperature, c_float)
      end do
    end do
    field(nearest_cell(source%x, columns), nearest_cell(source%y, rows)) = real(source%temperature, c_float)
  end subroutine

  subroutine resample(from, to)
    !! Fills a field from one with other rows and columns, linearly between its cells.
    real(c_float), intent(in), contiguous :: from(:, :)
    real(c_float), intent(inout), contiguous :: to(:, :)
    real(c_double) :: x, y, upper, lower
    integer :: row, column, above, left

    do row = 1, size(to, 2)
      y = (row - 1d0) * (size(from, 2) - 1) / (size(to, 2) - 1)
      above = min(int(y), size(from, 2) - 2)
      do column = 1, size(to, 1)
        x = (column - 1d0) * (size(from, 1) - 1) / (size(to, 1) - 1)
        left = min(int(x), size(from, 1) - 2)
        upper = from(left + 1, above + 1) + (x - left) * (real(from(left + 2, above + 1), &
          c_double) - from(left + 1, above + 1))
        lower = from(left + 1, above + 2) + (x - left) * (real(from(left + 2, above + 2), &
          c_double) - from(left + 1, above + 2))
        to(column, row) = real(upper + (y - above) * (lower - upper), c_float)
      end do
    end do
  end subroutine

  subroutine describe(field, metadata)
    !! Least, most and mean temperature.
    real(c_float), intent(in), contiguous :: field(:, :)
    type(heat_metadata), intent(inout) :: metadata
    real(c_float) :: least, most
    real(c_double) :: total
    integer :: row

    least = field(1, 1)
    most = field(1, 1)
    total = 0
    !$omp parallel do if(size(field) > serial_most) reduction(min: least) &
    !$omp reduction(max: most) reduction(+: total)
    do row = 1, size(field, 2)
      least = min(least, minval(field(:, row)))
      most = max(most, maxval(field(:, row)))
      total = total + sum(real(field(:, row), c_double))
    end do
    !$omp end parallel do
    metadata%minimum = least
    metadata%maximum = most
    metadata%mean = total / size(field)
  end subroutine
end module
