# SPDX-License-Identifier: Apache-2.0
"""What channels and work queues have in common: frames and waits."""
import asyncio
import os
import pickle

import numpy as np
import pytest

import warpway
from arrays import values_of
from children import LIMIT_S
from frames import SHAPE, Pair
from waits import in_thread, interrupted, is_readable


@pytest.fixture(params=[warpway.Channel, warpway.WorkQueue])
def of(request):
    return request.param


@pytest.fixture
def pair(device, of):
    with Pair(of=of, device=device) as made:
        yield made


def take(consumer):
    """The elements of the next frame, which ends."""
    with consumer.receive(timeout=LIMIT_S) as frame:
        return values_of(frame.array).tolist()


# --- frames ---


def test_memory_of_a_device_is_copied_into(device, of):
    with Pair(of=of, device=device, kind="device") as pair:
        sent = np.arange(12, dtype="float32").reshape(SHAPE)
        assert pair.producer.send(sent) == 1
        assert take(pair.consumer) == sent.tolist()


def test_smaller_frames(pair):
    with pair.producer.acquire(shape=(1, 2)) as frame:
        np.asarray(frame)[...] = 5
    with pair.producer.acquire() as frame:
        np.asarray(frame).reshape(-1)[:2] = 6
        frame.publish(shape=(2, 1))
    assert [take(pair.consumer), take(pair.consumer)] == [[[5, 5]], [[6], [6]]]


def test_bytes(device, of):
    with Pair(None, None, of=of, slot_bytes=1000, device=device) as pair:
        assert (pair.producer.shape, pair.producer.dtype, pair.producer.slot_bytes) == (None, None, 1024)
        assert pair.producer.send(b"abc") == 1
        with pair.producer.acquire() as frame:
            memoryview(frame)[:2] = b"xy"
            frame.publish(nbytes=2)
        sent = np.arange(6, dtype="float32").reshape(2, 3)
        for expected in (b"abc", b"xy", sent.tobytes(), sent.tobytes()):
            with pair.consumer.receive(timeout=LIMIT_S) as frame:
                assert bytes(frame) == expected
            pair.producer.send(sent if expected == b"abc" else warpway.share(sent, copy=True, device=device))


def test_block_that_raises_discards(pair):
    with pytest.raises(KeyError), pair.producer.acquire() as frame:
        raise KeyError
    assert frame.closed and (pair.producer.held, pair.producer.published) == (0, 0)
    with pair.producer.acquire() as frame:
        frame.discard()
    assert pair.producer.published == 0


def test_frames_are_not_given_to_others(pair, of, broker):
    frame = pair.producer.acquire()
    for share in (frame.array.token, frame.array.memory.token, frame.array.get_ipc_handle, frame.array.memory.revoke,
                  lambda: pickle.dumps(frame.array), lambda: pickle.dumps(frame.array.memory),
                  lambda: broker.put(None, frame.array)):  # fmt: skip
        with pytest.raises(warpway.Unsupported, match="frame"):
            share()
    with pytest.raises(TypeError, match=f"pickle the {of.__name__}"):
        pickle.dumps(frame)
    with pytest.raises(TypeError):
        type(frame)()


@pytest.mark.parametrize("expected", [{"shape": (4, 3), "dtype": "float32"}, {"shape": SHAPE, "dtype": "int32"},
                                      {"metadata_type": "other"}])  # fmt: skip
def test_consumer_that_expects_other_frames(pair, expected):
    with pytest.raises(warpway.InvalidArgument, match="asked for"):
        pair.join(**expected)
    with pytest.raises(warpway.Error):
        pair.join(device="none")


# --- waiting ---


@pytest.mark.parametrize("wait", [lambda consumer: consumer.receive(timeout=LIMIT_S), next])
def test_ctrl_c_ends_a_wait(pair, wait):
    interrupted(wait, pair.consumer)
    pair.send()
    assert pair.consumer.receive(timeout=LIMIT_S).number == 1


def test_wait_of_a_thread(pair):
    """Other threads run meanwhile. A frame ends it, its Cancel, or close()."""
    stop = warpway.Cancel()
    result = in_thread(pair.consumer.receive, cancel=stop)
    pair.send(3)
    with result() as frame:
        assert (np.asarray(frame) == 3).all()
    result = in_thread(pair.consumer.receive, cancel=stop)
    stop.set()
    with pytest.raises(warpway.Cancelled):
        result()
    result = in_thread(pair.consumer.receive)
    pair.consumer.close()
    for call in (result, lambda: pickle.dumps(pair.consumer)):
        with pytest.raises(ValueError, match=f"{pair.of.__name__} is closed"):
            call()


def test_time_limits(pair):
    for timeout in (0, 0.06):  # which ends before the main thread looks for signals, or after
        with pytest.raises(warpway.Timeout, match="no frame has come"):
            pair.consumer.receive(timeout=timeout)
    with pytest.raises(warpway.Timeout, match="'none/here' has not come"):
        pair.of.get("none/here", timeout=0.01)
    for _ in range(pair.producer.slots):
        pair.send()
    with pytest.raises(warpway.Timeout, match="consumer|wait"):
        pair.producer.acquire(timeout=0.01)
    with pytest.raises(ValueError):
        pair.consumer.receive(timeout=-1)


def test_descriptor_is_readable_when_it_was_closed(pair):
    pair.send()
    with pair.consumer.receive(timeout=LIMIT_S) as frame:
        view = np.asarray(frame)  # the consumer stays until this ends
    own = os.dup(pair.consumer.fileno())
    assert not is_readable(own)
    pair.consumer.close()
    assert is_readable(own, LIMIT_S)
    os.close(own)
    with pytest.raises(ValueError, match="closed"):
        pair.consumer.fileno()
    assert (view == 1).all()


# --- asyncio ---


def test_asynchronous_iteration(pair):
    async def produce():
        for i in range(10):
            with await pair.producer.acquire_async(timeout=LIMIT_S) as frame:
                np.asarray(frame)[...] = i
        pair.end()

    async def main():
        task = asyncio.create_task(produce())
        found = [float(np.asarray(frame)[0, 0]) async for frame in pair.consumer]
        await task
        return found

    assert asyncio.run(main()) == list(range(10))


def test_cancelled_task_loses_no_frame(pair):
    async def main():
        for i in range(30):
            task = asyncio.create_task(pair.consumer.receive_async())
            await asyncio.sleep(0)
            pair.send(i)
            if i % 2:
                await asyncio.sleep(0.001)
            task.cancel()
            try:
                frame = await task
            except asyncio.CancelledError:
                frame = await pair.consumer.receive_async(timeout=LIMIT_S)
            with frame:
                assert frame.number == i + 1 and (np.asarray(frame) == i).all()
                assert pair.of is warpway.Channel or frame.attempts == 1

    asyncio.run(main())
