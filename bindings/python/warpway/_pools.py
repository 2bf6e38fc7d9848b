# SPDX-License-Identifier: Apache-2.0
"""The pools from which the allocators for other libraries take GPU memory: one for each GPU."""

from __future__ import annotations

from typing import Any

from warpway._core import Error, LimitReached, Memory, OutOfMemory, Pool

ALIGNMENT = 512  # bytes: what the kernels of these libraries expect of an allocation
FULL = (LimitReached, OutOfMemory)  # what `allocate` raises where there is no more room

_pools: dict[int, Pool] = {}
_settings: dict[int, dict[str, Any]] = {}
_kept: list[Memory] = []


def pool(device: int = 0, **settings: Any) -> Pool:
    """The Pool from which this process's allocators take the memory of a GPU.

    There is one for each GPU, which `warpway.torch`, `warpway.cupy` and `warpway.numba` share. It is
    made at the first call, and lasts as long as the process, or until Numba resets the GPU: then the
    next call makes one with the same settings.

    Parameters
    ----------
    device : int
        The index of the GPU, as CUDA counts: with CUDA_VISIBLE_DEVICES, among the visible ones.
    **settings
        `bytes_max`, `chunk_bytes` and `slices_max` of `Pool`; only at the first call for this GPU.

    Raises
    ------
    ValueError
        There are settings, but the pool has been made already.
    NoDevice
        There is no such GPU.
    """
    found = _pools.get(device)
    if found is None:
        used = settings or _settings.get(device, {})
        made = Pool(f"cuda:{device}", **used)
        found = _pools.setdefault(device, made)  # another thread may have been faster
        if found is made:
            _settings[device] = used
            return made
    if settings:
        raise ValueError(f"the pool of GPU {device} is there already: give its settings before its first use")
    return found


def forget(device: int) -> None:
    """A GPU is reset: its pool is of no use any more."""
    found = _pools.pop(device, None)
    if found is not None:
        found.close()


def allocate(device: int, nbytes: int) -> Memory:
    """A slice of the pool of a GPU."""
    return pool(device).alloc(nbytes, ALIGNMENT)


def release(memory: Memory, stream: Any) -> None:
    """Release a slice when the work that the stream was given so far has run.

    If the stream cannot tell any more when that is, the slice is kept as long as the process.
    """
    try:
        memory.close(stream)
    except Error:
        _kept.append(memory)
