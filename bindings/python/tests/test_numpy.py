# SPDX-License-Identifier: Apache-2.0
"""Arrays of types that only NumPy knows: structured, text, times, wide numbers."""

import ctypes
import pickle

import numpy as np
import pytest
import warpway
from arrays import same
from numpy.lib import recfunctions
from test_array import WithArray
from test_service import echo_offer, served

NESTED = np.dtype([("x", "f4"), ("y", ">i2", (2,)), ("n", [("a", "M8[D]")])])
CASES = {
    "datetime64": np.array(["2026-01-01", "NaT"], "M8[s]"),
    "timedelta64": np.arange(6).reshape(2, 3).astype("m8[ms]"),
    "text": np.array([["ab", "cde"]]).T,
    "bytes": np.array([b"abc", b"d"]),
    "structured": np.ones((2, 3), NESTED)[:, ::2],
    "aligned": np.ones(3, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "void": np.frombuffer(b"abcdefgh", "V4"),
    "longdouble": np.ones(2, np.longdouble) / 3,
    "clongdouble": np.ones(2, np.clongdouble) * 1j,
    "one": np.array("abc"),
    "none": np.zeros((0, 2), "M8[D]"),
}


@pytest.fixture(params=CASES)
def numbers(request):
    return CASES[request.param]


def equal(found, numbers):
    return found.dtype == numbers.dtype and found.shape == numbers.shape and str(found.tolist()) == str(numbers.tolist())


def test_travel_by_pickle(numbers, device):
    array = warpway.share(numbers, copy=True, device=device)
    arrived = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(array))))
    assert equal(arrived.numpy(copy=True), numbers) and arrived.dtype == array.dtype
    if device == "host":
        assert equal(np.asarray(arrived), numbers) and equal(arrived.numpy(), numbers)
    assert equal(arrived[..., None].numpy(copy=True), numbers[..., None])


def test_copies(numbers, device):
    array = warpway.share(np.zeros_like(numbers), copy=True, device=device)
    array.copy_from(numbers)
    array.copy_to(found := np.zeros_like(numbers))
    assert equal(found, numbers)
    array.copy_to(gaps := np.zeros((*numbers.shape, 2), numbers.dtype)[..., 1])
    assert equal(gaps, numbers)
    array.copy_from(warpway.share(numbers, copy=True, device=device))
    for other in (np.zeros(numbers.shape, "u4"), np.zeros((3, *numbers.shape), numbers.dtype)):
        with pytest.raises(ValueError, match="cannot copy between an array of"):
            array.copy_from(other)
        with pytest.raises(ValueError, match="cannot copy between an array of"):
            array.copy_to(other)
        with pytest.raises(ValueError, match="cannot copy between an array of"):
            array.copy_from(warpway.share(other, copy=True, device=device))
    assert equal(array.numpy(copy=True), numbers)


def test_names_are_numpys(device):
    array = warpway.share(np.zeros(3, "f4"), copy=True, device=device)
    for other, name in ((np.zeros(3, "U1"), "<U1"), (np.zeros(3, [("x", "f4")]), r"\[.'x', '<f4'.\]"), (np.zeros(3, ">f4"), ">f4"),
                        (np.zeros(3, "M8[s]"), "<M8.s.")):  # fmt: skip
        for call in (array.copy_from, array.copy_to):
            with pytest.raises(ValueError, match=f"one of {name} in shape"):
                call(other)
    assert warpway.share(CASES["structured"], copy=True).dtype == "[('x', '<f4'), ('y', '>i2', (2,)), ('n', [('a', '<M8[D]')])]"
    assert warpway.share(CASES["datetime64"], copy=True).dtype == "<M8[s]"


def test_travel_by_nothing_else(numbers, device, broker):
    array = warpway.share(numbers, copy=True, device=device)
    with warpway.Channel(None, slot_bytes=1000, device=device) as channel, served(
        device, echo_offer("any[...] x read")
    ) as (_, client):
        for call in (array.token, lambda: broker.put("times", array), array.__dlpack__, lambda: memoryview(array),
                     lambda: array.__array_interface__, lambda: array.__cuda_array_interface__, array.get_ipc_handle,
                     lambda: channel.send(array), lambda: channel.send(numbers),
                     lambda: client.echo(array)):  # fmt: skip
            with pytest.raises((warpway.Unsupported, BufferError, AttributeError), match=r"give array\.(reshape\(1\)\.)?view\('u1'\)"):
                call()


