# SPDX-License-Identifier: Apache-2.0
"""What handing over a buffer costs in Python: ``python -m warpway.bench``.

Each row is a round trip between two processes: the parent hands over an array, the child maps it,
gives it to a consumer by DLPack, releases it and answers. The rows "bare" send 512 bytes in place of
an array, by the same transport: what is above them is the cost of the array.
"""

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

import warpway

NBYTES = 16 << 20
CONTEXT = multiprocessing.get_context("spawn")
BARE = bytes(512)

_Makers: TypeAlias = list[tuple[str, Callable[[], object]]]
_Timings: TypeAlias = Iterator[tuple[str, list[float]]]


# --- the child: one function for each transport ---


def _use(thing: object) -> None:
    """As a consumer does; what is no array is only received."""
    if isinstance(thing, warpway.Array):
        thing.__dlpack__(max_version=(1, 1))
        thing.close()


def _serve_queue(requests: Any, answers: Any) -> None:
    while (thing := requests.get()) is not None:
        _use(thing)
        answers.put(True)


def _serve_pipe(connection: Connection) -> None:
    while (thing := connection.recv()) is not None:
        _use(thing)
        connection.send(True)


def _serve_token(block: warpway.Memory, asked: warpway.Timeline, answers: Any) -> None:
    view = memoryview(block)
    answered = warpway.Timeline()
    answers.put(answered)
    count = 0
    while True:
        count += 1
        asked.wait(count)
        data = bytes(view[:512])
        if not any(data):
            return
        _use(warpway.Token(data).open())
        answered.signal(count)


# --- the parent ---


def _measure(round_trip: Callable[[], object], rounds: int) -> list[float]:
    for _ in range(max(rounds // 10, 3)):
        round_trip()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        round_trip()
        times.append((time.perf_counter_ns() - begin) / 1000)
    return times


def _by_queue(makers: _Makers, rounds: int) -> _Timings:
    requests, answers = CONTEXT.Queue(), CONTEXT.Queue()
    child = CONTEXT.Process(target=_serve_queue, args=(requests, answers), daemon=True)
    child.start()
    for name, make in makers:

        def round_trip(make: Callable[[], object] = make) -> None:
            requests.put(make())
            answers.get()

        yield f"queue.{name}", _measure(round_trip, rounds)
    requests.put(None)
    child.join()


def _by_pipe(makers: _Makers, rounds: int) -> _Timings:
    ours, theirs = CONTEXT.Pipe()
    child = CONTEXT.Process(target=_serve_pipe, args=(theirs,), daemon=True)
    child.start()
    for name, make in makers:

        def round_trip(make: Callable[[], object] = make) -> None:
            ours.send(make())
            ours.recv()

        yield f"pipe.{name}", _measure(round_trip, rounds)
    ours.send(None)
    child.join()


def _by_token(pool: warpway.Pool, rounds: int) -> _Timings:
    """512 bytes in shared memory, and a timeline of each side in place of a transport."""
    block = warpway.Memory(4096, "host", "host")
    asked = warpway.Timeline()
    answers = CONTEXT.Queue()
    child = CONTEXT.Process(target=_serve_token, args=(block, asked, answers), daemon=True)
    child.start()
    answered = answers.get()
    view = memoryview(block)
    count = 0

    def ask(data: bytes) -> None:
        nonlocal count
        view[:512] = data
        count += 1
        asked.signal(count)

    def round_trip() -> None:
        array = pool.empty(NBYTES, "uint8")
        ask(array.token().to_bytes())
        answered.wait(count)

    yield "token.pool", _measure(round_trip, rounds)
    ask(bytes(512))
    child.join()


def _in_one_process(pool: warpway.Pool, rounds: int) -> _Timings:
    def export_import() -> None:
        array = pool.empty(NBYTES, "uint8")
        opened = array.token().open()
        opened.__dlpack__(max_version=(1, 1))

    yield "process.token_open_dlpack", _measure(export_import, rounds)


def _import_time(module: str) -> float:
    """Microseconds of an import in a new interpreter, the best of 5."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs) * 1e6


def measure(device: Any = None, rounds: int = 300) -> list[dict[str, Any]]:
    """Rows of figures, as dicts with name, p50_us, p99_us and, where there is one, ratio to `bare`.

    Parameters
    ----------
    device : Device or what it takes, optional
    rounds : int
        Round trips of each row.
    """
    rows = []
    with warpway.Pool(device, bytes_max=8 * NBYTES) as pool:
        memory = warpway.empty(NBYTES, "uint8", device=device)
        makers = [
            ("bare", lambda: BARE),
            ("pool", lambda: pool.empty(NBYTES, "uint8")),
            ("memory", lambda: memory),
        ]
        for rounds_of in (_by_queue(makers, rounds), _by_pipe(makers, rounds), _by_token(pool, rounds), _in_one_process(pool, rounds)):
            rows += [_row(name, times) for name, times in rounds_of]
    bare = {row["name"].split(".")[0]: row["p50_us"] for row in rows if row["name"].endswith(".bare")}
    for row in rows:
        transport = row["name"].split(".")[0]
        if transport in bare:
            row["ratio"] = round(row["p50_us"] / bare[transport], 2)
    ours, theirs = _import_time("warpway"), _import_time("socket, ctypes")
    rows.append({"name": "import.socket_ctypes", "p50_us": round(theirs, 1)})
    rows.append({"name": "import.warpway", "p50_us": round(ours, 1), "ratio": round(ours / theirs, 2)})
    return rows


def _row(name: str, times: list[float]) -> dict[str, Any]:
    times.sort()
    p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
    return {"name": name, "p50_us": round(statistics.median(times), 1), "p99_us": round(p99, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m warpway.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="such as cuda:0 or host; default: the first GPU, else host")
    parser.add_argument("--rounds", type=int, default=300, help="round trips of each row (default: 300)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rows = measure(options.device, options.rounds)
    if options.json:
        print(json.dumps({"device": repr(warpway.Device(options.device)), "rows": rows}))
        return
    print(f"{repr(warpway.Device(options.device))}, {options.rounds} round trips, microseconds")
    print(f"{'':28} {'p50':>10} {'p99':>10} {'of bare':>8}")
    for row in rows:
        print(f"{row['name']:28} {row['p50_us']:10} {row.get('p99_us', ''):>10} {row.get('ratio', ''):>8}")


if __name__ == "__main__":
    main()
