# SPDX-License-Identifier: Apache-2.0
"""Children made by fork(), which multiprocessing uses by default up to Python 3.13.

After use of the host device alone a child begins anew; after use of a GPU it is told what to do.
"""

import multiprocessing as mp
import os
import pickle
import signal
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import warpway
from children import LIMIT_S, run_python

FORK = mp.get_context("fork")
IS_HOST = os.environ.get("WW_TEST_DEVICE", "host") == "host"

host = pytest.mark.skipif(not IS_HOST, reason="this process has used a GPU")
gpu = pytest.mark.skipif(IS_HOST, reason="this process has used no GPU")


def in_child(function, *arguments):
    """What a function returns in a child made by os.fork(), which ends as Python does."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        try:
            answer = pickle.dumps((function(*arguments), None))
        except BaseException:  # pylint: disable=broad-exception-caught
            answer = pickle.dumps((None, traceback.format_exc()))
        os.write(writer, answer)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        answer = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    value, problem = pickle.loads(answer)
    assert problem is None, problem
    return value


def refused(call, word):
    with pytest.raises(warpway.Forked, match=word):
        call()
    return True


def total(array):
    return float(np.asarray(array).sum())


def doubled(array):
    return warpway.share(np.asarray(array) * 2, copy=True).token()


# --- after use of the host device ---


def use_anew(device):
    array = warpway.zeros(4, "int32", device=device)
    np.asarray(array)[:] = 7
    with warpway.Stream(device) as stream, warpway.Timeline() as timeline:
        timeline.signal(1, stream)
        timeline.wait(1, timeout=LIMIT_S)
    with warpway.Pool(device) as pool, warpway.Broker() as broker, warpway.Barrier(1) as barrier:
        barrier.join()
        barrier.wait(timeout=LIMIT_S)
        piece = pickle.loads(pickle.dumps(pool.empty(3, "int32")))
        np.asarray(piece)[:] = 1
        assert os.getpid() in [process.pid for process in broker.who()]
    return total(pickle.loads(pickle.dumps(array))) + total(piece)


@host
def test_a_child_begins_anew(device):
    use_anew(device)
    assert in_child(use_anew, device) == 31
    assert in_child(in_child, use_anew, device) == 31
    assert use_anew(device) == 31


@host
def test_arrays_of_the_parent_keep_working(device):
    array = warpway.zeros(4, "int32", device=device)
    view, numbers = array[1:3], np.asarray(array)

    def change():
        assert view.device == warpway.Device(device)
        np.asarray(view)[:] = 3
        view.copy_from(np.asarray(view) + 1)
        memoryview(array.memory)[:4] = bytes([9, 0, 0, 0])
        return pickle.loads(pickle.dumps(array)).shape

    assert in_child(change) == (4,)
    assert numbers.tolist() == [9, 4, 4, 0]


@host
def test_what_is_shared_is_not_handed_on(device):
    array = warpway.zeros(4, "int32", device=device)
    token = array.token(uses=0)

    def look():
        refused(lambda: pickle.dumps(array), "hand it on")
        return total(array) + total(token.open())

    assert in_child(look) == 0
    array.close()


@host
def test_a_work_queue_is_the_parents(device):
    queue = warpway.WorkQueue(None, 4, "uint8", metadata_bytes=4, device=device)
    worker = queue.token().open()
    for word in (b"abcd", b"efgh"):
        queue.send(word)
    job, made = worker.receive(), queue.acquire()

    def try_all():
        for call in (queue.acquire, made.publish, made.discard, lambda: queue.published, queue.token, queue.shutdown,
                     lambda: pickle.dumps(queue), worker.receive, lambda: next(worker)):
            refused(call, "a work queue")
        job.acknowledge()
        queue.close()
        worker.close()
        return warpway.zeros(4, device=device).nbytes

    assert in_child(try_all) == 16
    made.publish()
    assert bytes(job) == b"abcd" and worker.held == 1 and queue.claimed == 1 and not queue.is_shutdown
    job.acknowledge()
    with worker.receive() as second:
        assert bytes(second) == b"efgh" and queue.available == 1
    queue.close()
    worker.close()


@host
def test_the_rest_is_the_parents(device):
    stream, timeline, event = warpway.Stream(device), warpway.Timeline(), warpway.Event(device)
    pool, broker, barrier = warpway.Pool(device), warpway.Broker(), warpway.Barrier(1)
    barrier.join()
    watch, piece, piece_array = broker.watch(), pool.alloc(10), pool.empty(4, "uint8")
    channel = warpway.Channel(None, 4, "uint8", metadata_bytes=4, device=device)
    consumer = channel.token().open()
    channel.send(b"abcd", b"one")
    frame, received = channel.acquire(), consumer.receive()
    frame.metadata = b"two"
    things = (stream, timeline, event, pool, broker, barrier, watch, piece, piece_array, channel, consumer)
    calls = {
        "a stream": [stream.synchronize, lambda: stream.call(print)],
        "a timeline": [lambda: timeline.wait(0), lambda: timeline.signal(1), lambda: timeline.query(0),
                       lambda: timeline.eventfd(1), lambda: timeline.state, lambda: pickle.dumps(timeline)],
        "an event": [event.query, event.synchronize],
        "a pool": [lambda: pool.alloc(1), pool.info, pool.trim, pool.holders],
        "a connection to a broker": [broker.info, broker.list, lambda: broker.get("x"), broker.watch],
        "a barrier": [barrier.wait, barrier.fileno, lambda: barrier.arrived],
        "a watch": [watch.next, lambda: next(watch)],
        "Watch": [watch.fileno],
        "a channel": [channel.acquire, frame.publish, frame.discard, lambda: channel.published, channel.token,
                      lambda: pickle.dumps(channel), consumer.receive, lambda: next(consumer)],
        "slice of a pool": [piece.read, lambda: piece.pointer, lambda: np.asarray(piece_array),
                            lambda: pickle.dumps(piece_array), lambda: memoryview(piece), lambda: repr(piece_array)],
    }

    def try_all():
        for word, some in calls.items():
            for call in some:
                refused(call, word)
        received.release()
        for thing in things:
            thing.close()
        return warpway.zeros(4, device=device).nbytes

    held = [process.held for process in broker.who() if process.pid == os.getpid()]
    for _ in range(3):
        assert in_child(try_all) == 16
    assert [process.held for process in broker.who() if process.pid == os.getpid()] == held
    stream.synchronize()
    timeline.signal(1)
    barrier.wait()
    frame.publish()
    assert bytes(received) == b"abcd" and received.metadata == b"one" and consumer.held == 1
    with consumer.receive() as second:
        assert second.metadata == b"two"
    assert piece.nbytes == 256 and pool.info().slice_count == 2
    for thing in things:
        thing.close()


@host
def test_a_slice_travels_as_a_token(device):
    with warpway.Pool(device) as pool:
        array = pool.empty(4, "int32")
        np.asarray(array)[:] = 5
        token = array.token()
        process = FORK.Process(target=pass_total, args=(token, answers := FORK.Queue()))
        process.start()
        assert answers.get(timeout=LIMIT_S) == 20
        process.join(LIMIT_S)
        assert process.exitcode == 0


@host
def test_a_token_whose_bytes_are_not_ready(device):
    gate = threading.Event()
    array = warpway.zeros(4, "int32", device=device)
    with warpway.Stream(device) as stream:
        stream.call(lambda: gate.wait(LIMIT_S))
        array.ready(stream)
        token = array.token()

        def try_all():
            for call in (token.open, token.to_bytes, lambda: token.text, lambda: pickle.dumps(token), array.wait,
                         lambda: array.is_ready, lambda: np.asarray(array)):
                refused(call, "a timeline of the parent")
            return True

        assert in_child(try_all)
        assert not array.is_ready
        gate.set()
        array.wait(timeout=LIMIT_S)
        assert token.open().is_ready  # the child has not used it up


def pass_total(token, answers):
    answers.put(total(token.open()))


def double_in_place(array, queue, answers):
    np.asarray(array)[:] *= 2
    while (received := queue.get()) is not None:
        answers.put(doubled(received))


@host
def test_process_and_queue(device):
    array = warpway.share(np.arange(4.0), copy=True, device=device)
    queue, answers = FORK.Queue(), FORK.Queue()
    process = FORK.Process(target=double_in_place, args=(array, queue, answers))
    process.start()
    for i in range(5):
        queue.put(warpway.share(np.full(3, i), copy=True, device=device).token())
        assert total(answers.get(timeout=LIMIT_S)) == 6 * i
    queue.put(None)
    process.join(LIMIT_S)
    assert process.exitcode == 0
    assert np.asarray(array).tolist() == [0, 2, 4, 6]


@host
def test_pools_of_processes(device):
    arrays = [warpway.share(np.full(1000, i, "float64"), copy=True, device=device) for i in range(8)]
    expected = [1000.0 * i for i in range(8)]
    with FORK.Pool(2) as workers:
        assert workers.map(total, arrays) == expected
        assert [total(array) for array in workers.map(doubled, arrays)] == [2 * number for number in expected]
    with ProcessPoolExecutor(2, mp_context=FORK) as executor:
        assert list(executor.map(total, arrays)) == expected


@host
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer's locks do not survive this")
def test_forks_while_threads_are_busy(device):
    stop = threading.Event()
    problems = []

    def keep_busy():
        try:
            while not stop.is_set():
                use_anew(device)
        except BaseException:  # pylint: disable=broad-exception-caught
            problems.append(traceback.format_exc())

    threads = [threading.Thread(target=keep_busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert in_child(use_anew, device) == 31
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not problems, problems[0]


@host
def test_fork_by_a_thread_while_the_main_thread_waits():
    program = """
