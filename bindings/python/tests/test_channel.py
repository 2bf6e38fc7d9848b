# SPDX-License-Identifier: Apache-2.0
"""Channels inside one process: frames, views, policies, threads, errors; see test_frames.py, too."""
import asyncio
import gc
import pickle
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import warpway
from children import LIMIT_S, run_python
from frames import SHAPE, Pair
from waits import Gate, in_thread, until, when_main_thread_sleeps

@pytest.fixture
def pair(device):
    with Pair(device=device) as made:
        yield made


def numbers(frame):
    return np.asarray(frame).copy()


# --- frames ---


def test_frame_arrives_as_it_was_written(device):
    with Pair(device=device, metadata_bytes=16, metadata_type="pose/1") as pair:
        before = time.monotonic_ns()
        with pair.producer.acquire() as frame:
            assert frame.number == 0 and frame.shape == SHAPE and frame.dtype == "float32"
            np.asarray(frame)[...] = np.arange(12).reshape(SHAPE)
            frame.metadata = bytearray(b"left")
        assert frame.closed and frame.number == 1
        with pair.consumer.receive(timeout=LIMIT_S) as received:
            assert (received.number, received.metadata, received.shape) == (1, b"left", SHAPE)
            assert (numbers(received) == np.arange(12).reshape(SHAPE)).all()
            assert before <= received.submitted_ns <= time.monotonic_ns()
            assert received.nbytes == 48
        assert received.closed and pair.consumer.held == 0


def test_received_frame_is_for_reading_only(pair):
    pair.send()
    with pair.consumer.receive() as frame:
        assert not np.asarray(frame).flags.writeable
        assert frame.array.access == "read"
        with pytest.raises(BufferError):
            frame.__dlpack__()  # without a version it cannot say so
        with pytest.raises(warpway.AccessDenied):
            frame.array.copy_from(bytes(48))
        with pytest.raises(AttributeError):
            frame.metadata = b""


def test_metadata_of_an_earlier_frame_does_not_come_again(device):
    with Pair(device=device, slots=1, metadata_bytes=8) as pair:
        pair.producer.send(np.zeros(SHAPE, "float32"), b"secret")
        pair.consumer.receive().release()
        pair.send()
        with pair.consumer.receive() as frame:
            assert frame.metadata == b""


@pytest.mark.parametrize("size", [{"shape": (4, 4)}, {"shape": (12,)}, {"nbytes": 4}, {"shape": 3, "nbytes": 3}])
def test_frame_that_does_not_fit(pair, size):
    frame = pair.producer.acquire()
    with pytest.raises(warpway.InvalidArgument) as caught:
        frame.publish(**size)
    if size == {"shape": (4, 4)}:
        assert "shape (4, 4) does not fit into one of (3, 4)" in str(caught.value)
    assert not frame.closed
    frame.discard()
    with pytest.raises(warpway.InvalidArgument):
        pair.producer.acquire(**size)
    assert (pair.producer.held, pair.producer.published) == (0, 0)


def test_frame_of_bytes_that_does_not_fit(device):
    with warpway.Channel(slot_bytes=512, device=device) as producer:
        for size in ({"nbytes": 513}, {"shape": (3,)}, {"nbytes": -1}):
            with pytest.raises(ValueError):
                producer.acquire(**size)
        with pytest.raises(warpway.InvalidArgument, match="metadata"):
            producer.send(b"", b"x")
        assert producer.held == 0


def test_frames_that_are_forgotten(pair):
    for _ in range(2 * pair.producer.slots):
        pair.producer.acquire(timeout=LIMIT_S)
        gc.collect()
    for _ in range(2 * pair.producer.slots):
        pair.send()
        pair.consumer.receive(timeout=LIMIT_S)
    gc.collect()
    assert (pair.producer.held, pair.consumer.held, pair.producer.published) == (0, 0, 2 * pair.producer.slots)


def test_roles(pair):
    frame = pair.producer.acquire()
    for call in (frame.release, pair.producer.receive, pair.consumer.acquire, lambda: pair.consumer.send(np.zeros(SHAPE, "float32"))):  # fmt: skip
        with pytest.raises(warpway.AccessDenied):
            call()
    with pytest.raises(warpway.AccessDenied):
        iter(pair.producer)
    frame.publish()
    received = pair.consumer.receive()
    for call in (received.publish, received.discard):
        with pytest.raises(warpway.AccessDenied):
            call()


