# SPDX-License-Identifier: Apache-2.0
"""Waits of this package in asyncio.

`run` awaits any call that takes ``cancel=``. The methods whose names end in ``_async`` use it, and so do
``async for event in watch`` and ``async for frame in channel``, or in a work queue, and the end of ``async with``. Each
wait has a thread of its own, which ends with the wait: so the number of waits has no limit, waits that last for ever
delay no others, and none of them holds up the end of the program. When the awaiting task is cancelled, the wait ends
first; but the end of ``async with`` goes on until the object is closed.

A wait for a frame, or a slot, of a `Channel` or `WorkQueue`, or for a `Ticket`, needs no thread: the loop polls its
``fileno()``. With a stream a wait for a frame has one, since the frame need not be complete then; so has every wait in a
loop without ``add_reader``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading

from warpway._core import Cancel, Channel, EndOfChannel, LimitReached, Timeout, WorkQueue, WrongState

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from warpway._core import Ticket, Watch, WatchEvent

    _T = TypeVar("_T")

__all__ = ["run"]

LOOK_S = 0.04


async def run(function: Callable[..., _T], /, *arguments: Any, **keywords: Any) -> _T:
    """Call a function that takes ``cancel=`` in a thread of its own, and await its end.

    Parameters
    ----------
    function : callable
        Such as ``stream.synchronize`` or ``broker.get``.
    *arguments, **keywords
        Its arguments, but for `cancel`: cancel the task instead.

    Returns
    -------
    object
        What the function returns.
    """
    return await _run(function, arguments, keywords)


async def _run(
    function: Callable[..., _T],
    arguments: tuple[Any, ...] = (),
    keywords: dict[str, Any] = {},
    give_back: Callable[[_T], object] | None = None,
) -> _T:
    """As `run`; `give_back` gets what the call returned although the task had been cancelled."""
    if "cancel" in keywords:
        raise TypeError("an awaited call takes no cancel=: cancel the task that awaits it")
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_T] = loop.create_future()
    cancel = Cancel()
    call = functools.partial(function, *arguments, cancel=cancel, **keywords)
    threading.Thread(target=_call, args=(loop, ended, call), name="warpway wait", daemon=True).start()
    try:
        await asyncio.wait((ended,))
        return ended.result()
    except asyncio.CancelledError:
        cancel.set()
        await _settle(ended)
        if give_back and not ended.exception():
            give_back(ended.result())
        raise
    finally:
        cancel.set()  # also when the coroutine is closed instead of cancelled


async def close(handle: Any) -> None:
    """The end of an ``async with`` block: close() may wait for a GPU, or for calls that run."""
    try:
        await _run(lambda cancel: handle.close())
    except RuntimeError:  # the loop is closed, or no thread can be started
        handle.close()


async def ticket_result(ticket: Ticket) -> Any:
    """The result of a call; if the task is cancelled, the call is, too."""
    if ticket.done:
        return ticket.result()
    try:
        with contextlib.suppress(LimitReached, OSError):  # of descriptors, of which a thread needs none
            while _has_readers() and not ticket.done:
                await _readable(ticket.fileno(), None)
        return ticket.result() if ticket.done else await run(ticket.result)
    except asyncio.CancelledError:
        ticket.cancel()
        raise


async def next_event(watch: Watch) -> WatchEvent:
    """The next event of a Watch; StopAsyncIteration: the watch was closed."""
    try:
        return await _run(watch.next, give_back=watch._put_back)
    except ValueError:
        if watch.closed:
            raise StopAsyncIteration from None
        raise


async def acquire(channel: Any, stream: Any = None, timeout: float | None = None, **keywords: Any) -> Any:
    """`Channel.acquire_async`, `WorkQueue.acquire_async`."""
    if _is_polled(channel, stream, keywords):
        return await _poll(channel, functools.partial(channel.acquire, **keywords), timeout, _discard)
    return await _run(channel.acquire, (stream, timeout), keywords, _discard)


def _discard(frame: Any) -> None:
    """Give a slot back that was acquired although the task had been cancelled."""
    frame.discard()


async def receive(channel: Any, stream: Any = None, timeout: float | None = None, **keywords: Any) -> Any:
    """`Channel.receive_async`, `WorkQueue.receive_async`."""
    if _is_polled(channel, stream, keywords):
        return await _poll(channel, functools.partial(channel.receive, **keywords), timeout, channel._put_back)
    return await _run(channel.receive, (stream, timeout), keywords, channel._put_back)


async def next_frame(frames: Any) -> Any:
    """The next frame of a loop over a Channel or WorkQueue, or of ``anext(channel)``; StopAsyncIteration: no frame comes any more, or this side has closed it."""
    channel = getattr(frames, "channel", frames)
    try:
        if _is_polled(channel):
            return await _poll(channel, frames._next, None, frames._put_back)
        return await _run(frames._next, give_back=frames._put_back)
    except EndOfChannel:
        raise StopAsyncIteration from None
    except ValueError:
        if channel.closed:
            raise StopAsyncIteration from None
        raise


# --- channels and work queues, by their descriptors ---


def _is_polled(channel: Any, stream: Any = None, keywords: dict[str, Any] = {}) -> bool:
    """Whether the loop waits for it; a thread does otherwise. A `cancel` is refused there."""
    return isinstance(channel, (Channel, WorkQueue)) and stream is None and "cancel" not in keywords and _has_readers()


def _has_readers() -> bool:
    loop = asyncio.get_running_loop()
    return type(loop).add_reader is not asyncio.AbstractEventLoop.add_reader


async def _poll(
    channel: Channel | WorkQueue, call: Callable[..., _T], timeout: float | None, give_back: Callable[[_T], object]
) -> _T:
    """Try a call whenever the channel's descriptor is readable. `give_back` as of `_run`."""
    loop = asyncio.get_running_loop()
    end = None if timeout is None else loop.time() + timeout
    while True:
        left = None if end is None else max(end - loop.time(), 0.0)
        try:
            return call(timeout=0)
        except Timeout:
            if left == 0.0:
                raise
        except WrongState:
            if channel.device.backend != "cuda":
                raise
            # Views that ended hold the frame until the GPU has done its work, which a call waits for.
            return await _run(functools.partial(call, timeout=left), give_back=give_back)
        await _readable(channel.fileno(), _look_in(channel, left))


