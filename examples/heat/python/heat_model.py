# SPDX-License-Identifier: Apache-2.0
"""What a user interface knows of a heat daemon: its newest frame, its state, and that in sentences.

    model = Model()
    while True:
        picture = model.poll()        # never waits
        if picture:
            with picture:             # the bytes of the daemon's own frame, until the end of the block
                draw(picture.view)
            model.count_drawn()
        show(model.sentence())

A Model is for one thread, that of the user interface. `Model.fileno` is for its event loop. heat_steering.py has the
calls to the daemon. Neither imports anything beside warpway and what Python has.
"""

from __future__ import annotations

import collections
import ctypes
import grp
import os
import pwd
import struct
import time
import zlib
from dataclasses import dataclass

import warpway

METADATA_TYPE = "heat-frame/1"
METADATA = struct.Struct("<QQddddddIIIIIIddd16x")
IS_PAUSED, IS_LAST, IS_GPU = 1, 2, 4

ATTACH_EVERY_S = 0.5  # while there is no daemon, or no place
RATE_OVER_S = 2.0
NOTES_MAX = 100


@dataclass(frozen=True)
class Header:
    """What the daemon says of a frame; the fields of heat-frame/1."""

    run: int
    step: int
    time: float
    diffusivity: float
    steps_per_second: float
    minimum: float
    maximum: float
    mean: float
    checksum: int
    rows: int
    columns: int
    flags: int
    restarts: int
    pid: int
    source_x: float
    source_y: float
    steps_per_second_max: float  # 0: as fast as it can

    @classmethod
    def from_bytes(cls, data: bytes) -> Header:
        """ValueError: that is no header."""
        if len(data) != METADATA.size:
            raise ValueError(f"the metadata has {len(data)} bytes, not {METADATA.size}")
        return cls(*METADATA.unpack(data))

    @property
    def is_paused(self) -> bool:
        return bool(self.flags & IS_PAUSED)


class Picture:
    """A frame in place: `view` is a memoryview of its float32 cells, row by row, for reading only.

    The daemon writes no other frame there until the end of the with block, so that must not last long.
    """

    def __init__(self, frame: warpway.Frame, header: Header, age_ns: int):
        self.frame = frame
        self.header = header
        self.age_ns = age_ns  # when it was received: since it was published
        self.view = memoryview(frame)

    def __enter__(self) -> Picture:
        return self

    def __exit__(self, *unused: object) -> None:
        self.release()

    def release(self) -> None:
        self.view.release()
        self.frame.release()


class Rate:
    """How often something happens in a second, by the last RATE_OVER_S seconds."""

    def __init__(self) -> None:
        self._points: collections.deque[tuple[float, int]] = collections.deque()

    def add(self, count: int, now: float) -> None:
        """`count` have happened by `now`, since the beginning."""
        self._points.append((now, count))
        while len(self._points) > 2 and now - self._points[1][0] >= RATE_OVER_S:
            self._points.popleft()

    def clear(self) -> None:
        self._points.clear()

    def get(self, now: float) -> float:
        if len(self._points) < 2 or now - self._points[-1][0] > RATE_OVER_S:
            return 0.0
        (first, before), (last, after) = self._points[0], self._points[-1]
        return (after - before) / max(last - first, 1e-9)


