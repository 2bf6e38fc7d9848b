# SPDX-License-Identifier: Apache-2.0
"""Memory for Numba that can be shared from birth: ``import warpway.numba``.

::

    numba.cuda.set_memory_manager(warpway.numba.MemoryManager)    # before the first use of a GPU
    array = numba.cuda.to_device(numbers)
    queue.put(warpway.share(array))     # no copy
    queue.put(array.get_ipc_handle())   # as before, but by a token

The environment variable ``NUMBA_CUDA_MEMORY_MANAGER=warpway.numba`` does the same. Each array is a
slice of a `Pool`. Numba does not say which streams use an array. So at its end the slice is
released in CUDA's legacy default stream, which waits for all streams but those that were made as
non-blocking ones.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import types
import uuid
import weakref
from typing import Any

from numba import cuda  # type: ignore[import-not-found,import-untyped,unused-ignore]
from numba.cuda.cudadrv import driver  # type: ignore[import-not-found,import-untyped,unused-ignore]

from warpway._core import Array, Broker, Error, Memory, Token
from warpway._pools import FULL, allocate, forget, pool, release

__all__ = ["IpcHandle", "MemoryManager", "pool"]

_LEGACY_STREAM = 1
_MARK = b"warpway:"  # begins the 64 bytes of a handle; the last part of a name in the broker follows


def _make_handle(data: bytes) -> Any:
    """A CUipcMemHandle of these 64 bytes, as Numba has it: by NVIDIA's bindings, or by ctypes."""
    if not getattr(driver, "USE_NV_BINDING", True):
        return driver.drvapi.cu_ipc_mem_handle(*data)
    handle = driver.binding.CUipcMemHandle()
    ctypes.memmove(handle.getPtr(), data, 64)  # not all versions of the bindings have `reserved`
    return handle


def _bytes_of(handle: Any) -> bytes:
    return bytes(handle) if isinstance(handle, ctypes.Array) else ctypes.string_at(handle.getPtr(), 64)


def _remove(name: str) -> None:
    with contextlib.suppress(Error):
        Broker().remove(name)


class IpcHandle(driver.IpcHandle):  # type: ignore[misc,unused-ignore]
    """What ``get_ipc_handle()`` of an array of Numba gives under `MemoryManager`.

    It can be used as Numba's own one, but for `handle`. A pickle of it has a token: any number of
    processes can open it while the array lives. As with Numba, the object that was made keeps the
    array, and its unpickled copies do not.
    """

    _token: Token | None = None
    _shared: Array | None = None  # only in the process that made it
    _is_named = False
    _impl: Any  # Numba's

    @property
    def handle(self) -> Any:
        """CUipcMemHandle: 64 bytes for ``numba.cuda.open_ipc_array()`` where `MemoryManager` is in use.

        They stand for a name in the broker, which asking for them in the process that made the handle
        gives to the array. CUDA itself has no such handle for slices of pools.
        """
        if self._shared is not None and not self._is_named:
            memory = self._shared.memory
            Broker().put(self._name(), self._shared, life="owner" if memory.is_slice else "held")
            if memory.is_slice:  # the name would keep it; at the exit of this process it ends by itself
                weakref.finalize(self.base.owner, _remove, self._name()).atexit = False
            self._is_named = True
        return self._handle

    @handle.setter
    def handle(self, handle: Any) -> None:
        self._handle = handle

    def _name(self) -> str:
        """'': it is a handle of CUDA."""
        data = _bytes_of(self._handle)
        return f"numba/{data[len(_MARK):].decode()}".rstrip("\0") if data.startswith(_MARK) else ""

    def _map(self, context: Any) -> Any:
        """The memory, for the GPU of a context. None: it is a handle of CUDA."""
        name, device = self._name(), f"cuda:{context.device.id}"
        if not name:
            return None
        if self._impl is not None:
            raise ValueError("IpcHandle is already opened")
        found: Any = self._token.open(device=device) if self._token else Broker().get(name, access="write", device=device)
        self._impl = types.SimpleNamespace(close=functools.partial(release, found, _LEGACY_STREAM))
        return cuda.MemoryPointer(context, ctypes.c_void_p(found.pointer + self.offset), self.size, owner=found)

    def open(self, context: Any) -> Any:
        """Map the memory in this process, for the GPU of a context.

        Parameters
        ----------
        context : Numba's context

        Returns
        -------
        numba.cuda.MemoryPointer

        Raises
        ------
        ValueError
            It is open already.
        NotFound
            The array has ended.
        """
        return self._map(context) or super().open(context)

    def open_direct(self, context: Any) -> Any:
        """As `open`."""
        return self._map(context) or super().open_direct(context)

    def open_staged(self, context: Any) -> Any:
        """As `open`: the same bytes, and no copy, also where the two GPUs cannot reach each other."""
        return self._map(context) or super().open_staged(context)

    def close(self) -> None:
        """Release what `open` mapped, when the work that this process's GPU was given has run.

        Raises
        ------
        ValueError
            It is not open.
        """
        super().close()

    def __reduce__(self) -> Any:
        if self._token is None:
            return super().__reduce__()
        return _receive, (self._token.to_bytes(), _bytes_of(self._handle), self.size, self.source_info)


