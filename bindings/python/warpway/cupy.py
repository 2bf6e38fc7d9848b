# SPDX-License-Identifier: Apache-2.0
"""Memory for CuPy that can be shared from birth: ``import warpway.cupy``.

::

    cupy.cuda.set_allocator(warpway.cupy.allocator)
    array = cupy.arange(1 << 20)
    queue.put(warpway.share(array))     # no copy, no handle

Each array is a slice of a `Pool`. Its bytes are allocated again when the work has run that its
stream was given before its end, and no other process uses them. As with CuPy's own memory pool,
its stream is the one that was current when it was allocated.
"""

from __future__ import annotations

import sys
from typing import Any

import cupy  # type: ignore[import-not-found,unused-ignore]

from warpway._core import Memory
from warpway._pools import FULL, allocate, pool, release

__all__ = ["allocator", "pool"]


class _Owner:
    """Keeps a slice, and its stream, as long as CuPy has the memory."""

    __slots__ = ("_memory", "_stream")

    def __init__(self, memory: Memory, stream: Any) -> None:
        self._memory, self._stream = memory, stream

    def __del__(self, release: Any = release, is_ending: Any = sys.is_finalizing) -> None:
        if not is_ending():  # else it ends with the process
            release(self._memory, self._stream)


def allocator(nbytes: int) -> Any:
    """An allocator for ``cupy.cuda.set_allocator()`` and ``cupy.cuda.using_allocator()``.

    Parameters
    ----------
    nbytes : int

    Returns
    -------
    cupy.cuda.MemoryPointer
        A slice of the pool of the current GPU, at a multiple of 512 bytes.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The pool or the GPU has no more room; its cause says why.
    """
    device = cupy.cuda.runtime.getDevice()
    if nbytes == 0:
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(0, 0, None, device), 0)
    stream = cupy.cuda.get_current_stream()
    try:
        memory = allocate(device, nbytes)
    except FULL as error:
        raise _out_of_memory(device, nbytes) from error
    owner = _Owner(memory, stream)
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(memory.pointer, nbytes, owner, device), 0)


def _out_of_memory(device: int, nbytes: int) -> Exception:
    info = pool(device).info()
    error: Exception = cupy.cuda.memory.OutOfMemoryError(nbytes, info.bytes_used, info.bytes_max or 0)
    return error
