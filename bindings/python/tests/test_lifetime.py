# SPDX-License-Identifier: Apache-2.0
"""Memory that streams of other libraries use is not released, and no slice handed out again, before their work is done."""

import gc
import threading

import numpy as np
import pytest
import warpway
from children import LIMIT_S
from waits import when_main_thread_sleeps

NAMES = ["__dlpack__", "__cuda_array_interface__", "pointer"]


class Kernel:
    """Work of a stream that another library made, which ends when it is told to."""

    def __init__(self, device):
        self.stream = warpway.Stream(device)
        self.gate = threading.Event()
        self.stream.call(self.gate.wait)

    def end(self):
        self.gate.set()
        self.stream.synchronize(LIMIT_S)


@pytest.fixture
def kernel(gpu):
    made = Kernel(gpu)
    yield made
    made.gate.set()


def small_pool(device):
    """A pool of one slice."""
    return warpway.Pool(device, bytes_max=1 << 21, chunk_bytes=1 << 21)


def fill(pool):
    return pool.empty(1 << 21, "uint8")


def give_to(array, name, kernel):
    """What another library gets of the array."""
    return array.__dlpack__(stream=kernel.stream.native) if name == "__dlpack__" else getattr(array, name)


def is_full(pool):
    with pytest.raises((warpway.LimitReached, warpway.OutOfMemory)):
        fill(pool)
    with pytest.raises(warpway.Timeout):
        pool.empty(1 << 21, "uint8", timeout=0.02)
    return True


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["close", "with", "del"])
def test_slice_that_a_kernel_uses(gpu, kernel, name, how):
    pool = small_pool(gpu)
    array = fill(pool)
    taken = give_to(array, name, kernel)
    del taken
    if how == "close":
        array.close()
    elif how == "with":
        with array:
            pass
    del array
    gc.collect()
    assert is_full(pool)
    kernel.end()
    fill(pool).close()


def test_slice_that_was_not_shared(gpu, kernel):
    pool = small_pool(gpu)
    fill(pool).close()
    fill(pool).close()


def test_tensor_that_outlives_its_array(gpu, kernel):
    pool = small_pool(gpu)
    array = fill(pool)
    taken = array.__dlpack__(stream=kernel.stream.native, max_version=(1, 1))
    array.close(kernel.stream)
    kernel.end()
    assert is_full(pool)
    second = Kernel(gpu)
    del taken
    assert is_full(pool)
    second.end()
    fill(pool).close()


def test_close_on_a_stream_waits_for_no_other(gpu, kernel):
    pool = small_pool(gpu)
    array = fill(pool)
    assert array.pointer
    array.close(warpway.Stream(gpu))
    pool.empty(1 << 21, "uint8", timeout=LIMIT_S).close()
    assert not kernel.gate.is_set()
    kernel.end()  # the end of a pool waits for all streams


def test_allocation_waits_for_a_kernel(gpu, kernel):
    pool = small_pool(gpu)
    array = fill(pool)
    assert array.pointer
    array.close()
    when_main_thread_sleeps(kernel.gate.set)
    pool.empty(1 << 21, "uint8", timeout=LIMIT_S).close()
    assert kernel.gate.is_set()


def is_mapped(pointer):
    try:
        warpway.Memory.find(pointer)
    except warpway.NotFound:
        return False
    return True


@pytest.mark.parametrize("kind", ["device", "host"])
def test_memory_that_a_kernel_uses(gpu, kernel, kind):
    array = warpway.zeros(100, device=gpu, kind=kind)
    pointer = array.pointer
    array.close()
    assert is_mapped(pointer)
    warpway.zeros(1, device=gpu)
    assert is_mapped(pointer)
    kernel.end()
    warpway.zeros(1, device=gpu)
    assert not is_mapped(pointer)


def test_copy_keeps_its_source(gpu, kernel):
    pool = small_pool(gpu)
    array = fill(pool)
    array.copy_from(bytes([7]) * (1 << 21))
    capsule = array.__dlpack__(copy=True, stream=kernel.stream.native, max_version=(1, 1))
    array.close()
    assert is_full(pool)
    kernel.end()
    fill(pool).copy_from(bytes(1 << 21))

    class Copy:
        def __dlpack_device__(self):
            return (2, warpway.Device(gpu).index)

        def __dlpack__(self, **arguments):
            return capsule

    found = np.empty(1 << 21, "uint8")
    warpway.from_dlpack(Copy()).copy_to(found)
    assert (found == 7).all()


def test_many_tensors_behind_one_kernel(gpu, kernel):
    pool = warpway.Pool(gpu)
    arrays = [pool.empty(64, "uint8") for _ in range(2000)]
    for array in arrays:
        array.__dlpack__(stream=kernel.stream.native)
        array.close()
    assert pool.info().slice_count == 2000
    kernel.end()
    pool.empty(1, "uint8").close()
    assert pool.info().slice_count == 0
