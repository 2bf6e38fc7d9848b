# SPDX-License-Identifier: Apache-2.0
"""Array: types, views that are refused, copies, exchange with NumPy."""

import gc
import hashlib
import pickle
import threading

import numpy as np
import pytest
import warpway
from arrays import array_of, same, values_of
from waits import Gate, in_thread, until_asleep, when_main_thread_sleeps

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_types(name, device):
    array = warpway.empty((3, 4), name, device=device)
    assert array.dtype == name
    assert array.itemsize == np.dtype(name).itemsize
    for other in (np.dtype(name), getattr(np, name if name != "bool" else "bool_"), np.dtype(name).str):
        assert warpway.empty(1, other, device=device).dtype == name


@pytest.mark.parametrize("name", ["", "float3", "float", "object", "datetime64", "<f3", "x" * 300])
def test_unknown_types(name):
    if name == "float":
        assert warpway.empty(1, name, device="host").dtype == "float64"
        return
    with pytest.raises(warpway.InvalidArgument):
        warpway.empty(1, name, device="host")


NAMES = [
    "f2", "f4", "f8", "<f4", "=f4", "i1", "|i1", ">i1", "<i8", "u2", "c8", "<c16", "b1", "?", "b", "B", "h", "H", "i",
    "I", "l", "L", "q", "Q", "e", "f", "d", "F", "D", "half", "single", "double", "byte", "intp", "uint", float, int,
    complex, bool, np.float16, np.longlong, np.ulonglong, np.intp, np.uintc, np.bool_, np.dtype("<i2"),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_of_types_are_numpys(name):
    assert warpway.empty(1, name, device="host").dtype == np.dtype(name).name


@pytest.mark.parametrize("name", [">f4", ">i8", np.dtype(">f4"), np.dtype(">c16")], ids=repr)
def test_types_of_the_other_byte_order(name):
    with pytest.raises(warpway.Unsupported, match="byte order"):
        warpway.empty(1, name, device="host")


@pytest.mark.parametrize("name", [str, bytes, object, np.dtype("M8[s]"), np.dtype("f4,i4"), "b4", None], ids=repr)
def test_types_that_are_no_numbers(name):
    with pytest.raises(warpway.InvalidArgument, match="no type of elements"):
        warpway.empty(1, name, device="host")


def test_types_with_bits_behind_a_letter():
    with pytest.raises(warpway.InvalidArgument, match="called 'f32': the number behind a letter counts bytes"):
        warpway.empty(4, "f32", device="host")


def test_says_what_it_is(device):
    array = warpway.zeros((3, 4, 5), "int16", device=device)
    assert array.shape == (3, 4, 5)
    assert array.strides == (40, 10, 2)
    assert (array.ndim, array.size, array.itemsize, array.nbytes) == (3, 60, 2, 120)
    assert len(array) == 3 and array.offset == 0
    assert array.is_contiguous and array.is_ready and not array.closed
    assert array.device == warpway.Device(device)
    assert array.pointer == array.memory.pointer
    assert "shape=(3, 4, 5)" in repr(array) and "int16" in repr(array)
    assert warpway.empty((), "int8", device=device).shape == ()
    with pytest.raises(TypeError):
        len(warpway.empty((), "int8", device=device))


@pytest.mark.parametrize(
    "arguments",
    [
        ((-1,), "int8"),
        ((1,) * 17, "int8"),
        ((1 << 40,), "int8"),
        ((1 << 40, 1 << 40), "int8"),
        ((10,), "int8", (1 << 40,)),
        ((10,), "int8", (1, 1)),
        ((10,), "int8", None, 1 << 21),
        ((10,), "int8", (-1,)),
    ],
)
def test_array_outside_its_memory(arguments):
    memory = warpway.Memory(1, "host")
    with pytest.raises(ValueError):
        warpway.Array(memory, *arguments)


def test_arguments_of_other_types():
    memory = warpway.Memory(1, "host")
    for arguments in ((5, 1, "int8"), (memory, "a", "int8"), (memory, (1.5,), "int8")):
        with pytest.raises(TypeError):
            warpway.Array(*arguments)


def test_refused_views():
    array = array_of(np.arange(12, dtype="int32").reshape(3, 4))
    with pytest.raises(warpway.Unsupported):
        array.T.reshape(12)
    for bad in ((5, 5), (-1, -1), (-2, 6)):
        with pytest.raises(ValueError):
            array.reshape(bad)
    for bad in ((0,), (0, 0), (0, 5)):
        with pytest.raises(ValueError):
            array.transpose(bad)
    for key in ("a", True, [0, 1], (0, 0, 0), (..., ...), 1.5, 3, -4, 1 << 70):
        with pytest.raises(IndexError):
            array[key]
    with pytest.raises(ValueError):
        array[::0]


def test_view_as_another_type():
    numbers = np.arange(6, dtype="uint32")
    same(array_of(numbers).view("uint8"), numbers.view("uint8"))
    same(array_of(numbers).view("float32"), numbers.view("float32"))
    with pytest.raises(ValueError):
        array_of(numbers[:5]).view("uint64")


def test_copies(device):
    numbers = np.arange(100, dtype="float32")
    array = warpway.empty(100, "float32", device=device)
    array.copy_from(numbers)
    other = warpway.empty((10, 10), "int32", device=device)
    with pytest.raises(ValueError, match="int32 in shape .10, 10. and one of float32 in shape .100,."):
        other.copy_from(array)
    other.view("float32").reshape(100).copy_from(array)
    out = np.zeros(100, "float32")
    with pytest.raises(ValueError):
        other.copy_to(out)
    other.copy_to(out.view("uint8"))
    assert (out == numbers).all()
    array[50:].copy_from(numbers[:50])
    array.copy_to(out)
    assert (out[50:] == numbers[:50]).all()
    array[:50].copy_to(array[50:])
    for bad in (bytes(3), np.zeros(101, "float32"), warpway.empty(3, "int8", device=device)):
        with pytest.raises(ValueError):
            array.copy_from(bad)
    empty = warpway.empty((0, 3), "float32", device=device)
    empty.copy_from(np.zeros((0, 3), "float32"))
    empty.copy_to(np.zeros((0, 3), "float32"))
    with pytest.raises(TypeError):
        array.copy_from(5)
    with pytest.raises((TypeError, BufferError)):
        array.copy_to(bytes(400))


STRIDED = [np.s_[::2], np.s_[:, 1], np.s_[::-1, ::3], np.s_[1:3, 2:4], np.s_[..., 4:4]]


@pytest.mark.parametrize("dtype", ["int16", "complex64"])
@pytest.mark.parametrize("key", STRIDED, ids=str)
def test_copies_with_gaps(device, key, dtype):
    numbers = np.arange(24, dtype=dtype).reshape(4, 6)
    array = warpway.share(numbers, copy=True, device=device)
    part = array[key]
    flat, strided, there = np.zeros(part.shape, dtype), np.zeros((4, 6), dtype), warpway.zeros((4, 6), dtype, device=device)
    part.copy_to(flat)
    part.copy_to(strided[key])
    there[key].copy_from(part)
    expected = np.zeros((4, 6), dtype)
    expected[key] = numbers[key]
    assert (flat == numbers[key]).all() and (strided == expected).all() and (values_of(there) == expected).all()
    there.copy_from(numbers)
    there[key].copy_from(strided[key] + 50)  # what is between its elements stays
    numbers[key] += 50
    assert (values_of(there) == numbers).all()
    there[key].copy_from(bytes(flat.nbytes))
    there.T.copy_to(turned := np.zeros((6, 4), dtype))
    numbers[key] = 0
    assert (turned == numbers.T).all()
    with pytest.raises(warpway.AccessDenied):
        there.token("read").open().T.copy_from(there.T)
    with pytest.raises(ValueError, match="in shape"):
        part.T.copy_from(np.zeros((2, 9), dtype)[:, ::2])
    if part.nbytes:
        with pytest.raises(ValueError, match="bytes"):
            part.copy_to(bytearray(3))


def test_copies_with_gaps_wait_until_they_are_ready(device, gate):
    array = warpway.zeros((2, 2), "uint8", device=device).ready(gate.stream)
    gate.open()
    array[:, 0].copy_to(bytearray(2))
    assert array.is_ready


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint16", "uint64", "float16", "float32", "float64",
                                   "complex64", "complex128", "bool"])
