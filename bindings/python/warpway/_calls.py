# SPDX-License-Identifier: Apache-2.0
"""What `Service` and `Client` do in Python: looking at functions, logging, copying results."""

from __future__ import annotations

from warpway._arrays import share
from warpway._core import Error

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from warpway._core import Array, Client, Device, Service

    _F = TypeVar("_F", bound=Callable[..., Any])


def offer(
    service: Service,
    name: str,
    signature: str,
    function: _F,
    *,
    idempotent: bool = False,
    enqueues: bool = False,
    uids: Sequence[int] | None = None,
    gids: Sequence[int] | None = None,
    batch: int | None = None,
    batch_wait: float = 0.0,
) -> _F:
    """`Service.offer`."""
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called")
    if _is_coroutine(function):
        raise TypeError(f"{function!r} is a coroutine function: a service calls functions, in the thread that serves")
    if batch is None and batch_wait:
        raise ValueError("batch_wait is for a function that runs several calls at once: it needs batch=N")
    service._offer(
        name, signature, function, _wants_call(function), idempotent, enqueues, uids, gids, batch, batch_wait
    )
    return function


def function(
    service: Service,
    signature: str,
    *,
    name: str | None = None,
    idempotent: bool = False,
    enqueues: bool = False,
    uids: Sequence[int] | None = None,
    gids: Sequence[int] | None = None,
    batch: int | None = None,
    batch_wait: float = 0.0,
) -> Callable[[_F], _F]:
    """`Service.function`."""
    if not isinstance(signature, str):
        raise TypeError("the decorator needs a signature: @service.function('f32 a -> f32 b')")

    def decorate(function: _F) -> _F:
        return offer(
            service,
            function.__name__ if name is None else name,
            signature,
            function,
            idempotent=idempotent,
            enqueues=enqueues,
            uids=uids,
            gids=gids,
            batch=batch,
            batch_wait=batch_wait,
        )

    return decorate


def _is_coroutine(function: Callable[..., Any]) -> bool:
    """Whether a call of it runs nothing yet."""
    from inspect import isasyncgenfunction, iscoroutinefunction

    return iscoroutinefunction(function) or isasyncgenfunction(function)


def _wants_call(function: Callable[..., Any]) -> bool:
    """Whether it has a parameter ``call``; one of C cannot be asked, and has none."""
    from inspect import Parameter, signature

    try:
        parameter = signature(function).parameters.get("call")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def copy_result(result: Any, device: Device) -> Array:
    """An Array with a copy of an array of another library, where results are."""
    return share(result, copy=True, device=device)


def log_failure(name: str, error: BaseException) -> None:
    """What a function raised, with its traceback."""
    from logging import getLogger

    getLogger("warpway").error("the function '%s' of a service raised an exception", name, exc_info=error)


def list_names(client: Client) -> list[str]:
    """What dir() lists: the functions, too, as far as they can be attributes."""
    names = set(object.__dir__(client))
    try:
        names.update(info.name for info in client.functions() if info.name.isidentifier())
    except (Error, ValueError):
        pass  # closed, or the server is lost
    return sorted(names)
