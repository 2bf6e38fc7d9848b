"""array.py - mpi4py with arrays on a device, such as CuPy's and Numba's; two ranks"""
import ctypes
import struct

from mpi4py import MPI

CUDA = ctypes.CDLL("libcuda.so.1")


class Array:
    """Some ints on the first GPU."""

    def __init__(self, values):
        self.count = len(values)
        address = ctypes.c_uint64()
        assert CUDA.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * self.count)) == 0
        self.address = address.value
        data = struct.pack(f"{self.count}i", *values)
        assert CUDA.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), data, ctypes.c_size_t(len(data))) == 0
        self.__cuda_array_interface__ = {"shape": (self.count,), "typestr": "<i4", "version": 2,
                                         "data": (self.address, False), "strides": None}

    def values(self):
        data = ctypes.create_string_buffer(4 * self.count)
        assert CUDA.cuMemcpyDtoH_v2(data, ctypes.c_uint64(self.address), ctypes.c_size_t(4 * self.count)) == 0
        return list(struct.unpack(f"{self.count}i", data.raw))


def main():
    assert CUDA.cuInit(0) == 0
    context = ctypes.c_void_p()
    assert CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert CUDA.cuCtxSetCurrent(context) == 0
    comm = MPI.COMM_WORLD
    rank, peer = comm.rank, 1 - comm.rank
    assert comm.size == 2
    mine, theirs = Array([rank + i for i in range(1000)]), Array([0] * 1000)
    request = comm.Irecv(theirs, source=peer)
    comm.Send(mine, dest=peer)
    request.Wait()
    assert theirs.values() == [peer + i for i in range(1000)]
    comm.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)
    assert mine.values() == [2 * i + 1 for i in range(1000)]
    comm.Sendrecv_replace([theirs, 500, MPI.INT], dest=peer, source=peer)
    assert theirs.values()[:500] == [rank + i for i in range(500)]
    everything = Array([0] * 2000)
    comm.Allgather(mine, everything)
    assert everything.values() == 2 * mine.values()
    assert comm.bcast({"host": [1, 2]} if rank == 0 else None) == {"host": [1, 2]}
    assert comm.allreduce(rank) == 1
    persistent = comm.Send_init(mine, dest=peer) if rank == 0 else comm.Recv_init(theirs, source=peer)
    persistent.Start()
    persistent.Wait()
    persistent.Free()
    assert rank == 0 or theirs.values() == mine.values()
    print("array: ok", rank, flush=True)


main()
