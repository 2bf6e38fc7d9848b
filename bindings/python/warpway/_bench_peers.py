# SPDX-License-Identifier: Apache-2.0
# mypy: disable-error-code="import-not-found,import-untyped"
"""How other libraries hand a buffer over, for `warpway.bench`: each in the way that it documents.

Each sends the same buffer again and again, which is best for those that keep what they opened.
"""

from __future__ import annotations

import ctypes
import warnings
from typing import Any

from warpway._bench_row import MARK, NBYTES, User


def _index(device: str, library: str) -> int:
    if not device.startswith("cuda:"):
        raise ImportError(f"{library} shares memory of GPUs only")
    return int(device.removeprefix("cuda:"))


def _driver(name: str, *arguments: Any) -> None:
    """A call of the driver, in the current context."""
    status = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if status:
        raise ImportError(f"{name}() failed with {status}")


def _fill(pointer: int) -> None:
    _driver("cuMemsetD8_v2", ctypes.c_uint64(pointer), ctypes.c_ubyte(MARK), ctypes.c_size_t(NBYTES))
    _driver("cuCtxSynchronize")


def _byte(pointer: int) -> int:
    byte = ctypes.c_ubyte()
    _driver("cuMemcpyDtoH_v2", ctypes.byref(byte), ctypes.c_uint64(pointer), ctypes.c_size_t(1))
    return byte.value


class Torch:
    """A tensor, as torch.multiprocessing has it pickled: in shared memory on the CPU."""

    name = "torch"

    def __init__(self, device: str) -> None:
        import torch
        import torch.multiprocessing

        self.arguments = ()
        place = device if device.startswith("cuda:") else "cpu"
        with warnings.catch_warnings(action="ignore"):
            if place != "cpu" and not torch.cuda.is_available():
                raise ImportError("torch finds no GPU here")
        self._tensor = torch.full((NBYTES,), MARK, dtype=torch.uint8, device=place)
        if place == "cpu":
            self._tensor.share_memory_()
        else:
            torch.cuda.synchronize()

    def make(self) -> Any:
        return self._tensor

    @staticmethod
    def user(*_: Any) -> User:
        import torch.multiprocessing  # noqa: F401

        def use(tensor: Any, is_first: bool) -> int | None:
            return int(tensor[NBYTES - 1]) if is_first else None

        return use


class CudaCore:
    """A Buffer of an IPC-enabled pool, which the child gets beforehand."""

    name = "cuda_core"

    def __init__(self, device: str) -> None:
        index = _index(device, "cuda.core")
        from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions

        place = Device(index)
        place.set_current()
        options = DeviceMemoryResourceOptions(ipc_enabled=True, max_size=4 * NBYTES)
        self._pool = DeviceMemoryResource(place, options)
        stream = place.create_stream()
        self._buffer = self._pool.allocate(NBYTES, stream=stream)
        stream.sync()
        _fill(int(self._buffer.handle))
        self.arguments = (index, self._pool)

    def make(self) -> Any:
        return self._buffer

    @staticmethod
    def user(*arguments: Any) -> User:
        from cuda.core import Device

        Device(arguments[0]).set_current()

        def use(buffer: Any, is_first: bool) -> int | None:
            found = _byte(int(buffer.handle) + NBYTES - 1) if is_first else None
            buffer.close()
            return found

        return use


class Numba:
    """The IpcArrayHandle of an array."""

    name = "numba"

    def __init__(self, device: str) -> None:
        index = _index(device, "Numba")
        from numba import cuda

        cuda.select_device(index)
        self._array = cuda.device_array(NBYTES, "uint8")
        _fill(self._array.device_ctypes_pointer.value)
        self.arguments = (index,)

    def make(self) -> Any:
        return self._array.get_ipc_handle()

    @staticmethod
    def user(*arguments: Any) -> User:
        from numba import cuda

        cuda.select_device(arguments[0])

        def use(handle: Any, is_first: bool) -> int | None:
            array = handle.open()
            found = _byte(array.device_ctypes_pointer.value + NBYTES - 1) if is_first else None
            handle.close()
            return found

        return use


class Cupy:
    """The bare handle of an allocation, 64 bytes, opened and closed by CuPy's functions for that."""

    name = "cupy"

    def __init__(self, device: str) -> None:
        index = _index(device, "CuPy")
        import cupy

        cupy.cuda.Device(index).use()
        self._runtime = cupy.cuda.runtime
        self._memory = cupy.cuda.Memory(NBYTES)
        _fill(self._memory.ptr)
        self.arguments = (index,)

    def make(self) -> Any:
        return self._runtime.ipcGetMemHandle(self._memory.ptr)

    @staticmethod
    def user(*arguments: Any) -> User:
        import cupy

        cupy.cuda.Device(arguments[0]).use()
        runtime = cupy.cuda.runtime

        def use(handle: Any, is_first: bool) -> int | None:
            pointer = runtime.ipcOpenMemHandle(handle)
            found = _byte(pointer + NBYTES - 1) if is_first else None
            runtime.ipcCloseMemHandle(pointer)
            return found

        return use


PEERS = (Torch, CudaCore, Numba, Cupy)
