"""Pools: slices, who uses them, and what happens when it is full."""
import os
import pickle
import signal
import threading

import numpy
import pytest

import warpway
from arrays import values_of
from children import LIMIT_S
from waits import in_thread, interrupted

CHUNK = 2 << 20


@pytest.fixture
def pool(device):
    """A pool of one chunk."""
    with warpway.Pool(device, bytes_max=CHUNK) as made:
        yield made


# --- slices ---


def test_a_slice_is_a_memory(pool, device):
    memory = pool.alloc(1000)
    assert memory.nbytes == 1024 and memory.is_slice
    assert memory.device == pool.device == warpway.Device(device)
    memory.write(b"bytes")
    assert memory.read(0, 5) == b"bytes"
    aligned = pool.alloc(1, 4096)
    assert aligned.offset % 4096 == 0
    info = pool.info()
    assert (info.bytes_max, info.chunk_bytes, info.bytes_reserved) == (CHUNK, CHUNK, CHUNK)
    assert (info.slice_count, info.bytes_used, info.chunk_count) == (2, 1280, 1)
    assert (info.allocations, info.waiting_count, info.holder_count) == (2, 0, 0)
    assert info.bytes_free == CHUNK - 1280 and info.bytes_peak == 1280
    memory.close()
    aligned.close()
    assert pool.info().slice_count == 0


def test_no_limit_is_none(device):
    with warpway.Pool(device) as pool:
        assert pool.info().bytes_max is None
        assert pool.info().chunk_bytes == 64 << 20
        assert pool.info().bytes_reserved == 0
    with warpway.Pool(device, slices_max=4) as pool:
        assert pool.info().slices_max == 4


def test_memory_of_the_host(device):
    with warpway.Pool(device, kind="host", bytes_max=CHUNK) as pool:
        memory = pool.alloc(5)
        memoryview(memory)[:5] = b"bytes"
        assert memory.kind == "host" and memory.read(0, 5) == b"bytes"


@pytest.mark.parametrize("shape", [numpy.int64(5), [numpy.int64(5)], numpy.array([5])])
def test_numbers_of_numpy_are_a_shape(pool, shape):
    assert pool.empty(shape, "uint8").shape == warpway.empty(shape, "uint8", pool=pool).shape == (5,)
    assert warpway.zeros(shape, "uint8", device=pool.device).shape == (5,)


@pytest.mark.parametrize("shape, dtype, nbytes", [
    ((2, 3), "float32", 256), (1000, "int64", 8192), ((), "uint8", 256), ((0, 5), "float64", 256)])
def test_empty_is_an_array_in_a_slice(pool, shape, dtype, nbytes):
    array = pool.empty(shape, dtype)
    assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert str(array.dtype) == dtype
    assert array.memory.is_slice and array.memory.nbytes == nbytes


def test_trim_frees_chunks(pool):
    memory = pool.alloc(1)
    assert pool.trim() == 0
    memory.close()
    assert pool.trim(CHUNK) == 0
    assert pool.trim(keep_bytes=0) == CHUNK
    assert pool.info().bytes_reserved == 0


# --- a full pool ---


def test_a_full_pool_refuses(pool):
    memory = pool.alloc(CHUNK)
    with pytest.raises(warpway.LimitReached, match="in use"):
        pool.alloc(1)
    with pytest.raises(warpway.LimitReached, match="at most"):
        pool.alloc(CHUNK + 1, timeout=None)
    with pytest.raises(warpway.LimitReached):
        pool.empty(5, "uint8")
    for timeout in (1e-9, 0.001, 0.01):
        with pytest.raises(TimeoutError):
            pool.alloc(1, timeout=timeout)
        with pytest.raises(TimeoutError):
            pool.empty(1, "uint8", timeout=timeout)
    memory.close()
    assert pool.alloc(CHUNK).nbytes == CHUNK


@pytest.mark.parametrize("has_cancel", [False, True])
def test_an_alloc_waits_for_another_thread(pool, has_cancel):
    stop = warpway.Cancel() if has_cancel else None
    memory = pool.alloc(CHUNK)
    waiting = in_thread(pool.alloc, CHUNK, timeout=None, cancel=stop)
    memory.close()
    memory = waiting()
    handler = signal.getsignal(signal.SIGINT)
    interrupted(pool.alloc, 1, timeout=None, cancel=stop)
    assert signal.getsignal(signal.SIGINT) is handler
    if has_cancel:
        waiting = in_thread(pool.alloc, 1, timeout=None, cancel=stop)
        stop.set()
        for call in (waiting, lambda: pool.empty(1, "uint8", timeout=None, cancel=stop)):
            with pytest.raises(warpway.Cancelled):
                call()
    memory.close()
    assert pool.alloc(CHUNK, timeout=None, cancel=stop).nbytes == CHUNK


