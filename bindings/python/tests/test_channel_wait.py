# SPDX-License-Identifier: Apache-2.0
"""Waiting for channels beside other things: descriptors, several at once, asyncio; the next producer, and observers."""
import asyncio
import contextlib
import gc
import os
import threading
import time

import numpy as np
import pytest

import warpway
from children import LIMIT_S
from waits import Gate, in_thread, interrupted, is_readable, until

SHAPE = 3


def make(device, name=None, shape=SHAPE, dtype="int32", **options):
    options.setdefault("kind", "host")
    return warpway.Channel(name, shape, dtype, device=device, **options)


def send(channel, value=1):
    with channel.acquire(timeout=LIMIT_S) as frame:
        np.asarray(frame)[...] = value


@pytest.fixture
def pair(device):
    with make(device, slots=2) as producer, warpway.Channel.get(producer.token()) as consumer:
        yield producer, consumer


# --- descriptors ---


def test_descriptor_shows_frames_and_slots(pair):
    producer, consumer = pair
    assert consumer.fileno() == consumer.fileno()
    assert not is_readable(consumer) and is_readable(producer)
    for _ in range(2):
        send(producer)
    assert is_readable(consumer, LIMIT_S) and not is_readable(producer)
    with consumer.receive(timeout=0) as frame:
        assert frame.number == 1 and frame.generation == 1
    assert is_readable(producer, LIMIT_S)


def test_descriptors_are_closed(device):
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    with make(device) as first:
        first.fileno()  # what stays open for all
        before = count()
        for _ in range(3):
            with make(device) as producer, warpway.Channel.get(producer.token()) as consumer:
                assert is_readable(producer) and not is_readable(consumer)
            del producer, consumer
        until(lambda: count() <= before)  # what earlier tests have left may end, too


# --- several channels ---


def test_wait_channels(device):
    with make(device, slots=2) as one, make(device, slots=2) as other:
        consumers = [warpway.Channel.get(channel.token()) for channel in (one, other)]
        with pytest.raises(warpway.Timeout):
            warpway.wait_channels(consumers, 0)
        with pytest.raises(warpway.Timeout):
            warpway.wait_channels(iter(consumers), timeout=0.001)
        waits = in_thread(warpway.wait_channels, consumers, LIMIT_S)
        send(other, 7)
        assert waits() == [consumers[1]]
        assert warpway.wait_channels([one, consumers[0]], 0) == [one]
        send(one)
        for first, second in (consumers, consumers[::-1]):  # each is the first in its turn
            assert warpway.wait_channels(consumers, 0) == [first, second]
        with pytest.raises(TypeError):  # a `with` block would close a channel
            with warpway.wait_channels(consumers, 0):
                pass
        assert [channel.receive(timeout=0).number for channel in warpway.wait_channels(consumers)] == [1, 1]
        for consumer in consumers:
            consumer.close()


def test_each_channel_is_first_in_its_turn(device):
    """Also of more than two that can always go on."""
    with contextlib.ExitStack() as stack:
        channels = [stack.enter_context(make(device)) for _ in range(4)]
        found = [warpway.wait_channels(channels, 0) for _ in range(8)]
        assert all(set(each) == set(channels) for each in found)
        firsts = [each[0] for each in found]
        assert set(firsts[:4]) == set(channels) and firsts[4:] == firsts[:4]


def test_wait_channels_refuses(device, pair):
    producer, consumer = pair
    for none in ([], [consumer] * 65):
        with pytest.raises(ValueError, match="1 to 64 channels"):
            warpway.wait_channels(none)
    with pytest.raises(ValueError, match="twice"):
        warpway.wait_channels([consumer, producer, consumer])
    with pytest.raises(TypeError):
        warpway.wait_channels([consumer, 1])
    with pytest.raises(TypeError):
        warpway.wait_channels(None)
    held = [producer.acquire() for _ in range(2)]
    with pytest.raises(warpway.WrongState, match="as many frames"):
        warpway.wait_channels([producer])
    del held
    cancel = warpway.Cancel()
    cancel.set()
    with pytest.raises(warpway.Cancelled):
        warpway.wait_channels([consumer], cancel=cancel)
    with make(device) as closed:
        pass
    with pytest.raises(ValueError, match="closed"):
        warpway.wait_channels([closed])


def test_wait_channels_in_several_threads(device):
    """They name the same channels in different orders."""
    with make(device, slots=2) as one, make(device, slots=2) as other:
        consumers = [warpway.Channel.get(channel.token()) for channel in (one, other)]
        waits = [in_thread(warpway.wait_channels, each, LIMIT_S) for each in (consumers, consumers[::-1])]
        send(one)
        assert all(wait() == [consumers[0]] for wait in waits)
        for consumer in consumers:
            consumer.close()


def test_ctrl_c_and_close_end_wait_channels(pair):
    consumer = pair[1]
    interrupted(warpway.wait_channels, [consumer])
    waits = in_thread(warpway.wait_channels, [consumer], None)
    consumer.close()
    with pytest.raises(ValueError, match="closed"):
        waits()


# --- asyncio ---


def waiting_threads():
    return [thread for thread in threading.enumerate() if thread.name == "warpway wait"]