def test_copies_look_at_the_type(device, dtype):
    numbers = np.ones((2, 3), dtype)
    array = warpway.empty((2, 3), dtype, device=device)
    array.copy_from(numbers)
    array.copy_from(np.ones((2, 3), np.dtype(dtype).newbyteorder("=")))
    out = np.zeros((2, 3), dtype)
    array.copy_to(out)
    assert (out == numbers).all()
    size = numbers.itemsize
    if size > 1:
        with pytest.raises(ValueError, match=f"{dtype} in shape .2, 3. and one of >"):
            array.copy_from(numbers.astype(np.dtype(dtype).newbyteorder(">")))
    for other in ("int8", "uint8", "int32", "uint32", "int64", "float32", "float64", "complex64", "bool"):
        if np.dtype(other).itemsize == size and "uint8" != other != dtype:
            with pytest.raises(ValueError, match=f"{dtype} in shape .2, 3. and one of {other} "):
                array.copy_from(np.ones((2, 3), other))
            with pytest.raises(ValueError):
                array.copy_to(np.ones((2, 3), other))
    for shape in ((3, 2), (6,), (2, 3, 1)):
        if size > 1:
            with pytest.raises(ValueError):
                array.copy_from(np.ones(shape, dtype))
    array.copy_from(bytes(6 * size))
    array.copy_to(out)
    assert not out.any()
    array.copy_from(numbers.view("uint8"))
    as_bytes = warpway.empty((3, 2 * size), "uint8", device=device)
    as_bytes.copy_from(array)
    as_bytes.copy_to(out)
    assert (out == numbers).all()
    for wrong in (bytes(6 * size + 1), warpway.empty(1, "uint8", device=device)):
        with pytest.raises(ValueError, match=f"{6 * size} "):
            array.copy_from(wrong)


