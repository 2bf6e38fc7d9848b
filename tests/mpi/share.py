"""share.py - warpway.mpi: arrays and timelines that all ranks of a node have; run with WW_TEST_DEVICE"""
import os

from mpi4py import MPI

import warpway
import warpway.mpi

DEVICE = os.environ["WW_TEST_DEVICE"]
COMM = MPI.COMM_WORLD


def write_to_all(mine):
    """Each rank writes its number into its row of every array, and finds those of the others in its own."""
    arrays = warpway.mpi.share(COMM, mine, "write")
    assert arrays[COMM.rank] is mine
    own = bytearray([COMM.rank + 1] * 8)
    for array in arrays:
        assert array.shape == (COMM.size, 8) and array.dtype == "uint8"
        array[COMM.rank].copy_from(own)
    COMM.Barrier()
    for rank in range(COMM.size):
        found = bytearray(8)
        mine[rank].copy_to(found)
        assert found == bytearray([rank + 1] * 8)
    COMM.Barrier()
    for array in arrays:
        if array is not mine:
            array.close()


def main():
    mine = warpway.zeros((COMM.size, 8), "uint8", device=DEVICE)
    write_to_all(mine)
    write_to_all(mine)
    with warpway.Pool(DEVICE) as pool:
        piece = pool.empty((COMM.size, 8), "uint8")
        write_to_all(piece)
        piece.close()
    arrays = warpway.mpi.share(COMM, None if COMM.rank == 0 else mine)
    assert [array is None for array in arrays] == [rank == 0 for rank in range(COMM.size)]

    lines = warpway.mpi.timelines(COMM)
    before = lines[COMM.rank - 1]
    for value in range(1, 6):
        if COMM.rank or value > 1:
            before.wait(value if COMM.rank else value - 1)
        lines[COMM.rank].signal(value)
    for line in lines:
        line.wait(5)
    COMM.Barrier()

    closed = warpway.zeros(4, "uint8", device=DEVICE)
    if COMM.rank == 1:
        closed.close()
    try:
        warpway.mpi.share(COMM, closed)
        raise AssertionError("no error")
    except (warpway.Error, ValueError) as error:
        assert COMM.rank == 1 or "rank 1: " in str(error), error
    print("share: ok", COMM.rank, flush=True)


main()