def test_frame_ends_once(pair):
    frame = pair.producer.acquire()
    frame.publish()
    frame.discard()
    with pytest.raises(ValueError):
        frame.publish()
    with pytest.raises(ValueError):
        np.asarray(frame.array)
    received = pair.consumer.receive()
    received.release()
    received.release()
    for use in (memoryview, warpway.from_dlpack, lambda frame: frame.array, lambda frame: frame.__enter__()):
        with pytest.raises(ValueError):
            use(received)
    assert "published" in repr(frame) and "released" in repr(received)


# --- views ---


@pytest.mark.parametrize("kind", ["numpy", "tensor", "array", "memoryview", "frame"])
def test_view_keeps_the_slot(device, kind):
    """A view never shows the bytes of another frame, however many come."""
    with Pair(device=device, policy="drop-oldest", consumers_max=1) as pair:
        pair.send(1)
        frame = pair.consumer.receive()
        view = {"numpy": np.asarray, "tensor": lambda frame: frame.__dlpack__(max_version=(1, 1)),
                "array": lambda frame: frame.array[1:], "memoryview": memoryview, "frame": lambda frame: frame}[kind](frame)
        if kind != "frame":
            frame.release()
        for _ in range(3 * pair.producer.slots):
            pair.send(2)
            pair.consumer.receive().release()
            assert pair.consumer.held == 1
        if kind != "tensor":
            assert (np.asarray(view) == 1).all()
        del view, frame
        assert pair.consumer.held == 0


def test_views_count_for_held_max(device):
    with Pair(device=device, held_max=1) as pair:
        pair.send(1)
        pair.send(2)
        with pair.consumer.receive() as frame:
            view = np.asarray(frame)
        with pytest.raises(warpway.WrongState, match="held_max"):
            pair.consumer.receive()
        del view
        with pair.consumer.receive() as frame:
            assert frame.number == 2


def test_loop_variables_may_keep_the_frame_before(pair):
    for i in range(20):
        pair.send(i)
        with pair.consumer.receive(timeout=0) as frame:
            view = np.asarray(frame)
        assert (view == i).all()


def test_views_of_a_published_frame_keep_its_slot_from_being_written(device):
    with Pair(device=device, slots=2) as pair:
        with pair.producer.acquire() as frame:
            view = np.asarray(frame)
            view[...] = 1
        pair.consumer.receive().release()
        pair.send(2)
        pair.consumer.receive().release()
        with pytest.raises(BufferError, match="views"):
            for _ in range(2):
                pair.producer.acquire()
        assert pair.producer.held == 0
        del view
        for i in range(4):
            pair.send(i)
            pair.consumer.receive().release()


def test_views_outlive_the_channel(pair):
    pair.send(6)
    frame = pair.consumer.receive()
    view = np.asarray(frame)
    waiting = pair.producer.acquire()
    written = np.asarray(waiting)
    pair.consumer.close()
    pair.producer.close()
    assert (np.asarray(frame) == 6).all()
    with pytest.raises(ValueError, match="closed"):
        waiting.publish()
    waiting.discard()
    written[...] = 3
    del frame
    assert (view == 6).all()


