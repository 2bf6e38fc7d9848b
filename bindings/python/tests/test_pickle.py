# SPDX-License-Identifier: Apache-2.0
"""Arrays and memories that travel by pickle, with multiprocessing and without."""

import io
import multiprocessing as mp
import pickle
import pickletools
import signal
import subprocess
import sys

import numpy as np
import pytest

import warpway

SPAWN = mp.get_context("spawn")


def run(target, *arguments):
    process = SPAWN.Process(target=target, args=arguments)
    process.start()
    return process


def end(process):
    process.join(60)
    assert process.exitcode == 0


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
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
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


def test_an_array_that_has_ended_is_refused(device):
    ours, theirs = SPAWN.Pipe()
    child = run(load_twice, theirs)
    array = warpway.zeros(4, "uint8", device=device)
    ours.send(pickle.dumps(array))
    assert ours.recv() == "loaded"
    array.close()
    ours.send("closed")
    end(child)


def test_pickle_after_close_names_the_remedy(device):
    array = warpway.zeros(4, "uint8", device=device)
    array.close()
    with pytest.raises(ValueError, match=r"token\(\)"):
        pickle.dumps(array)


def double(queue, answers):
    array = queue.get()
    numbers = np.zeros(array.shape, array.dtype)
    array.copy_to(numbers)
    array.copy_from(numbers * 2)
    answers.put((array.shape, array.access))


def test_queue(device):
    queue, answers = SPAWN.Queue(), SPAWN.Queue()
    array = warpway.zeros((10, 10), "float32", device=device)
    array.copy_from(np.ones((10, 10), "float32"))
    child = run(double, queue, answers)
    queue.put(array)
    assert answers.get(timeout=60) == ((10, 10), "write")
    end(child)
    out = np.zeros((10, 10), "float32")
    array.copy_to(out)
    assert (out == 2).all()


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


def first_number(queue, answers):
    out = np.zeros(1, "int32")
    queue.get(timeout=60).copy_to(out)
    answers.put(int(out[0]))


def test_put_a_token_then_close(device):
    queue, answers = SPAWN.Queue(), SPAWN.Queue()
    child = run(first_number, queue, answers)
    array = warpway.empty(1, "int32", device=device)
    array.copy_from(np.array([77], "int32"))
    queue.put(array.token())
    array.close()
    assert answers.get(timeout=60) == 77
    end(child)


def test_slices_of_a_pool(device):
    queue, answers = SPAWN.Queue(), SPAWN.Queue()
    with warpway.Pool(device) as pool:
        for number in range(3):
            child = run(first_number, queue, answers)
            array = pool.empty(1, "int32")
            array.copy_from(np.array([number], "int32"))
            queue.put(array.token())
            array.close()
            assert answers.get(timeout=60) == number
            end(child)
        assert pool.info().bytes_used == 0


def use_slices(connection):
    found = []
    while (array := connection.recv()) is not None:
        was_lazy = array.is_lazy
        out = np.zeros(1, "int32")
        array.copy_to(out)
        found.append((was_lazy, array.is_mapped, int(out[0])))
        array.close()
        connection.send("done")
    connection.send(found)


def test_slices_of_a_mapped_chunk_arrive_mapped(device):
    ours, theirs = SPAWN.Pipe()
    child = run(use_slices, theirs)
    with warpway.Pool(device) as pool:
        for number in range(3):
            array = pool.empty(1, "int32")
            array.copy_from(np.array([number], "int32"))
            ours.send(array)
            array.close()
            assert ours.recv() == "done"
        ours.send(None)
        assert ours.recv() == [(True, True, 0), (False, True, 1), (False, True, 2)]
        end(child)
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


def test_a_slice_that_has_ended_is_not_received(device):
    ours, theirs = SPAWN.Pipe()
    child = run(receive_twice, theirs)
    with warpway.Pool(device) as pool:
        ours.send(pool.empty(1, "int32"))
        assert ours.recv() == "mapped"
        array = pool.empty(1, "int32")
        ours.send(array)
        assert ours.recv() == "received"
        array.close()
        pool.info()  # frees what no process uses any more
        ours.send("again")
        end(child)


def pass_on(connection):
    array = connection.recv()
    assert array.is_lazy
    connection.send(array)
    assert array.is_lazy
    connection.recv()


def test_passing_on_maps_nothing(device):
    ours, theirs = SPAWN.Pipe()
    child = run(pass_on, theirs)
    array = warpway.empty(1, "int32", device=device)
    array.copy_from(np.array([5], "int32"))
    ours.send(array)
    received = ours.recv()
    out = np.zeros(1, "int32")
    received.copy_to(out)
    assert out[0] == 5
    ours.send(None)
    end(child)


