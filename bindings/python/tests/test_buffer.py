# SPDX-License-Identifier: Apache-2.0
"""Who uses a buffer keeps the bytes, also after close(), and also if NumPy keeps the object and no buffer."""

import asyncio
import ctypes
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
import warpway
from children import LIMIT_S
from waits import in_thread

BYTES = 2 << 20


@pytest.fixture
def pool(device):
    """A pool of one slice."""
    with warpway.Pool(device, bytes_max=BYTES, chunk_bytes=BYTES, kind="host") as made:
        yield made


def is_full(pool):
    with pytest.raises((warpway.LimitReached, warpway.OutOfMemory)):
        pool.empty(BYTES, "uint8")
    return True


def take(pool, kind):
    """The slice, with all bytes 7; what is closed; what is asked for a buffer."""
    array = pool.empty(BYTES, "uint8")
    array.copy_from(bytes([7]) * BYTES)
    if kind == "memory":
        return array.memory
    return array[:] if kind == "view" else array


@pytest.fixture
def consumer_of_buffers():
    """Asks for contiguous bytes; the buffer is released with what it returns."""
    api = ctypes.pythonapi

    class View:
        def __init__(self, x):
            self.buffer = (ctypes.c_char * 256)()  # a Py_buffer has 80
            assert api.PyObject_GetBuffer(ctypes.py_object(x), self.buffer, 0x98) == 0  # PyBUF_ANY_CONTIGUOUS

        def __del__(self):
            api.PyBuffer_Release(self.buffer)

    return View


def of_object(x):
    return np.ndarray(BYTES, "u1", buffer=x)


@pytest.mark.parametrize("end", ["close", "with"])
@pytest.mark.parametrize("kind", ["array", "view", "memory"])
def test_object_that_numpy_keeps(pool, kind, end):
    asked = take(pool, kind)
    numbers = of_object(asked)
    with pytest.warns(ResourceWarning, match=r"by 0 views .* by 1 Arrays or Memories"):
        if end == "with":
            with asked:
                pass
        else:
            asked.close()
    assert asked.closed and is_full(pool) and (numbers == 7).all()
    with pytest.raises(ValueError, match="closed"):
        of_object(asked)
    assert numbers.base is asked
    del asked
    assert is_full(pool) and (numbers == 7).all()
    del numbers
    take(pool, "array").close()


def of_export(x):
    return np.ndarray(BYTES, "u1", buffer=memoryview(x).obj)


VIEWS = [np.asarray, memoryview, lambda x: np.frombuffer(x, "u1"), lambda x: of_object(memoryview(x)), of_export,
         lambda x: (ctypes.c_char * BYTES).from_buffer(x)]  # fmt: skip


@pytest.mark.parametrize("make", VIEWS, ids=["asarray", "memoryview", "frombuffer", "base", "export", "ctypes"])
@pytest.mark.parametrize("kind", ["array", "memory"])
def test_views_keep_the_bytes_alone(pool, kind, make):
    asked = take(pool, kind)
    view = make(asked)
    with pytest.warns(ResourceWarning, match=r"by 1 views .* by 0 Arrays"):
        asked.close()
    assert is_full(pool) and bytes(view[:3]) == b"\7\7\7"
    del view
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        take(pool, kind).close()


@pytest.mark.parametrize("make", [np.asarray, of_object])
def test_owner_of_the_bytes_stays_with_the_views(pool, device, make):
    """A producer of DLPack may give the bytes to others once its tensor is deleted."""
    if device != "host":
        pytest.skip("NumPy's tensors are of the CPU, and are copied to a GPU")
    producer = np.asarray(take(pool, "array"))
    seen = weakref.ref(producer)
    array = warpway.from_dlpack(producer, device=device)
    view = make(array)
    del producer
    with pytest.warns(ResourceWarning):
        array.close()
    assert seen() is not None
    del view, array
    assert seen() is None


def test_request_as_of_pyarrow_is_a_view(pool, consumer_of_buffers):
    """It asks like NumPy, but for no writable bytes first, and keeps the view."""
    array = take(pool, "array")
    view = consumer_of_buffers(array)
    del view
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array.close()
    take(pool, "array").close()


