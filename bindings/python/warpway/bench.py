# SPDX-License-Identifier: Apache-2.0
"""What handing over a buffer costs in Python: ``python -m warpway.bench``.

Each row is a round trip between two processes: the parent hands over an array, the child maps it,
gives it to a consumer by DLPack, releases it and answers. The rows "bare" send 512 bytes in place of
an array, by the same transport: what is above them is the cost of the array. The rows of other
libraries are round trips of the same kind with their own arrays, in the same run. The rows of one
transport take turns, so that what else the machine does meets all of them alike. The rows of frames, which
the child uses in place, are of channels, work queues and iceoryx2; "queue.copy" copies the same bytes.
"process.token_open_dlpack" is a hand-over inside of one process, beside the same one in C.
The rows of calls are a call of a function of another process and its reply, beside `multiprocessing.connection`
and gRPC.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import warpway
from warpway import _core
from warpway._bench_calls import BESIDE, CALLS
from warpway._bench_frames import FRAMES
from warpway._bench_peers import PEERS
from warpway._bench_row import CONTEXT, MARK, NBYTES, Kind, Row, User, await_child, measure as _measure, take_turns

TRANSPORTS = ("queue", "pipe")
GOALS = {"channel.frame": 0.33, "queue.pool": 1.4, "pipe.pool": 1.4, "import.warpway": 1.5}  # of the row beside it
HAND_OVER_GOAL_US = 12  # of process.token_open_dlpack

_Timings: TypeAlias = Iterator[tuple[str, list[float]]]


# --- what is handed over ---


class Bare:
    """512 bytes, which are as many as a token has."""

    name = "bare"
    arguments = ()

    def __init__(self, device: str) -> None:
        self._data = bytes(512)

    def make(self) -> bytes:
        return self._data

    @staticmethod
    def user(*_: Any) -> User:
        return lambda data, is_first: None


def _use(array: warpway.Array, is_first: bool) -> int | None:
    """As a consumer does."""
    found = array.memory.read(array.offset + NBYTES - 1, 1)[0] if is_first else None
    array.__dlpack__(max_version=(1, 1))
    array.close()
    return found


class Slice:
    """An array in a new slice of a pool."""

    name = "pool"
    arguments = ()

    def __init__(self, device: str) -> None:
        self.pool = warpway.Pool(device, bytes_max=8 * NBYTES)
        for slice_ in [self.pool.empty(NBYTES, "uint8") for _ in range(8)]:
            slice_.copy_from(bytes([MARK]) * NBYTES)

    def make(self) -> warpway.Array:
        return self.pool.empty(NBYTES, "uint8")

    @staticmethod
    def user(*_: Any) -> User:
        return _use


class Whole:
    """The same array again and again, in a memory of its own."""

    name = "memory"
    arguments = ()

    def __init__(self, device: str) -> None:
        self._array = warpway.empty(NBYTES, "uint8", device=device)
        self._array.copy_from(bytes([MARK]) * NBYTES)

    def make(self) -> warpway.Array:
        return self._array

    @staticmethod
    def user(*_: Any) -> User:
        return _use


OURS = (Bare, Slice, Whole)


# --- by a token in shared memory ---


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
        array: Any = warpway.Token(data).open()
        found = _use(array, count == 1)
        if found not in (None, MARK):
            raise RuntimeError(f"the child found {found}, not {MARK}")
        answered.signal(count)


def _by_token(pool: warpway.Pool, rounds: int) -> _Timings:
    """512 bytes in shared memory, and a timeline of each side in place of a transport."""
    block = warpway.Memory(4096, "host", "host")
    asked = warpway.Timeline()
    answers = CONTEXT.Queue()
    child = CONTEXT.Process(target=_serve_token, args=(block, asked, answers), daemon=True)
    child.start()
    answered = await_child(child, answers)
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


# --- frames and calls ---


def _frame_row(kind: Any, device: str, rounds: int) -> dict[str, Any]:
    """By itself: what copies 16 MiB beside it would slow a frame that is not copied."""
    try:
        row = kind(device)
    except Exception as error:  # of any kind, since it may be that of another library
        return _row(kind.name, error)
    times = _measure(row.round_trip, rounds)
    row.end()
    return _row(kind.name, times)


def _in_one_process(pool: warpway.Pool, rounds: int) -> _Timings:
    def export_import() -> None:
        array = pool.empty(NBYTES, "uint8")
        opened: Any = array.token().open()
        opened.__dlpack__(max_version=(1, 1))

    yield "process.token_open_dlpack", _measure(export_import, rounds)
    yield "process.token_open_dlpack_in_c", [_core.hand_over(pool, NBYTES) / 1000 for _ in range(rounds)]


def _import_time(module: str) -> float:
    """Microseconds of an import in a new interpreter, the best of 5."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs) * 1e6


