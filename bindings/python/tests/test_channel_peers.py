# SPDX-License-Identifier: Apache-2.0
"""Channels between processes, which end, are killed and are started anew. Every number and every byte is checked."""
import os
import pickle
import signal

import numpy as np
import pytest

import warpway
from children import LIMIT_S, hold_timeline

COUNT = 1000


def content(number, count=COUNT):
    """What frame `number` consists of."""
    return np.arange(count, dtype="uint32") * np.uint32(7) + np.uint32(number)


def check(frame):
    """AssertionError: it is torn, or another frame."""
    found = np.asarray(frame) if frame.array.memory.kind == "host" or frame.array.device.backend == "host" else None
    if found is None:
        found = np.empty(frame.shape, frame.dtype)
        frame.array.copy_to(found)
    assert (found == content(frame.number, frame.array.size)).all()
    assert int.from_bytes(frame.metadata, "little") == frame.number


def publish(channel, number, timeout=LIMIT_S):
    assert channel.send(content(number), number.to_bytes(8, "little"), timeout=timeout) == number


def make(device, name=None, **options):
    return warpway.Channel(name, COUNT, "uint32", device=device, metadata_bytes=8, **options)


# --- in other processes ---


def consume(talk, channel, pause_each=0):
    """Receives until the end; returns the numbers, and why it ended."""
    numbers = []
    talk.send("ready")
    try:
        for frame in channel:
            check(frame)
            numbers.append(frame.number)
            if pause_each and frame.number % pause_each == 0:
                talk.send(frame.number)
                talk.recv()
    except warpway.PeerLost as error:
        return numbers, str(error)
    return numbers, (channel.received, channel.dropped)


def hold_frame(talk, channel):
    """Receives one frame, and keeps it until the process is killed."""
    view = np.asarray(channel.receive())
    talk.send(view[:2].tolist())
    talk.recv()


def produce(talk, device, name, count):
    """Publishes, and then holds a slot until it is killed, or is told to close."""
    with make(device, name, replace=True, slots=8) as channel:
        talk.send(channel.token().to_bytes())  # a Token would arrive as a consumer
        talk.recv()
        for number in range(1, count + 1):
            publish(channel, number)
        channel.acquire()
        talk.send(count)
        talk.recv()


# --- cases ---


@pytest.mark.parametrize("policy", ["block", "drop-oldest", "latest"])
def test_consumers_of_different_speed(device, spawn, policy):
    with make(device, policy=policy) as channel:
        children = [spawn(consume, channel, pause) for pause in (0, 7)]
        for child in children:
            assert child.receive() == "ready"
        for number in range(1, 201):
            if policy == "block":
                while children[1].has_sent():
                    children[1].receive()
                    children[1].send("go on")
            publish(channel, number) if policy != "block" else publish_patiently(channel, number, children[1])
    outcomes = [finish(child) for child in children]
    for numbers, (received, dropped) in outcomes:
        assert numbers == sorted(set(numbers)) and numbers[-1] == 200 and received == len(numbers)
        if policy == "block":
            assert numbers == list(range(1, 201)) and dropped == 0
        elif policy == "drop-oldest":
            assert received + dropped == 200


def publish_patiently(channel, number, slow):
    """The slow one waits for this process at some frames, and holds one then."""
    while True:
        try:
            return publish(channel, number, timeout=0.001)
        except warpway.Timeout:
            if slow.has_sent():
                slow.receive()
                slow.send("go on")


def finish(child):
    """What consume() returned, which may be waiting for this process."""
    while not child._results.poll(0.01):
        if child.has_sent():
            try:
                child._talk.recv()
                child.send("go on")
            except (EOFError, OSError):
                pass
    return child.result()


def test_pickle_makes_a_consumer(device, spawn):
    with make(device) as channel:
        with pickle.loads(pickle.dumps(channel)) as consumer:
            assert not consumer.is_producer and consumer.device == channel.device
            publish(channel, 1)
            with consumer.receive(timeout=LIMIT_S) as frame:
                check(frame)
            child = spawn(consume, consumer)  # of a consumer, too
            assert child.receive() == "ready"
            publish(channel, 2)
        channel.close()
        assert child.result()[0] == [2]