import os, signal, threading, time, warpway

def stop(number, frame):
    raise KeyboardInterrupt

def fork():
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            warpway.Timeline().wait(1, timeout=30)
        except KeyboardInterrupt:
            os._exit(7)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    timeline.signal(1)

signal.signal(signal.SIGALRM, stop)
timeline = warpway.Timeline()
thread = threading.Thread(target=fork)
thread.start()
timeline.wait(1, timeout=30)
thread.join()
assert signal.getsignal(signal.SIGALRM) is stop
"""
    assert run_python(program) == "7\n"


# --- before the first use ---


def test_fork_before_the_first_use(device):
    program = """
import multiprocessing as mp, sys
import warpway

def use(device):
    with warpway.Stream(device) as stream:
        stream.synchronize()
    array = warpway.zeros(4, device=device)
    array.close()
    return array.closed

if __name__ == "__main__":
    with mp.get_context("fork").Pool(2) as workers:
        print(workers.map(use, [sys.argv[1]] * 4), use(sys.argv[1]))
"""
    assert run_python(program, device) == "[True, True, True, True] True\n"


# --- after use of a GPU ---


@gpu
def test_after_use_of_a_gpu(device):
    array, stream, timeline = warpway.zeros(4, device=device), warpway.Stream(device), warpway.Timeline()
    pool, broker = warpway.Pool(device), warpway.Broker()
    piece, watch, token = pool.alloc(10), broker.watch(), array.token()
    calls = [lambda: warpway.zeros(4, device="host"), lambda: pickle.dumps(array), token.open, stream.synchronize,
             lambda: timeline.wait(1), lambda: pool.alloc(1), broker.info, watch.next, warpway.Broker, warpway.Cancel,
             lambda: memoryview(array), lambda: repr(array), warpway.Timeline]

    def try_all():
        for call in calls:
            refused(call, r'set_start_method\("spawn"\)')
        refused(lambda: array.pointer, "fork")
        refused(watch.fileno, "fork")
        for thing in (array, stream, timeline, pool, broker, piece, watch):
            thing.close()
        return True

    assert in_child(try_all)
    stream.synchronize()
    assert broker.info() and piece.nbytes == 256


@gpu
def test_multiprocessing_after_use_of_a_gpu(device):
    warpway.Stream(device).synchronize()
    with FORK.Pool(1) as workers:
        with pytest.raises(warpway.Forked, match="spawn"):
            workers.apply(warpway.zeros, (4,))


def slice_pickles(count):
    """The random numbers in pickles of a slice of a new pool: a process that has seen one refuses it."""
    with warpway.Pool("host") as pool:
        array = pool.empty(4, "uint8")
        payloads = [array.__reduce__()[1][0] for _ in range(count)]
        warpway.revoke_in_flight()
    return [payload[-12:-4] for payload in payloads]


@host
def test_pickles_of_a_child_are_others():
    numbers = slice_pickles(1)
    numbers += in_child(slice_pickles, 40) + slice_pickles(80)
    assert len(set(numbers)) == 1 + 40 + 80


def send_pickles(connection):
    pool = warpway.Pool("host")
    arrays = [pool.empty((64,), "uint8") for _ in range(2)]
    for array in arrays:
        connection.send_bytes(pickle.dumps(array))
    connection.recv()


def is_refused(pickled):
    try:
        pickle.loads(pickled)
    except warpway.NotFound:
        return True
    return False


@host
def test_pickles_of_siblings_keep_their_places():
    # The parent's next number must not be that of all its children: a receiver would forget one for the other.
    array = warpway.Pool("host").empty((64,), "uint8")
    pickle.dumps(array)
    links = [FORK.Pipe() for _ in range(3)]
    children = [FORK.Process(target=send_pickles, args=(link[1],)) for link in links]
    for child in children:
        child.start()
    first, second, third = ([link[0].recv_bytes() for _ in range(2)] for link in links)
    kept = [pickle.loads(each) for each in (first[0], second[0], first[1], third[1])]
    assert kept[0].shape == (64,)
    # Random numbers collide once in 4,096 times; both together never.
    assert is_refused(first[0]) or is_refused(first[1])
    for link, child in zip(links, children):
        link[0].send(None)
        child.join(LIMIT_S)
        assert child.exitcode == 0