class Model:
    """A consumer of the frames of a heat daemon, which outlives the daemon.

    state is one of:
        'waiting'   there is no daemon yet
        'running', 'paused', 'draining'
        'ended'     the daemon has ended; the model waits for the next one
        'full'      all places of watchers are taken
        'refused'   this user may not watch
        'failed'    anything else; error says what
    """

    def __init__(self, prefix: str = "heat", broker: warpway.Broker | None = None, checks: bool = True):
        """checks=False: believe that frames are whole; for measurements."""
        self.name = f"{prefix}/field"
        self.state = "waiting"
        self.header: Header | None = None  # of the last frame
        self.program = "heatd"
        self.notes: collections.deque[tuple[float, str]] = collections.deque(maxlen=NOTES_MAX)
        self.received = 0
        self.torn = 0  # frames whose checksum was wrong: they are not shown
        self.drawn = 0
        self.gap = 0  # steps between the last frame of the former daemon and the first one of this
        self._broker = broker
        self._checks = checks
        self._channel: warpway.Channel | None = None
        self._error = ""
        self._ended = ""
        self._generation = 0  # of the last frame: which daemon it is from
        self._ended_generation = 0  # of the last daemon that has ended
        self._next_attach = 0.0
        self._frames, self._draws = Rate(), Rate()

    # --- frames ---

    def poll(self) -> Picture | None:
        """The newest frame that was not received yet, or None; it does not wait."""
        if not self._channel and not self._attach():
            return None
        return self._receive(0.0)

    def wait(self, timeout: float | None = None) -> Picture | None:
        """The same, but it waits for a frame; None: there is none, and state says why."""
        if not self._channel and not self._attach():
            return None
        return self._receive(timeout)

    def fileno(self) -> int | None:
        """A descriptor that is readable when poll() has something; None: call poll() twice a second instead."""
        return self._channel.fileno() if self._channel and self.state != "full" else None

    def close(self) -> None:
        if self._channel:
            self._channel.close()
            self._channel = None

    def _attach(self) -> bool:
        now = time.monotonic()
        if now < self._next_attach:
            return False
        self._next_attach = now + ATTACH_EVERY_S
        try:
            self._channel = warpway.Channel.get(
                self.name, reattach=True, metadata_type=METADATA_TYPE, broker=self._broker
            )
        except (warpway.NotFound, warpway.PeerLost):
            if self.state != "ended":
                self.state = "waiting"
        except warpway.Error as error:
            self._fail(error)
        else:
            self.program = self._channel.program
            self._generation = self._ended_generation = 0
        return self._channel is not None

    def _receive(self, timeout: float | None) -> Picture | None:
        assert self._channel
        if self.state == "full" and time.monotonic() < self._next_attach:
            return None
        try:
            frame = self._channel.receive(timeout=timeout)
        except (warpway.Timeout, warpway.EndOfChannel, warpway.NotFound, warpway.PeerLost):
            # The last two: a next daemon ended while this attached to it. The next call tries again.
            self._take_events()
            return None
        except warpway.Evicted as error:
            self.close()
            self._fail(error)
            return None
        except warpway.Error as error:
            self._take_events()
            self._fail(error)
            self._next_attach = time.monotonic() + ATTACH_EVERY_S
            return None
        age_ns = time.monotonic_ns() - frame.submitted_ns
        self._take_events()
        return self._check(frame, age_ns)

    def _check(self, frame: warpway.Frame, age_ns: int) -> Picture | None:
        """What was received, unless its bytes are not those that the daemon has described."""
        try:
            header = Header.from_bytes(frame.metadata)
            if frame.dtype != "float32" or len(frame.shape) != 2 or not frame.array.is_contiguous:
                raise ValueError(f"frames are {frame.dtype} of shape {frame.shape}, not rows of float32 without gaps")
        except ValueError as error:
            frame.release()
            self.state, self._error = "failed", f"{self.name} is not of a heat daemon: {error}."
            return None
        picture = Picture(frame, header, age_ns)
        is_whole = not self._checks or zlib.crc32(picture.view) == header.checksum
        if not is_whole or (header.rows, header.columns) != frame.shape:
            self.torn += 1
            self._note(f"Frame {frame.number} is damaged: its checksum is wrong. It is not shown.")
            picture.release()
            return None
        self.received += 1
        self._follow(frame, header)
        return picture

    def _follow(self, frame: warpway.Frame, header: Header) -> None:
        """Notices whether this frame goes on where the last one was."""
        before = self.header
        if frame.generation != self._generation:
            self._frames.clear()
            self.program = self._channel.program if self._channel else self.program
        self._frames.add(frame.number, frame.submitted_ns / 1e9)
        self._generation = frame.generation
        if before and header.run != before.run:
            self.gap = 0
            self._note(f"{self.program} (process {header.pid}) has begun a new simulation.")
        elif before and header.pid != before.pid:
            self.gap = header.step - before.step
            steps = f"{abs(self.gap):,} step{'' if abs(self.gap) == 1 else 's'}"
            where = f"{steps} {'after' if self.gap >= 0 else 'before'}"
            self._note(
                f"{self.program} (process {header.pid}) continues the same simulation at step {header.step:,}, "
                f"{where} the last frame that was shown."
            )
        self.header = header
        if frame.generation > self._ended_generation:
            self.state = "draining" if header.flags & IS_LAST else "paused" if header.is_paused else "running"

    def _take_events(self) -> None:
        while True:
            try:
                event = self._channel.next_event(timeout=0) if self._channel else None
            except (warpway.Error, ValueError):
                return
            if not event:
                return
            if event.what in ("lost", "closed"):
                self.state = "ended"
                self._ended_generation = event.generation
                how = "" if event.what == "closed" else " without closing its channel: it was killed, or it crashed"
                when = time.time() - (time.monotonic_ns() - event.time_ns) / 1e9
                self._ended = f"{event.program} (process {event.pid}) ended at {clock(when)}{how}."
                self._note(self._ended)

    # --- what is the matter, in sentences ---

    def sentence(self) -> str:
        """What state it is, for a status line."""
        if self.state in ("running", "paused", "draining"):
            assert self.header
            doing = {"running": "computes", "paused": "is paused", "draining": "shows its last frame and ends"}
            return f"{self.program} (process {self.header.pid}) {doing[self.state]}."
        if self.state == "ended":
            return f"{self._ended} Waiting for the next one."
        if self.state == "waiting":
            return f"There is no {self.name} yet. Waiting for a heat daemon."
        return self._error

    @property
    def frame_rate(self) -> float:
        """Frames a second that the daemon publishes."""
        return self._frames.get(time.monotonic())

    @property
    def draw_rate(self) -> float:
        """Frames a second that this user interface draws."""
        return self._draws.get(time.monotonic())

    def count_drawn(self) -> None:
        self.drawn += 1
        self._draws.add(self.drawn, time.monotonic())

    def _note(self, text: str) -> None:
        self.notes.append((time.time(), text))

    def _fail(self, error: warpway.Error) -> None:
        if isinstance(error, warpway.LimitReached):
            self.state, self._error = "full", self._who_is_there(error)
        elif isinstance(error, warpway.AccessDenied):
            self.state, self._error = "refused", self._who_may(error)
        else:
            self.state, self._error = "failed", f"{self.name} cannot be watched: {error}"

    def _who_may(self, error: warpway.Error) -> str:
        """One sentence about who may watch, by names."""
        said = f"{user_name(os.geteuid())} may not watch {self.name}"
        try:
            info = (self._broker or warpway.Broker()).stat(self.name)
        except warpway.Error:
            return f"{said}: {error}"
        owner = user_name(info.uid)
        if info.mode & 0o040:
            return f"{said}: only members of group {group_name(info.gid)} and user {owner} may."
        return f"{said}: only user {owner} may."

    def _who_is_there(self, error: warpway.Error) -> str:
        """One sentence about who holds the places."""
        try:
            with warpway.Channel.get(self.name, observe=True, broker=self._broker) as channel:
                there, places = channel.who(), channel.consumers_max
        except warpway.Error:
            return f"There is no place to watch {self.name}: {error}"
        mine = os.geteuid()
        if len(there) < places:
            there = [consumer for consumer in there if consumer.uid == mine]
            whose = f"All {len(there)} places that {user_name(mine)} may have at {self.name} are taken"
        else:
            whose = f"All {places} places to watch {self.name} are taken"
        return f"{whose}: {name_holders(there)}. Close one of them; this one then goes on by itself."