def test_array_can_be_closed_before_the_frame(pair):
    frame = pair.producer.acquire()
    view = np.asarray(frame)
    frame.array.close()
    view[...] = 3
    frame.publish()
    with pair.consumer.receive() as received:
        assert (np.asarray(received) == 3).all()


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_complex_numbers_in_another_order(shape):
    sent = np.arange(np.prod(shape)).reshape(shape) * (1 + 2j)
    with Pair(shape, "complex128", device="host") as pair:
        pair.producer.send(sent[::-1])
        np.testing.assert_array_equal(np.asarray(pair.consumer.receive(timeout=0)), sent[::-1])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_array_arrives_as_numpy_sees_it(data):
    """Shapes and types against NumPy, by every way to read a frame."""
    dtype = data.draw(st.sampled_from(["uint8", "int16", "int32", "int64", "float32", "float64", "complex128", "bool"]))
    largest = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, max_side=5))
    shape = tuple(data.draw(st.integers(0, length)) for length in largest)
    sent = data.draw(hnp.arrays(dtype, shape, elements=hnp.from_dtype(np.dtype(dtype), allow_nan=False)))
    with Pair(largest, dtype, device="host") as pair:
        pair.producer.send(sent)
        pair.producer.send(sent[::-1] if sent.ndim else sent)
        first, second = pair.consumer.receive(timeout=0), pair.consumer.receive(timeout=0)
        for view in (np.asarray(first), np.asarray(memoryview(first)), np.array(first.array)):
            assert view.dtype == sent.dtype and view.shape == shape
            np.testing.assert_array_equal(view, sent)
        np.testing.assert_array_equal(np.asarray(second), sent[::-1] if sent.ndim else sent)


# --- streams ---


def test_numpy_waits_for_the_stream_that_writes(device):
    with Pair(device=device) as pair, warpway.Stream(device) as writer, warpway.Stream(device) as reader:
        gate = threading.Event()
        frame = pair.producer.acquire()
        view = np.asarray(frame)
        writer.call(lambda: (gate.wait(LIMIT_S), view.fill(9)))
        frame.publish(writer)
        received = pair.consumer.receive(reader, timeout=LIMIT_S)
        when_main_thread_sleeps(gate.set)
        assert (np.asarray(received) == 9).all()
        writer.synchronize()


def receive_as_tensor(pair, stream=None):
    """Receives a frame, gives it to a library as a tensor, and releases both."""
    with pair.consumer.receive(stream, timeout=LIMIT_S) as frame:
        frame.__dlpack__(stream=-1, max_version=(1, 1))
        assert frame.__cuda_array_interface__["data"][1]
    del frame


def test_gpu_may_still_use_a_tensor_of_a_frame(gpu):
    """Of a frame without a stream: it is held until the GPU has done all of its work."""
    with Pair(device=gpu, kind="device", held_max=1) as pair, Gate(gpu) as gate:
        zeros = np.zeros(SHAPE, "float32")
        pair.producer.send(zeros)
        pair.producer.send(zeros)
        receive_as_tensor(pair)
        assert pair.consumer.held == 1
        when_main_thread_sleeps(gate.open)
        pair.consumer.receive(timeout=LIMIT_S).release()


@pytest.mark.parametrize("call", [
    lambda channel: channel.receive(timeout=LIMIT_S),
    lambda channel: asyncio.run(channel.receive_async(timeout=LIMIT_S)),
    lambda channel: warpway.wait_channels([channel], timeout=LIMIT_S)[0].receive(timeout=0),
])
def test_gpu_has_done_its_work_while_the_consumer_waits(gpu, call):
    """The frame is released then: the producer may wait for it."""
    with Pair(device=gpu, kind="device", held_max=2) as pair, Gate(gpu) as gate:
        pair.producer.send(np.zeros(SHAPE, "float32"))
        receive_as_tensor(pair)
        result = in_thread(call, pair.consumer)
        assert pair.consumer.held == 1
        gate.open()
        until(lambda: pair.consumer.held == 0)
        pair.producer.send(np.zeros(SHAPE, "float32"))
        assert result().number == 2


def test_gpu_has_done_its_work_after_the_consumer_has_closed(gpu):
    with Pair(device=gpu, kind="device") as pair, Gate(gpu) as gate:
        pair.producer.send(np.zeros(SHAPE, "float32"))
        receive_as_tensor(pair)
        when_main_thread_sleeps(gate.open)
        pair.consumer.close()
        assert pair.producer.consumers == 0


def test_frame_with_a_stream_waits_for_that_one_only(gpu):
    with Pair(device=gpu, kind="device", held_max=1) as pair, warpway.Stream(gpu) as reader, Gate(gpu):
        for _ in range(8):
            pair.producer.send(np.zeros(SHAPE, "float32"))
            receive_as_tensor(pair, reader)
            assert pair.consumer.held == 0
        reader.synchronize()


# --- waiting ---


