# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays through a multiprocessing.Queue: no number is copied, and none is pickled.

The parent fills arrays with NumPy and puts them into a queue. The child gets an Array of
the same bytes, and changes them in place.
"""

import multiprocessing as mp

import numpy as np

import warpway

SHAPE = (1000, 1000)


def child(requests, answers):
    while (array := requests.get()) is not None:
        numbers = np.asarray(array)  # the parent's bytes
        numbers *= 2
        answers.put((array.shape, array.dtype, float(numbers.sum())))
        array.close()


def main():
    context = mp.get_context("spawn")
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(requests, answers))
    process.start()

    # The memory stays until the child has closed the array, so it may be closed here at once.
    for i in range(3):
        array = warpway.zeros(SHAPE, "float32", device="host")
        np.asarray(array)[:] = i
        requests.put(array)
        array.close()
        shape, dtype, total = answers.get()
        assert (shape, dtype, total) == (SHAPE, "float32", 2.0 * i * SHAPE[0] * SHAPE[1])

    # The child's changes are seen here, too.
    with warpway.zeros(SHAPE, "float32", device="host") as array:
        numbers = np.asarray(array)
        numbers[:] = 7
        requests.put(array)
        answers.get()
        assert (numbers == 14).all()

    requests.put(None)
    process.join()
    assert process.exitcode == 0
    print("4 arrays went to the child, which changed them in place")


if __name__ == "__main__":
    main()
