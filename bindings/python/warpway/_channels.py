# SPDX-License-Identifier: Apache-2.0
"""Copies of arrays into the frames of a channel, or of a work queue, and loops over frames."""

from __future__ import annotations

from warpway._arrays import _view_buffer
from warpway._core import Array, EndOfChannel, InvalidArgument, WorkFrame, from_dlpack

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from warpway._core import Cancel, Channel, Frame, WorkQueue


def send(
    channel: Channel | WorkQueue,
    data: Any,
    metadata: Any = b"",
    *,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> int:
    """`Channel.send`, `WorkQueue.send`."""
    source, dtype = _source(data)
    with channel.acquire(timeout=timeout, cancel=cancel, **_size(channel, source, dtype)) as frame:
        if metadata:
            frame.metadata = metadata
        if source.nbytes:
            _copy(frame.array, source)
    return frame.number


def _source(data: Any) -> tuple[Any, str]:
    """An Array, or a buffer; and the type of its elements."""
    if not isinstance(data, Array):
        try:
            return _view_buffer(data)
        except (TypeError, BufferError, ValueError):
            if not hasattr(data, "__dlpack__"):
                raise
        data = from_dlpack(data)
    if data._numpy_type:
        from warpway._numpy import refuse

        refuse(data)
    return data, data.dtype


def _copy(target: Array, source: Any) -> None:
    """Copy into an array of the same shape and type, or of as many bytes."""
    if isinstance(source, memoryview) and not source.c_contiguous:
        # As bytes: memoryview.cast() knows no complex numbers.
        target = target.view("uint8")
        source = memoryview(source.tobytes()).cast("B", target.shape)
    target.copy_from(source)


def _size(channel: Channel | WorkQueue, source: Any, dtype: str) -> dict[str, Any]:
    """The size of the frame, as an argument of acquire()."""
    if channel.dtype is None:
        return {"nbytes": source.nbytes}
    if dtype != channel.dtype:
        raise InvalidArgument(f"the frames are of type {channel.dtype}, not {dtype}: convert the array")
    return {} if source.shape == channel.shape else {"shape": source.shape}


class Frames:
    """A loop over a Channel or WorkQueue. It ends the frames that it was given, and no other ones."""

    def __init__(self, channel: Channel | WorkQueue) -> None:
        self.channel = channel
        self._given: Frame | WorkFrame | None = None

    def __iter__(self) -> Frames:
        return self

    def __aiter__(self) -> Frames:
        return self

    def __next__(self) -> Frame | WorkFrame:
        try:
            return self._next()
        except EndOfChannel:
            raise StopIteration from None
        except ValueError:
            if self.channel.closed:
                raise StopIteration from None
            raise

    def __anext__(self) -> Coroutine[Any, Any, Any]:
        from warpway.aio import next_frame  # pylint: disable=import-outside-toplevel

        return next_frame(self)

    def _next(self, *, timeout: float | None = None, cancel: Cancel | None = None) -> Frame | WorkFrame:
        self._end_given()
        self._given = frame = self.channel.receive(timeout=timeout, cancel=cancel)
        return frame

    def _put_back(self, frame: Any) -> None:
        if frame is self._given:
            self._given = None
        self.channel._put_back(frame)

    def _end_given(self) -> None:
        given, self._given = self._given, None
        if isinstance(given, WorkFrame):
            (given.reject if self.channel.closed else given.acknowledge)()
        elif given is not None:
            given.release()
