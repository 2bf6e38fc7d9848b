# SPDX-License-Identifier: Apache-2.0
"""Calls to a heat daemon that never keep a user interface waiting: a thread makes them.

    steering = Steering()
    steering.pause(True)              # returns at once
    for sentence in steering.take_answers():
        show(sentence)                # "pause: user ann may watch, not steer: ..."

The thread also asks once a second how the daemon is, and who watches.
"""

from __future__ import annotations

import collections
import threading
import time
from typing import Any

import warpway

CALL_S = 2.0  # for an answer
ASK_EVERY_S = 1.0

STATUS_FIELDS = (
    "run step time rows columns diffusivity paused steps_per_second restarts frames watchers watchers_max pid "
    "started_ns backend"
)
Status = collections.namedtuple("Status", STATUS_FIELDS)


class Steering:
    """The functions of the service PREFIX/steer. Each returns at once; what went wrong is a sentence later."""

    def __init__(self, prefix: str = "heat", broker: warpway.Broker | None = None, asks: bool = True):
        self.name = f"{prefix}/steer"
        self.status: Status | None = None  # the last answer; None: there is none
        self.watchers: list[warpway.ChannelConsumer] = []
        self._field = f"{prefix}/field"
        self._broker = broker
        self._asks = asks
        self._client: warpway.Client | None = None
        self._observer: warpway.Channel | None = None
        self._calls: collections.OrderedDict[Any, tuple[str, tuple[Any, ...]]] = collections.OrderedDict()
        self._count = 0
        self._answers: collections.deque[str] = collections.deque(maxlen=20)
        self._changed = threading.Condition()
        self._is_closed = False
        self._cancel = warpway.Cancel()
        self._thread = threading.Thread(target=self._run, name="heat-steering", daemon=True)
        self._thread.start()

    # --- what can be called ---

    def pause(self, paused: bool) -> None:
        self._call("pause", bool(paused))

    def source(self, x: float, y: float, radius: float, temperature: float) -> None:
        """Heat at a place of the plate: x from 0, left, to 1; y from 0, at the top, to 1."""
        self._call("source", float(x), float(y), float(radius), float(temperature), is_each=True)

    def clear_sources(self) -> None:
        self._call("clear_sources")

    def reset(self) -> None:
        self._call("reset")

    def parameters(self, diffusivity: float, steps_per_second_max: float = -1.0) -> None:
        """0: as many steps as it can; -1: as it is. Of several calls that wait, the last one is made."""
        self._call("parameters", float(diffusivity), float(steps_per_second_max))

    def resolution(self, rows: int, columns: int) -> None:
        self._call("resolution", int(rows), int(columns))

    def stop(self) -> None:
        self._call("stop")

    # --- what became of it ---

    def take_answers(self) -> list[str]:
        """Sentences about calls that were refused or have failed, each once."""
        answers = []
        while self._answers:
            answers.append(self._answers.popleft())
        return answers

    @property
    def is_idle(self) -> bool:
        """Every call so far has its answer."""
        with self._changed:
            return not self._calls

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._cancel.set()
        self._thread.join(CALL_S)

    # --- the thread ---

    def _call(self, name: str, *arguments: Any, is_each: bool = False) -> None:
        with self._changed:
            self._count += 1
            key = (name, self._count) if is_each else name
            # One that waits is replaced, and comes last.
            self._calls.pop(key, None)
            self._calls[key] = (name, arguments)
            self._changed.notify()

    def _run(self) -> None:
        next_ask = 0.0
        while True:
            with self._changed:
                while not self._calls and not self._is_closed and (not self._asks or time.monotonic() < next_ask):
                    self._changed.wait(max(next_ask - time.monotonic(), 0.001) if self._asks else None)
                if self._is_closed:
                    break
                key, call = next(iter(self._calls.items())) if self._calls else (None, None)
            if call:
                self._make(*call)
                with self._changed:
                    if self._calls.get(key) is call:
                        del self._calls[key]
            else:
                self.ask()
                next_ask = time.monotonic() + ASK_EVERY_S
        for thing in (self._client, self._observer):
            if thing:
                thing.close()

    def _make(self, name: str, arguments: tuple[Any, ...]) -> None:
        try:
            self._answer(name, arguments)
        except warpway.Cancelled:
            pass
        except warpway.Error as error:
            self._answers.append(explain(name, error))

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Calls the daemon that is there now: a Client belongs to one daemon."""
        for is_again in (False, True):
            if not self._client:
                self._client = warpway.Client(self.name, broker=self._broker, cancel=self._cancel)
            try:
                return self._client.call(name, *arguments, timeout=CALL_S, cancel=self._cancel)
            except (warpway.PeerLost, warpway.Unavailable) as error:
                self._client.close()
                self._client = None
                if is_again or getattr(error, "has_started", False):
                    raise
        return None

    def ask(self) -> None:
        """How the daemon is, and who watches. With asks=False for the user's own thread, beside no other call."""
        try:
            self.status = Status(*self._answer("status", ()))
        except (warpway.Error, TypeError):
            self.status = None  # the model says what is the matter
        try:
            if not self._observer:
                self._observer = warpway.Channel.get(self._field, observe=True, reattach=True, broker=self._broker)
            self.watchers = self._observer.who()
        except warpway.Error:
            self.watchers = []


def explain(name: str, error: warpway.Error) -> str:
    """Why a call was not done, as a sentence."""
    word = name.replace("_", " ")
    if isinstance(error, warpway.NotFound):
        return f"{word}: there is no daemon that could do it."
    if isinstance(error, warpway.Timeout):
        return f"{word}: the daemon did not answer within {CALL_S:g} seconds."
    if isinstance(error, (warpway.PeerLost, warpway.Unavailable)):
        return f"{word}: the daemon has ended before it answered."
    return f"{word}: {error.message.rstrip('.')}."
