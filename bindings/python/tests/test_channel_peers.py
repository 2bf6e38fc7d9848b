# SPDX-License-Identifier: Apache-2.0
"""Channels between processes, which end, are killed and are started anew. Every number and every byte is checked."""
import os
import pickle

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


def consume(talk, channel):
    """The numbers of all frames until the end."""
    numbers = []
    talk.send("ready")
    for frame in channel:
        check(frame)
        numbers.append(frame.number)
    return numbers


def hold_frame(talk, channel):
    """Receives one frame, and keeps it until the process is killed."""
    view = np.asarray(channel.receive())
    talk.send(view[:2].tolist())
    talk.recv()


def produce(talk, device, name, count):
    """Publishes until it is killed."""
    with make(device, name, replace=True, slots=8) as channel:
        talk.send(channel.token().to_bytes())  # a Token would arrive as a consumer
        talk.recv()
        for number in range(1, count + 1):
            publish(channel, number)
        talk.send(count)
        talk.recv()


# --- cases ---


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
        assert child.result() == [2]


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


@pytest.mark.parametrize("kind", [warpway.Channel, warpway.WorkQueue])
def test_stream_whose_peer_was_killed(device, spawn, kind):
    """A call that names the lost stream says so, and takes no slot and no frame."""
    child = spawn(hold_timeline)
    timeline = child.receive()
    with warpway.Stream(device) as stream, kind(None, COUNT, "uint32", device=device, metadata_bytes=8, slots=2) as producer:
        consumer = producer.token().open()
        publish(producer, 1)
        timeline.wait(1, stream=stream, unsubmitted=True)
        child.kill()
        with pytest.raises(warpway.PeerLost):
            stream.synchronize()
        for call in (producer.acquire, consumer.receive) * 2:
            with pytest.raises(warpway.PeerLost, match=str(child.pid)):
                call(stream)
        assert consumer.held == 0 and consumer.received == 0
        stream.recover()
        with consumer.receive(stream, timeout=LIMIT_S) as frame:
            stream.synchronize()
            check(frame)
        for frame in [producer.acquire(stream, timeout=LIMIT_S) for _ in range(2)]:
            frame.discard()
        consumer.close()


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
    assert children[0].result() == [1]


def test_messages_count_what_was_given(device):
    with make(device, kind="host") as channel:
        with pytest.raises(TypeError, match=r"^wait_consumers\(\) takes at most 2 positional arguments \(3 given\)"):
            channel.wait_consumers(1, 0, None)
        with pytest.raises(TypeError, match=r"^next_event\(\) takes at most 1 positional argument \(2 given\)"):
            channel.next_event(0, None)


def test_evicted_consumer(device):
    with make(device, kind="host", slots=1) as channel, channel.token().open() as slow:
        publish(channel, 1)
        view = np.asarray(slow.receive())
        with pytest.raises(warpway.Timeout, match=str(os.getpid())):
            channel.acquire(timeout=0.01)
        [consumer] = channel.who()
        assert consumer.is_waited_for and not consumer.is_evicted
        channel.evict(consumer.number)
        assert [consumer.is_evicted for consumer in channel.who()] == [True] and channel.consumers == 0
        assert (view == content(1)).all()
        with pytest.raises(warpway.Evicted):
            slow.receive(timeout=0)
        with pytest.raises(warpway.NotFound):
            channel.evict(31)
        with pytest.raises(warpway.AccessDenied):
            slow.evict(0)


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
