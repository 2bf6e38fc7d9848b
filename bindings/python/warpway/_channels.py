# SPDX-License-Identifier: Apache-2.0
"""Copies of arrays into the frames of a channel."""

from __future__ import annotations

from warpway._arrays import _FORMATS
from warpway._core import Array, InvalidArgument, from_dlpack

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

    from warpway._core import Cancel, Channel


def send(
    channel: Channel, data: Any, metadata: Any = b"", *, timeout: float | None = None, cancel: Cancel | None = None
) -> int:
    """`Channel.send`."""
    source = _source(data)
    with channel.acquire(timeout=timeout, cancel=cancel, **_size(channel, source)) as frame:
        if metadata:
            frame.metadata = metadata
        if source.nbytes:
            frame.array.copy_from(source)
    return frame.number


def _source(data: Any) -> Array | memoryview:
    """What `Array.copy_from` takes: an Array, or a buffer in C's order."""
    if isinstance(data, Array):
        return data
    try:
        view = memoryview(data)
    except (TypeError, BufferError, ValueError):
        return from_dlpack(data) if hasattr(data, "__dlpack__") else memoryview(data)
    return view if view.c_contiguous else _contiguous(view)


def _contiguous(view: Any) -> memoryview:
    return memoryview(view.tobytes()).cast(view.format, view.shape)


def _size(channel: Channel, source: Any) -> dict[str, Any]:
    """The size of the frame, as an argument of acquire()."""
    if channel.dtype is None:
        return {"nbytes": source.nbytes}
    found = source.dtype if isinstance(source, Array) else _FORMATS.get(source.format, source.format)
    if found != channel.dtype:
        raise InvalidArgument(f"the frames of this channel are of type {channel.dtype}, not {found}: convert the array")
    return {} if source.shape == channel.shape else {"shape": source.shape}
