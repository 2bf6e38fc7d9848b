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

import ctypes
from typing import Any

from numba import cuda  # type: ignore[import-not-found,import-untyped,unused-ignore]

from warpway._core import Memory, Token
from warpway._pools import FULL, allocate, pool, release

__all__ = ["IpcHandle", "MemoryManager", "pool"]

_LEGACY_STREAM = 1


class IpcHandle:
    """What ``get_ipc_handle()`` of an array of Numba gives under `MemoryManager`.

    It is a token, which can be pickled: any number of processes can open it while the array lives.
    It keeps no bytes itself.
    """

    def __init__(self, token: Token, size: int) -> None:
        self._token, self.size = token, size
        self._memory: Memory | None = None

    def open(self, context: Any) -> Any:
        """Map the memory in this process.

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
        if self._memory is not None:
            raise ValueError("this IpcHandle is open already")
        memory: Any = self._token.open()
        self._memory = memory
        return cuda.MemoryPointer(context, ctypes.c_void_p(self._memory.pointer), self.size, owner=self._memory)

    def close(self) -> None:
        """Release what `open` mapped, when the work that this process's GPU was given has run.

        Raises
        ------
        ValueError
            It is not open.
        """
        if self._memory is None:
            raise ValueError("this IpcHandle is not open")
        memory, self._memory = self._memory, None
        release(memory, _LEGACY_STREAM)

    def __reduce__(self) -> tuple[Any, tuple[bytes, int]]:
        return _receive, (self._token.to_bytes(), self.size)


def _receive(token: bytes, size: int) -> IpcHandle:
    return IpcHandle(Token(token), size)


class MemoryManager(cuda.HostOnlyCUDAMemoryManager):  # type: ignore[misc,unused-ignore]
    """A plug-in for Numba's external memory management, for ``numba.cuda.set_memory_manager()``."""

    @property
    def interface_version(self) -> int:
        """int: the version of Numba's interface that this class is made for."""
        return 1

    def initialize(self) -> None:
        """Nothing is to be done: a pool is made when the first array is."""

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
        found, offset = Memory.find(int(memory.device_pointer))
        return IpcHandle(found.token(offset=offset, nbytes=memory.size, escrow=None), memory.size)

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