def _look_in(channel: Channel | WorkQueue, left: float | None) -> float | None:
    """For these only calls look: a GPU has done its work with frames; a work queue needs held frames no more."""
    if not (isinstance(channel, WorkQueue) or channel.device.backend == "cuda") or not channel.held:
        return left
    return LOOK_S if left is None else min(left, LOOK_S)


async def _readable(fd: int, seconds: float | None) -> None:
    """Wait until a descriptor is readable, or the time is over."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[None] = loop.create_future()
    own = os.dup(fd)  # a loop has one reader for each descriptor, and several tasks may wait
    try:
        loop.add_reader(own, _note, came)
        await asyncio.wait((came,), timeout=seconds)
    finally:
        loop.remove_reader(own)
        os.close(own)


def _note(came: asyncio.Future[None]) -> None:
    if not came.done():
        came.set_result(None)


# --- threads ---


def _call(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[_T], call: Callable[[], _T]) -> None:
    settle: Callable[[Any], None]
    result: Any
    try:
        settle, result = ended.set_result, call()
    except StopIteration as error:  # which no Future accepts
        settle, result = ended.set_exception, RuntimeError(f"the call raised {error!r}")
    except BaseException as error:  # pylint: disable=broad-exception-caught
        settle, result = ended.set_exception, error
    try:
        loop.call_soon_threadsafe(settle, result)
    except RuntimeError:
        pass  # the loop is closed, so nothing awaits the end
    finally:
        del result  # the traceback of an exception has this frame


async def _settle(ended: asyncio.Future[Any]) -> None:
    """Wait until a call has ended that was cancelled, which takes less than 0.1 s."""
    while not ended.done():
        try:
            await asyncio.wait((ended,))
        except asyncio.CancelledError:
            pass
    ended.exception()  # otherwise the loop reports that nobody asked for it
