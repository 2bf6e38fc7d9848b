# SPDX-License-Identifier: Apache-2.0
"""Arrays and memories that travel by pickle, with multiprocessing and without."""

import io
import multiprocessing as mp
import os
import pickle
import pickletools
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import warpway
from arrays import values_of
from children import LIMIT_S, run_python
from waits import when_main_thread_sleeps

SPAWN = mp.get_context("spawn")


def test_in_one_process(device):
    array = warpway.zeros((2, 3), "int32", device=device)
    array.copy_from(np.arange(6, dtype="int32").reshape(2, 3))
    received = pickle.loads(pickle.dumps(array))
    assert received.is_lazy
    assert (received.shape, received.dtype) == ((2, 3), "int32")
    out = np.zeros((2, 3), "int32")
    received.copy_to(out)
    assert not received.is_lazy and received.is_mapped and (out.ravel() == np.arange(6)).all()
    memory = pickle.loads(pickle.dumps(array.memory))
    assert memory.object_id == array.memory.object_id


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(protocol, device):
    array = warpway.zeros(4, "uint8", device=device)
    assert pickle.loads(pickle.dumps(array, protocol)).nbytes == 4


def test_a_pickle_names_one_function(device):
    array = warpway.zeros(4, "uint8", device=device)
    for thing in (array, array.memory, array.token()):
        data = pickle.dumps(thing, 2)
        names = [argument for code, argument, _ in pickletools.genops(data) if code.name == "GLOBAL"]
        assert all(name in ("warpway _unpickle", "_codecs encode") for name in names)
        assert "warpway _unpickle" in names


def test_multiprocessing_knows_the_types():
    """Its pickles of what is not in its table take twice as long."""
    from multiprocessing.reduction import ForkingPickler

    table = ForkingPickler(io.BytesIO()).dispatch_table
    assert {warpway.Array, warpway.Memory, warpway.Token, warpway.Pool} <= set(table)


def test_a_pickle_does_not_load_multiprocessing(device):
    code = f"import pickle, sys, warpway; pickle.dumps(warpway.zeros(4, device={device!r})); print(*sys.modules)"
    said = run_python(code)
    assert "warpway" in said.split() and "multiprocessing" not in said.split()


def test_a_token_arrives_as_what_it_names(device):
    array = warpway.zeros((4, 1), "int16", device=device)
    received = pickle.loads(pickle.dumps(array.token()))
    assert isinstance(received, warpway.Array) and received.shape == (4, 1)


@pytest.mark.parametrize(
    "payload", [b"", b"\1", b"\1\0\5\0", b"\2\0\0\0", b"\1\7\0\0", b"\1\0\0\0", b"\1\0\xff\xff" + bytes(600)]
)
def test_payloads_that_are_none(payload):
    with pytest.raises(warpway.ProtocolError):
        warpway._core.unpickle(payload)
    with pytest.raises(TypeError):
        warpway._core.unpickle("text")


def load_twice(connection):
    data = connection.recv()
    first = pickle.loads(data)
    connection.send("loaded")
    connection.recv()
    first.close()
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)


def test_an_array_that_has_ended_is_refused(spawn, device):
    child = spawn(load_twice)
    array = warpway.zeros(4, "uint8", device=device)
    child.send(pickle.dumps(array))
    assert child.receive() == "loaded"
    array.close()
    child.send("closed")
    child.result()


def load_thrice(connection):
    whole, token, handle = connection.recv()
    assert pickle.loads(whole).shape == (4,)
    with pytest.raises(warpway.NotFound) as refused:
        pickle.loads(whole)
    assert "token(uses=n)" in str(refused.value) and "get_ipc_handle()" in str(refused.value)
    assert [int(pickle.loads(token)[0]) for _ in range(3)] == [7] * 3
    for _ in range(3):
        with pickle.loads(handle) as array:
            assert int(array[3]) == 7


@pytest.mark.parametrize("is_slice", [False, True])
def test_refusal_of_a_second_unpickling_names_the_remedies(spawn, is_slice):
    pool = warpway.Pool("host")
    array = pool.empty(4, "uint8") if is_slice else warpway.empty(4, "uint8", device="host")
    np.asarray(array)[:] = 7
    child = spawn(load_thrice)
    child.send([pickle.dumps(each) for each in (array, array.token(uses=3), array.get_ipc_handle())])
    child.result()