def _receive(token: bytes, handle: bytes, size: int, source_info: Any) -> IpcHandle:
    made = IpcHandle(None, _make_handle(handle), size, source_info)
    made._token = Token(token)
    return made


class MemoryManager(cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc,unused-ignore]
    """A plug-in for Numba's external memory management, for ``numba.cuda.set_memory_manager()``."""

    @property
    def interface_version(self) -> int:
        """int: the version of Numba's interface that this class is made for."""
        return 1

    def initialize(self) -> None:
        """From now on ``numba.cuda.open_ipc_array()`` opens `IpcHandle.handle`, too, beside handles of CUDA."""
        driver.IpcHandle = IpcHandle

    def reset(self) -> None:
        """Numba resets the GPU next, which ends all memory on it in this process: the next array is of a new pool."""
        super().reset()
        forget(self.context.device.id)

    def memalloc(self, size: int) -> Any:
        """A slice of the pool of the current GPU.

        Parameters
        ----------
        size : int
            In bytes.

        Returns
        -------
        numba.cuda.MemoryPointer

        Raises
        ------
        MemoryError
            The pool or the GPU has no more room; the message says why.
        """
        try:
            memory = allocate(self.context.device.id, max(size, 1))
        except FULL as error:
            raise MemoryError(str(error)) from error

        def finalizer() -> None:
            release(memory, _LEGACY_STREAM)

        return cuda.MemoryPointer(self.context, ctypes.c_void_p(memory.pointer), size, finalizer=finalizer)

    def get_ipc_handle(self, memory: Any) -> IpcHandle:
        """A handle of an allocation of this manager, or of another one that can be shared.

        Parameters
        ----------
        memory : numba.cuda.MemoryPointer

        Returns
        -------
        IpcHandle

        Raises
        ------
        NotFound
            It was allocated by other means.
        """
        found, offset = Memory.find(memory.device_ctypes_pointer.value)  # of NVIDIA's bindings, or ctypes
        shared = found.array((memory.size,), "uint8", offset=offset)
        handle = _make_handle((_MARK + uuid.uuid4().hex.encode()).ljust(64, b"\0"))
        made = IpcHandle(memory, handle, memory.size, self.context.device.get_device_identity())
        made._shared, made._token = shared, shared.token(uses=0, escrow=None)
        return made

    def get_memory_info(self) -> Any:
        """Free and all bytes of the current GPU's pool, where it has a limit.

        Returns
        -------
        numba.cuda.MemoryInfo

        Raises
        ------
        NotImplementedError
            The pool has no limit.
        """
        info = pool(self.context.device.id).info()
        if info.bytes_max is None:
            raise NotImplementedError("the pool has no limit: give it one with warpway.numba.pool(0, bytes_max=...)")
        return cuda.MemoryInfo(free=info.bytes_max - info.bytes_used - info.bytes_waiting, total=info.bytes_max)


_numba_memory_manager = MemoryManager  # the name that NUMBA_CUDA_MEMORY_MANAGER asks for
