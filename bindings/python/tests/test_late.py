# SPDX-License-Identifier: Apache-2.0
"""Threads of multiprocessing pickle after put() and submit() have returned: what is closed meanwhile, and what is lost."""

import multiprocessing as mp
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest

import warpway
from arrays import values_of
from children import LIMIT_S, run_python

SPAWN = mp.get_context("spawn")


def make(device, pool=None):
    array = pool.empty(4, "int32") if pool else warpway.empty(4, "int32", device=device)
    array.copy_from(np.arange(4, dtype="int32"))
    return array


def numbers(array):
    return values_of(array).tolist()


def put_and_close(queues, device):
    pool = warpway.Pool(device)
    for queue in queues:
        with make(device) as array, make(device, pool) as part:
            queue.put((array[1:], [part, array.memory]))
        queue.put(array)


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_what_is_put_and_closed_arrives(method, device):
    if method == "fork" and device != "host":
        pytest.skip("this process may have used the GPU")
    context = mp.get_context(method)
    queues = context.Queue(), context.JoinableQueue()
    process = context.Process(target=put_and_close, args=(queues, device))
    process.start()
    for queue in queues:
        view, (part, memory) = queue.get(timeout=LIMIT_S)
        assert numbers(view) == [1, 2, 3] and numbers(part) == [0, 1, 2, 3]
        assert memory.read(4, 4) == bytes([1, 0, 0, 0])
        assert numbers(queue.get(timeout=LIMIT_S)) == [0, 1, 2, 3]
    process.join(LIMIT_S)
    assert process.exitcode == 0


@pytest.fixture
def queue():
    """One that has its thread."""
    made = SPAWN.Queue()
    made.put(None)
    assert made.get(timeout=LIMIT_S) is None
    yield made
    made.close()


@pytest.mark.parametrize("use", ["first", "received"])
@pytest.mark.parametrize("kind", ["plain", "slice"])
def test_a_closed_memory_is_for_pickles_only(queue, device, kind, use):
    pool = warpway.Pool(device) if kind == "slice" else None
    array = make(device, pool)
    if use == "received":
        array = pickle.loads(pickle.dumps(array))
        assert numbers(array) == [0, 1, 2, 3]  # it is mapped
    array.close()
    array.close()
    assert array.memory.closed and not array.memory.is_lazy
    for thing in (array, array[2:], array.memory, array):
        queue.put(thing)
    received = [queue.get(timeout=LIMIT_S) for _ in range(4)]
    assert [numbers(received[i]) for i in (0, 1, 3)] == [[0, 1, 2, 3], [2, 3], [0, 1, 2, 3]]
    assert received[2].read(12, 4) == bytes([3, 0, 0, 0])
    for call in (array.token, array.memory.read, lambda: warpway.from_dlpack(array)):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_a_closed_memory_is_free_when_its_object_is(no_broker, device):
    run_python("""
        import multiprocessing, sys, warpway

        queue = multiprocessing.Queue()
        queue.put(0)
        with warpway.Pool(sys.argv[1]) as pool, warpway.Broker() as broker:
            before = broker.info().objects
            array, part = warpway.empty(4, device=sys.argv[1]), pool.empty(4, "int32")
            array.close()
            part.close()
            assert pool.info().slice_count == 1 and broker.info().objects == before + 1
            del array, part
            assert pool.info().slice_count == 0 and broker.info().objects == before
    """, device)


def test_the_mapping_ends(queue):
    def is_mapped():
        with open("/proc/self/maps", encoding="utf-8") as file:
            return any(line.startswith(f"{address:08x}-") for line in file)

    array = make("host")
    address = array.memory.pointer
    assert is_mapped()
    array.close()
    assert not is_mapped()


def test_without_such_a_thread_the_bytes_go_at_once(device):
    with warpway.Pool(device) as pool, ThreadPool(1) as threads:  # which pickles nothing
        array = make(device, pool)
        assert threads.apply(numbers, (array,)) == [0, 1, 2, 3]
        array.close()
        assert pool.info().slice_count == 0
        with pytest.raises(ValueError, match=r"token\(\)"):
            pickle.dumps(array)


def submitted(executor, array):
    with array:
        return executor.submit(numbers, array).result


def applied(workers, array):
    with array:
        return workers.apply_async(numbers, (array,)).get


@pytest.mark.parametrize("workers, start", [(ProcessPoolExecutor, submitted), (SPAWN.Pool, applied)])
def test_what_is_given_to_workers_and_closed_arrives(workers, start, device):
    settings = {"mp_context": SPAWN} if workers is ProcessPoolExecutor else {}
    with workers(1, **settings) as executor, warpway.Pool(device) as pool:
        results = [start(executor, make(device, pool if i % 2 else None)) for i in range(8)]
        assert [result() for result in results] == [[0, 1, 2, 3]] * 8


PROGRAM = """
import multiprocessing as mp, pickle, sys, warpway

def child(queue, how):
    timeline = warpway.Timeline()
    timeline.close()
    sys.stdout.write(how + " ")
    if how == "caught":
        try: pickle.dumps(timeline)
        except ValueError: pass
    else:
        queue.put([(how, timeline)])
    if how.isdigit(): sys.exit(int(how))

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    queue, statuses = context.Queue(), []
    for how in ("returns", "0", "3", "caught"):
        process = context.Process(target=child, args=(queue, how))
        process.start()
        process.join()
        statuses.append(process.exitcode)
    child(queue, "main")
    print(statuses)
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_what_is_lost_is_told_at_exit(tmp_path, method):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    ended = subprocess.run([sys.executable, "-B", str(program), method], capture_output=True, text=True, timeout=2 * LIMIT_S,
                           check=True)  # fmt: skip
    assert ended.stdout == "returns 0 3 caught main [1, 1, 3, 0]\n"
    assert ended.stderr.count(" has lost objects, which a thread") == 4
    assert ended.stderr.count("  1 x Timeline: ValueError: this Timeline is closed") == 4
