# SPDX-License-Identifier: Apache-2.0
# mypy: disable-error-code="import-not-found,import-untyped"
"""Frames that another process uses in place, for `warpway.bench`: channels, work queues, and other libraries.

Each round trip is a frame of `NBYTES` that the parent publishes, the child views and releases, and the parent knows to
be released. The content is written, and checked, once.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import warpway
from warpway._bench_row import CONTEXT, MARK, NBYTES, Row, User, await_child


def _check(found: int) -> None:
    if found != MARK:
        raise RuntimeError(f"the child found {found}, not {MARK}")


def _serve(frames: warpway.Channel | warpway.WorkQueue, answers: Any) -> None:
    answers.put(None)
    for frame in frames:
        if frame.number == 1:
            _check(frame.array.memory.read(NBYTES - 1, 1)[0])
        frame.__dlpack__(max_version=(1, 1))


class _Slot:
    """The one slot, which is free again when the child has done with its frame."""

    def __init__(self, frames: warpway.Channel | warpway.WorkQueue) -> None:
        answers = CONTEXT.Queue()
        self._frames = frames
        self._child = CONTEXT.Process(target=_serve, args=(frames, answers), daemon=True)
        self._child.start()
        await_child(self._child, answers)
        self._frame = frames.acquire()
        self._frame.array.copy_from(bytes([MARK]) * NBYTES)

    def round_trip(self) -> None:
        self._frame.publish()
        self._frame = self._frames.acquire()

    def end(self) -> None:
        self._frame.discard()
        self._frames.close()
        self._child.join()


class ChannelFrame(_Slot):
    name = "channel.frame"

    def __init__(self, device: str) -> None:
        super().__init__(warpway.Channel(None, NBYTES, "uint8", slots=1, device=device))


class WorkFrame(_Slot):
    name = "work_queue.frame"

    def __init__(self, device: str) -> None:
        self._queue = warpway.WorkQueue(None, NBYTES, "uint8", slots=1, device=device)
        super().__init__(self._queue)

    def end(self) -> None:
        self._queue.shutdown()
        super().end()


class _Copied:
    name = "copy"
    arguments = ()

    def __init__(self, device: str) -> None:
        self._data = bytes([MARK]) * NBYTES

    def make(self) -> bytes:
        return self._data

    @staticmethod
    def user(*_: Any) -> User:
        return lambda data, is_first: data[-1] if is_first else None


class QueueCopy(Row):
    """The bytes of the frame themselves, by a multiprocessing.Queue."""

    name = "queue.copy"

    def __init__(self, device: str) -> None:
        super().__init__("queue", _Copied(device))


def _iceoryx() -> Any:
    try:
        import iceoryx2
    except ImportError:
        raise ImportError("iceoryx2 is not installed: pip install iceoryx2") from None
    iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
    return iceoryx2


class _Services:
    """The frames of a name, and an event for either direction, since a subscriber cannot sleep."""

    def __init__(self, name: str) -> None:
        library = _iceoryx()
        self.node = library.NodeBuilder.new().create(library.ServiceType.Ipc)
        self.frames = self._build(library, name).publish_subscribe(library.Slice[ctypes.c_uint8]).open_or_create()
        self.asked = self._build(library, f"{name}/asked").event().open_or_create()
        self.answered = self._build(library, f"{name}/answered").event().open_or_create()

    def _build(self, library: Any, name: str) -> Any:
        return self.node.service_builder(library.ServiceName.new(name))


def _serve_iceoryx(name: str, answers: Any) -> None:
    services = _Services(name)
    subscriber = services.frames.subscriber_builder().create()
    listener = services.asked.listener_builder().create()
    notifier = services.answered.notifier_builder().create()
    answers.put(None)
    is_first, is_last = True, False
    while not is_last:
        listener.blocking_wait()
        while (sample := subscriber.receive()) is not None:
            payload = sample.payload()
            is_last = payload[0] != MARK
            if is_first:
                _check(payload[NBYTES - 1])
            is_first = False
            sample.delete()
            notifier.notify()


class Iceoryx:
    """A sample of iceoryx2's publish and subscribe, in memory of the host."""

    name = "iceoryx2.frame"

    def __init__(self, device: str) -> None:
        if device != "host":
            raise ImportError("iceoryx2 shares memory of the host only")
        name = f"warpway/bench/{os.getpid()}"
        self._services = _Services(name)
        self._publisher = self._services.frames.publisher_builder().initial_max_slice_len(NBYTES).create()
        self._notifier = self._services.asked.notifier_builder().create()
        self._listener = self._services.answered.listener_builder().create()
        answers = CONTEXT.Queue()
        self._child = CONTEXT.Process(target=_serve_iceoryx, args=(name, answers), daemon=True)
        self._child.start()
        await_child(self._child, answers)
        self._send(MARK, NBYTES)

    def _send(self, value: int, count: int) -> None:
        sample = self._publisher.loan_slice_uninit(NBYTES)
        ctypes.memset(sample.payload().as_ptr(), value, count)
        sample.assume_init().send()
        self._notifier.notify()
        self._listener.blocking_wait()

    def round_trip(self) -> None:
        self._send(MARK, 1)

    def end(self) -> None:
        self._send(0, 1)
        self._child.join()


FRAMES = (ChannelFrame, WorkFrame, Iceoryx, QueueCopy)