def _transport_rows(transport: str, kinds: Sequence[type[Kind]], device: str, rounds: int) -> list[dict[str, Any]]:
    """A row for each kind; without figures, and with the reason, if it cannot be measured here."""
    started: dict[str, Row] = {}
    results: dict[str, list[float] | Exception] = {}
    for kind in kinds:
        try:
            started[kind.name] = Row(transport, kind(device))
        except Exception as error:  # of any kind, since it may be that of another library
            results[kind.name] = error
    results |= take_turns({name: row.round_trip for name, row in started.items()}, rounds)
    for row in started.values():
        row.end()
    for kind in OURS:
        if isinstance(problem := results[kind.name], Exception):
            raise problem
    return [_row(f"{transport}.{kind.name}", results[kind.name]) for kind in kinds]


def measure(device: Any = None, rounds: int = 300) -> list[dict[str, Any]]:
    """Rows of figures, as dicts with name, p50_us, p99_us and, where there is one, ratio to `bare`.

    The ratio of rows of frames, which use no transport, is to `queue.bare`. Where there is a `goal`, the ratio is to
    be no higher. That of calls is to the same by `multiprocessing.connection`.

    A row of a library that cannot be measured here has `missing`, the reason, in place of figures.

    Parameters
    ----------
    device : Device or what it takes, optional
    rounds : int
        Round trips of each row.
    """
    place = warpway.Device(device)
    where = "host" if place.backend == "host" else f"cuda:{place.index}"
    rows = [row for transport in TRANSPORTS for row in _transport_rows(transport, OURS + PEERS, where, rounds)]
    pool = Slice(where).pool
    rows += [_row(name, times) for part in (_by_token, _in_one_process) for name, times in part(pool, rounds)]
    rows += [_frame_row(kind, where, rounds) for kind in FRAMES + CALLS]
    medians = {row["name"]: row["p50_us"] for row in rows if "p50_us" in row}
    bare = {row["name"].split(".")[0]: row["p50_us"] for row in rows if row["name"].endswith(".bare")}
    for row in rows:
        transport = "queue" if row["name"].endswith(".frame") else row["name"].split(".")[0]
        if transport in bare and "p50_us" in row:
            row["ratio"] = round(row["p50_us"] / bare[transport], 2)
        beside = medians.get(BESIDE.get(row["name"], ""))
        if beside and "p50_us" in row:
            row["ratio"] = round(row["p50_us"] / beside, 4)
        if row["name"] in GOALS and "ratio" in row:
            row["goal"] = GOALS[row["name"]]
    _compare_with_c(rows)
    ours, theirs = _import_time("warpway"), _import_time("socket, ctypes")
    rows.append({"name": "import.socket_ctypes", "p50_us": round(theirs, 1)})
    rows.append({"name": "import.warpway", "p50_us": round(ours, 1), "ratio": round(ours / theirs, 2)})
    rows[-1]["goal"] = GOALS["import.warpway"]
    return rows


def _compare_with_c(rows: list[dict[str, Any]]) -> None:
    """What Python adds to a hand-over; its goal is one of time."""
    ours, theirs = (next(row for row in rows if row["name"] == f"process.token_open_dlpack{end}") for end in ("", "_in_c"))
    ours["ratio"] = round(ours["p50_us"] / theirs["p50_us"], 2)
    ours["goal"] = round(HAND_OVER_GOAL_US / theirs["p50_us"], 2)


def _row(name: str, times: list[float] | Exception) -> dict[str, Any]:
    if isinstance(times, Exception):
        return {"name": name, "missing": str(times).splitlines()[0] if str(times) else repr(times)}
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
        if "missing" in row:
            print(f"{row['name']:28} {'-':>10} {'-':>10} {'-':>8}  {row['missing']}")
        else:
            goal = f"  goal {row['goal']}: {'met' if row['ratio'] <= row['goal'] else 'NOT MET'}" if "goal" in row else ""
            print(f"{row['name']:28} {row['p50_us']:10} {row.get('p99_us', ''):>10} {row.get('ratio', ''):>8}{goal}")


if __name__ == "__main__":
    main()
