# SPDX-License-Identifier: Apache-2.0
"""Arrays that travel by joblib and its executor loky, whose pickles are cloudpickle's."""

import os
import signal

import numpy as np
import pytest

import warpway

joblib = pytest.importorskip("joblib", reason="joblib is not installed")
from joblib.externals import loky  # noqa: E402 pylint: disable=wrong-import-position,wrong-import-order

COUNT = 8


@pytest.fixture(autouse=True)
def no_workers_are_left():
    warpway.revoke_in_flight()
    yield
    loky.get_reusable_executor().shutdown(wait=True, kill_workers=True)
    left = warpway.in_flight()
    warpway.revoke_in_flight()
    assert left == []


@pytest.fixture(params=["plain", "slice"])
def arrays(request, device):
    """Array i has 4 elements of value i."""
    pool = warpway.Pool(device) if request.param == "slice" else None
    made = []
    for i in range(COUNT):
        made.append(pool.empty(4, "int32") if pool else warpway.empty(4, "int32", device=device))
        made[-1].copy_from(np.full(4, i, "int32"))
    yield made
    for array in made:
        array.close()
    if pool:
        pool.close()


def total(array):
    numbers = np.empty(array.shape, array.dtype)
    array.copy_to(numbers)
    return int(numbers.sum())


def double(array):
    numbers = np.empty(array.shape, array.dtype)
    array.copy_to(numbers)
    array.copy_from(numbers * 2)
    return array


def run(function, items, **options):
    return joblib.Parallel(n_jobs=2, **options)(joblib.delayed(function)(item) for item in items)


def backends(device):
    # With "multiprocessing" joblib forks, which CUDA does not survive.
    return ["loky", "threading", "multiprocessing"] if device == "host" else ["loky", "threading"]


def test_to_workers(arrays, device):
    for backend in backends(device):
        assert run(total, arrays, backend=backend) == [4 * i for i in range(COUNT)]


def test_tokens_to_workers(arrays):
    assert run(total, (array.token() for array in arrays)) == [4 * i for i in range(COUNT)]


def test_there_and_back(arrays):
    back = run(double, arrays)
    assert [total(array) for array in back] == [8 * i for i in range(COUNT)]
    assert [total(array) for array in arrays] == [8 * i for i in range(COUNT)]


def test_inside_of_a_closure(arrays):
    kept = arrays[3]

    def add(i):
        return total(kept) + i

    assert run(add, range(3)) == [12, 13, 14]


def test_a_pool(device):
    with warpway.Pool(device) as pool:
        assert run(lambda received: received.is_mapped, [pool] * 3) == [True] * 3


def test_an_executor_of_loky(arrays):
    executor = loky.get_reusable_executor(max_workers=2)
    assert list(executor.map(total, arrays)) == [4 * i for i in range(COUNT)]
    assert total(executor.submit(double, arrays[1]).result()) == 8


def kill_itself(array):
    total(array)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_is_killed(arrays):
    executor = loky.get_reusable_executor(max_workers=1)
    with pytest.raises(loky.process_executor.BrokenProcessPool):
        executor.submit(kill_itself, arrays[2]).result()
    warpway.revoke_in_flight()
    assert total(arrays[2]) == 8