def test_pickle_after_close_names_the_remedy(device):
    array = warpway.zeros(4, "uint8", device=device)
    array.close()
    with pytest.raises(ValueError, match=r"token\(\)"):
        pickle.dumps(array)


def receive_as_nobody(_, data):
    os.setuid(65534)
    with pytest.raises(warpway.AccessDenied) as refused:
        pickle.loads(data)
    return str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become another user")
def test_a_broker_that_lets_nobody_in_is_named(spawn, broker):
    said = spawn(receive_as_nobody, pickle.dumps(warpway.zeros(4, device="host"))).result()
    assert "EACCES" in said and os.path.dirname(broker.address) in said


def test_what_is_sealed_travels_for_reading(device):
    array = warpway.zeros(4, "uint8", device=device)
    with warpway.Broker() as broker:
        broker.put("sealed/array", array)
        received = pickle.loads(pickle.dumps(array))
        assert received.access == "read"
        assert array.token().access == "read"
        with pytest.raises(warpway.AccessDenied):
            array.token("write")
        broker.remove("sealed/array")


def first_number(_, queue):
    return int(values_of(queue.get(timeout=LIMIT_S))[0])


@pytest.mark.parametrize("is_slice", [False, True])
def test_put_a_token_then_close(spawn, device, is_slice):
    queue = SPAWN.Queue()
    with warpway.Pool(device) as pool:
        for number in range(2):
            array = pool.empty(1, "int32") if is_slice else warpway.empty(1, "int32", device=device)
            array.copy_from(np.array([number], "int32"))
            queue.put(array.token())
            array.close()
            assert spawn(first_number, queue).result() == number
        del array  # closed while the queue has a thread: see test_late.py
        assert pool.info().bytes_used == 0


def use_slices(connection):
    found = []
    while (array := connection.recv()) is not None:
        found.append((array.is_lazy, int(values_of(array)[0]), array.is_mapped))
        array.close()
        connection.send("done")
    return found


def test_slices_of_a_mapped_chunk_arrive_mapped(spawn, device):
    child = spawn(use_slices)
    with warpway.Pool(device) as pool:
        for number in range(3):
            array = pool.empty(1, "int32")
            array.copy_from(np.array([number], "int32"))
            child.send(array)
            array.close()
            assert child.receive() == "done"
        child.send(None)
        assert child.result() == [(True, 0, True), (False, 1, True), (False, 2, True)]
        assert pool.info().bytes_used == 0


def receive_twice(connection):
    connection.recv().copy_to(np.zeros(1, "int32"))
    connection.send("mapped")
    data = connection.recv_bytes()
    pickle.loads(data).close()
    connection.send("received")
    connection.recv()
    with pytest.raises(warpway.NotFound, match="one delivery"):
        pickle.loads(data)


def test_a_slice_that_has_ended_is_not_received(spawn, device):
    child = spawn(receive_twice)
    with warpway.Pool(device) as pool:
        child.send(pool.empty(1, "int32"))
        assert child.receive() == "mapped"
        array = pool.empty(1, "int32")
        child.send(array)
        assert child.receive() == "received"
        array.close()
        pool.info()  # frees what no process uses any more
        child.send("again")
        child.result()


def pass_on(connection):
    array = connection.recv()
    assert array.is_lazy
    connection.send(array)
    assert array.is_lazy
    connection.recv()


def test_passing_on_maps_nothing(spawn, device):
    child = spawn(pass_on)
    array = warpway.empty(1, "int32", device=device)
    array.copy_from(np.array([5], "int32"))
    child.send(array)
    assert values_of(child.receive()) == [5]
    child.send(None)
    child.result()


@pytest.fixture
def unready():
    """An array, a stream that writes it, and what lets the stream do that."""
    gate, stream, array = threading.Event(), warpway.Stream("host"), warpway.zeros(4, "int32", device="host")
    numbers = np.asarray(array)
    stream.call(lambda: (gate.wait(), numbers.fill(9)))
    yield array, stream, gate
    gate.set()


