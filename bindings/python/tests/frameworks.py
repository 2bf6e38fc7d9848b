# SPDX-License-Identifier: Apache-2.0
"""Other libraries of arrays, each behind the same few functions, for the device under test."""

import ctypes
import importlib.util

import numpy as np

GPU_SLEEP = 3_000_000_000  # clock cycles: more than a second


class Torch:
    """PyTorch, on a GPU or the CPU."""

    module = "torch"
    dtypes = ("bool", "uint8", "int64", "float16", "float32", "complex64", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    writes = True

    def __init__(self, device):
        import torch

        self.lib = torch
        self.device = "cpu" if device == "host" else device
        if device != "host" and not torch.cuda.is_available():
            raise ImportError("torch finds no GPU here")

    def make(self, numbers):
        return self.lib.from_numpy(numbers).to(self.device)

    def view(self, array):
        return self.lib.from_dlpack(array)

    def numbers(self, x):
        return x.cpu().numpy()

    def pointer(self, x):
        return x.data_ptr()

    def dtype(self, x):
        return str(x.dtype).removeprefix("torch.")

    def double(self, x):
        x.mul_(2)

    def stream(self):
        return self.lib.cuda.Stream(self.device)

    def fill_slowly(self, x, value, stream):
        with self.lib.cuda.stream(stream):
            self.lib.cuda._sleep(1)  # the first launch of a kernel loads it, and waits for others
            x.fill_(0)
            stream.synchronize()
            self.lib.cuda._sleep(GPU_SLEEP)
            x.fill_(value)

    def handle(self, x):
        """The 64 bytes, and the offset of x in what they name."""
        shared = x.untyped_storage()._share_cuda_()
        return shared[1][-64:], shared[3] + x.storage_offset() * x.element_size()


def allocation_start(pointer):
    base, nbytes = ctypes.c_uint64(), ctypes.c_size_t()
    lib = ctypes.CDLL("libcuda.so.1")
    assert lib.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(nbytes), ctypes.c_uint64(pointer)) == 0
    return base.value


class Cupy:
    """CuPy, which is for GPUs only."""

    module = "cupy"
    dtypes = ("bool", "uint8", "int64", "float16", "float32", "complex64")
    writes = True

    def __init__(self, device):
        if device == "host":
            raise ImportError("CuPy is for GPUs only")
        import cupy

        self.lib = cupy
        try:
            cupy.cuda.Device(int(device.removeprefix("cuda:"))).use()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise ImportError(f"CuPy finds no GPU here: {error}") from error

    def make(self, numbers):
        x = self.lib.asarray(numbers)
        # The call returns before the GPU has few bytes; another process may read them next.
        self.lib.cuda.get_current_stream().synchronize()
        return x

    def view(self, array):
        return self.lib.from_dlpack(array)

    def numbers(self, x):
        return self.lib.asnumpy(x)

    def pointer(self, x):
        return x.data.ptr

    def dtype(self, x):
        return x.dtype.name

    def double(self, x):
        x *= 2
        self.lib.cuda.get_current_stream().synchronize()

    def stream(self):
        return self.lib.cuda.Stream(non_blocking=True)

    def fill_slowly(self, x, value, stream):
        x.fill(0)  # compiles what is needed, before it is timed
        work = self.lib.ones(1 << 27, "float32")
        self.lib.sqrt(work, out=work)
        self.lib.cuda.Device().synchronize()
        with stream:
            for _ in range(3000):
                self.lib.sqrt(work, out=work)
            x.fill(value)

    def handle(self, x):
        """The 64 bytes, and the offset of x in what they name."""
        start = allocation_start(x.data.ptr)
        return self.lib.cuda.runtime.ipcGetMemHandle(start), x.data.ptr - start