def test_buffer_keeps_the_bytes():
    array = array_of(np.arange(10))
    view = memoryview(array)
    numbers = np.asarray(array)
    array.close()
    gc.collect()
    assert view[9] == 9 and numbers.sum() == 45
    with pytest.raises(ValueError, match="closed"):
        memoryview(array)


def test_buffer_of_gaps():
    array = array_of(np.arange(20).reshape(4, 5))
    assert memoryview(array[:, ::2]).strides == (40, 16)
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha256(array.T)  # asks for one piece
    assert memoryview(array.T).f_contiguous


class WithInterface:
    """Has the array interface, and no buffer."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__


def test_array_interface(device):
    numbers = np.arange(12, dtype="int32").reshape(3, 4)
    array = warpway.empty((3, 4), "int32", device=device, kind="host")
    array.copy_from(numbers)
    part = np.asarray(WithInterface(array[:, ::2]))
    assert part.dtype == "int32" and (part == numbers[:, ::2]).all()
    part[1, 1] = 77
    assert np.asarray(array)[1, 2] == 77
    for dtype in DTYPES:
        made = warpway.zeros(2, dtype, device="host")
        assert np.asarray(WithInterface(made)).dtype == dtype
    assert array.token("read").open().__array_interface__["data"][1] is True
    array.close()
    with pytest.raises(ValueError, match="closed"):
        array.__array_interface__


def test_array_interface_needs_memory_that_the_cpu_reaches(gpu):
    with pytest.raises(AttributeError, match="DLPack"):
        warpway.zeros(4, device=gpu).__array_interface__


def test_memory_for_reading_only():
    array = array_of(np.arange(4))
    opened = array.token("read").open()
    assert opened.access == "read"
    numbers = np.asarray(opened)
    assert not numbers.flags.writeable and (numbers == np.arange(4)).all()
    with pytest.raises(BufferError):
        opened.__dlpack__()
    assert "dltensor_versioned" in repr(opened.__dlpack__(max_version=(1, 0)))
    with pytest.raises(warpway.AccessDenied):
        opened.copy_from(np.arange(4))


def test_dlpack_of_the_cpu():
    array = array_of(np.arange(6, dtype="int32").reshape(2, 3))
    assert array.__dlpack_device__() == (1, 0)
    numbers = np.from_dlpack(array)
    array.close()
    assert (numbers == np.arange(6).reshape(2, 3)).all()
    with pytest.raises(ValueError, match="closed"):
        np.from_dlpack(array)


def test_arguments_of_dlpack():
    array = array_of(np.arange(3))
    assert "dltensor" in repr(array.__dlpack__())
    array.__dlpack__(stream=None, max_version=(1, 1), dl_device=(1, 0), copy=False)
    for bad in ({"stream": 1}, {"dl_device": (2, 0), "copy": False}, {"dl_device": (8, 0)}):
        with pytest.raises(BufferError):
            array.__dlpack__(**bad)
    with pytest.raises(TypeError):
        array.__dlpack__(max_version=1)
    with pytest.raises(AttributeError):
        array.__cuda_array_interface__


def test_from_dlpack_of_an_array():
    array = array_of(np.arange(6, dtype="int16"))
    again = warpway.from_dlpack(array[1:5])
    assert again.shape == (4,) and again.dtype == "int16"
    np.asarray(again)[0] = 77
    assert np.asarray(array)[1] == 77
    del array
    gc.collect()
    assert np.asarray(again)[0] == 77


def test_share():
    numbers = np.arange(12, dtype="float64").reshape(3, 4)
    with pytest.raises(warpway.Unsupported, match="Pass copy=True"):
        warpway.share(numbers)
    same(warpway.share(numbers, copy=True), numbers)
    same(warpway.share(numbers.T, copy=True), numbers.T)
    array = array_of(numbers)
    assert warpway.share(array) is array
    made = warpway.share(np.asarray(array))
    np.asarray(made)[0, 0] = 5
    assert np.asarray(array)[0, 0] == 5
    for other in (object(), [1, 2]):
        with pytest.raises(warpway.Unsupported, match="neither __dlpack__ nor") as refused:
            warpway.share(other)
        assert "copy=True" not in str(refused.value)


def test_types_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = warpway.empty(4, getattr(ml_dtypes, name), device="host")
        assert array.dtype == name
        np.asarray(array)[:] = [1, 2, 3, 4]
        assert [float(x) for x in np.asarray(array)] == [1, 2, 3, 4]
        with pytest.raises(AttributeError, match="no name for this type"):
            array.__array_interface__


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_copies_of_types_of_ml_dtypes(name, device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numbers = np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name))
    array = warpway.share(numbers, copy=True, device=device)
    assert (array.dtype, array.shape) == (name, (2, 3))
    out = np.zeros_like(numbers)
    array.copy_to(out)
    assert (out == numbers).all()
    array.copy_from(numbers[::-1].copy())
    array.copy_to(out)
    assert (out == numbers[::-1]).all()
    array.view("uint8").copy_from(numbers)
    array.copy_to(out)
    assert (out == numbers).all()
    part = warpway.share(numbers[:, ::2], copy=True, device="host")
    assert (np.asarray(part) == numbers[:, ::2]).all()
    for other in (numbers.astype(ml_dtypes.float8_e5m2), numbers[:1]):
        with pytest.raises(warpway.InvalidArgument, match=f"array of {name} in shape"):
            array.copy_from(other)


def test_iteration_gives_views(device):
    array = warpway.zeros((3, 2), "uint8", device=device)
    array.copy_from(bytes(range(6)))
    out = bytearray(2)
    for i, row in enumerate(array):
        row.copy_to(out)
        assert row.shape == (2,) and bytes(out) == bytes((2 * i, 2 * i + 1))
    assert i == 2 and [item.shape for item in array[0]] == [(), ()]
    assert list(array[:0]) == []
    with pytest.raises(TypeError, match="without dimensions"):
        iter(array[0, 0])
    assert np.shape(np.asarray(warpway.zeros((2, 3), device="host"))) == (2, 3)


def test_ready_point(device):
    stream = warpway.Stream(device)
    array = warpway.zeros(4, "int32", device=device, kind="host")
    assert array.ready(stream) is array
    array.wait()
    stream.synchronize()
    assert array.is_ready
    other = warpway.Stream(device)
    array.wait(other)
    other.synchronize()


def test_ready_point_is_waited_for():
    gate = threading.Event()
    stream = warpway.Stream("host")
    array = warpway.zeros(4, "int32", device="host")
    numbers = np.asarray(array)

    def work():
        gate.wait()
        numbers[:] = 7

    stream.call(work)
    array.ready(stream)
    assert not array.is_ready
    with pytest.raises(warpway.Timeout):
        array.wait(timeout=0.01)
    when_main_thread_sleeps(gate.set)
    assert (np.asarray(array) == 7).all()
    assert array.is_ready


def test_share_needs_an_array():
    with pytest.raises(TypeError, match="a list is no array.*numpy.asarray.x.$"):
        warpway.share([1, 2, 3], copy=True)
    same(warpway.share(np.asarray([1, 2, 3]), copy=True), np.array([1, 2, 3]))
    with pytest.raises(TypeError, match="is no buffer$"):
        warpway.share(None, copy=True)


class WithArray:
    """As pandas' Series and xarray's DataArray."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, *_, **__):
        return self.numbers