def test_killed_consumer_gives_its_frame_back(device, spawn):
    with make(device, slots=2, kind="host") as channel:
        child = spawn(hold_frame, channel)
        with warpway.Channel.get(channel.token()) as other:
            with pytest.raises(warpway.Timeout, match=str(child.pid)):
                while True:
                    publish(channel, channel.published + 1, timeout=0.01)
                    other.receive().release()
            # The child has one of the two slots, or is about to receive what is in it.
            newest = channel.published
            assert child.receive() in [content(number)[:2].tolist() for number in (newest - 1, newest)]
            child.kill()
            for _ in range(5):
                publish(channel, channel.published + 1)
                other.receive(timeout=LIMIT_S).release()
            assert channel.consumers == 1


def test_killed_producer(device, spawn, request):
    producer = spawn(produce, device, request.node.name, 5)
    with warpway.Channel.get(warpway.Token(producer.receive())) as consumer:
        producer.send("begin")
        assert producer.receive() == 5
        producer.kill()
        numbers = []
        with pytest.raises(warpway.PeerLost, match=str(producer.pid)):
            for frame in consumer:
                check(frame)
                numbers.append(frame.number)
        assert numbers == [1, 2, 3, 4, 5]
        with pytest.raises(warpway.PeerLost):
            consumer.receive()


def test_stream_whose_peer_was_killed(device, spawn):
    """A call that names the lost stream says so, and takes no slot and no frame."""
    child = spawn(hold_timeline)
    timeline = child.receive()
    with warpway.Stream(device) as stream, make(device, slots=2) as channel, channel.token().open() as consumer:
        publish(channel, 1)
        timeline.wait(1, stream=stream, unsubmitted=True)
        child.kill()
        with pytest.raises(warpway.PeerLost):
            stream.synchronize()
        for _ in range(3):
            with pytest.raises(warpway.PeerLost, match=str(child.pid)):
                channel.acquire(stream)
            with pytest.raises(warpway.PeerLost, match=str(child.pid)):
                consumer.receive(stream)
        assert consumer.held == 0 and consumer.received == 0
        stream.recover()
        with consumer.receive(stream, timeout=LIMIT_S) as frame:
            stream.synchronize()
            check(frame)
        for frame in [channel.acquire(stream, timeout=LIMIT_S) for _ in range(2)]:
            frame.discard()


def test_producer_that_is_started_anew(device, spawn, request):
    name = request.node.name
    for ends in ("killed", "closed", "killed"):
        producer = spawn(produce, device, name, 5)
        token = warpway.Token(producer.receive())
        consumers = [warpway.Channel.get(name), warpway.Channel.get(token)]
        producer.send("begin")
        producer.receive()
        assert [consumer.receive(timeout=LIMIT_S).number for consumer in consumers] == [1, 1]
        if ends == "killed":
            producer.kill()
        else:
            producer.send("end")
            producer.result()
        for consumer in consumers:
            with consumer, pytest.raises(warpway.PeerLost if ends == "killed" else EOFError):
                while True:
                    with consumer.receive(timeout=LIMIT_S) as frame:
                        check(frame)


def test_replaced_while_the_former_lives(device, request):
    name = request.node.name
    with make(device, name) as former, warpway.Channel.get(name) as consumer:
        publish(former, 1)
        with make(device, name, replace=True) as channel, warpway.Channel.get(name, history="all") as other:
            publish(channel, 1)
            publish(former, 2)
            assert [consumer.receive(timeout=LIMIT_S).number for _ in range(2)] == [1, 2]
            assert other.receive(timeout=LIMIT_S).number == 1


def test_stopped_consumer_delays_no_other(device, spawn):
    with make(device, policy="latest", kind="host") as channel:
        children = [spawn(consume, channel), spawn(hold_frame, channel)]
        assert children[0].receive() == "ready"
        while not children[1].has_sent():  # one that is counted may begin with a later frame
            publish(channel, channel.published + 1)
        children[1].receive()
        os.kill(children[1].pid, signal.SIGSTOP)
        for _ in range(300):
            publish(channel, channel.published + 1, timeout=LIMIT_S)
        last = channel.published
    assert children[0].result()[0][-1] == last


