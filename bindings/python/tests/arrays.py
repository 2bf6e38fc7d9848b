# SPDX-License-Identifier: Apache-2.0
"""Arrays of this library made of NumPy's, and compared with them."""

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