def test_advice_of_bytes(device, broker):
    """What is said where they do not travel."""
    for numbers in (CASES["datetime64"], CASES["one"]):
        array = warpway.share(numbers, copy=True, device=device)
        plain = (array if array.ndim else array.reshape(1)).view("u1")
        found = plain.token().open().numpy(copy=True).view(numbers.dtype)
        assert equal(found.reshape(numbers.shape), numbers)


@pytest.mark.parametrize("copy", [False, True])
def test_refused(copy):
    def refused(x, match):
        with pytest.raises(warpway.Unsupported, match=match):
            warpway.share(x, copy=copy)

    objects = np.array([1, 2.5], object)
    refused(objects, r"of object: .* addresses of Python objects .* numpy.asarray\(x, float\) or numpy.asarray\(x, str\)")
    same(warpway.share(np.asarray(objects, float), copy=True), np.array([1, 2.5]))
    assert warpway.share(np.asarray(objects, str), copy=True).numpy().tolist() == ["1", "2.5"]
    refused(WithArray(objects), "of object")
    fields = np.zeros(2, [("o", "O"), ("x", "f4")])
    refused(fields, r"addresses of Python objects .* x\[name\] of the other fields")
    same(warpway.share(fields["x"], copy=True), np.zeros(2, "f4"))
    refused(np.zeros(2, "U20000"), "elements have 80000 bytes")
    mixed = np.zeros(2, [("n", {"names": ["a", "b"], "formats": ["i2", "i2"], "offsets": [2, 0]})])
    refused(mixed, r"repack_fields\(x, recurse=True\)")
    packed = recfunctions.repack_fields(mixed, recurse=True)
    assert equal(warpway.share(packed, copy=True).numpy(), packed)
    swapped = np.arange(3, dtype=">i4")
    refused(swapped, r"'>i4' is in the byte order .* x.astype\(x.dtype.newbyteorder\('='\)\)")
    same(warpway.share(swapped.astype(swapped.dtype.newbyteorder("=")), copy=True), np.arange(3, dtype="i4"))


def test_a_copy_that_cannot_be_made_is_not_advised():
    with pytest.raises(warpway.Unsupported, match="17 dimensions"):
        warpway.share(np.zeros((1,) * 17))
    with pytest.raises(warpway.Unsupported, match="of object"):
        warpway.share((ctypes.py_object * 1)(1))


def test_scalars_and_views_of_void():
    assert warpway.share(np.datetime64("2026-01-01", "s"), copy=True).dtype == "<M8[s]"
    void = np.frombuffer(b"abcdefghijkl", "V4")
    assert equal(warpway.share(memoryview(void)[::2], copy=True).numpy(), void[::2])


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_float)]


def test_buffers_that_are_not_numpys():
    points = (Point * 2)((1, 2.5), (3, 4.5))
    array = pickle.loads(pickle.dumps(warpway.share(points, copy=True)))
    assert array.numpy()["y"].tolist() == [2.5, 4.5]
    same(warpway.share((ctypes.c_long * 2)(5, 6), copy=True), np.array([5, 6]))
    assert warpway.share((ctypes.c_char * 2)(b"a", b"b"), copy=True).numpy().tolist() == [b"a", b"b"]


@pytest.mark.parametrize("descr", ["|O", [("x", "|O")], "<f4", [("x", "<f4")]], ids=str)
def test_pickles_that_lie(descr):
    """What arrives is not trusted: objects would be addresses of another process."""
    array = warpway.share(np.zeros(2, "M8[s]"), copy=True)
    function, (payload, _, _) = array.__reduce__()
    arrived = function(payload, "<M8[s]", descr)
    with pytest.raises(warpway.InvalidArgument, match="which they are not"):
        arrived.numpy()
    plain = warpway.share(np.zeros(2), copy=True)
    with pytest.raises(warpway.InvalidArgument, match="has a type"):
        function(*plain.__reduce__()[1], "<M8[s]", "<M8[s]")


def test_pickles_name_no_code():
    assert b"numpy" not in pickle.dumps(warpway.share(CASES["structured"], copy=True)).replace(b"warpway._numpy", b"")