def test_consumers_that_come_and_go(device, spawn):
    with make(device, kind="host") as channel:
        with pytest.raises(warpway.Timeout):
            channel.wait_consumers(1, timeout=0)
        children = [spawn(consume, channel), spawn(hold_frame, channel)]
        assert children[0].receive() == "ready"
        channel.wait_consumers(2, timeout=LIMIT_S)
        with pytest.raises(warpway.InvalidArgument):
            channel.wait_consumers(5)
        publish(channel, 1)
        children[1].receive()
        assert sorted(consumer.pid for consumer in channel.who()) == sorted(child.pid for child in children)
        [holder] = [consumer for consumer in channel.who() if consumer.pid == children[1].pid]
        assert holder.held == 1 and not holder.is_evicted and holder.uid == os.getuid()
        children[1].kill()
        events = []
        while not events or events[-1].what != "ended":
            events.append(channel.next_event(timeout=LIMIT_S))
        assert [event.what for event in events][:2] == ["joined", "joined"]
        assert (events[-1].pid, events[-1].number, events[-1].frame) == (children[1].pid, holder.number, 1)
    assert children[0].result()[0] == [1]


def test_evicted_consumer(device):
    with make(device, kind="host", slots=2) as channel, channel.token().open() as slow, channel.token().open() as other:
        publish(channel, 1)
        view = np.asarray(slow.receive())
        other.receive().release()
        publish(channel, 2)
        other.receive().release()
        [number] = [consumer.number for consumer in channel.who() if consumer.held]
        assert not any(consumer.is_waited_for for consumer in channel.who())
        with pytest.raises(warpway.Timeout, match=str(os.getpid())):
            channel.acquire(timeout=0.01)
        assert [consumer.number for consumer in channel.who() if consumer.is_waited_for] == [number]
        channel.evict(number)
        assert [consumer.is_evicted for consumer in channel.who()].count(True) == 1 and channel.consumers == 1
        publish(channel, 3)
        assert (view == content(1)).all()
        with pytest.raises(warpway.Evicted):
            slow.receive(timeout=0)
        with other.receive(timeout=LIMIT_S) as frame:
            check(frame)
        with pytest.raises(warpway.NotFound):
            channel.evict(31)
        with pytest.raises(warpway.AccessDenied):
            other.evict(0)


def test_stuck_consumer_is_evicted_after_a_time(device):
    with make(device, slots=1, evict_after=0.05) as channel, channel.token().open() as stuck:
        publish(channel, 1)
        frame = stuck.receive()
        with pytest.raises(warpway.Evicted):
            channel.acquire(timeout=LIMIT_S)
        frame.release()
        publish(channel, 2)


def test_deadline_that_is_missed(device):
    with make(device, deadline=0.01) as channel:
        with warpway.Channel.get(channel.token(), deadline=0.02) as consumer:
            publish(channel, 1)
            assert consumer.next_event(timeout=LIMIT_S).what == "late"
            while (event := channel.next_event(timeout=LIMIT_S)).what == "joined":
                pass
            assert event.what == "late" and event.number is None and event.waited >= 0.01
        with pytest.raises(warpway.InvalidArgument):
            warpway.Channel.get(channel.token(), deadline=0.001)


def test_consumer_is_told_of_the_end(device):
    with make(device) as channel, channel.token().open() as consumer:
        channel.close()
        assert consumer.next_event(timeout=LIMIT_S).what == "closed"


def test_iteration_in_a_process_that_is_interrupted(device, spawn):
    with make(device) as channel:
        child = spawn(wait_for_frame, channel)
        assert child.receive() == "ready"
        os.kill(child.pid, signal.SIGINT)
        assert child.result() == "interrupted"


def wait_for_frame(talk, channel):
    try:
        talk.send("ready")
        next(channel)
    except (KeyboardInterrupt, warpway.PeerLost, StopIteration) as error:
        return "interrupted" if isinstance(error, KeyboardInterrupt) else repr(error)
