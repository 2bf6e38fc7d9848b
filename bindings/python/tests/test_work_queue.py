# SPDX-License-Identifier: Apache-2.0
"""Work queues: frames and their ends, loops, waits. What becomes of work if a process ends: tests/integration."""
import asyncio
import gc
import pickle
import threading

import numpy as np
import pytest

import warpway
from children import LIMIT_S
from frames import SHAPE, Members
from waits import Gate, in_thread

@pytest.fixture
def members(device):
    with Members(device=device) as made:
        yield made


def value_of(frame):
    return int(np.asarray(frame)[0, 0])


def take(queue):
    """The value of the next frame, which is acknowledged."""
    with queue.receive(timeout=LIMIT_S) as frame:
        return value_of(frame)


# --- frames ---


def test_frame_arrives_as_it_was_written(device):
    with Members(device=device, metadata_bytes=16, metadata_type="job/1") as members:
        with members.producer.acquire() as frame:
            assert (frame.number, frame.shape, frame.dtype) == (0, SHAPE, "float32")
            np.asarray(frame)[...] = np.arange(12).reshape(SHAPE)
            frame.metadata = bytearray(b"left")
        assert frame.closed and frame.number == 1
        with members.consumer.receive(timeout=LIMIT_S) as received:
            assert (received.number, received.metadata, received.shape, received.nbytes) == (1, b"left", SHAPE, 48)
            assert (received.producer, received.attempts, received.is_repeat) == (1, 1, False)
            assert (np.asarray(received) == np.arange(12).reshape(SHAPE)).all()
            with pytest.raises(ValueError):
                np.asarray(received)[...] = 1  # it is for reading
        assert received.closed and members.consumer.held == 0
        assert (members.producer.available, members.producer.claimed, members.producer.published) == (0, 0, 1)


# --- what becomes of a frame ---


def test_rejected_frame_comes_again_until_it_fails(device):
    with Members(device=device, attempts_max=2, failed_max=1) as members, members.join("failed") as failed:
        members.send(5)
        members.consumer.receive(timeout=LIMIT_S).reject()
        with members.consumer.receive(timeout=LIMIT_S) as frame:
            assert (value_of(frame), frame.attempts, frame.is_repeat) == (5, 2, True)
            frame.reject()
        assert (members.producer.failed, members.producer.failed_max, members.producer.failed_total) == (1, 1, 1)
        with failed.receive(timeout=LIMIT_S) as frame:
            assert (value_of(frame), frame.attempts, failed.role) == (5, 3, "failed")
        assert (members.producer.failed, members.producer.repeated_total) == (0, 1)


def test_block_that_raises_rejects(members):
    members.send(5)
    with pytest.raises(KeyError), members.consumer.receive(timeout=LIMIT_S):
        raise KeyError
    with pytest.raises(KeyError), members.producer.acquire() as frame:
        raise KeyError
    assert frame.closed and members.producer.published == 1
    assert members.consumer.receive(timeout=LIMIT_S).attempts == 2


def test_forgotten_frame_is_rejected(members):
    members.send(5)
    frame = members.consumer.receive(timeout=LIMIT_S)
    del frame
    gc.collect()
    assert members.consumer.receive(timeout=LIMIT_S).attempts == 2


def test_frame_ends_once(members):
    members.send(5)
    frame = members.consumer.receive(timeout=LIMIT_S)
    frame.acknowledge()
    frame.acknowledge()
    frame.reject()
    with pytest.raises(ValueError, match="acknowledged or rejected"):
        np.asarray(frame.array)
    assert "ended" in repr(frame) and members.producer.available == 0
    acquired = members.producer.acquire()
    for end in (acquired.acknowledge, acquired.reject):
        with pytest.raises(warpway.AccessDenied, match="publish or discard"):
            end()
    acquired.discard()
    with pytest.raises(warpway.AccessDenied, match="acknowledge or reject"):
        frame.publish()


@pytest.mark.parametrize("ends", ["acknowledge", "reject"])
def test_view_keeps_the_frame(device, ends):
    with Members(device=device, slots=1) as members:
        members.send(5)
        frame = members.consumer.receive(timeout=LIMIT_S)
        view = np.asarray(frame)
        getattr(frame, ends)()
        assert members.consumer.held == 1
        with pytest.raises(warpway.Timeout, match="consumer"):
            members.producer.acquire(timeout=0)
        assert (view == 5).all()
        del view
        assert (members.consumer.held, members.producer.available) == (0, ends == "reject")