def wait_ready(array, answers):
    answers.put("here")
    array.wait(timeout=60)
    answers.put(int(np.asarray(array)[0]))


def test_ready_point_travels():
    import threading

    gate = threading.Event()
    stream = warpway.Stream("host")
    array = warpway.zeros(4, "int32", device="host")
    numbers = np.asarray(array)

    def work():
        gate.wait(60)
        numbers[:] = 9

    stream.call(work)
    array.ready(stream)
    answers = SPAWN.Queue()
    child = run(wait_ready, array, answers)
    assert answers.get(timeout=60) == "here"
    gate.set()
    assert answers.get(timeout=60) == 9
    end(child)


def test_ready_point_travels_with_a_token():
    import threading

    gate = threading.Event()
    stream = warpway.Stream("host")
    array = warpway.zeros(4, "int32", device="host")
    numbers = np.asarray(array)

    def work():
        gate.wait(60)
        numbers[:] = 9

    stream.call(work)
    token = array.token(stream=stream)  # does not wait
    assert not array.is_ready and not pickle.loads(pickle.dumps(array.token())).is_ready
    assert not array.token().open().is_ready
    answers = SPAWN.Queue()
    child = run(wait_ready, token, answers)
    assert answers.get(timeout=60) == "here"
    threading.Timer(0.05, gate.set).start()
    assert (np.asarray(warpway.Token(array.token().to_bytes()).open()) == 9).all()  # bytes wait
    assert answers.get(timeout=60) == 9
    end(child)
    assert array.token().open().is_ready


def test_text_of_a_token_waits_for_the_ready_point():
    import threading

    gate = threading.Event()
    stream = warpway.Stream("host")
    stream.call(lambda: gate.wait(60))
    array = warpway.zeros(4, "int32", device="host")
    token = array.token(stream=stream)
    threading.Timer(0.05, gate.set).start()
    assert warpway.Token(token.text) == token
    assert array.is_ready


def lose_ready(array, answers):
    answers.put("here")
    try:
        array.wait()
    except warpway.PeerLost as error:
        answers.put(str(error))


def make_ready_and_hang(connection):
    import threading

    stream = warpway.Stream("host")
    stream.call(threading.Event().wait)
    connection.send(warpway.zeros(4, "int32", device="host").ready(stream))
    connection.recv()


def test_ready_point_of_a_killed_process():
    ours, theirs = SPAWN.Pipe()
    child = run(make_ready_and_hang, theirs)
    array = ours.recv()
    assert not array.is_ready
    child.kill()
    with pytest.raises(warpway.PeerLost, match=str(child.pid)):
        array.wait(timeout=60)
    child.join(60)
    assert child.exitcode == -signal.SIGKILL


def test_ready_point_of_a_process_that_was_killed_before():
    ours, theirs = SPAWN.Pipe()
    child = run(make_ready_and_hang, theirs)
    data = ours.recv_bytes()
    child.kill()
    child.join()
    with pytest.raises(warpway.PeerLost, match="whether its bytes are ready"):
        pickle.loads(data)


def total(array):
    return float(np.asarray(array).sum())


def test_pools_of_processes():
    from concurrent.futures import ProcessPoolExecutor

    arrays = [warpway.share(np.full(1000, i, "float64"), copy=True) for i in range(8)]
    expected = [1000.0 * i for i in range(8)]
    with SPAWN.Pool(2) as workers:
        assert workers.map(total, arrays) == expected
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        assert list(executor.map(total, arrays)) == expected


def look(thing):
    """What a receiver finds, which is the same for each kind in each process."""
    if isinstance(thing, warpway.Array):
        out = bytearray(thing.nbytes)
        thing.copy_to(out)
        return bytes(out)
    if isinstance(thing, warpway.Memory):
        return thing.read(nbytes=4)
    if isinstance(thing, warpway.Timeline):
        thing.wait(3, timeout=60)
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


def look_at(queue, answers, *things):
    answers.put([look(thing) for thing in things])
    answers.put([look(queue.get(timeout=60)) for _ in FOUND])


def test_process_arguments_and_queue(device):
    queue, answers = SPAWN.Queue(), SPAWN.Queue()
    arguments, things = make_things(device), make_things(device)
    child = run(look_at, queue, answers, *arguments)
    for thing in things:
        queue.put(thing)
    assert answers.get(timeout=60) == FOUND
    assert answers.get(timeout=60) == FOUND
    end(child)


def test_workers_get_each_kind(device):
    from concurrent.futures import ProcessPoolExecutor

    things = make_things(device)
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        assert list(executor.map(look, things)) == FOUND


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


def test_manager():
    with SPAWN.Manager() as manager:
        shared = manager.dict()
        shared["a"] = warpway.share(np.arange(5), copy=True).token(uses=0)
        assert total(shared["a"]) == 10
