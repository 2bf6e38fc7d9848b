# SPDX-License-Identifier: Apache-2.0
"""Copies where an Array, or a buffer, has gaps or another order than C's. The bytes go through the CPU."""

from __future__ import annotations

from itertools import product
from operator import mul

from warpway._core import Array, InvalidArgument, from_dlpack

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any


def copy(target: Array | memoryview, source: Array | memoryview) -> None:
    """Between an Array and an Array or a memoryview, whose types and shapes were compared."""
    if source.nbytes != target.nbytes:
        raise InvalidArgument(f"cannot copy between arrays of {source.nbytes} and {target.nbytes} bytes")
    if not source.nbytes:
        return
    data = _read(source) if isinstance(source, Array) else source.tobytes()
    if not isinstance(target, Array):
        _assign(target, data)
    elif target.is_contiguous:
        target.memory.write(data, target.offset)
    elif target.access == "read":
        target.memory.write(data[:1], target.offset)  # AccessDenied
    elif is_of_gpu(target):
        _write_pieces(_bytes_of(target), data)
    else:
        _assign(_bytes_of(target), data)


def is_of_gpu(array: Array) -> bool:
    """Whether the CPU cannot reach the bytes."""
    return array.__dlpack_device__()[0] == 2


def _bytes_of(array: Array) -> Array:
    """The same elements, each of them as a row of its bytes."""
    item = array.itemsize
    return Array(array.memory, (*array.shape, item), "uint8", (*array.strides, 1), array.offset)


def _read(array: Array) -> bytes:
    """In C order."""
    array.wait()
    if array.is_contiguous:
        return array.memory.read(array.offset, array.nbytes)
    whole = _bytes_of(array)
    return memoryview(from_dlpack(whole, device="host") if is_of_gpu(array) else whole).tobytes()


def _assign(target: Any, data: bytes) -> None:
    import numpy

    array = numpy.asarray(target)
    # As bytes: NumPy would take some elements for structs without fields, and copy nothing.
    array = array.view(f"V{array.itemsize}")
    array[...] = numpy.frombuffer(data, array.dtype).reshape(array.shape)


def _write_pieces(target: Array, data: bytes) -> None:
    """One copy for each piece without gaps: what is between them may be written by others meanwhile."""
    outer, length = target.ndim, 1
    while target.strides[outer - 1] == length:
        outer -= 1
        length *= target.shape[outer]
    for i, index in enumerate(product(*map(range, target.shape[:outer]))):
        offset = target.offset + sum(map(mul, index, target.strides))
        target.memory.write(data[i * length : (i + 1) * length], offset)
