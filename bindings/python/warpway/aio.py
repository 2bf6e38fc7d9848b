# SPDX-License-Identifier: Apache-2.0
"""Waits of this package in asyncio.

`run` awaits any call that takes ``cancel=``. The methods whose names end in ``_async`` use it, and so do
``async for event in watch`` and ``async for frame in channel``. Each wait has a thread of its own, which ends with the wait: so the number of
waits has no limit, waits that last for ever delay no others, and none of them holds up the end of the
program. When the awaiting task is cancelled, the wait ends first.
"""

from __future__ import annotations

import asyncio
import functools
import threading

from warpway._core import Cancel, EndOfChannel

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from warpway._core import Channel, Frame, Watch, WatchEvent

    _T = TypeVar("_T")

__all__ = ["run"]


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


async def next_event(watch: Watch) -> WatchEvent:
    """The next event of a Watch; StopAsyncIteration: the watch was closed."""
    try:
        return await run(watch.next)
    except ValueError:
        if watch.closed:
            raise StopAsyncIteration from None
        raise


async def receive(channel: Channel, *arguments: Any, **keywords: Any) -> Frame:
    """`Channel.receive_async`."""
    return await _run(channel.receive, arguments, keywords, channel._put_back)


async def next_frame(channel: Channel) -> Frame:
    """The next frame of an iteration; StopAsyncIteration: one of the two sides has closed the channel."""
    try:
        return await _run(channel._next, give_back=channel._put_back)
    except EndOfChannel:
        raise StopAsyncIteration from None
    except ValueError:
        if channel.closed:
            raise StopAsyncIteration from None
        raise


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