def hold_slice(talk, memory):
    talk.send(memory.read(0, 5))
    talk.recv()


def test_a_slice_that_another_process_holds(pool, spawn):
    memory = pool.alloc(CHUNK // 2)
    memory.write(b"bytes")
    child = spawn(hold_slice, memory)
    assert child.receive() == b"bytes"
    memory.close()
    [holder] = pool.holders()
    assert (holder.pid, holder.uid, holder.slice_count, holder.slice_bytes) == (child.pid, os.getuid(), 1, CHUNK // 2)
    assert holder.program and not holder.is_lost
    info = pool.info()
    assert (info.holder_count, info.waiting_count, info.slice_count, info.bytes_waiting) == (1, 1, 0, CHUNK // 2)
    with pytest.raises(warpway.LimitReached, match=f"process {child.pid}"):
        pool.alloc(CHUNK)
    waiting = in_thread(pool.alloc, CHUNK, timeout=None)
    child.kill()
    assert waiting().nbytes == CHUNK and pool.holders() == []


def get_by_name(talk, name):
    with warpway.Broker() as broker:
        got = [broker.get(name, access="write"), broker.get(name)]
        got[0].copy_from(values_of(got[1]) + numpy.float32(1))
        talk.send([(array.name, array.access, array.memory.is_slice, array.shape) for array in got])
        talk.recv()


@pytest.mark.parametrize("given", [{}, {"life": None, "state": None}, {"life": "owner", "state": "shared"}])
def test_a_slice_has_a_name(pool, broker, spawn, given):
    """How long its bytes stay: tests/integration/pool_name.c."""
    array = pool.empty((2, 3), "float32")
    array.copy_from(numpy.ones((2, 3), "float32"))
    broker.put("pool/name", array, **given)
    info = broker.stat("pool/name")
    assert array.name == "pool/name" and array.access == "write"
    assert (info.kind, info.life, info.state, info.shape) == ("memory", "owner", "shared", (2, 3)) and info.is_slice
    assert info.bytes == array.memory.nbytes
    child = spawn(get_by_name, "pool/name")
    assert child.receive() == [("pool/name", access, True, (2, 3)) for access in ("write", "read")]
    assert (values_of(array) == 2).all()
    child.send("end")
    child.result()
    broker.remove("pool/name")


def test_the_name_of_a_slice_keeps_it(pool, broker):
    for number in range(3):
        with pool.empty(CHUNK // 2, "uint8", timeout=LIMIT_S) as array:
            array.copy_from(numpy.full(CHUNK // 2, number, "uint8"))
            broker.put("pool/newest", array[1:], replace=True)
    with pytest.raises(warpway.LimitReached):
        pool.alloc(CHUNK)
    with broker.get("pool/newest") as found:
        assert found.shape == (CHUNK // 2 - 1,) and set(values_of(found)) == {2}
        broker.remove("pool/newest")
        assert pickle.loads(pickle.dumps(found)).memory.is_slice
    assert pool.alloc(CHUNK, timeout=LIMIT_S).nbytes == CHUNK


def test_a_pool_may_be_closed_while_an_alloc_waits(device):
    pool = warpway.Pool(device, bytes_max=CHUNK)
    memory = pool.alloc(CHUNK)
    waiting = in_thread(lambda: pool.alloc(1, timeout=None))
    pool.close()
    memory.close()
    try:
        assert waiting().nbytes == 256
    except ValueError as error:  # the thread came too late
        assert "closed" in str(error)


# --- streams ---


def test_a_slice_is_released_in_the_order_of_a_stream(pool):
    if "stream_value" not in pool.device.capabilities:
        pytest.skip("the device's streams cannot wait for values")
    go = threading.Event()
    with warpway.Stream(pool.device) as stream:
        memory = pool.alloc(CHUNK)
        stream.call(go.wait)
        memory.close(stream)
        assert memory.closed
        assert (pool.info().waiting_count, pool.info().slice_count) == (1, 0)
        with pytest.raises(warpway.LimitReached):
            pool.alloc(1)
        waiting = in_thread(lambda: pool.alloc(CHUNK, timeout=None))
        go.set()
        assert waiting().nbytes == CHUNK


# --- the handle ---


def test_a_closed_pool_serves_no_call(device):
    pool = warpway.Pool(device)
    kept = pool.alloc(1)
    assert repr(pool) == f"<warpway.Pool of {pool.device!r}>"
    pool.close()
    pool.close()
    assert pool.closed and pool.device == warpway.Device(device)
    assert repr(pool) == f"<warpway.Pool of {pool.device!r} closed>"
    for call in (lambda: pool.alloc(1), lambda: pool.empty(1, "uint8"), pool.trim, pool.info,
                 pool.holders):
        with pytest.raises(ValueError, match="closed"):
            call()
    kept.write(b"bytes")
    assert kept.read(0, 5) == b"bytes"


@pytest.mark.parametrize("arguments, error", [
    ({"bytes_max": 0}, ValueError),
    ({"bytes_max": -1}, ValueError),
    ({"bytes_max": 2 ** 64}, ValueError),
    ({"bytes_max": 1.5}, TypeError),
    ({"chunk_bytes": 0}, ValueError),
    ({"slices_max": 0}, ValueError),
    ({"slices_max": 2 ** 40}, ValueError),
    ({"kind": "legacy"}, ValueError),
    ({"kind": None}, TypeError),
    ({"device": 1.5}, TypeError),
    ({"other": 1}, TypeError),
])
def test_arguments_are_checked(device, arguments, error):
    with pytest.raises(error):
        warpway.Pool(**{"device": device, **arguments})


@pytest.mark.parametrize("arguments, error", [
    ((0,), ValueError),
    ((-1,), ValueError),
    ((2 ** 64,), ValueError),
    ((1, 3), ValueError),
    ((1, 0, -1), ValueError),
    ((1, 0, 0, None), TypeError),
    (("1",), TypeError),
    ((), TypeError),
])
def test_arguments_of_alloc_are_checked(pool, arguments, error):
    with pytest.raises(error):
        pool.alloc(*arguments)


@pytest.mark.parametrize("arguments, error", [
    ((-1, "uint8"), ValueError),
    ((2 ** 62, "float64"), ValueError),
    ((2 ** 64, "uint8"), OverflowError),
    ((tuple(range(1, 100)), "uint8"), ValueError),
    ((1, "text"), ValueError),
    ((1, None), ValueError),
    (("ab", "uint8"), TypeError),
    ((1.5, "uint8"), TypeError),
    ((), TypeError),
])
def test_arguments_of_empty_are_checked(pool, arguments, error):
    with pytest.raises(error):
        pool.empty(*arguments)
    assert pool.info().allocations == 0


def test_elements_are_float32_unless_it_is_said(pool):
    assert pool.empty(3).dtype == warpway.empty(3, device="host").dtype == "float32"


@pytest.mark.parametrize("call, said", [
    (lambda pool, array: pool.empty(1, "uint8", 0.0), "empty.. takes .*2 positional"),
    (lambda pool, array: pool.empty(1, "uint8", size=2), "empty.. got an unexpected keyword argument 'size'"),
    (lambda pool, array: pool.empty(1, dtype="uint8", shape=2), "empty.. got multiple values for .*'shape'"),
    (lambda pool, array: pool.empty(dtype="uint8"), "empty.. takes .*1 positional"),
    (lambda pool, array: array.__dlpack__(None), "the most is 0"),
    (lambda pool, array: array.__dlpack__(max_version=(1,)), "a tuple of two ints"),
    (lambda pool, array: array.__dlpack__(max_version=(1, "0")), "int"),
    (lambda pool, array: array.close(None, None), "the most is 1"),
    (lambda pool, array: array.memory.close(streams=None), "no argument 'streams'"),
])
def test_what_is_wrong_with_arguments_is_said(pool, call, said):
    array = pool.empty(shape=1, dtype="uint8", timeout=0.0, cancel=None)
    with pytest.raises(TypeError, match=said):
        call(pool, array)
    assert not array.closed
    array.close(stream=None)
    assert array.closed


def test_threads_share_a_pool(pool):
    def use():
        for i in range(200):
            memory = pool.alloc(1 + i * 64, timeout=LIMIT_S)
            assert pool.info().slice_count >= 1
            memory.close()

    callers = [in_thread(use) for _ in range(4)]
    for caller in callers:
        caller()
    assert pool.info().slice_count == 0
    assert pool.info().allocations == 800
