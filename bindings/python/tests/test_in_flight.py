# SPDX-License-Identifier: Apache-2.0
"""What was sent and not received: one delivery each, listed, revoked, limited, and what a kill leaves."""

import itertools
import multiprocessing as mp
import operator
import os
import pickle
import random
import signal

import numpy as np
import pytest
from arrays import values_of
from children import LIMIT_S
from waits import until

import warpway

SPAWN = mp.get_context("spawn")


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
    assert sent.uses == 1 and sent.is_own and sent.time_left is None and 0 <= sent.age < LIMIT_S
    assert sent.bytes >= array.nbytes and sent.number > 0
    received = pickle.loads(data)
    assert received.shape == (4,)
    assert warpway.in_flight() == []


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


@pytest.mark.parametrize("uses", [1, 2])
def test_each_use_is_one_delivery(source, uses):
    array = source()
    data = pickle.dumps(array if uses == 1 else array.token(uses=uses))
    received = []
    for left in range(uses, 0, -1):
        assert warpway.in_flight()[0].uses == left
        received.append(pickle.loads(data))
    assert warpway.in_flight() == []
    array.close()
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)
    assert [values_of(each).sum() for each in received] == [0] * uses


@pytest.mark.parametrize("ending", ["return", "close", "_exit", "kill"])
def test_slices_outlive_their_worker(device, ending):
    queue = SPAWN.Queue()
    worker = SPAWN.Process(target=send_slices_and_end, args=(queue, device, ending))
    with warpway.Broker() as broker:
        before = broker.info().objects
        worker.start()
        worker.join(LIMIT_S)
        assert worker.exitcode == (-signal.SIGKILL if ending == "kill" else 0)
        received = [queue.get(timeout=LIMIT_S) for _ in range(SLICES)]
        assert [set(values_of(array)) for array in received] == [{i} for i in range(SLICES)]
        del received

        def is_clean():
            warpway.Pool(device).close()  # lets go of pools that are known to have ended
            return broker.info().objects <= before  # what earlier tests have sent may end, too

        until(is_clean)


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
        values_of(array)
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
    child.join(LIMIT_S)
    child.close()
    return sent


def state(broker):
    info = broker.info()
    return info.objects, info.descriptors, info.holds, len(os.listdir("/proc/self/fd"))


def test_consumers_killed_at_random(source):
    """After one revocation in the sender, which lives, all is as it was."""
    count = int(os.environ.get("WW_TEST_KILLED_ARRAYS", "100"))
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
