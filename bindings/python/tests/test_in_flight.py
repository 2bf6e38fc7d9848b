# SPDX-License-Identifier: Apache-2.0
"""What was sent and not received: one delivery each, listed, revoked, limited, and what a kill leaves."""

import itertools
import multiprocessing as mp
import operator
import os
import pickle
import random
import signal
import time

import numpy as np
import pytest
from broker_peers import LIMIT
from children import LIMIT_S

import warpway

SPAWN = mp.get_context("spawn")


def until(is_so):
    end = time.monotonic() + 2 * LIMIT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def nothing_else_in_flight():
    warpway.revoke_in_flight()
    yield
    warpway.limit_in_flight()
    warpway.revoke_in_flight()
    assert warpway.in_flight() == []


def make(device, pool):
    array = pool.empty(4, "int32") if pool else warpway.empty(4, "int32", device=device)
    array.copy_from(np.zeros(4, "int32"))
    return array


def values(array):
    found = np.empty(array.shape, array.dtype)
    array.copy_to(found)
    return found


@pytest.fixture(params=["plain", "slice"])
def source(request, device):
    """Makes arrays, of memory or of a pool."""
    if request.param == "plain":
        yield lambda: make(device, None)
        return
    with warpway.Pool(device) as pool:
        yield lambda: make(device, pool)
        warpway.revoke_in_flight()


def test_sent_is_listed_until_received(source):
    array = source()
    assert warpway.in_flight() == []
    data = pickle.dumps(array)
    (sent,) = warpway.in_flight()
    assert sent.uses == 1 and sent.is_own and sent.time_left is None and 0 <= sent.age < LIMIT
    assert sent.bytes >= array.nbytes and sent.number > 0
    received = pickle.loads(data)
    assert received.shape == (4,)
    assert warpway.in_flight() == []


@pytest.mark.parametrize("close_first", [False, True])
def test_a_second_unpickling_says_so(source, close_first):
    array = source()
    data = pickle.dumps(array)
    first = pickle.loads(data)
    if close_first:
        array.close()
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)
    assert values(first).sum() == 0


def test_two_uses_are_two_deliveries(source):
    array = source()
    data = pickle.dumps(array.token(uses=2))
    assert warpway.in_flight()[0].uses == 2
    kept = [pickle.loads(data)]
    assert warpway.in_flight()[0].uses == 1
    kept.append(pickle.loads(data))
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)


def test_a_pickle_to_a_process_with_the_array_counts(source):
    array = source()
    first, second = pickle.dumps(array), pickle.dumps(array)
    kept = [pickle.loads(first), pickle.loads(second)]
    assert warpway.in_flight() == []
    assert len(kept) == 2


def load_later(connection):
    data = connection.recv()
    connection.recv()
    try:
        connection.send(int(values(pickle.loads(data))[0]))
    except warpway.Error as error:
        connection.send(type(error).__name__)


def test_kept_after_close_for_as_long_as_it_takes(source):
    # An escrow of no time at all: what keeps the array is that its sender lives.
    array = source()
    array.copy_from(np.full(4, 5, "int32"))
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=load_later, args=(theirs,))
    child.start()
    ours.send(pickle.dumps(array.token(escrow=0.001)))
    array.close()
    time.sleep(0.3)
    assert len(warpway.in_flight()) == 1
    ours.send("now")
    assert ours.recv() == 5
    child.join(LIMIT)
    assert warpway.in_flight() == []


def send_and_wait(connection, escrow):
    array = warpway.zeros(4, "int32", device="host")
    connection.send_bytes(pickle.dumps(array.token(escrow=escrow)))
    array.close()
    connection.recv()


@pytest.mark.parametrize("escrow", [0.05, 60])
def test_time_starts_with_the_senders_end(escrow):
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=send_and_wait, args=(theirs, escrow))
    with warpway.Broker() as broker:
        before = [flight.number for flight in broker.in_flight()]
        child.start()
        data = ours.recv_bytes()
        (sent,) = [flight for flight in broker.in_flight() if flight.number not in before]

        def flights():
            return [flight for flight in broker.in_flight() if flight.number == sent.number]

        assert sent.time_left is None and not sent.is_own and sent.uses == 1
        child.kill()
        child.join(LIMIT)
        if escrow < 1:
            until(lambda: not flights())
            with pytest.raises(warpway.NotFound):
                pickle.loads(data)
        else:
            until(lambda: flights()[0].time_left is not None)
            assert 0 < flights()[0].time_left <= 60
            assert pickle.loads(data).shape == (4,)
        assert not flights()


SLICES = 3


def send_slices_and_end(queue, device, ending):
    """A worker: its results are slices of a pool of its own, and it ends before anybody receives them."""
    pool = warpway.Pool(device)
    for i in range(SLICES):
        array = pool.empty(1000, "int32")
        array.copy_from(np.full(1000, i, "int32"))
        queue.put(array)
    queue.close()
    queue.join_thread()
    if ending == "close":
        array.close()
        pool.close()
    elif ending == "_exit":
        os._exit(0)
    elif ending == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("ending", ["return", "close", "_exit", "kill"])
def test_slices_outlive_their_worker(device, ending):
    queue = SPAWN.Queue()
    worker = SPAWN.Process(target=send_slices_and_end, args=(queue, device, ending))
    with warpway.Broker() as broker:
        before = broker.info().objects
        worker.start()
        worker.join(LIMIT)
        assert worker.exitcode == (-signal.SIGKILL if ending == "kill" else 0)
        received = [queue.get(timeout=LIMIT) for _ in range(SLICES)]
        assert [set(values(array)) for array in received] == [{i} for i in range(SLICES)]
        del received

        def is_clean():
            warpway.Pool(device).close()  # lets go of pools that are known to have ended
            return broker.info().objects <= before  # what earlier tests have sent may end, too

        until(is_clean)


