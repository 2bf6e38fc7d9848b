# SPDX-License-Identifier: Apache-2.0
"""An Array as a number, and what is refused of operators: they would compute with all elements."""

from __future__ import annotations

from math import inf, ldexp, nan
from numbers import Number
from struct import unpack

from warpway._arrays import _FORMATS
from warpway._core import Array

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

# For struct; a complex number is two of them.
_LETTERS = {name: letter.replace("Z", letter[-1]) for letter, name in _FORMATS.items()}
_OF_ARRAYS = ("__array__", "__dlpack__", "__array_interface__", "__cuda_array_interface__")


def _value(array: Array) -> Any:
    """The one element, which a GPU's ready point is waited for."""
    if array.ndim:
        raise TypeError(
            f"only an Array of 0 dimensions, such as one element, is a number, and this one has shape {array.shape}: "
            "numpy.asarray(array) computes with it"
        )
    data = bytearray(array.itemsize)
    array.copy_to(data)
    return _number(array.dtype, data)


def _number(dtype: str, data: bytearray) -> Any:
    if dtype in _LETTERS:
        parts = unpack("<" + _LETTERS[dtype], data)
        return complex(*parts) if len(parts) == 2 else parts[0]
    if dtype == "bfloat16":
        return unpack("<f", b"\0\0" + data)[0]
    if dtype.startswith("float8_") and len(data) == 1:
        return _float8(dtype, data[0])
    raise TypeError(f"Python has no number for an element of type {dtype}")


def _float8(dtype: str, bits: int) -> float:
    """The names are those of ml_dtypes: fn has no infinity, u no sign, and uz no negative zero."""
    if dtype.endswith("fnu"):
        return nan if bits == 0xFF else ldexp(1, bits - 127)
    exponent_bits, fraction_bits = int(dtype[8]), int(dtype[10])
    exponent, fraction = bits >> fraction_bits & (1 << exponent_bits) - 1, bits & (1 << fraction_bits) - 1
    is_uz = dtype.endswith("uz")
    if bits == 0x80 if is_uz else dtype.endswith("fn") and bits & 0x7F == 0x7F:
        return nan
    if not is_uz and not dtype.endswith("fn") and exponent == (1 << exponent_bits) - 1:
        number = nan if fraction else inf
    else:
        bias = 11 if "b11" in dtype else (1 << exponent_bits - 1) - (not is_uz)
        fraction += (exponent > 0) << fraction_bits
        number = ldexp(fraction, max(exponent, 1) - bias - fraction_bits)
    return -number if bits >> 7 else number


def to_float(array: Array) -> float:
    return float(_value(array))


def to_int(array: Array) -> int:
    return int(_value(array))


def to_complex(array: Array) -> complex:
    return complex(_value(array))


def to_index(array: Array) -> int:
    value = _value(array)
    if type(value) is not int:  # pylint: disable=unidiomatic-typecheck
        raise TypeError(f"only an Array of integers is an index, not one of {array.dtype}")
    return value


def to_bool(array: Array) -> bool:
    if array.size == 1:
        return bool(_value(array[(0,) * array.ndim]))
    raise ValueError(
        f"an Array of {array.size} elements is neither true nor false: use array.size > 0, array is not None, or "
        "numpy.asarray(array).any() or .all()"
    )


def to_text(array: Array, spec: str) -> str:
    """``format(array, spec)``"""
    return object.__format__(array, spec) if array.ndim else format(_value(array), spec)


def compare(array: Array, other: Any) -> Any:
    """Whether an Array equals something that is not itself."""
    if isinstance(other, Number) or any(hasattr(type(other), name) for name in _OF_ARRAYS):
        raise TypeError(
            f"== does not compare the elements of an Array with a {type(other).__name__}: numpy.asarray(array) does, "
            "and `is` says whether two names stand for one object"
        )
    return NotImplemented


def contains(array: Array, _: Any) -> bool:
    raise TypeError(f"`in` does not look at the elements of this Array of shape {array.shape}: numpy.asarray(array) does")
