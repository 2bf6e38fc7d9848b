# SPDX-License-Identifier: Apache-2.0
"""Arrays exchanged with torch, CuPy, Numba, cuda.core and JAX, in this process and in others.

Each library runs in processes of its own, so that what it does at import stays there. Those that are not
installed, or cannot use the device under test, are skipped, with the reason.
"""

import functools
import time

import numpy as np
import pytest

import warpway
from children import LIMIT_S, Child
from frameworks import FRAMEWORKS, is_installed, open_framework

WITH_STREAMS = ("torch", "cupy", "numba.cuda")


def try_framework(_, name, device, with_kernels):
    try:
        lib = open_framework(name, device)
        if with_kernels and hasattr(lib, "check_kernels"):
            lib.check_kernels()
    except ImportError as error:
        return str(error) or "it cannot be imported"
    return None


@functools.cache
def obstacle(name, device, with_kernels=False):
    """Why a library cannot be used, or its kernels, asked in a process of its own; None: it can be."""
    if not is_installed(name.partition(".")[0]):
        return f"{name} is not installed"
    child = Child(try_framework, (name, device, with_kernels))
    try:
        return child.result(3 * LIMIT_S)
    finally:
        child.kill()


@pytest.fixture(params=FRAMEWORKS)
def name(request, device):
    """The name of a library that can be used."""
    reason = obstacle(request.param, device)
    if reason:
        pytest.skip(reason)
    return request.param


@pytest.fixture
def kernels(name, device):
    """The test runs a kernel of the library."""
    reason = obstacle(name, device, with_kernels=True)
    if reason:
        pytest.skip(reason)


def run(spawn, function, *arguments):
    return spawn(function, *arguments).result(3 * LIMIT_S)


def array_of(numbers, device):
    array = warpway.empty(numbers.shape, numbers.dtype.name, device=device)
    array.copy_from(numbers)
    return array


def numbers_of(array):
    out = np.empty(array.shape, array.dtype)
    array.copy_to(out)
    return out


# --- in one process ---


def exchange(_, name, device):
    lib = open_framework(name, device)
    numbers = np.arange(64, dtype="float32").reshape(4, 16)
    array = array_of(numbers, device)
    x = lib.view(array)
    assert lib.pointer(x) == array.pointer and lib.dtype(x) == "float32" and tuple(x.shape) == (4, 16)
    part = lib.view(array[1:3] if name == "jax" else array[1:3, ::2])  # JAX copies what has strides
    assert lib.pointer(part) == array.pointer + 64
    if lib.writes:
        lib.double(x)
        assert (numbers_of(array) == 2 * numbers).all()
    if name == "cuda.core":
        return
    back = warpway.share(x)
    assert back.pointer == array.pointer and back.shape == (4, 16) and back.dtype == "float32"
    if name != "numba.cuda":  # which keeps the Array, and not its bytes
        array.close()
    del array, back, part
    assert lib.numbers(x)[3, 5] == (106 if lib.writes else 53), "the other library keeps the bytes"


def test_both_directions_without_a_copy(spawn, name, device, kernels):
    run(spawn, exchange, name, device)


def types_there_and_back(_, name, device):
    lib = open_framework(name, device)
    for dtype in lib.dtypes:
        array = warpway.zeros(8, dtype, device=device)
        x = lib.view(array)
        assert (lib.dtype(x), lib.pointer(x)) == (dtype, array.pointer)
        if name != "cuda.core":
            assert warpway.share(x).dtype == dtype


def test_types(spawn, name, device):
    if name == "jax":
        pytest.importorskip("ml_dtypes")
    run(spawn, types_there_and_back, name, device)


def read_only(_, name, device):
    lib = open_framework(name, device)
    array = warpway.zeros(8, "uint8", device=device)
    token = array.token(access="read", uses=0)
    opened = token.open()
    assert opened.memory.access == "read"
    try:
        x = lib.view(opened)
    except (BufferError, RuntimeError, ValueError, TypeError):
        return "refused"
    return "given" if lib.pointer(x) == opened.pointer else "copied"


def test_an_array_for_reading(spawn, name, device):
    """What each library makes of the flag; none crashes, and none gets a pointer to other bytes."""
    assert run(spawn, read_only, name, device) in {"refused", "given", "copied"}


# --- in several processes ---


def double_it(connection, name, device):
    lib = open_framework(name, device)
    array = connection.recv()
    x = lib.view(array)
    if lib.writes:
        lib.double(x)
        return None
    return numbers_of(array).tolist() if name == "cuda.core" else lib.numbers(x).tolist()


@pytest.mark.parametrize("is_slice", [False, True], ids=["memory", "slice"])
def test_a_child_uses_what_it_received(spawn, name, device, kernels, is_slice):
    numbers = np.arange(6, dtype="float32").reshape(2, 3)
    with warpway.Pool(device) as pool:
        array = pool.empty((2, 3), "float32") if is_slice else warpway.empty((2, 3), "float32", device=device)
        array.copy_from(numbers)
        child = spawn(double_it, name, device)
        child.send(array)
        said = child.result(3 * LIMIT_S)
        assert said == numbers.tolist() if said is not None else (numbers_of(array) == 2 * numbers).all()
        array.close()