def name_holders(consumers: list[warpway.ChannelConsumer]) -> str:
    """Who holds places: "31 heat-window of root (processes 12, 13, 14 and 28 more), 1 heat-top of ann (process 9)"."""
    groups: dict[tuple[str, int], list[int]] = {}
    for consumer in consumers:
        groups.setdefault((consumer.program, consumer.uid), []).append(consumer.pid)
    parts = []
    for (program, uid), pids in sorted(groups.items(), key=lambda item: -len(item[1])):
        shown = sorted(set(pids))
        named = ", ".join(map(str, shown[:3])) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
        word = "process" if len(shown) == 1 else "processes"
        parts.append(f"{len(pids)} {program} of {user_name(uid)} ({word} {named})")
    return ", ".join(parts) or "nobody that can be named"


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def clock(when: float) -> str:
    """A time of this day."""
    return time.strftime("%H:%M:%S", time.localtime(when))


def call_process(name: str) -> None:
    """Names this process, so that others see what it is, and not only that it runs Python.

    The library tells the broker what the C library takes for the name of the program.
    """
    with open("/proc/self/comm", "w") as file:
        file.write(name)
    _program.value = name.encode()


_program = ctypes.c_char_p.in_dll(ctypes.CDLL(None), "program_invocation_short_name")