class Numba:
    """Numba's arrays, by the CUDA array interface."""

    module = "numba.cuda"
    dtypes = ("uint8", "int64", "float32", "complex64")
    writes = True

    def __init__(self, device):
        if device == "host":
            raise ImportError("Numba's arrays of this kind are for GPUs only")
        from numba import cuda

        self.lib = cuda
        try:
            cuda.select_device(int(device.removeprefix("cuda:")))
        except Exception as error:  # of any kind: it does not start with fakecuda
            raise ImportError(f"Numba finds no GPU here: {error}") from error

        @cuda.jit
        def fill(x, value, rounds):
            for _ in range(rounds):
                cuda.nanosleep(1000)
            for i in range(x.size):
                x[i] = value

        @cuda.jit
        def double(x):
            for i in range(x.size):
                x[i] *= 2

        self._fill, self._double = fill, double

    def check_kernels(self):
        """ImportError: Numba does not compile here, such as with a NumPy that is too new for it."""
        @self.lib.jit
        def nothing():
            pass

        try:
            nothing[1, 1]()
        except Exception as error:  # of any kind
            raise ImportError(f"Numba cannot compile a kernel here: {error}") from error

    def make(self, numbers):
        return self.lib.to_device(numbers)

    def view(self, array):
        return self.lib.as_cuda_array(array)

    def numbers(self, x):
        return x.copy_to_host()

    def pointer(self, x):
        return x.device_ctypes_pointer.value

    def dtype(self, x):
        return x.dtype.name

    def double(self, x):
        self._double[1, 1](x.ravel())
        self.lib.synchronize()

    def stream(self):
        return self.lib.stream()

    def fill_slowly(self, x, value, stream):
        self._fill[1, 1, stream](x, 0, 1)  # compiled before it is timed
        stream.synchronize()
        self._fill[1, 1, stream](x, value, 500_000)

    def handle(self, x):
        """The 64 bytes, and the offset of x in what they name."""
        shared = x.get_ipc_handle()._ipc_handle
        return bytes(byte & 0xFF for byte in shared.handle.reserved), shared.offset


class CudaCore:
    """cuda.core: buffers of a pool that other processes can open, and views of what has DLPack."""

    module = "cuda.core"
    dtypes = ("uint8", "int64", "float32")
    writes = False

    def __init__(self, device):
        if device == "host":
            raise ImportError("cuda.core is for GPUs only")
        try:
            from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions
            from cuda.core.utils import StridedMemoryView

            self.device = Device(int(device.removeprefix("cuda:")))
            self.device.set_current()
        except Exception as error:  # of any kind: it does not start with fakecuda
            raise ImportError(f"cuda.core finds no GPU here: {error}") from error
        self.lib = StridedMemoryView
        self._pool = DeviceMemoryResource(self.device, DeviceMemoryResourceOptions(ipc_enabled=True, max_size=64 << 20))
        self._stream = self.device.create_stream()

    def make(self, numbers):
        buffer = self._pool.allocate(numbers.nbytes, stream=self._stream)
        self._stream.sync()
        copy_to_gpu(int(buffer.handle), numbers)
        return buffer

    def view(self, array):
        return self.lib.from_any_interface(array, stream_ptr=-1)

    def pointer(self, x):
        return int(x.handle) if hasattr(x, "handle") else x.ptr

    def dtype(self, x):
        return x.dtype.name

    def stream(self):
        return self.device.create_stream()


def copy_to_gpu(pointer, numbers):
    lib = ctypes.CDLL("libcuda.so.1")
    source = np.ascontiguousarray(numbers)
    assert lib.cuMemcpyHtoD_v2(ctypes.c_uint64(pointer), ctypes.c_void_p(source.ctypes.data),
                               ctypes.c_size_t(source.nbytes)) == 0


class Jax:
    """JAX, whose arrays never change, on the CPU, or on a GPU where its plug-in for that is installed."""

    module = "jax"
    dtypes = ("bool", "uint8", "int32", "float16", "float32", "complex64", "bfloat16")
    writes = False

    def __init__(self, device):
        import jax

        self.lib = jax
        try:
            self.device = jax.devices("cpu" if device == "host" else "gpu")[0]
        except RuntimeError as error:
            raise ImportError(f"JAX finds no GPU here: {error}") from error

    def make(self, numbers):
        return self.lib.device_put(numbers, self.device)

    def view(self, array):
        return self.lib.numpy.from_dlpack(array)

    def numbers(self, x):
        return np.asarray(x)

    def pointer(self, x):
        return x.unsafe_buffer_pointer()

    def dtype(self, x):
        return x.dtype.name


FRAMEWORKS = {kind.module: kind for kind in (Torch, Cupy, Numba, CudaCore, Jax)}


def is_installed(name):
    """Whether a module can be found; only the packages above it are imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def open_framework(name, device):
    """The library behind its functions. ImportError: it cannot use the device; the message says why."""
    return FRAMEWORKS[name](device)