def test_release_reaches_the_producer_while_the_consumer_waits(device):
    """The frame ends in this thread, and the other one is in the library."""
    with Pair(device=device, slots=2, held_max=2) as pair:
        pair.send(1)
        pair.send(2)
        view = np.asarray(pair.consumer.receive())
        pair.consumer.receive().release()
        result = in_thread(pair.consumer.receive)
        blocked = in_thread(pair.send, 3)
        assert (view == 1).all()
        del view
        assert blocked() == 3
        assert (np.asarray(result()) == 3).all()


def test_publish_while_another_thread_acquires(device):
    with Pair(device=device, slots=2) as pair:
        first, second = pair.producer.acquire(), pair.producer.acquire()
        first.publish()
        result = in_thread(pair.producer.acquire)
        second.publish()
        pair.consumer.receive().release()
        result().discard()
        assert pair.producer.published == 2


# --- the end, and policies ---


def test_iteration_ends_with_the_producer(pair):
    for i in range(3):
        pair.send(i)
    pair.producer.close()
    frames = []
    for frame in pair.consumer:
        assert [old.closed for old in frames] == [True] * len(frames)
        assert (np.asarray(frame) == frame.number - 1).all()
        frames.append(frame)
    assert [frame.number for frame in frames] == [1, 2, 3]
    with pytest.raises(warpway.EndOfChannel) as caught:
        pair.consumer.receive()
    assert isinstance(caught.value, EOFError) and caught.value.status_name == "WW_END"
    assert "the producer has closed the channel" in str(caught.value)
    assert list(pair.consumer) == []


def test_opened_in_the_current_context(gpu, request):
    """Whichever thread of the package asks the broker. The primary context would take much of the GPU's memory."""
    name = f"{gpu}-{request.node.name}"
    with warpway.Channel(name, 3, "int32", device=gpu):
        run_python("""
            import ctypes, sys, warpway
            name, gpu, index = *sys.argv[1:], int(sys.argv[2].removeprefix("cuda:"))
            cuda = ctypes.CDLL("libcuda.so.1")
            context, flags, is_active = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_int()
            assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, index) == 0
            consumer = warpway.Channel.get(name, device=gpu)
            assert cuda.cuDevicePrimaryCtxGetState(index, ctypes.byref(flags), ctypes.byref(is_active)) == 0
            assert not is_active.value
            """, name, gpu)


def test_closed_channel(pair):
    pair.producer.close()
    pair.producer.close()
    assert pair.producer.closed and "closed" in repr(pair.producer)
    for use in (pair.producer.acquire, pair.producer.token, lambda: pair.producer.send(b""), lambda: pair.producer.published,
                lambda: pair.producer.policy, lambda: pickle.dumps(pair.producer)):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            use()
    pair.consumer.close()
    with pytest.raises(ValueError, match="closed"):
        iter(pair.consumer)


@pytest.mark.parametrize("policy, first, dropped", [("block", 1, 0), ("drop-oldest", 7, 6), ("latest", 10, 0)])
def test_policies(device, policy, first, dropped):
    """What each means: tests/conformance/channel.c."""
    with Pair(device=device, policy=policy, consumers_max=2, held_max=1, ahead_max=1) as pair:
        assert (pair.producer.policy, pair.producer.slots) == (policy, 4)
        for i in range(4 if policy == "block" else 10):
            pair.send(i)
        with pair.consumer.receive(timeout=0) as frame:
            assert frame.number == first and (np.asarray(frame) == first - 1).all()
        assert (pair.consumer.received, pair.consumer.dropped) == (1, dropped)


@pytest.mark.parametrize("history, first", [(0, 5), (2, 3), ("all", 1)])
def test_late_consumers_say_where_they_begin(device, history, first):
    with Pair(device=device, slots=6) as pair:
        for i in range(4):
            pair.send(i)
        with pair.join(history=history) as consumer:
            pair.send()
            assert consumer.receive(timeout=0).number == first


