# SPDX-License-Identifier: Apache-2.0
"""Calls by gRPC or `multiprocessing.connection`, which ``warpway bench calls`` measures beside its own.

That program starts this one, and says how many calls of how many bytes are to be made: see tools/bench/calls_peer.h.
"""

from __future__ import annotations

import socket
import struct
import time

from warpway._bench_calls import Connection, Grpc
from warpway._bench_row import MARK

_LINK = 3  # descriptor of the socket
_HEAD = struct.Struct("=IIQQ")  # of a message: magic, kind, numbers
_BYTES_MAX = 4096
_SAMPLE = 5
_MISSING = 2**64 - 1
_KINDS: dict[str, type[Connection] | type[Grpc]] = {"grpc": Grpc, "multiprocessing": Connection}


def _measure(row: Connection | Grpc, nbytes: int, count: int) -> int:
    row.data = bytes([MARK]) * nbytes
    row.round_trip()
    begin = time.perf_counter_ns()
    for _ in range(count):
        row.round_trip()
    return time.perf_counter_ns() - begin


def main(name: str) -> None:
    link = socket.socket(fileno=_LINK)
    row: Connection | Grpc | None = None
    try:
        row = _KINDS[name]("host")
    except ImportError:
        pass
    while message := bytearray(link.recv(_BYTES_MAX)):
        magic, _, nbytes, count = _HEAD.unpack_from(message)
        ns = _measure(row, nbytes, count) if row else _MISSING
        _HEAD.pack_into(message, 0, magic, _SAMPLE, ns, 0)
        link.send(message)
    if row:
        row.end()
