# SPDX-License-Identifier: Apache-2.0
"""A buffer of a pool, written by a parent and by its child.

The parent fills n float32 with arange + 100, and the child replaces them by arange * -1. Both work on
the same bytes, as an array of CuPy where there is a GPU and CuPy, else of NumPy; only a token travels.
"""

import multiprocessing as mp
import sys

import numpy as np

import warpway

try:
    import cupy
except ImportError:
    cupy = None

N = 1 << 16


def wrap(array):
    """The same bytes for NumPy or CuPy, and the module that has their functions."""
    if array.memory.host_pointer:
        return np.asarray(array), np
    return cupy.from_dlpack(array), cupy


def finish(xp):
    """A GPU works on after the call; what it does is complete then."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()


def child(queue):
    with queue.get() as array:
        assert array.is_mapped
        numbers, xp = wrap(array)
        assert (numbers == xp.arange(N, dtype="float32") + 100).all()
        numbers[:] = xp.arange(N, dtype="float32") * -1
        finish(xp)


def main():
    try:
        # What a GPU has in its own memory is for CuPy; it uses that of the CPU in place, which NumPy can, too.
        pool = warpway.Pool(bytes_max=max(4 * N, 1 << 20), kind="device" if cupy else "host")
        array = pool.empty(N, "float32")
    except (warpway.Unsupported, warpway.NoDevice) as error:
        print(f"this platform cannot share memory between processes: {error}", file=sys.stderr)
        return
    numbers, xp = wrap(array)
    numbers[:] = xp.arange(N, dtype="float32") + 100
    finish(xp)
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    queue.put(array)
    process.join()
    assert process.exitcode == 0
    assert (numbers == xp.arange(N, dtype="float32") * -1).all()
    array.close()
    pool.close()
    print(f"{N} numbers went to a child and came back changed, in an array of {xp.__name__}")


if __name__ == "__main__":
    main()