def share_its_own(parent, name, device):
    """Sends an interior part of an array of the library's own allocator."""
    lib = open_framework(name, device)
    x = lib.make(np.arange(1000, dtype="uint8"))
    part = x if name == "cuda.core" else x[100:200]
    array = warpway.share(part)
    assert array.pointer == lib.pointer(part)
    parent.send((array, 0 if name == "cuda.core" else 100))
    del x, part
    parent.recv()


def read_part(connection):
    array, start = connection.recv()
    return numbers_of(array)[:100].view("uint8").tolist() == [i % 256 for i in range(start, start + 100)]


def test_share_of_an_array_inside_an_allocation(spawn, name, device):
    if device == "host":
        pytest.skip("what the CPU's libraries allocate cannot be shared without a copy")
    if name == "jax":
        pytest.skip("JAX allocates by itself, and without handles")
    owner, reader = spawn(share_its_own, name, device), spawn(read_part)
    reader.send(owner.receive(3 * LIMIT_S))
    assert reader.result(3 * LIMIT_S)
    owner.send("end")
    owner.result()


def share_of_cpu(_, name, device):
    lib = open_framework(name, device)
    x = lib.make(np.arange(10, dtype="int32"))
    with pytest.raises(warpway.Unsupported, match="copy=True"):
        warpway.share(x)


def test_share_of_what_cannot_be_shared(spawn, name, device):
    if device != "host":
        pytest.skip("a GPU's libraries allocate what can be shared")
    run(spawn, share_of_cpu, name, device)


# --- streams ---


def needs_streams(name, device):
    if device == "host":
        pytest.skip("the host device's streams are this library's own")
    if name not in WITH_STREAMS:
        pytest.skip(f"the tests have no slow kernel of {name}")


def send_while_a_kernel_runs(parent, name, device, how):
    lib = open_framework(name, device)
    array = warpway.zeros(1000, "float32", device=device)
    x, stream = lib.view(array), lib.stream()
    named = {"object": stream, "Stream": warpway.Stream.wrap(stream)}.get(how) or warpway.Stream.wrap(stream).native
    array.ready(named)  # the first one makes the timeline, which takes a while
    lib.fill_slowly(x, 7, stream)
    array.ready(named)
    assert not array.is_ready, "the kernel still runs"
    parent.send(array)
    parent.recv()


def read_by_library(connection, name, device):
    lib = open_framework(name, device)
    array = connection.recv()
    return set(lib.numbers(lib.view(array)).tolist())


@pytest.mark.parametrize("how", ["object", "int", "Stream"])
def test_a_reader_waits_for_the_writers_kernel(spawn, name, device, kernels, how):
    needs_streams(name, device)
    owner, reader = spawn(send_while_a_kernel_runs, name, device, how), spawn(read_by_library, name, device)
    reader.send(owner.receive(3 * LIMIT_S))
    assert reader.result(3 * LIMIT_S) == {7.0}
    owner.send("end")
    owner.result()


def close_while_a_kernel_runs(_, name, device):
    lib = open_framework(name, device)
    with warpway.Pool(device, bytes_max=2 << 20) as pool:
        given, unseen = pool.empty(1000, "float32"), pool.empty(1000, "float32")
        x, stream = lib.view(given), lib.stream()
        pool.empty(1, "uint8").close(stream)  # the first one makes the page of marks, which takes a while
        lib.fill_slowly(x, 7, stream)
        given.close(stream)
        unseen.close(stream)
        assert pool.info().waiting_count == 1, "the stream alone is what the unseen one waits for"
        assert pool.info().slice_count == 1, "the other library still has the one that it was given"
        del x
        assert slices_of(pool) == 2, "what the other library's streams do with it is not known"
        warpway.Stream.wrap(stream).synchronize()
        assert ends_with_no_slices(pool)


def slices_of(pool):
    """Those in use, and those that wait."""
    info = pool.info()
    return info.slice_count + info.waiting_count


def ends_with_no_slices(pool):
    """A fence behind all work of a GPU is passed a little later than the stream."""
    end = time.monotonic() + LIMIT_S
    while slices_of(pool) and time.monotonic() < end:
        time.sleep(0.001)
    return slices_of(pool) == 0


def test_close_in_the_order_of_a_stream(spawn, name, device, kernels):
    needs_streams(name, device)
    run(spawn, close_while_a_kernel_runs, name, device)


# --- handles of other libraries ---


def send_handle(parent, name, device):
    lib = open_framework(name, device)
    x = lib.make(np.arange(1000, dtype="int32"))[100:200]
    parent.send(lib.handle(x))
    parent.recv()


def test_handles_open_here(spawn, name, device):
    needs_streams(name, device)
    owner = spawn(send_handle, name, device)
    handle, offset = owner.receive(3 * LIMIT_S)
    for form in (handle, tuple(handle)):
        with warpway.open_ipc_array(form, 100, "int32", offset=offset, device=device) as array:
            assert numbers_of(array).tolist() == list(range(100, 200))
    owner.send("end")
    owner.result()
