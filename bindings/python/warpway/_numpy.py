# SPDX-License-Identifier: Apache-2.0
"""An Array as one of NumPy, and types of elements that only NumPy knows.

Such a type is structured, of text, of time, or wider than those of GPUs. The elements of an Array are opaque then,
and its pickle carries the type as ``numpy.lib.format`` writes it into files: a str, or a list of fields.
"""

from __future__ import annotations

from warpway import _core
from warpway._arrays import _unsupported, empty
from warpway._core import Array, InvalidArgument
from warpway._strided import is_of_gpu

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    _Descr = Any  # a str, or a list of tuples

_ERRORS: dict[str, Callable[[str], Exception]] = {
    "Unsupported": _unsupported,
    "BufferError": BufferError,
    "AttributeError": AttributeError,
}


def name_of(dtype: Any) -> str:
    """The name of a dtype of NumPy; of a structured one its fields."""
    if dtype.kind in "OTbiufc" and dtype.char not in "gG" and dtype.byteorder != ">" or dtype.isbuiltin == 2:
        return str(dtype.name)
    try:
        return str(dtype.descr if dtype.names else dtype.str)
    except ValueError:  # fields overlap
        return str(dtype)


def is_numpys(dtype: Any) -> bool:
    """Whether only NumPy knows the type. Those of ml_dtypes are of the users of NumPy, and no void."""
    return dtype.isbuiltin != 2 and (dtype.kind in "MmSUVOT" or dtype.char in "gG")


def check(dtype: Any) -> bool:
    """Whether only NumPy knows the type. Raises if its elements cannot be copied."""
    if not is_numpys(dtype):
        _core.itemsize(dtype)  # the byte order
        return False
    if dtype.hasobject or dtype.kind == "T":
        advice = "x[name] of the other fields" if dtype.names else "numpy.asarray(x, float) or numpy.asarray(x, str)"
        raise _unsupported(
            f"cannot share an array of {name_of(dtype)}: its elements are, or have, addresses of Python objects of this "
            f"process; give what has numbers or text alone, such as {advice}"
        )
    if not 0 < dtype.itemsize < 1 << 16:
        raise _unsupported(
            f"cannot share an array of {name_of(dtype)}: its elements have {dtype.itemsize} bytes, and 1 to 65535 are "
            "possible"
        )
    try:
        dtype.descr
    except ValueError as error:
        raise _unsupported(
            f"cannot share an array of {dtype}, whose fields overlap or lie in another order than their names: "
            "give numpy.lib.recfunctions.repack_fields(x, recurse=True)"
        ) from error
    return True


def share(array: Any, device: Any) -> Array:
    """A copy of a NumPy array of a type that only NumPy knows."""
    from numpy.lib.format import dtype_to_descr

    made = empty(array.shape, f"opaque8x{array.itemsize}", device=device or "host")
    if made.nbytes:
        made.memory.write(array.tobytes())
    return made._describe(name_of(array.dtype), dtype_to_descr(array.dtype))


def view_of(array: Any, numpys: bool) -> tuple[memoryview, str]:
    """As `_view_buffer`, of a NumPy array."""
    dtype = array.dtype
    if not is_numpys(dtype):
        return memoryview(array.view(f"int{8 * array.itemsize}")), name_of(dtype)
    if not numpys:
        refuse(array)
    return memoryview(array.view(f"V{array.itemsize}")), name_of(dtype)


def reduced(array: Array, made: tuple[Any, tuple[bytes]]) -> tuple[Any, tuple[bytes, str, _Descr]]:
    """What pickle writes of an Array, and its type."""
    assert array._numpy_type
    return unpickle, (*made[1], *array._numpy_type)


def unpickle(payload: bytes, name: str, descr: _Descr) -> Array:
    array: Array = _core.unpickle(payload)
    return array._describe(name, descr)


def refuse(array: Any, error: str = "Unsupported") -> NoReturn:
    """Of what does not say the type to others. `array`: one of this package, or of NumPy"""
    name = array.dtype if isinstance(array, Array) else name_of(array.dtype)
    way = "array" if array.ndim else "array.reshape(1)"
    raise _ERRORS[error](
        f"elements of {name} travel only by a pickle of their Array, which says their type, and only NumPy knows "
        f"them: give {way}.view('u1'), whose bytes NumPy can view as that type anywhere"
    )


def _dtype_of(array: Array) -> Any:
    import numpy

    if array._numpy_type:
        from numpy.lib.format import descr_to_dtype

        dtype = descr_to_dtype(array._numpy_type[1])
        if dtype.hasobject or dtype.itemsize != array.itemsize:
            raise InvalidArgument(f"this array's elements of {array.itemsize} bytes came as {array.dtype}, which they are not")
        return dtype
    if array.dtype.startswith("opaque"):
        return numpy.dtype(f"V{array.itemsize}")
    try:
        return numpy.dtype(array.dtype)
    except TypeError:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, array.dtype))


def to_numpy(array: Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """`Array.__array__`"""
    import numpy

    if is_of_gpu(array):
        raise _unsupported("NumPy cannot reach this array of a GPU: array.numpy(copy=True) copies it")
    array.wait()
    made = numpy.ndarray(array.shape, _dtype_of(array), memoryview(array.memory), array.offset, array.strides)
    if copy:
        made = made.copy()
    return made if dtype is None else made.astype(dtype, copy=False)


def as_numpy(array: Array, *, copy: bool = False) -> Any:
    """`Array.numpy`"""
    import numpy

    if not copy or not is_of_gpu(array):
        return to_numpy(array, copy=copy)
    made = numpy.empty(array.shape, _dtype_of(array))
    array.copy_to(made.reshape(-1).view("u1"))
    return made
