# SPDX-License-Identifier: Apache-2.0
"""Arrays by handle, as users of Numba know them.

A handle of an array goes to a child, which opens the array by it. With Numba and a GPU, the child also
opens an array of Numba by the 64 bytes of its own handle, which CuPy and PyTorch have, too.
"""

import multiprocessing as mp

import numpy as np

import warpway

SHAPE = (1000,)


def change(array, sign):
    """What a program does with an array that it has opened."""
    numbers = np.empty(array.shape, array.dtype)
    array.copy_to(numbers)
    array.copy_from(numbers * sign)


def child(connection):
    handle, bare = connection.recv()
    with handle as array:
        change(array, -1)
        try:
            handle.open()
        except ValueError as error:  # one open at a time for each handle
            connection.send(str(error))
    assert array.closed
    if bare:
        data, offset = bare  # the handle names a whole allocation, in which the array is somewhere
        with warpway.open_ipc_array(data, SHAPE, "float32", offset=offset) as array:
            change(array, -2)
    connection.send("done")


def array_of_numba():
    """None: there is no Numba, or no GPU for it."""
    try:
        from numba import cuda
    except ImportError:
        return None
    return cuda.to_device(np.arange(SHAPE[0], dtype="float32")) if cuda.is_available() else None


def bare_handle(x):
    shared = x.get_ipc_handle()._ipc_handle  # the part of Numba's handle that is CUDA's
    return bytes(byte & 0xFF for byte in shared.handle.reserved), shared.offset


def main():
    array = warpway.empty(SHAPE, "float32")
    array.copy_from(np.arange(SHAPE[0], dtype="float32"))
    x = array_of_numba()

    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=child, args=(theirs,))
    process.start()
    ours.send((array.get_ipc_handle(), bare_handle(x) if x is not None else None))
    print("the child:", ours.recv())
    assert ours.recv() == "done"
    process.join()

    numbers = np.empty(SHAPE, "float32")
    array.copy_to(numbers)
    assert (numbers == -np.arange(SHAPE[0])).all()
    assert x is None or (x.copy_to_host() == -2 * np.arange(SHAPE[0])).all()
    print("the child changed", "the array" if x is None else "the array, and that of Numba")


if __name__ == "__main__":
    main()