def test_buffer_that_was_used(pool, tmp_path):
    """What copies keeps nothing."""
    asked = take(pool, "array")
    with open(tmp_path / "file", "w+b") as file:
        file.write(asked)
        file.seek(0)
        file.readinto(asked)
    assert bytes(asked)[:2] == b"\7\7"
    asked.close()
    take(pool, "array").close()


def test_threads_use_buffers_of_what_is_closed(device):
    def work():
        for i in range(300):
            array = pool.empty(16, "uint8")
            array.copy_from(bytes([i & 255]) * 16)
            views = [np.ndarray(16, "u1", buffer=x) for x in (array, memoryview(array), array[:])]
            shared.append(array)
            shared.pop(0).close()
            assert all((view == i & 255).all() for view in views)
            if i % 64 == 0:
                gc.collect()

    with warpway.Pool(device, bytes_max=BYTES, kind="host") as pool:
        shared = [pool.empty(16, "uint8") for _ in range(4)]
        threads = [threading.Thread(target=work) for _ in range(4)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(LIMIT_S)
        del shared
        gc.collect()
        assert pool.info().slice_count == 0


# --- frames ---


@pytest.fixture(params=["Channel", "WorkQueue"])
def ends(device, request):
    """A producer and a consumer of one slot."""
    kind = getattr(warpway, request.param)
    with kind(None, 4, "uint8", device=device, kind="host", slots=1, held_max=1) as producer:
        with kind.get(producer.token(), device=device) as consumer:
            yield producer, consumer


def publish(producer, i):
    with producer.acquire(timeout=LIMIT_S) as frame:
        np.asarray(frame)[:] = i


def end(frame):
    (frame.release if isinstance(frame, warpway.Frame) else frame.acknowledge)()


def test_frame_refuses_who_would_keep_it_alone(ends):
    producer, consumer = ends
    publish(producer, 5)
    frame = consumer.receive()
    with pytest.raises(BufferError, match=r"use numpy.asarray\(frame\), or memoryview\(frame\) as the buffer"):
        np.ndarray(4, "u1", buffer=frame)
    for view in (np.ndarray(4, "u1", buffer=frame.array), np.ndarray(4, "u1", buffer=memoryview(frame)),
                 np.frombuffer(frame, "u1")):  # fmt: skip
        assert (view == 5).all()
    end(frame)
    assert consumer.held == 1 and (view == 5).all()
    del view
    assert consumer.held == 0


def test_loops_with_one_slot(ends):
    producer, consumer = ends
    publish(producer, 0)
    for i, frame in enumerate(consumer):
        assert np.asarray(frame).sum() == np.frombuffer(frame, "u1").sum() == 4 * i
        if i == 3:
            break
        end(frame)
        publish(producer, i + 1)
    end(frame)
    for i in range(3):
        publish(producer, i)
        with consumer.receive(timeout=LIMIT_S) as frame:
            assert memoryview(frame)[3] == i
    for i in range(3):
        publish(producer, i)
        frame = consumer.receive(timeout=LIMIT_S)
        assert np.asarray(frame)[0] == i
        end(frame)


def test_asynchronous_loop_with_one_slot(ends):
    producer, consumer = ends

    async def run():
        seen = []
        async for frame in consumer:
            seen.append(int(np.asarray(frame)[0]))
            if len(seen) == 3:
                break
        return seen

    def produce():
        for i in range(3):
            publish(producer, i)

    thread = threading.Thread(target=produce)
    thread.start()
    assert asyncio.run(run()) == [0, 1, 2]
    thread.join(LIMIT_S)


def test_argument_of_a_call(pool):
    """The function keeps an array of NumPy, and closes the argument; the caller's slice stays as long."""
    kept, cancel = [], warpway.Cancel()

    def keep(x):
        kept.append(np.ndarray(x.shape, "u1", buffer=x))
        x.close()

    with warpway.Service(device=pool.device) as service:
        service.offer("keep", "u8[n] x read", keep)
        service.start()
        served = in_thread(service.serve, cancel=cancel)
        with warpway.Client(service.token()) as client:
            sent = take(pool, "array")
            client.call("keep", sent)
            sent.close()
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            served()
    assert is_full(pool) and (kept[0] == 7).all()
    kept.clear()
    take(pool, "array").close()
