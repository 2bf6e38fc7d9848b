# SPDX-License-Identifier: Apache-2.0
"""Work queues between processes, some of which are killed. Every number and every byte is checked."""
import os
import signal

import numpy as np
import pytest

import warpway
from children import LIMIT_S, hold_timeline

COUNT = 1000
JOBS = 200


def content(number):
    return np.arange(COUNT, dtype="uint32") * np.uint32(7) + np.uint32(number)


def check(frame):
    """AssertionError: it is torn, or another frame."""
    found = np.empty(frame.shape, frame.dtype)
    frame.array.copy_to(found)
    assert (found == content(frame.number)).all()


def make(device, name, **options):
    return warpway.WorkQueue(name, COUNT, "uint32", device=device, **options)


# --- in other processes ---


def produce(talk, device, name, count):
    with warpway.WorkQueue.get(name, role="producer", device=device) as queue:
        for number in range(1, count + 1):
            assert queue.send(content(number), timeout=LIMIT_S) == number
        talk.send("sent")
        talk.recv()


def work(talk, device, name):
    """Works until the end: (producer, number) of each frame, and how many were repeats."""
    done, repeats = [], 0
    with warpway.WorkQueue.get(name, device=device) as queue:
        talk.send("ready")
        for frame in queue:
            check(frame)
            done.append((frame.producer, frame.number))
            repeats += frame.is_repeat
    return done, repeats


def hold(talk, device, name):
    """Has a frame until it is killed."""
    with warpway.WorkQueue.get(name, device=device) as queue:
        frame = queue.receive()
        talk.send((frame.number, frame.attempts))
        talk.recv()


def wait_for_work(talk, device, name):
    try:
        with warpway.WorkQueue.get(name, device=device) as queue:
            talk.send("ready")
            next(queue)
    except KeyboardInterrupt:
        return "interrupted"


# --- cases ---


def test_producers_and_consumers(device, spawn, request):
    name = request.node.name
    with make(device, name, role="keeper") as keeper:
        workers = [spawn(work, device, name) for _ in range(2)]
        assert [worker.receive() for worker in workers] == ["ready"] * 2
        producers = [spawn(produce, device, name, JOBS) for _ in range(2)]
        for producer in producers:
            assert producer.receive() == "sent"
        keeper.shutdown()
        for producer in producers:
            producer.send("end")
            producer.result()
        outcomes = [worker.result() for worker in workers]
    assert [repeats for _, repeats in outcomes] == [0, 0]
    for done, _ in outcomes:
        for producer in {producer for producer, _ in done}:
            numbers = [number for by, number in done if by == producer]
            assert numbers == sorted(numbers)
    numbers = sorted(number for done, _ in outcomes for _, number in done)
    assert numbers == sorted(list(range(1, JOBS + 1)) * 2)


def test_frames_of_a_killed_consumer_come_again_until_they_fail(device, spawn, request):
    name = request.node.name
    with make(device, name, attempts_max=2) as queue:
        queue.send(content(1))
        for attempt in (1, 2):
            victim = spawn(hold, device, name)
            assert victim.receive() == (1, attempt)
            victim.kill()
        with warpway.WorkQueue.get(name, role="failed", device=device) as failed:
            with failed.receive(timeout=LIMIT_S) as frame:
                check(frame)
                assert frame.attempts == 3
        assert (queue.failed, queue.claimed, queue.available) == (0, 0, 0)
        assert (queue.published_total, queue.repeated_total, queue.failed_total) == (1, 1, 1)


def test_work_goes_on_while_consumers_are_killed(device, spawn, request):
    name = request.node.name
    with make(device, name, slots=4, attempts_max=8, kind="host") as queue:
        worker = spawn(work, device, name)
        assert worker.receive() == "ready"
        for number in range(1, JOBS + 1):
            assert queue.send(content(number), timeout=LIMIT_S) == number
            if number % 50 == 0:
                victim = spawn(hold, device, name)
                while not victim.has_sent():
                    number_sent = queue.published + 1
                    queue.send(content(number_sent), timeout=LIMIT_S)
                victim.receive()
                victim.kill()
                break
        last = queue.published
        queue.shutdown()
    done, repeats = worker.result()
    assert sorted(number for _, number in done) == list(range(1, last + 1)) and repeats == 1


def test_frames_of_a_killed_producer_are_worked_on(device, spawn, request):
    name = request.node.name
    with make(device, name, role="consumer") as queue:
        producer = spawn(produce, device, name, 5)
        assert producer.receive() == "sent"
        producer.kill()
        for number in range(1, 6):
            with queue.receive(timeout=LIMIT_S) as frame:
                check(frame)
                assert frame.number == number
        with pytest.raises(warpway.Timeout):
            queue.receive(timeout=0)


def test_ctrl_c_in_a_consumer(device, spawn, request):
    with make(device, request.node.name):
        child = spawn(wait_for_work, device, request.node.name)
        assert child.receive() == "ready"
        os.kill(child.pid, signal.SIGINT)
        assert child.result() == "interrupted"


def test_stream_whose_peer_was_killed(device, spawn):
    """A call that names the lost stream says so, and takes no slot and no frame."""
    child = spawn(hold_timeline)
    timeline = child.receive()
    with warpway.Stream(device) as stream, make(device, None) as queue, queue.token().open() as worker:
        queue.send(content(1))
        timeline.wait(1, stream=stream, unsubmitted=True)
        child.kill()
        with pytest.raises(warpway.PeerLost):
            stream.synchronize()
        for call in (queue.acquire, worker.receive) * 2:
            with pytest.raises(warpway.PeerLost, match=str(child.pid)):
                call(stream)
        assert worker.held == 0 and queue.available == 1
        stream.recover()
        with worker.receive(stream, timeout=LIMIT_S) as frame:
            stream.synchronize()
            check(frame)
        queue.acquire(stream, timeout=LIMIT_S).discard()
