# SPDX-License-Identifier: Apache-2.0
"""Memory for PyTorch that can be shared from birth: ``import warpway.torch``.

What PyTorch allocates by one of these is in a `Pool`. So `warpway.share` of such a tensor copies
nothing and opens no handle. Usually only some tensors are to be shared::

    with torch.cuda.use_mem_pool(warpway.torch.mem_pool()):
        tensor = torch.empty(1 << 20, device="cuda")
    queue.put(warpway.share(tensor))

Such a pickle is one delivery. PyTorch's own handles can be rebuilt several times from one message; where a program does
that, send ``warpway.share(tensor).get_ipc_handle()``, or a token with ``uses=``.

Memory is released in the order of streams: bytes are allocated again when the work that the
tensor's stream was given before has run, and no other process uses them.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

from warpway import _core
from warpway._pools import pool

__all__ = ["allocator", "failure", "mem_pool", "pool"]

_lock = threading.Lock()
_allocator: Any = None
_mem_pool: Any = None


def _make_allocator() -> Any:
    for index in range(torch.cuda.device_count()):
        _core.set_torch_pool(index, pool(index))
    file = _core.__file__
    made = torch.cuda.memory.CUDAPluggableAllocator(file, "warpway_torch_alloc", "warpway_torch_free")
    record = ctypes.CDLL(file).warpway_torch_record_stream
    made.allocator().set_record_stream_fn(ctypes.cast(record, ctypes.c_void_p).value)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))  # for ever: a MemPool has only a pointer to it
    return made


def allocator() -> Any:
    """A torch.cuda.memory.CUDAPluggableAllocator over the pools of all GPUs.

    Called before PyTorch starts CUDA, which torch.cuda.set_device() and the first tensor on a GPU
    do, ``torch.cuda.memory.change_current_allocator(allocator())`` has PyTorch allocate each tensor
    as a slice of a pool. PyTorch's own cache and its statistics are
    not used then, and PyTorch does not check whether an allocation failed: where memory may run
    out, use `mem_pool`, with which PyTorch raises torch.cuda.OutOfMemoryError.

    Returns
    -------
    torch.cuda.memory.CUDAPluggableAllocator
        The same one at each call.
    """
    global _allocator
    with _lock:
        if _allocator is None:
            _allocator = _make_allocator()
        return _allocator


def mem_pool() -> Any:
    """A torch.cuda.MemPool over the pools of all GPUs, for ``torch.cuda.use_mem_pool()``.

    PyTorch's caching allocator takes segments of it, at least 2 MiB each, and places tensors in
    them. When it has no more room, it raises torch.cuda.OutOfMemoryError; `failure` says why. It
    may place a new tensor where one was released, also while another process uses these bytes: a
    tensor that was shared is to be kept until the others are done.

    Returns
    -------
    torch.cuda.MemPool
        The same one at each call.
    """
    global _mem_pool
    below = allocator().allocator()
    with _lock:
        if _mem_pool is None:
            _mem_pool = torch.cuda.MemPool(below)
        return _mem_pool


def failure() -> str | None:
    """Why the last allocation that failed did so, such as who holds the bytes of a full pool.

    Returns
    -------
    str or None
        None: none has failed in this process.
    """
    return _core.torch_failure()