def send_token_and_end(connection, device):
    pool = warpway.Pool(device)
    array = pool.empty(1000, "int32")
    connection.send_bytes(pickle.dumps(array.token(escrow=0.02)))


def test_a_slice_in_flight_ends_after_its_time(device):
    ours, theirs = SPAWN.Pipe()
    worker = SPAWN.Process(target=send_token_and_end, args=(theirs, device))
    with warpway.Broker() as broker:
        before = broker.info().objects
        worker.start()
        data = ours.recv_bytes()
        worker.join(LIMIT)
        until(lambda: broker.info().objects <= before)
    with pytest.raises(warpway.NotFound):
        pickle.loads(data)


def test_revoke_by_age(source):
    array = source()
    data = pickle.dumps(array)
    assert warpway.revoke_in_flight(older_than=3600) == 0
    assert len(warpway.in_flight()) == 1
    assert warpway.revoke_in_flight() == 1
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)
    assert warpway.revoke_in_flight() == 0
    assert pickle.loads(pickle.dumps(array)).shape == (4,)


def test_revoke_one(source):
    kept, revoked, listed = source(), source(), source()
    good = pickle.dumps(kept)
    token = revoked.token()
    data = pickle.dumps(token)
    numbers = [flight.number for flight in warpway.in_flight()]
    listed_data = pickle.dumps(listed)
    (flight,) = [flight for flight in warpway.in_flight() if flight.number not in numbers]
    assert warpway.revoke_in_flight(token) == 1
    with pytest.raises(warpway.NotFound):
        pickle.loads(data)
    assert warpway.revoke_in_flight(flight) == 1
    with pytest.raises(warpway.NotFound):
        pickle.loads(listed_data)
    assert pickle.loads(good).shape == (4,)


def test_revoke_says_what_cannot_be(device):
    with pytest.raises(TypeError):
        warpway.revoke_in_flight(5)
    with pytest.raises(ValueError):
        warpway.revoke_in_flight(older_than=-1)
    array = warpway.zeros(4, "int32", device=device)
    pickle.dumps(array)
    with warpway.Broker() as broker, pytest.raises(ValueError, match="in_flight"):
        warpway.revoke_in_flight(broker.in_flight()[0])


@pytest.mark.parametrize("limit", [{"count": 2}, {"bytes": 2 * 2**21 + 16}])
def test_limit(source, limit):
    arrays = [source() for _ in range(3)]
    if "bytes" in limit:
        pickle.dumps(arrays[0])
        limit = {"bytes": warpway.in_flight()[0].bytes * 2}
        warpway.revoke_in_flight()
    warpway.limit_in_flight(**limit)
    data = [pickle.dumps(array) for array in arrays[:2]]
    with pytest.raises(warpway.LimitReached, match=r"2 tokens.*the oldest.*since \d+ s.*revoke"):
        pickle.dumps(arrays[2])
    received = pickle.loads(data[0])
    pickle.dumps(arrays[2])
    warpway.limit_in_flight()
    pickle.dumps(arrays[2])
    assert received.shape == (4,)


@pytest.mark.parametrize("limit", [{"count": 0}, {"bytes": -1}, {"count": "many"}])
def test_limits_that_are_none(limit):
    with pytest.raises((ValueError, OverflowError, TypeError)):
        warpway.limit_in_flight(**limit)


def test_memory_tokens_without_uses_are_as_before(device):
    memory = warpway.Memory(4096, device=device)
    token = memory.token()
    assert warpway.in_flight() == []
    for _ in range(3):
        token.open().close()


WINDOW = 8  # sent and not acknowledged


def consume(connection, seed):
    """Receives, and kills itself at a moment that chance decides."""
    chance = random.Random(seed)
    for count in itertools.count(1):
        array = connection.recv()
        if array is None:
            return
        values(array)
        if chance.random() < 0.02:
            os.kill(os.getpid(), signal.SIGKILL)
        array.close()
        if count % WINDOW == 0:
            connection.send(count)


def one_consumer(source, chance, most):
    """Sends to one process, which may be killed, or kill itself, before it has received all."""
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=consume, args=(theirs, chance.random()))
    child.start()
    theirs.close()
    sent = 0
    try:
        for _ in range(min(most, 1 + chance.randrange(100))):
            item = source()
            ours.send(item)
            item.close()
            sent += 1
            if sent % WINDOW == 0:
                ours.recv()
        if chance.random() < 0.5:
            child.kill()
        ours.send(None)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        item.close()
    ours.close()
    child.join(LIMIT)
    child.close()
    return sent


def state(broker):
    info = broker.info()
    return info.objects, info.descriptors, info.holds, len(os.listdir("/proc/self/fd"))


def test_consumers_killed_at_random(source):
    """After one revocation in the sender, which lives, all is as it was."""
    count = int(os.environ.get("WW_TEST_KILLED_ARRAYS", "300"))
    chance = random.Random(1)
    with warpway.Broker() as broker:
        one_consumer(source, chance, 10)
        warpway.revoke_in_flight()
        # A pool looks at the processes that used it with each call about it: after they have ended.
        until(lambda: broker.info().holders == 1 and warpway.in_flight() == [])
        before = state(broker)
        while count > 0:
            count -= one_consumer(source, chance, count)
        warpway.revoke_in_flight()
        # What the first consumer left may be gone only now, so there may be less than before.
        until(lambda: warpway.in_flight() == [] and all(map(operator.le, state(broker), before)))
