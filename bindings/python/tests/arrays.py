# SPDX-License-Identifier: Apache-2.0
"""Arrays of this library made of NumPy's, and compared with them; memories made of bytes."""

import numpy as np

import warpway


def array_of(numbers, device="host"):
    array = warpway.empty(numbers.shape, numbers.dtype, device=device, kind="host")
    np.asarray(array)[...] = numbers
    return array


def same(array, numbers):
    found = np.asarray(array)
    assert found.shape == numbers.shape and found.dtype == numbers.dtype
    assert (found == numbers).all()


def values_of(array):
    """The elements, also of memory that the CPU cannot reach."""
    found = np.empty(array.shape, array.dtype)
    array.copy_to(found)
    return found


def memory_of(device, data, kind="device"):
    """A Memory that begins with these bytes."""
    memory = warpway.Memory(len(data), device, kind)
    memory.write(data)
    return memory
