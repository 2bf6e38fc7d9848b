# SPDX-License-Identifier: Apache-2.0
"""A Pool that other processes get to know by a pickle or a token: they open its slices, and cannot allocate."""

import multiprocessing as mp
import pickle

import numpy as np
import pytest
from arrays import values_of
from children import LIMIT_S, Child

import warpway

COUNT = 1024


def fill(pool, start):
    array = pool.empty(COUNT, "float32")
    array.copy_from(np.arange(COUNT, dtype="float32") + np.float32(start))
    return array


@pytest.fixture
def pool(device):
    warpway.revoke_in_flight()
    with warpway.Pool(device, bytes_max=4 << 20, chunk_bytes=2 << 20) as made:
        yield made
        warpway.revoke_in_flight()


# --- the sequence of cuda.core's sample: the pool once, then buffers ---


def negate(queue, answers, pool):
    answers.put((pool.is_mapped, type(pool).__name__))
    for _ in range(2):
        array = queue.get()
        start = values_of(array)[0]
        assert array.is_mapped and (values_of(array) == np.arange(COUNT) + start).all()
        array.copy_from(np.arange(COUNT, dtype="float32") * np.float32(-1))
        array.close()
        answers.put(float(start))
    assert isinstance(pool.device, warpway.Device)
    pool.close()


def test_the_pool_once_then_its_buffers(pool):
    spawn = mp.get_context("spawn")
    queue, answers = spawn.Queue(), spawn.Queue()
    arrays = [fill(pool, 100), fill(pool, 200)]
    child = spawn.Process(target=negate, args=(queue, answers, pool))
    child.start()
    assert answers.get(timeout=LIMIT_S) == (True, "Pool")
    for array in arrays:
        queue.put(array)
    assert [answers.get(timeout=LIMIT_S) for _ in arrays] == [100.0, 200.0]
    child.join(LIMIT_S)
    assert child.exitcode == 0
    for array in arrays:
        assert (values_of(array) == np.arange(COUNT) * -1.0).all()


# --- what one that was received does ---


def look_at(parent, pool):
    assert pool.is_mapped and not pool.closed and repr(pool) == "<warpway.Pool of another process>"
    for call in (lambda: pool.alloc(16), lambda: pool.empty(4, "int8"), pool.trim, pool.info, pool.holders):
        with pytest.raises(warpway.AccessDenied, match="another process"):
            call()
    again = pickle.loads(pickle.dumps(pool))
    assert again.is_mapped
    parent.send(pickle.dumps(again))
    again.close()
    assert parent.recv() == "passed on"
    pool.close()
    with pytest.raises(ValueError, match="closed"):
        pickle.dumps(pool)


def use(_parent, data, array):
    with pickle.loads(data) as pool:
        assert pool.is_mapped
        return float(values_of(array)[1])


def test_a_received_one_cannot_allocate_and_is_passed_on(pool):
    array = fill(pool, 5)
    first = Child(look_at, (pool,))
    second = Child(use, (first.receive(), array))
    assert second.result() == 6.0
    first.send("passed on")
    first.result()


def test_one_that_comes_home_is_the_same(pool):
    back = pickle.loads(pickle.dumps(pool))
    assert not back.is_mapped and back.device == pool.device
    kept = fill(back, 1)
    assert pool.info().bytes_used >= kept.nbytes
    back.close()
    opened = pool.token().open()
    assert not opened.is_mapped and pool.token().kind == "pool"


def test_a_pickle_of_a_pool_is_one_delivery(pool):
    data = pickle.dumps(pool)
    (sent,) = warpway.in_flight()
    assert not sent.is_slice and sent.uses == 1
    pickle.loads(data)
    assert warpway.in_flight() == []
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)
    child = Child(load_all, (data,))
    assert child.result() == "NotFound"


def load_all(_parent, data):
    try:
        pickle.loads(data)
    except warpway.Error as error:
        return type(error).__name__
    return "loaded"


def test_the_pickle_of_a_closed_pool_says_so(device):
    pool = warpway.Pool(device)
    pool.close()
    with pytest.raises(ValueError, match="Pool is closed"):
        pickle.dumps(pool)


# --- ends ---


def own(parent, device):
    pool = warpway.Pool(device, chunk_bytes=2 << 20)
    array = fill(pool, 7)
    parent.send((pickle.dumps(pool), pickle.dumps(array)))
    parent.recv()


def test_the_owner_is_killed_before(device):
    child = Child(own, (device,))
    pool_data, array_data = child.receive()
    child.kill()
    with pickle.loads(pool_data) as pool:
        assert pool.is_mapped
    assert (values_of(pickle.loads(array_data)) == np.arange(COUNT) + 7).all()


# --- tokens that are none, or another's ---


def test_tokens_of_other_things_are_no_pools(pool):
    array = fill(pool, 3)
    assert isinstance(array.token().open(), warpway.Array)
    data = bytearray(pool.token().to_bytes())
    data[100] ^= 1
    with pytest.raises(warpway.ProtocolError):
        warpway.Token.from_bytes(bytes(data))
