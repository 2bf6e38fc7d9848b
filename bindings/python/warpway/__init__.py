# SPDX-License-Identifier: Apache-2.0
"""Memory, arrays and fences that processes share, on GPUs and without.

An `Array` is made in one process and used in others without a copy::

    import multiprocessing as mp
    import numpy as np
    import warpway

    def child(queue):
        array = queue.get()                   # the same bytes
        np.asarray(array)[:] *= 2
        array.close()

    if __name__ == "__main__":
        context = mp.get_context("spawn")     # with a GPU not "fork"
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        array = warpway.zeros((1000, 1000), "float32", device="host")
        np.asarray(array)[:] = 1
        queue.put(array)
        process.join()
        assert (np.asarray(array) == 2).all()

Where to begin:

- arrays: `empty`, `zeros`, `share`, `Array`; many small ones: `Pool`; bare bytes: `Memory`, `Token`
- names: `Broker`, `Watch`
- frames from one process to many: `Channel`, `Frame`, `wait_channels`; work for one of several processes: `WorkQueue`, `WorkFrame`
- functions that one process runs for others: `Service`, `Client`
- waiting for other processes: `Timeline`, `Barrier`, `Event`; in asyncio: `warpway.aio`; in CUDA
  graphs: `GraphNode`, `graph_launch`
- devices and streams: `Device`, `Stream`
- ending a wait: ``timeout=`` in seconds, and `Cancel`; failures: `Error` and what is below it

Importing this package loads one extension module; it loads neither NumPy nor a CUDA driver.
"""

from __future__ import annotations

import copyreg

try:
    from warpway import _core
except ImportError as _error:
    import sys

    if "t" in sys.abiflags:
        raise ImportError(
            "warpway needs the GIL, and this is a free-threaded build of Python: use one with the GIL"
        ) from _error
    raise
from warpway._core import (
    AccessDenied,
    AlreadyExists,
    Array,
    Barrier,
    Broker,
    BrokerInfo,
    Call,
    CallError,
    Cancel,
    Cancelled,
    Channel,
    ChannelConsumer,
    ChannelEvent,
    Client,
    DependencyFailed,
    Device,
    EndOfChannel,
    Error,
    Event,
    Evicted,
    Forked,
    Frame,
    Function,
    FunctionInfo,
    GraphNode,
    InFlight,
    InvalidArgument,
    LimitReached,
    Memory,
    NoBroker,
    NoDevice,
    NotFound,
    ObjectInfo,
    OutOfMemory,
    PeerLost,
    Pool,
    PoolHolder,
    PoolInfo,
    ProcessInfo,
    ProtocolError,
    QuotaExceeded,
    Service,
    ServiceInfo,
    Stream,
    Ticket,
    Timeline,
    Timeout,
    Token,
    Unavailable,
    Unsupported,
    Watch,
    WatchEvent,
    WorkFrame,
    WorkQueue,
    WrongState,
    from_dlpack,
    graph_launch,
    in_flight,
    library_path,
    library_version,
    limit_in_flight,
    revoke_in_flight,
    set_log,
    wait_channels,
)
from warpway import _late  # noqa: F401
from warpway._arrays import empty, share, zeros
from warpway._captures import capturing

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "Array",
    "Barrier",
    "Broker",
    "BrokerInfo",
    "Call",
    "CallError",
    "Cancel",
    "Cancelled",
    "Channel",
    "ChannelConsumer",
    "ChannelEvent",
    "Client",
    "DependencyFailed",
    "Device",
    "EndOfChannel",
    "Error",
    "Event",
    "Evicted",
    "Forked",
    "Frame",
    "Function",
    "FunctionInfo",
    "GraphNode",
    "InFlight",
    "InvalidArgument",
    "IpcArrayHandle",
    "LimitReached",
    "Memory",
    "NoBroker",
    "NoDevice",
    "NotFound",
    "ObjectInfo",
    "OutOfMemory",
    "PeerLost",
    "Pool",
    "PoolHolder",
    "PoolInfo",
    "ProcessInfo",
    "ProtocolError",
    "QuotaExceeded",
    "Service",
    "ServiceInfo",
    "Stream",
    "Ticket",
    "Timeline",
    "Timeout",
    "Token",
    "Unavailable",
    "Unsupported",
    "Watch",
    "WatchEvent",
    "WorkFrame",
    "WorkQueue",
    "WrongState",
    "capturing",
    "empty",
    "enable_logging",
    "from_dlpack",
    "graph_launch",
    "in_flight",
    "library_path",
    "library_version",
    "limit_in_flight",
    "open_ipc_array",
    "revoke_in_flight",
    "set_log",
    "share",
    "wait_channels",
    "zeros",
]

__version__ = library_version()


def _unpickle(payload: bytes) -> object:
    """What a pickle of an object of this package stands for.

    Pickles name this function: pickle finds its name in half the time that one of a module below, or
    of a function in C, takes.
    """
    return _core.unpickle(payload)


# Pickle looks into this table before it looks for a method, which halves its time. multiprocessing copies it.
for _kind in (Array, Memory, Token, Pool):
    copyreg.pickle(_kind, _kind.__reduce__)


async def _enter(self: object) -> object:
    return self


async def _leave(self: object, *unused: object) -> None:
    from warpway.aio import close

    await close(self)


_LAZY = {"IpcArrayHandle": "_ipc", "open_ipc_array": "_ipc"}

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import logging

    from warpway._ipc import IpcArrayHandle, open_ipc_array
else:

    def __getattr__(name):
        if name not in _LAZY:
            raise AttributeError(f"module 'warpway' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"warpway.{_LAZY[name]}"), name)

    for _awaited in (Barrier, Broker, Channel, Client, Event, Service, Timeline, Watch, WorkQueue):
        _awaited.__aenter__, _awaited.__aexit__ = _enter, _leave


def enable_logging(logger: logging.Logger | None = None) -> None:
    """Send the library's debug log to `logging`.

    Parameters
    ----------
    logger : logging.Logger, optional
        None: the logger "warpway". Each line is a record of level DEBUG.
    """
    import logging

    set_log((logger or logging.getLogger("warpway")).debug)