def test_closing_gives_frames_back_with_their_last_view(members):
    members.send(5)
    frame = members.consumer.receive(timeout=LIMIT_S)
    view = np.asarray(frame)
    members.consumer.close()
    assert members.producer.claimed == 1 and (view == 5).all()
    del view, frame
    with members.join() as other:
        assert other.receive(timeout=LIMIT_S).attempts == 2


def test_frames_in_the_order_of_streams(members, device):
    with Gate(device) as gate:
        members.producer.acquire(gate.stream).publish()
        with pytest.raises(warpway.Timeout):
            members.consumer.receive(timeout=0.01)
        gate.open()
        members.consumer.receive(timeout=LIMIT_S).acknowledge()
    members.send(1)
    with Gate(device) as gate:
        members.consumer.receive(timeout=LIMIT_S).acknowledge(gate.stream)
        assert members.producer.claimed == 1


# --- iteration ---


def test_iteration_acknowledges_and_ends(members):
    for value in range(5):
        members.send(value)
    members.producer.shutdown()
    assert members.consumer.is_shutdown and members.producer.is_shutdown
    with pytest.raises(warpway.EndOfChannel, match="no slot comes any more"):
        members.producer.acquire()
    found = []
    for frame in members.consumer:
        found.append(value_of(frame))
        if frame.attempts == 1 and found[-1] == 2:
            frame.reject()
    assert found == [0, 1, 2, 2, 3, 4] and members.consumer.held == 0
    with pytest.raises(warpway.EndOfChannel):
        members.consumer.receive()


def test_iteration_that_raises_does_not_acknowledge(members):
    members.send(5)
    with pytest.raises(KeyError), members.consumer as consumer:
        for frame in consumer:
            raise KeyError(frame.number)
    del frame
    gc.collect()
    with members.join() as other:
        assert other.receive(timeout=LIMIT_S).attempts == 2


def test_loops_of_several_threads_end_their_own_frames(members):
    for value in range(3):
        members.send(value)
    loops = [iter(members.consumer), iter(members.consumer)]
    frames = [next(loop) for loop in loops]
    assert [frame.closed for frame in frames] == [False, False]
    assert value_of(in_thread(next, loops[0])()) == 2
    assert [frame.closed for frame in frames] == [True, False] and members.producer.acknowledged_total == 1


def test_worker_that_fails_loses_no_frame_of_a_shared_consumer(members):
    async def work(found, fails):
        async for frame in members.consumer:
            await asyncio.sleep(0)
            found.append(value_of(frame))
            if fails:
                raise KeyError(frame.number)

    async def main():
        lost, done = [], []
        with pytest.raises(KeyError):
            members.send(0)
            await work(lost, True)
        gc.collect()
        waits = [asyncio.create_task(work(done, False)) for _ in range(2)]
        for value in range(1, 4):
            members.send(value)
        while len(done) < 4:
            await asyncio.sleep(0)
        members.producer.shutdown()
        await asyncio.gather(*waits)
        assert lost == [0] and sorted(done) == [0, 1, 2, 3]

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


def test_next_of_a_queue_acknowledges_the_frame_before(members):
    members.send(0)
    members.send(1)
    first, second = next(members.consumer), next(members.consumer)
    assert first.closed and not second.closed and members.producer.acknowledged_total == 1


def test_iteration_ends_after_producers(device, request):
    name = request.node.name
    with warpway.WorkQueue(name, SHAPE, "float32", role="consumer", device=device, kind="host",
                           end_after_producers=2) as consumer, \
            warpway.WorkQueue.get(name, device=device, end_after_producers=1) as other:
        for value in range(2):
            with warpway.WorkQueue.get(name, role="producer", device=device) as producer:
                producer.send(np.full(SHAPE, value, "float32"))
            assert [value_of(frame) for frame in other] == [value]
            if value == 0:
                with pytest.raises(warpway.Timeout):
                    consumer.receive(timeout=0)
        assert list(consumer) == [] and not consumer.is_shutdown


# --- waiting ---


# --- making and opening ---


