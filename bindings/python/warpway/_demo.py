# SPDX-License-Identifier: Apache-2.0
"""``python -m warpway demo``: a buffer goes to another process and comes back changed.

A child of multiprocessing imports the module of its function, which cannot be __main__.py of a package.
"""

from __future__ import annotations

import multiprocessing
import struct
import time
from multiprocessing.connection import Connection
from typing import Any

import warpway

COUNT = 1 << 20
CONTEXT = multiprocessing.get_context("spawn")


def _ends(array: warpway.Array) -> list[float]:
    """The first and the last number of an array of float32."""
    found: list[float] = []
    for part in (array[:1], array[-1:]):
        data = bytearray(4)
        part.copy_to(data)
        found += struct.unpack("f", data)
    return found


def _child(connection: Connection) -> None:
    array = connection.recv()
    assert array.is_mapped and _ends(array) == [100.0, COUNT + 99.0]
    array.copy_from(struct.pack(f"{COUNT}f", *range(0, -COUNT, -1)))
    array.close()
    connection.send("done")
    connection.recv()


def _table(rows: list[tuple[str, str]]) -> None:
    for name, text in rows:
        print(f"  {name:34} {text}")


def demo(device: Any = None) -> None:
    """Run the demo, and print what was done. Raises what fails."""
    where = warpway.Device(device)
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_child, args=(theirs,), daemon=True)
    process.start()
    with warpway.Pool(where, bytes_max=max(4 * COUNT, 1 << 20)) as pool, pool.empty(COUNT, "float32") as array:
        array.copy_from(struct.pack(f"{COUNT}f", *range(100, COUNT + 100)))
        begin = time.perf_counter()
        ours.send(array)
        if ours.recv() != "done" or _ends(array) != [0.0, 1.0 - COUNT]:
            raise SystemExit("the demo failed: the child did not write what it should")
        seconds = time.perf_counter() - begin
        info = warpway.Broker().info()
        _table(
            [
                ("device", f"{where.name} ({where.selector})"),
                ("library", f"{warpway.library_version()}, {warpway.library_path()}"),
                ("broker", f"process {info.pid} at {info.address}"),
                ("array", f"{COUNT} float32 in a slice of a pool, route {array.route}"),
                ("child process", f"{process.pid}: found arange + 100, wrote arange * -1"),
                ("there and back", f"{seconds * 1000:.1f} ms, no byte copied between the processes"),
            ]
        )
    ours.send(None)
    process.join()