def test_what_it_is(device):
    with Pair(device=device, slots=5, consumers_max=3, held_max=4, metadata_bytes=7, metadata_type="x/1") as pair:
        pair.send()
        for side, is_producer in ((pair.producer, True), (pair.consumer, False)):
            assert (side.slots, side.consumers_max, side.held_max, side.metadata_bytes) == (5, 3, 4, 7)
            assert (side.shape, side.dtype, side.policy, side.metadata_type) == (SHAPE, "float32", "block", "x/1")
            assert (side.is_producer, side.published, side.slot_bytes) == (is_producer, 1, 512)
            assert side.device == warpway.Device(device)
            assert side.pid == __import__("os").getpid() and side.program
        assert (pair.producer.consumers, pair.consumer.consumers) == (1, 0)
        assert weakref.ref(pair.producer)() is pair.producer
        frame = pair.consumer.receive()
        assert weakref.ref(frame)() is frame


# --- names and agreement ---


def test_by_name(device, request):
    name = request.node.name
    with warpway.Channel(name, SHAPE, "int16", device=device) as producer:
        with pytest.raises(warpway.AlreadyExists):
            warpway.Channel(name, SHAPE, "int16", device=device)
        with warpway.Channel.get(name, shape=SHAPE, dtype="int16") as consumer, warpway.Broker() as broker:
            with broker.get(name) as other:
                producer.send(np.ones(SHAPE, "int16"))
                assert [side.receive(timeout=LIMIT_S).number for side in (consumer, other)] == [1, 1]
                assert other.device == producer.device
            assert broker.stat(name).kind == "channel"
    with pytest.raises(warpway.NotFound):
        warpway.Channel.get(name)


@pytest.mark.parametrize("options", [
    {}, {"shape": 3}, {"dtype": "float32"}, {"slot_bytes": 0}, {"slot_bytes": -1}, {"slot_bytes": 10, "slots": 0},
    {"slot_bytes": 10, "policy": "none"}, {"slot_bytes": 10, "consumers_max": 33}, {"slot_bytes": 10, "metadata_bytes": 4097},
    {"slot_bytes": 10, "metadata_type": "x" * 16}, {"slot_bytes": 10, "policy": "latest", "slots": 2},
    {"slot_bytes": 4, "shape": 3, "dtype": "float32"}, {"slot_bytes": 2**63}, {"slot_bytes": 10, "mode": 0}])  # fmt: skip
def test_channel_that_cannot_be(device, options):
    with pytest.raises(ValueError):
        warpway.Channel(device=device, **options)


def test_sending_what_does_not_fit(pair):
    for data in (np.zeros(SHAPE, "float64"), np.zeros((4, 4), "float32"), b"abc"):
        with pytest.raises(warpway.InvalidArgument):
            pair.producer.send(data)
    with pytest.raises(TypeError):
        pair.producer.send(object())
    assert (pair.producer.held, pair.producer.published) == (0, 0)


def test_sending_other_things(pair):
    pair.producer.send(np.asfortranarray(np.arange(12, dtype="float32").reshape(SHAPE)))
    with warpway.zeros(SHAPE, "float32", device="host") as array:
        pair.producer.send(array)
    assert (numbers(pair.consumer.receive()) == np.arange(12).reshape(SHAPE)).all()
    assert (numbers(pair.consumer.receive()) == 0).all()


def test_sending_types_of_ml_dtypes(device):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numbers = np.arange(4).astype(ml_dtypes.bfloat16)
    with warpway.Channel(None, (4,), "bfloat16", device=device) as producer, producer.token().open() as consumer:
        for sent in (numbers, numbers[::-1]):
            producer.send(sent)
            out = np.zeros_like(numbers)
            with consumer.receive() as frame:
                frame.array.copy_to(out)
            assert (out == sent).all()
        with pytest.raises(warpway.InvalidArgument, match="bfloat16, not float8_e5m2"):
            producer.send(numbers.astype(ml_dtypes.float8_e5m2))


# --- asyncio ---


def test_ends_of_asynchronous_waits(pair):
    async def main():
        with pytest.raises(warpway.Timeout):
            await pair.consumer.receive_async(timeout=0.01)
        with pair.join() as other:
            following = asyncio.create_task(follow(other))
            await asyncio.sleep(0)
        assert await following == []
        pair.producer.close()
        with pytest.raises(warpway.EndOfChannel):
            await pair.consumer.receive_async()
        assert await follow(pair.consumer) == []

    async def follow(consumer):
        return [frame async for frame in consumer]

    asyncio.run(main())
