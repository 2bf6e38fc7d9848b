# SPDX-License-Identifier: Apache-2.0
"""An Array as a number, and in operators."""

import math
import operator
import threading

import numpy as np
import pytest
import warpway
from waits import when_main_thread_sleeps

VALUES = [
    ("bool", True), ("int8", -5), ("int16", -300), ("int32", 1 << 30), ("int64", -(1 << 62)), ("uint8", 49),
    ("uint16", 65535), ("uint32", 1 << 31), ("uint64", (1 << 64) - 1), ("float16", 1.5), ("float32", 12.5),
    ("float64", 1e300), ("complex64", 1 - 2j), ("complex128", 3j),
]  # fmt: skip
CALLS = [float, int, complex, bool, operator.index, str, lambda x: f"{x}", lambda x: f"{x:>9}", lambda x: f"{x:.2e}"]


def outcome(call, x):
    """What a call returns, or the class of what it raises; the text of an Array is another one than NumPy's."""
    try:
        return str(call(x)) if call is not str else None
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def element(numbers, device):
    """The last element of an Array with these numbers, which has an offset and no dimensions."""
    array = warpway.empty(numbers.shape, numbers.dtype, device=device)
    array.copy_from(numbers)
    return array[len(array) - 1]


@pytest.mark.parametrize("dtype, value", VALUES)
def test_number_is_numpys(device, dtype, value):
    numbers = np.array([0, value], dtype)
    one, known = element(numbers, device), np.asarray(numbers[1])
    assert one.ndim == 0
    for call in CALLS:
        assert outcome(call, one) == outcome(call, known), call


# As ml_dtypes has them. Each byte is given with its value.
FLOAT8 = [
    ("e3m4", 0x7F, math.nan), ("e3m4", 0x70, math.inf), ("e3m4", 0x6F, 15.5), ("e3m4", 0x01, 2.0**-6),
    ("e4m3", 0xF8, -math.inf), ("e4m3", 0x77, 240.0), ("e4m3b11fnuz", 0x7F, 30.0), ("e4m3b11fnuz", 0x80, math.nan),
    ("e4m3fn", 0x7E, 448.0), ("e4m3fn", 0xFF, math.nan), ("e4m3fn", 0x81, -(2.0**-9)), ("e4m3fnuz", 0x7F, 240.0),
    ("e5m2", 0x7B, 57344.0), ("e5m2", 0xFC, -math.inf), ("e5m2", 0x01, 2.0**-16), ("e5m2fnuz", 0xFF, -57344.0),
    ("e8m0fnu", 0x00, 2.0**-127), ("e8m0fnu", 0x80, 2.0), ("e8m0fnu", 0xFF, math.nan),
]  # fmt: skip


@pytest.mark.parametrize("name, bits, value", FLOAT8)
def test_float8(name, bits, value):
    array = element(np.array([0, bits], "uint8"), "host").view(f"float8_{name}")
    assert float(array) == value or math.isnan(float(array)) and math.isnan(value)


def test_bfloat16():
    assert float(element(np.array([0, 0xC049], "uint16"), "host").view("bfloat16")) == -3.140625


def test_no_number(device):
    for shape in (0, 1, 3, (1, 1)):
        array = warpway.zeros(shape, "int32", device=device)
        for call in (float, int, complex, operator.index, lambda x: f"{x:5}"):
            with pytest.raises(TypeError):
                call(array)
        assert f"{array}" == str(array)
    for dtype in ("float32x4", "opaque16"):
        with pytest.raises(TypeError, match=f"no number for an element of type {dtype}"):
            float(warpway.zeros((), dtype, device=device))
    array.close()
    with pytest.raises(ValueError, match="closed"):
        float(array[0, 0])


def test_truth(device):
    assert bool(element(np.array([[[0]], [[7]]], "int32"), device)) is True
    assert bool(warpway.zeros((1, 1), device=device)) is False
    for count in (0, 2):
        with pytest.raises(ValueError, match=f"{count} elements is neither"):
            bool(warpway.zeros(count, device=device))


def test_index_of_other_objects():
    three = element(np.array([1, 3]), "host")
    assert "abcdef"[three] == "d"
    assert bytes(three) == b"\3" + bytes(7)


class Interface:
    """An array, as far as can be seen."""

    __array_interface__ = {}


@pytest.mark.parametrize("other", [49, 49.0, 1j, True, np.float32(49), np.ones(3), Interface()], ids=repr)
def test_comparison_of_elements(other):
    array = warpway.zeros(3, device="host")
    for compare in (operator.eq, operator.ne):
        with pytest.raises(TypeError, match=r"numpy.asarray\(array\)"):
            compare(array, other)
    with pytest.raises(TypeError, match="numpy.asarray"):
        assert array == array[:]
    with pytest.raises(TypeError, match=r"numpy.asarray\(array\)"):
        assert other in array


def test_comparison_of_objects():
    array, other = warpway.zeros(3, device="host"), warpway.zeros(3, device="host")
    # pylint: disable=comparison-with-itself
    assert array == array and not array != array
    for thing in (None, "abc", b"abc", [1], object()):
        assert array != thing and not array == thing
    assert array in [other, array][1:] and {array: 1, other: 2}[other] == 2
    with pytest.raises(TypeError):
        assert array < other


def test_number_is_waited_for(device):
    gate = threading.Event()
    stream = warpway.Stream(device)
    array = warpway.zeros(2, "int32", device=device, kind="host")
    numbers = np.asarray(array)

    def work():
        gate.wait()
        numbers[:] = 7

    stream.call(work)
    array.ready(stream)
    when_main_thread_sleeps(gate.set)
    assert int(array[1]) == 7
