# SPDX-License-Identifier: Apache-2.0
"""Rows of `warpway.bench`: each is a round trip between this process and a child, by a transport.

A kind of row is a class with two sides. The parent makes an instance, and sends what `make` returns.
The child calls `user` once, and what that returns with each thing that arrives. The first one comes
before the rounds that are timed: there the child also looks whether the content is right.
"""

from __future__ import annotations

import multiprocessing
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

NBYTES = 16 << 20
MARK = 0xA5  # the value of each byte of a buffer
TURN = 10  # rounds of one row before those of the next
CONTEXT = multiprocessing.get_context("spawn")

# Takes the thing, and releases it; with true, returns one byte of it before.
User: TypeAlias = Callable[[Any, bool], "int | None"]


class Kind(Protocol):
    """What is handed over; ImportError at its making: it cannot be measured here, and why."""

    name: str
    arguments: tuple[Any, ...]  # of `user`

    def __init__(self, device: str) -> None: ...

    def make(self) -> Any: ...

    @staticmethod
    def user(*arguments: Any) -> User: ...


def serve(transport: str, ends: Any, kind: type[Kind], arguments: tuple[Any, ...]) -> None:
    """The child."""
    receive, answer = (ends[0].get, ends[1].put) if transport == "queue" else (ends.recv, ends.send)
    use = kind.user(*arguments)
    thing = receive()
    found = use(thing, True)
    del thing
    answer(None if found in (None, MARK) else f"the child of {kind.name} found {found}, not {MARK}")
    while (thing := receive()) is not None:
        use(thing, False)
        del thing
        answer(None)


def _tell_of_end(child: Any, answers: Any) -> None:
    """A queue does not tell when the other process ends."""
    child.join()
    answers.put(f"the child ended with status {child.exitcode}")


def await_child(child: Any, answers: Any) -> Any:
    """What a child says when it has started. RuntimeError: it ended instead."""
    while True:
        try:
            return answers.get(timeout=0.1)
        except queue.Empty:
            if not child.is_alive():
                raise RuntimeError(f"the child ended with status {child.exitcode}") from None


def _start(transport: str, kind: type[Kind], arguments: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """The child, how to send to it, and how to receive."""
    if transport == "pipe":
        ours, theirs = CONTEXT.Pipe()
        child = CONTEXT.Process(target=serve, args=(transport, theirs, kind, arguments), daemon=True)
        child.start()
        theirs.close()
        return child, ours.send, ours.recv
    ends = CONTEXT.Queue(), CONTEXT.Queue()
    child = CONTEXT.Process(target=serve, args=(transport, ends, kind, arguments), daemon=True)
    child.start()
    threading.Thread(target=_tell_of_end, args=(child, ends[1]), daemon=True).start()
    return child, ends[0].put, ends[1].get


class Row:
    """A kind by 'queue' or 'pipe', whose child runs until `end`."""

    def __init__(self, transport: str, made: Kind) -> None:
        self._made = made
        self._child, self._send, self._receive = _start(transport, type(made), made.arguments)

    def round_trip(self) -> None:
        """RuntimeError: the child ended, or found other bytes."""
        self._send(self._made.make())
        try:
            problem = self._receive()
        except EOFError:
            self._child.join()
            problem = f"the child ended with status {self._child.exitcode}"
        if problem is not None:
            raise RuntimeError(problem)

    def end(self) -> None:
        if self._child.is_alive():
            self._send(None)
        self._child.join()


def _time(round_trip: Callable[[], object], count: int) -> list[float]:
    times = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        round_trip()
        times.append((time.perf_counter_ns() - begin) / 1000)
    return times


def measure(round_trip: Callable[[], object], rounds: int) -> list[float]:
    """Microseconds of each round, after a tenth as many that do not count."""
    _time(round_trip, max(rounds // 10, 3))
    return _time(round_trip, rounds)


def take_turns(round_trips: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float] | Exception]:
    """As `measure` for each, a few rounds of one after a few of the other, so that noise meets all alike.

    One that raises an exception has that in place of its times, and no more turns.
    """
    results: dict[str, list[float] | Exception] = {name: [] for name in round_trips}
    for before in [None, *range(0, rounds, TURN)]:
        for name, round_trip in round_trips.items():
            times = results[name]
            try:
                if isinstance(times, list):
                    times += _turn(round_trip, rounds, before)
            except Exception as error:  # of any kind, since it may be that of another library
                results[name] = error
    return results


def _turn(round_trip: Callable[[], object], rounds: int, before: int | None) -> list[float]:
    """The rounds after so many; None: those that do not count."""
    if before is None:
        _time(round_trip, max(rounds // 10, 3))
        return []
    return _time(round_trip, min(TURN, rounds - before))