def test_waits_in_asyncio_have_no_thread(pair):
    producer, consumer = pair

    async def main():
        tasks = [asyncio.create_task(consumer.receive_async()) for _ in range(2)]
        await asyncio.sleep(0)
        assert waiting_threads() == []
        send(producer, 1)
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        (first,) = done
        first.result().release()
        send(producer, 2)
        frames = [await task for task in tasks]
        assert sorted(frame.number for frame in frames) == [1, 2]
        for frame in frames:
            frame.release()
        slots = [producer.acquire() for _ in range(2)]
        slots[1].publish()
        slots[0].publish()
        acquire = asyncio.create_task(producer.acquire_async(timeout=LIMIT_S))
        await asyncio.sleep(0)
        assert not acquire.done() and waiting_threads() == []
        consumer.receive().release()
        (await acquire).discard()

    asyncio.run(main())


def test_stream_in_asyncio_has_a_thread(pair):
    producer, consumer = pair

    async def main():
        with warpway.Stream(consumer.device) as stream:
            task = asyncio.create_task(consumer.receive_async(stream, timeout=LIMIT_S))
            await asyncio.sleep(0)
            assert len(waiting_threads()) == 1
            send(producer, 1)
            (await task).release()

    asyncio.run(main())


def test_frame_that_a_stream_completes_in_asyncio(device, pair):
    producer, consumer = pair

    async def main():
        with Gate(device) as gate:
            frame = producer.acquire()
            np.asarray(frame)[...] = 5
            frame.publish(gate.stream)
            task = asyncio.create_task(consumer.receive_async())
            await asyncio.sleep(0)
            assert not task.done()
            gate.open()
            with await task as got:
                assert (np.asarray(got) == 5).all()

    asyncio.run(main())


def test_asyncio_refuses_as_calls_do(pair):
    producer, consumer = pair

    async def main():
        with pytest.raises(warpway.AccessDenied):
            await producer.receive_async(timeout=0)
        with pytest.raises(TypeError, match="cancel the task"):
            await consumer.receive_async(cancel=warpway.Cancel())
        begin = time.monotonic()
        with pytest.raises(warpway.Timeout):
            await consumer.receive_async(timeout=0.02)
        assert time.monotonic() - begin >= 0.02

    asyncio.run(main())


# --- the next producer ---


def test_consumer_goes_on_with_the_next_producer(device, request):
    name = request.node.name
    producer = make(device, name)
    with warpway.Channel.get(name, device=device, reattach=True) as consumer:
        send(producer, 1)
        first = consumer.receive(timeout=0)
        assert first.generation == consumer.generation == 1 and consumer.dtype == "int32"
        first_view = np.asarray(first)
        producer.close()
        with pytest.raises(warpway.EndOfChannel):
            consumer.receive(timeout=LIMIT_S)
        with pytest.raises(warpway.Timeout):
            consumer.receive(timeout=0.01)
        with make(device, name, (2, 2), "float64", replace=True, held_max=3, slots=5) as producer:
            send(producer, 2.5)
            with consumer.receive(timeout=LIMIT_S) as second:
                assert second.generation == consumer.generation == 2 and second.number == 1
                assert second.shape == (2, 2) and (np.asarray(second) == 2.5).all()
            assert consumer.dtype == "float64" and consumer.shape == (2, 2) and consumer.slots == 5
            assert (first_view == 1).all() and first.generation == 1
            assert first.dtype == "int32"
            whats = []
            with pytest.raises(warpway.Timeout):
                while True:
                    event = consumer.next_event(timeout=0)
                    whats.append((event.what, event.generation))
            assert whats == [("closed", 1), ("reattached", 2)]
            assert consumer.received == 2


def test_asyncio_goes_on_with_the_next_producer(device, request):
    name = request.node.name

    async def follow(consumer, frames):
        while len(frames) < 4:
            try:
                async for frame in consumer:
                    frames.append((frame.generation, int(np.asarray(frame)[0])))
            except warpway.EndOfChannel:
                pass

    async def main():
        frames = []
        producer = make(device, name, slots=4)
        with warpway.Channel.get(name, device=device, reattach=True) as consumer:
            task = asyncio.create_task(follow(consumer, frames))
            for generation in (1, 2, 3, 4):
                send(producer, generation)
                while len(frames) < generation:
                    await asyncio.sleep(0)
                producer.close()
                if generation < 4:
                    producer = make(device, name, slots=4, replace=True)
            await task
        assert frames == [(1, 1), (2, 2), (3, 3), (4, 4)]

    asyncio.run(main())


# --- observers, other users ---


def test_observer(device, request):
    name = request.node.name
    with make(device, name, slots=2) as producer:
        with warpway.Channel.get(name, device=device, observe=True) as observer:
            assert observer.is_observer and not observer.is_producer and producer.consumers == 0
            assert "observer" in repr(observer) and not producer.is_observer
            with warpway.Channel.get(name, device=device) as consumer:
                assert not consumer.is_observer
                observer.wait_consumers(1, timeout=LIMIT_S)
                assert [each.number for each in observer.who()] == [0]
                assert observer.next_event(timeout=LIMIT_S).what == "joined"
            assert observer.next_event(timeout=LIMIT_S).what == "left"
            for call in (observer.receive, observer.acquire, observer.fileno, observer.__iter__):
                with pytest.raises(warpway.AccessDenied):
                    call()
            with pytest.raises(warpway.AccessDenied, match=r"Channel\.next_event"):
                warpway.wait_channels([observer])
            send(producer)
            assert observer.published == 1
            producer.close()
            assert observer.next_event(timeout=LIMIT_S).what == "closed"


def test_trust_of_users_is_said(device, request):
    """What it does takes several users: tests/integration has that."""
    with make(device, request.node.name, trust_users=True) as producer:
        with warpway.Channel.get(request.node.name, device=device, trust_users=True) as consumer:
            send(producer, 3)
            with consumer.receive(timeout=0) as frame:
                assert (np.asarray(frame) == 3).all()
