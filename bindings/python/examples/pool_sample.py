# SPDX-License-Identifier: Apache-2.0
"""A buffer of a pool, written by a parent and by its child.

The parent fills n float32 with arange + 100, and the child replaces them by arange * -1. The same
bytes are used by both; only a token travels.
"""

import multiprocessing as mp
import sys

import numpy as np

import warpway

N = 1 << 16


def child(queue):
    array = queue.get()
    assert array.is_mapped
    numbers = np.empty(N, "float32")
    array.copy_to(numbers)
    assert (numbers == np.arange(N, dtype="float32") + 100).all()
    array.copy_from(np.arange(N, dtype="float32") * -1)
    array.close()


def main():
    try:
        pool = warpway.Pool(bytes_max=max(4 * N, 1 << 20))
        array = pool.empty(N, "float32")
    except (warpway.Unsupported, warpway.NoDevice) as error:
        print(f"this platform cannot share memory between processes: {error}", file=sys.stderr)
        return
    array.copy_from(np.arange(N, dtype="float32") + 100)
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    queue.put(array)
    process.join()
    assert process.exitcode == 0
    numbers = np.empty(N, "float32")
    array.copy_to(numbers)
    assert (numbers == np.arange(N, dtype="float32") * -1).all()
    array.close()
    pool.close()
    print(f"{N} numbers went to a child and came back changed")


if __name__ == "__main__":
    main()
