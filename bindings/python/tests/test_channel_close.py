# SPDX-License-Identifier: Apache-2.0
"""Frames that end, or whose channel is closed, while they are in use."""
import os
import sys

import numpy as np
import pytest

import warpway
from children import LIMIT_S, run_python
from frames import SHAPE, Pair
from waits import in_thread, until_asleep


def test_metadata_set_while_it_is_read(device):
    with Pair(device=device, metadata_bytes=16) as pair:
        first, last = bytes(bytearray(b"first")), bytes(bytearray(b"last"))
        former = [sys.getrefcount(value) for value in (first, last)]
        with pair.producer.acquire() as frame:
            frame.metadata = first

            def items():
                frame.metadata = last
                yield 65

            frame.metadata = items()
            assert frame.metadata == b"A"
        assert [sys.getrefcount(value) for value in (first, last)] == former


def test_frame_ends_while_a_view_of_it_waits():
    """A handler of a signal ends it; the debug allocator overwrites what is freed."""
    program = """
        import signal, threading
        import warpway

        opened = threading.Event()
        stream = warpway.Stream("host")
        channel = warpway.Channel(None, slot_bytes=4096, device="host")
        frame = channel.acquire(stream)
        stream.call(opened.wait)
        frame.array

        def end(*unused):
            frame.discard()
            opened.set()

        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        memoryview(frame)
        assert frame.closed
    """
    assert run_python(program, PYTHONMALLOC="debug") == ""


def test_frame_of_a_channel_that_is_closed(device):
    """Its place is unmapped, and other memory may come there: no view of that is made."""
    channel = warpway.Channel(None, SHAPE, "float32", device=device, kind="host")
    frame, viewed = channel.acquire(), channel.acquire()
    view = np.asarray(viewed)
    channel.close()
    with pytest.raises(ValueError, match="the Channel of this frame is closed"):
        np.asarray(frame)
    with pytest.raises(ValueError, match="the Channel of this frame is closed"):
        frame.publish()
    view[...] = 1
    assert (np.asarray(viewed) == 1).all()


@pytest.mark.parametrize("has_view", [False, True])
def test_consumer_leaves_when_its_last_frame_ends(device, has_view):
    """A Frame that has ended does not keep it in the channel: the producer waits for it no more."""
    with Pair(device=device, slots=3, policy="block") as pair:
        pair.send()
        pair.send(2)
        pair.consumer.receive().release()
        frame = pair.consumer.receive()
        view = np.asarray(frame) if has_view else None
        if not has_view:
            frame.release()
        pair.consumer.close()
        if has_view:
            frame.release()
            with pytest.raises(warpway.Timeout):
                for _ in range(3):
                    pair.producer.acquire(timeout=0).publish()
            assert (view == 2).all()
            del view
        for _ in range(4):
            pair.send()
        assert frame.closed and pair.producer.consumers == 0


def test_consumer_of_a_work_queue_leaves_when_its_last_frame_ends(device):
    with warpway.WorkQueue(None, SHAPE, "float32", device=device, kind="host") as queue:
        consumer = warpway.WorkQueue.get(queue.token(), device=device)
        queue.acquire().publish()
        frame = consumer.receive(timeout=LIMIT_S)
        consumer.close()
        assert queue.consumers == 1
        frame.acknowledge()
        assert queue.consumers == 0


def test_name_is_free_after_close_beside_a_thread(device):
    """Also if the thread that waits is the one that leaves the channel."""
    name = f"test/close-{os.getpid()}"
    for _ in range(10):
        channel = warpway.Channel(name, SHAPE, "float32", device=device, kind="host")
        waiting = in_thread(channel.wait_consumers, 1, timeout=LIMIT_S)
        until_asleep(waiting.thread)
        channel.close()
        with pytest.raises(ValueError, match="closed"):
            waiting()


@pytest.mark.parametrize("find", [iter, lambda consumer: consumer])
def test_close_ends_loops_of_other_threads(device, find):
    """One of them leaves the channel before close() has returned: `next` raises StopIteration, and nothing else."""
    for _ in range(8):
        with Pair(device=device) as pair:
            loops = [in_thread(next, find(pair.consumer), None) for _ in range(2)]
            for loop in loops:
                until_asleep(loop.thread)
            pair.consumer.close()
            assert [loop() for loop in loops] == [None, None]


def test_frame_is_published_by_two_threads(device):
    """Both wait while a third one uses the Channel. One of them publishes the frame, and the other one says so."""
    with Pair(device=device) as pair:
        frame = pair.producer.acquire()
        waiting = in_thread(pair.producer.wait_consumers, 2, timeout=LIMIT_S)
        until_asleep(waiting.thread)
        ends = [in_thread(frame.publish) for _ in range(2)]
        texts = []
        for end in ends:
            try:
                end()
            except ValueError as error:
                texts.append(str(error))
        assert len(texts) == 1 and texts[0].startswith("this frame was published or discarded")
        assert pair.producer.published == 1
        with warpway.Channel.get(pair.producer.token(), device=device):
            waiting()
