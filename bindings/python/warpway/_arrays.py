# SPDX-License-Identifier: Apache-2.0
"""Functions that make arrays."""

from collections.abc import Iterable
from operator import index

from warpway._core import Array, Memory, Unsupported, from_dlpack, itemsize


def _layout(shape, dtype):
    """The shape as a tuple, and the bytes of such an array, at least 1."""
    lengths = tuple(map(index, shape)) if isinstance(shape, Iterable) else (index(shape),)
    count = 1
    for length in lengths:
        count *= length
    return lengths, max(count * itemsize(dtype), 1)


def empty(shape, dtype="float32", *, device=None, pool=None, kind="device"):
    """An Array in new memory, or in a slice of a pool.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : str or a dtype of NumPy, ml_dtypes or torch
    device : Device or what it takes, optional
        Without `pool`: where the memory is to be; None: the default device.
    pool : Pool, optional
        The array is a slice of it, which costs microseconds; its bytes are not cleared. Without a
        pool the memory is at least 2 MiB on a GPU and on the host device, and zero.
    kind : 'device' or 'host'
        Without `pool`: memory of the device, or of the CPU that a GPU uses in place.

    Raises
    ------
    OutOfMemory, LimitReached
        The device, or the pool, has no room.
    """
    if pool is not None:
        return pool.empty(shape, dtype)
    shape, nbytes = _layout(shape, dtype)
    return Array(Memory(nbytes, device, kind), shape, dtype)


def zeros(shape, dtype="float32", *, device=None, pool=None, kind="device"):
    """An Array as of `empty`, which has the same parameters, with all bytes zero."""
    array = empty(shape, dtype, device=device, pool=pool, kind=kind)
    if pool is not None and array.nbytes:
        array.copy_from(bytes(array.nbytes))
    return array


def share(x, *, copy=False, device=None):
    """An Array of an array of another library, to be sent to other processes.

    Parameters
    ----------
    x : array of torch, CuPy, Numba, JAX, NumPy, ...
        It has ``__dlpack__`` or is a buffer. Nothing is copied if its memory can be shared; the
        result keeps `x` then.
    copy : bool
        Copy where the memory of `x` cannot be shared, such as that of NumPy.
    device : Device or what it takes, optional
        Of the copy; None: the host device.

    Raises
    ------
    Unsupported
        The memory cannot be shared, and `copy` is false. The message says why.
    """
    if isinstance(x, Array):
        return x
    try:
        return from_dlpack(x)
    except (AttributeError, BufferError, Unsupported) as error:
        if not copy:
            failure = Unsupported(
                f"cannot share this {type(x).__module__}.{type(x).__qualname__} without a copy: "
                f"{error}. Pass copy=True, or make the array with warpway.empty()"
            )
            failure.message = str(failure)
            raise failure from error
    view = memoryview(x)
    array = empty(view.shape, _FORMATS.get(view.format, view.format), device=device or "host")
    array.copy_from(view if view.c_contiguous else view.tobytes())
    return array


_FORMATS = {
    "b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64",
    "B": "uint8", "H": "uint16", "I": "uint32", "L": "uint64", "Q": "uint64",
    "e": "float16", "f": "float32", "d": "float64", "Zf": "complex64", "Zd": "complex128",
    "?": "bool",
}  # fmt: skip
