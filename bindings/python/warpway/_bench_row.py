# SPDX-License-Identifier: Apache-2.0
"""One row of `warpway.bench`: a round trip between this process and a child, by a transport.

A kind of row is a class with two sides. The parent makes an instance, and sends what `make` returns.
The child calls `user` once, and what that returns with each thing that arrives. The first one comes
before the rounds that are timed: there the child also looks whether the content is right.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

NBYTES = 16 << 20
MARK = 0xA5  # the value of each byte of a buffer
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


def measure(round_trip: Callable[[], object], rounds: int) -> list[float]:
    """Microseconds of each round, after a tenth as many that do not count."""
    for _ in range(max(rounds // 10, 3)):
        round_trip()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        round_trip()
        times.append((time.perf_counter_ns() - begin) / 1000)
    return times


def by_transport(transport: str, made: Kind, rounds: int) -> list[float]:
    """The times of a kind's rounds by 'queue' or 'pipe'.

    Raises
    ------
    RuntimeError
        The child ended, or found other bytes.
    """
    child, send, receive = _start(transport, type(made), made.arguments)

    def round_trip() -> None:
        send(made.make())
        if (problem := receive()) is not None:
            raise RuntimeError(problem)

    try:
        times = measure(round_trip, rounds)
        send(None)
    except EOFError:
        child.join()
        raise RuntimeError(f"the child ended with status {child.exitcode}") from None
    child.join()
    return times
