# SPDX-License-Identifier: Apache-2.0
"""``python -m warpway demo``: a buffer goes to another process and comes back changed."""

import argparse
import multiprocessing
import struct
import sys
import time

import warpway

COUNT = 1 << 20
CONTEXT = multiprocessing.get_context("spawn")


def _ends(array):
    """The first and the last number of an array of float32."""
    found = []
    for part in (array[:1], array[-1:]):
        data = bytearray(4)
        part.copy_to(data)
        found += struct.unpack("f", data)
    return found


def _child(connection):
    array = connection.recv()
    assert array.is_mapped and _ends(array) == [100.0, COUNT + 99.0]
    array.copy_from(struct.pack(f"{COUNT}f", *range(0, -COUNT, -1)))
    array.close()
    connection.send("done")
    connection.recv()


def _table(rows):
    for name, text in rows:
        print(f"  {name:34} {text}")


def demo(device=None):
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


def main():
    parser = argparse.ArgumentParser(prog="python -m warpway")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("demo", help="hand an array to another process, and print what was done")
    verb.add_argument("--device", help="such as cuda:0 or host; default: the first GPU, else host")
    options = parser.parse_args()
    try:
        demo(options.device)
    except (warpway.Unsupported, warpway.NoDevice) as error:
        print(f"this platform cannot run the demo: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