def wait_ready(talk, array):
    talk.send("here")
    array.wait(timeout=LIMIT_S)
    return int(np.asarray(array)[0])


@pytest.mark.parametrize("by", ["array", "token"])
def test_ready_point_travels(spawn, unready, by):
    array, stream, gate = unready
    child = spawn(wait_ready, array.ready(stream) if by == "array" else array.token(stream=stream))
    assert child.receive() == "here"
    assert not array.is_ready and not array.token().open().is_ready
    assert not pickle.loads(pickle.dumps(array.token())).is_ready
    gate.set()
    assert child.result() == 9
    assert array.token().open().is_ready


@pytest.mark.parametrize("form", ["text", "to_bytes"])
def test_bytes_of_a_token_wait_for_the_ready_point(unready, form):
    array, stream, gate = unready
    token = array.token(stream=stream)
    when_main_thread_sleeps(gate.set)
    data = token.text if form == "text" else token.to_bytes()
    assert array.is_ready and warpway.Token(data) == token and (np.asarray(warpway.Token(data).open()) == 9).all()


def make_ready_and_hang(connection):
    stream = warpway.Stream("host")
    stream.call(threading.Event().wait)
    connection.send(pickle.dumps(warpway.zeros(4, "int32", device="host").ready(stream)))
    connection.recv()


def test_ready_point_of_a_killed_process(spawn):
    child = spawn(make_ready_and_hang)
    array = pickle.loads(child.receive())
    assert not array.is_ready
    child.kill()
    with pytest.raises(warpway.PeerLost, match=str(child.pid)):
        array.wait(timeout=LIMIT_S)


def test_ready_point_of_a_process_that_was_killed_before(spawn):
    child = spawn(make_ready_and_hang)
    data = child.receive()
    child.kill()
    with pytest.raises(warpway.PeerLost, match="whether its bytes are ready"):
        pickle.loads(data)


def look(thing):
    """What a receiver finds, which is the same for each kind in each process."""
    if isinstance(thing, warpway.Array):
        out = bytearray(thing.nbytes)
        thing.copy_to(out)
        return bytes(out)
    if isinstance(thing, warpway.Memory):
        return thing.read(nbytes=4)
    if isinstance(thing, warpway.Timeline):
        thing.wait(3, timeout=LIMIT_S)
        return thing.completed
    return type(thing).__name__


FOUND = [b"abcd", b"bcd", b"abcd", b"abcd", b"efgh", b"efgh", 3, "Barrier", "Pool", "Pool"]


def make_things(device):
    """Arrays, views, memories, slices, tokens, and what they are kept by here."""
    array, timeline, pool = warpway.zeros(4, "uint8", device=device), warpway.Timeline(3), warpway.Pool(device)
    array.copy_from(b"abcd")
    part = pool.empty(4, "uint8")
    part.copy_from(b"efgh")
    return [array, array[1:], array.memory, array.token(), part, part.token(), timeline, warpway.Barrier(2), pool, pool.token()]


def look_at(_, queue, *things):
    return [look(thing) for thing in things], [look(queue.get(timeout=LIMIT_S)) for _ in FOUND]


def test_process_arguments_and_queue(spawn, device):
    queue = SPAWN.Queue()
    arguments, things = make_things(device), make_things(device)
    child = spawn(look_at, queue, *arguments)
    for thing in things:
        queue.put(thing)
    assert child.result() == (FOUND, FOUND)


def test_workers_get_each_kind(device):
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        assert list(executor.map(look, make_things(device))) == FOUND
    things = make_things(device)
    with SPAWN.Pool(1) as workers:
        assert workers.map(look, things) == FOUND
        assert [look(array) for array in workers.map(copied, things[:2])] == FOUND[:2]


def copied(array):
    return warpway.share(values_of(array), copy=True).token()


def test_manager_keeps_each_kind_and_maps_nothing(device):
    things = make_things(device)
    with SPAWN.Manager() as manager:
        kept = manager.list()
        for thing in things:
            kept.append(thing)
        for _ in range(2):  # each time it is pickled anew
            assert [look(kept[i]) for i in range(len(things))] == FOUND
        with open(f"/proc/{manager._process.pid}/maps", encoding="utf-8") as file:
            assert "libcuda" not in file.read(), "it needs no GPU"
