# SPDX-License-Identifier: Apache-2.0
"""Tasks that are cancelled after their thread has received a frame, or acquired a slot."""
import asyncio
import threading
import time
import weakref

import pytest

import warpway
from children import LIMIT_S
from frames import Pair
from waits import Gate, in_thread, until_asleep


async def cancel_when(is_done, *tasks):
    """The loop sees nothing of what the threads of the tasks have done: the cancellation comes first."""
    end = time.monotonic() + LIMIT_S
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.001)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)


async def start(coroutine):
    """A task that has started its thread."""
    before = threading.enumerate()
    task = asyncio.create_task(coroutine)
    while not set(threading.enumerate()) - set(before):
        await asyncio.sleep(0)
    return task


def test_cancelled_wait_leaves_no_slot_acquired(device):
    async def main(pair, stream):
        pair.send()
        pair.send()
        task = await start(pair.producer.acquire_async(stream))
        pair.consumer.receive().release()
        await cancel_when(lambda: pair.producer.held == 1, task)
        assert pair.producer.held == 0

    with Pair(device=device, slots=2) as pair, warpway.Stream(device) as stream:
        asyncio.run(main(pair, stream))


def test_cancelled_tasks_lose_no_frame(device):
    async def main(pair, stream):
        tasks = [await start(pair.consumer.receive_async(stream)) for _ in range(3)]
        for _ in tasks:
            pair.send()
        await cancel_when(lambda: pair.consumer.received == 3, *tasks)
        pair.send()

    with Pair(device=device, slots=8, held_max=4) as pair, warpway.Stream(device) as stream:
        asyncio.run(main(pair, stream))
        frames = [pair.consumer.receive(timeout=LIMIT_S) for _ in range(4)]
        assert [frame.number for frame in frames] == [1, 2, 3, 4]


def test_frames_are_put_back_in_order(device):
    with Pair(device=device, slots=8, held_max=4) as pair:
        frames = []
        for _ in range(4):
            pair.send()
            frames.append(pair.consumer.receive())
        for i in (2, 0, 3, 1):
            pair.consumer._put_back(frames[i])
        del frames[:]
        first = next(pair.consumer)
        pair.consumer._put_back(pair.consumer.receive())
        assert not first.closed  # it is still the frame of next()
        frames = [pair.consumer.receive() for _ in range(3)]
        assert [frame.number for frame in [first, *frames]] == [1, 2, 3, 4]
        for frame in frames:
            pair.consumer._put_back(frame)
        pair.consumer.close()
        frames = [weakref.ref(frames.pop()) for _ in range(3)]
        del frame
        assert [frame() for frame in frames] == [None] * 3


def test_put_back_frame_is_received_by_another_stream(device):
    """The frame is ready when the stream has run that it was received with."""
    with Pair(device=device, kind="device") as pair, Gate(device) as gate, warpway.Stream(device) as other:
        pair.producer.acquire().publish()
        frame = pair.consumer.receive(gate.stream)
        pair.consumer._put_back(frame)
        assert pair.consumer.receive(other) is frame
        assert not other.query()
        gate.open()
        other.synchronize(LIMIT_S)
        frame.release()
        assert frame.closed


@pytest.mark.parametrize("held_max", [1, 2])
def test_put_back_frame_wakes_a_task(device, held_max):
    """It waits for the descriptor, which no other frame makes readable if only one may be held."""
    async def main(pair):
        waiting = asyncio.create_task(pair.consumer.receive_async())
        for _ in range(5):
            await asyncio.sleep(0)
        pair.send()
        frame = pair.consumer.receive()  # before the loop runs
        pair.consumer._put_back(frame)
        assert await asyncio.wait_for(waiting, LIMIT_S) is frame

    with Pair(device=device, slots=4, held_max=held_max) as pair:
        asyncio.run(main(pair))


@pytest.mark.parametrize("finds", [False, True])
def test_put_back_frame_wakes_a_thread(device, finds):
    with Pair(device=device, slots=4, held_max=2) as pair:
        pair.send()
        frame = pair.consumer.receive()
        if finds:
            waited = in_thread(warpway.wait_channels, [pair.consumer], timeout=LIMIT_S)
        else:
            waited = in_thread(pair.consumer.receive, timeout=LIMIT_S)
        until_asleep(waited.thread)
        pair.consumer._put_back(frame)
        assert waited() == ([pair.consumer] if finds else frame)
