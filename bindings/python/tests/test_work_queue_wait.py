# SPDX-License-Identifier: Apache-2.0
"""Work queues in event loops, by their descriptors."""
import asyncio
import os
import select
import threading

import numpy as np
import pytest

import warpway
from children import LIMIT_S
from test_work_queue import Members, value_of
from waits import in_thread


def is_readable(what, seconds=0.0):
    return bool(select.select([what], [], [], seconds)[0])


@pytest.fixture
def members(device):
    with Members(device=device, slots=2) as made:
        yield made


def test_descriptor_shows_frames_and_slots(members):
    producer, consumer = members.producer, members.consumer
    assert consumer.fileno() == consumer.fileno()
    assert not is_readable(consumer) and is_readable(producer)
    members.send(1)
    assert is_readable(consumer, LIMIT_S)
    members.send(2)
    assert not is_readable(producer)
    with consumer.receive(timeout=0) as frame:
        assert value_of(frame) == 1
    assert is_readable(producer, LIMIT_S)
    with consumer.receive(timeout=0) as frame:
        assert value_of(frame) == 2
    with pytest.raises(warpway.Timeout):
        consumer.receive(timeout=0)
    assert not is_readable(consumer)
    producer.shutdown()
    producer.close()
    assert is_readable(consumer, LIMIT_S)
    with pytest.raises(warpway.EndOfChannel):
        consumer.receive(timeout=0)


def test_descriptor_of_a_closed_queue(members):
    own = os.dup(members.consumer.fileno())
    assert not is_readable(own)
    members.consumer.close()
    assert is_readable(own, LIMIT_S)
    os.close(own)
    with pytest.raises(ValueError, match="closed"):
        members.consumer.fileno()
    with members.join("keeper") as keeper, pytest.raises(warpway.AccessDenied):
        keeper.fileno()


def send_all(members, count):
    for value in range(count):
        members.send(value)


def test_consumers_in_poll(members):
    """Both are woken for a frame, and one of them gets it."""
    poll, found = select.poll(), []
    with members.join() as other:
        consumers = {consumer.fileno(): consumer for consumer in (members.consumer, other)}
        for fd in consumers:
            poll.register(fd, select.POLLIN)
        end = in_thread(send_all, members, 50)
        while len(found) < 50:
            ready = poll.poll(1000 * LIMIT_S)
            assert ready
            for fd, _ in ready:
                try:
                    with consumers[fd].receive(timeout=0) as frame:
                        found.append(value_of(frame))
                except warpway.Timeout:
                    pass
        end()
    assert found == list(range(50))


def test_asyncio_needs_no_threads(members):
    """A consumer and a producer that wait in one loop, and a reader of the loop."""

    async def main():
        loop = asyncio.get_running_loop()
        reads = asyncio.create_task(read())
        threads = threading.active_count()
        for value in range(20):
            with await members.producer.acquire_async(timeout=LIMIT_S) as frame:
                np.asarray(frame)[...] = value
            assert threading.active_count() <= threads
        assert await asyncio.wait_for(reads, LIMIT_S) == list(range(20))
        came = asyncio.Event()
        loop.add_reader(members.consumer.fileno(), came.set)
        members.send()
        await asyncio.wait_for(came.wait(), LIMIT_S)
        loop.remove_reader(members.consumer.fileno())
        (await members.consumer.receive_async()).acknowledge()
        with pytest.raises(warpway.Timeout):
            await members.consumer.receive_async(timeout=0.001)

    async def read():
        found = []
        while len(found) < 20:
            with await members.consumer.receive_async() as frame:
                found.append(value_of(frame))
        return found

    asyncio.run(main())