def test_what_it_is(device):
    with Members(device=device, slots=5, producers_max=2, consumers_max=3, attempts_max=4, failed_max=1, held_max=2,
                 metadata_bytes=8, metadata_type="job/1") as members:
        for queue in (members.producer, members.consumer):
            assert (queue.slots, queue.producers_max, queue.consumers_max, queue.attempts_max) == (5, 2, 3, 4)
            assert (queue.failed_max, queue.held_max, queue.metadata_bytes, queue.metadata_type) == (1, 2, 8, "job/1")
            assert (queue.shape, queue.dtype, queue.slot_bytes) == (SHAPE, "float32", 512)
            assert queue.consumers == 1 and not queue.closed and queue.lost in (0,)
        assert repr(members.producer).startswith("<warpway.WorkQueue producer") and members.consumer.role == "consumer"
        members.send()
        members.consumer.receive(timeout=LIMIT_S).acknowledge()
        assert members.consumer.producers == 1
    with Members(device=device, failed_max=0) as members:
        assert members.consumer.failed_max == 0


def test_by_name_and_by_pickle(device, request):
    name = request.node.name
    with warpway.WorkQueue(name, SHAPE, "float32", role="keeper", device=device, kind="host") as keeper:
        with pytest.raises(warpway.AlreadyExists):
            warpway.WorkQueue(name, slot_bytes=4)
        with warpway.WorkQueue.get(name, role="producer", device=device) as producer:
            producer.send(np.ones(SHAPE, "float32"))
            with pickle.loads(pickle.dumps(keeper)) as consumer:
                assert consumer.role == "consumer" and value_of(consumer.receive(timeout=LIMIT_S)) == 1
            with warpway.Broker() as broker:
                assert broker.stat(name).kind == "work-queue"
                with broker.get(name) as consumer:
                    assert consumer.receive(timeout=LIMIT_S).is_repeat
        token = keeper.token()
        assert token.kind == "work-queue" and token.access == "read"
        with pytest.raises(warpway.AccessDenied):
            warpway.WorkQueue.get(token, role="producer")
        with token.open(device=device) as consumer, pytest.raises(warpway.AccessDenied):
            consumer.shutdown()
        keeper.shutdown()
        with pytest.raises(warpway.WrongState):
            warpway.WorkQueue.get(name, role="producer")


def test_roles(members):
    with members.join("keeper") as keeper:
        for queue, call in ((members.consumer, "acquire"), (members.producer, "receive"), (keeper, "acquire"),
                            (keeper, "receive")):
            with pytest.raises(warpway.AccessDenied, match=f"role='{queue.role}', which does not {call}"):
                getattr(queue, call)()
        with pytest.raises(warpway.AccessDenied):
            iter(keeper)


@pytest.mark.parametrize("options", [{"slots": 1025}, {"attempts_max": 65}, {"producers_max": 65}, {"failed_max": 16},
                                     {"metadata_bytes": 5000}, {"metadata_type": "x" * 16}, {"slots": 0},
                                     {"role": "nobody"}, {"shape": (3,)}])
def test_queue_that_cannot_be(device, options):
    with pytest.raises(ValueError) as caught:
        warpway.WorkQueue(None, slot_bytes=4, device=device, **options)
    assert "ww_" not in str(caught.value).lower()


def test_loops_end_while_views_of_their_last_frames_exist(device):
    """The frames are done, so no consumer waits for itself or for the other one. Their bytes stay."""
    with Members(device=device, slots=4) as members, members.join() as other:
        members.send(1)
        members.send(2)
        loops = [iter(members.consumer), iter(other)]
        views = [np.asarray(next(loop)) for loop in loops]
        members.producer.shutdown()
        ends = [in_thread(list, loop) for loop in loops]
        assert [end() for end in ends] == [[], []]
        assert [view[0, 0] for view in views] == [1, 2]
        assert members.consumer.held == other.held == 1
        views.clear()
        assert members.consumer.held == other.held == 0


def test_asyncio_loop_ends_while_a_view_of_its_last_frame_exists(device):
    """The producer discards a slot when the loop waits for the end already."""

    async def main():
        with Members(device=device) as members:
            members.send(1)
            slot = members.producer.acquire()
            members.producer.shutdown()
            async for frame in members.consumer:
                view = np.asarray(frame)
                asyncio.get_running_loop().call_later(0.05, slot.discard)
            assert view[0, 0] == 1 and members.consumer.held == 1

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


# --- descriptors ---


def test_keeper_has_no_descriptor(members):
    with members.join("keeper") as keeper, pytest.raises(warpway.AccessDenied):
        keeper.fileno()


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