def test_share_what_has_array():
    with pytest.raises(warpway.Unsupported, match="neither __dlpack__ nor __cuda_array_interface__. Pass copy=True"):
        warpway.share(WithArray(np.arange(3)))
    same(warpway.share(WithArray(np.arange(6).reshape(2, 3).T), copy=True), np.arange(6).reshape(2, 3).T)


def test_numpy(device):
    array = warpway.share(np.arange(6, dtype="int32").reshape(2, 3), copy=True, device=device)
    if device != "host":
        for refused in (array.numpy, lambda: np.asarray(array)):
            with pytest.raises(warpway.Unsupported, match=r"array.numpy\(copy=True\) copies it"):
                refused()
    else:
        array[:, ::2].numpy()[:] = 7
        assert np.shares_memory(array.numpy(), np.asarray(array))
    copied = array.T.numpy(copy=True)
    array.copy_to(expected := np.zeros((2, 3), "int32"))
    assert (copied == expected.T).all() and copied.dtype == "int32" and copied.flags.writeable
    copied[:] = 0
    assert (values_of(array) == expected).all()
    array.close()
    with pytest.raises(ValueError, match="closed"):
        array.numpy(copy=True)


def test_numpy_of_memory_for_reading_only():
    opened = array_of(np.arange(3)).token("read").open()
    assert not opened.numpy().flags.writeable and opened.numpy(copy=True).flags.writeable


