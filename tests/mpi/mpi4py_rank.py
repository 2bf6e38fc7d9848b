"""mpi4py_rank.py - one rank of mpi4py's own test suite, whose arrays are device memory

  mpi4py_rank.py FOLDER host|device [OPTION...]

FOLDER has the suite of the mpi4py that is installed, the options are those of its runtests.py.
"""
import ctypes
import os
import runpy
import sys


class Device:
    """The calls of the driver that are needed, on the first device."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", ctypes.c_uint(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(0))
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: CUresult {code}")

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self.cuda.cuMemFree_v2(ctypes.c_uint64(address))

    def put(self, address, host):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes))

    def get(self, host, address):
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(host.nbytes))


class Flat:
    """The elements of an array in one row: what is read is there now, what is stored is on the device at once."""

    def __init__(self, array):
        self.array = array

    def __getitem__(self, i):
        return self.array.fetched().flat[i]

    def __setitem__(self, i, value):
        self.array.fetched().flat[i] = value.array.fetched().flat if isinstance(value, Flat) else value
        self.array.store()


def make_backend(arrayimpl, device):
    """A kind of array for the suite, as its NumPy kind, but its elements are on the device."""

    class DeviceArray(arrayimpl.ArrayNumPy):
        backend = "device"

        def __init__(self, arg, typecode, shape=None, readonly=False):
            super().__init__(arg, typecode, shape)
            self.host = self.array
            self.device_address = device.allocate(max(self.host.nbytes, 1))
            self.store()
            self.__cuda_array_interface__ = {
                "version": 0, "data": (self.device_address, readonly), "shape": self.host.shape,
                "typestr": arrayimpl.typestr(self.typecode, self.itemsize)}

        def __del__(self):
            device.free(self.device_address)

        def store(self):
            if self.host.nbytes:
                device.put(self.device_address, self.host)

        def fetched(self):
            if self.host.nbytes:
                device.get(self.host, self.device_address)
            return self.host

        def __getitem__(self, i):
            return self.fetched()[i]

        def __setitem__(self, i, value):
            self.fetched()[i] = value
            self.store()

        @property
        def address(self):
            return self.device_address

        @property
        def flat(self):
            return Flat(self)

        def as_raw(self):
            return self

    return DeviceArray


def main():
    folder, kind, *options = sys.argv[1:]
    os.chdir(folder)
    sys.path.insert(0, folder)
    if kind == "device":
        import arrayimpl  # of the suite
        arrayimpl.ArrayBackends[:] = [make_backend(arrayimpl, Device())]
    sys.argv = [os.path.join(folder, "runtests.py"), "--no-builddir", *options]
    runpy.run_path(sys.argv[0], run_name="__main__")


main()