@pytest.mark.parametrize("how", ["close", "with"])
def test_view_ends_alone(device, how):
    array = warpway.zeros((3, 4), "uint8", device=device)
    view, other = array[1:], array.T
    if how == "close":
        view.close()
        view.close()
    else:
        with view:
            pass
    assert view.closed and not array.closed and not other.closed and view.shape == (2, 4)
    for use in (lambda: view.copy_to(bytearray(8)), lambda: memoryview(view), lambda: view[0].pointer,
                lambda: pickle.dumps(view)):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            use()
    array.copy_from(bytes(range(12)))
    other.close(warpway.Stream(device))
    assert (values_of(array) == np.arange(12).reshape(3, 4)).all()
    third = array[0]
    array.close()
    assert third.closed


@pytest.mark.parametrize("order", ["last", "first", "two", "buffer"])
def test_memory_ends_with_its_last_view(device, order):
    with warpway.Pool(device, bytes_max=2 << 20, kind="host") as pool:
        view = pool.empty(2 << 20, "uint8").reshape(2, 1 << 20)
        if order == "first":
            whole = view[:]
            view.close()
            del whole
        elif order == "two":
            row = view[0]
            row.close()
            view.close()
        elif order == "buffer":
            numbers = np.asarray(view)
            view.close()
            with pytest.raises(warpway.LimitReached):
                pool.empty(2 << 20, "uint8")
            del numbers
        else:
            view.close()
        pool.empty(2 << 20, "uint8").close()


def test_view_ends_while_a_thread_uses_it():
    target = warpway.zeros(4, device="host")
    with Gate("host") as gate:
        array = warpway.zeros(4, device="host").ready(gate.stream)
        view = array[:]
        copied = in_thread(target.copy_from, view)
        until_asleep(copied.thread)
        view.close()
        del array, view
    with pytest.raises(ValueError, match="closed"):
        copied()
