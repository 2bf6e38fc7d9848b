# SPDX-License-Identifier: Apache-2.0
"""Arrays and timelines that all ranks of a node have, for mpi4py: ``import warpway.mpi``.

::

    from mpi4py import MPI
    import warpway.mpi

    comm = MPI.COMM_WORLD
    mine = warpway.zeros((1000, 1000), "float32")
    arrays = warpway.mpi.share(comm, mine, "write")    # one for each rank; None: on another node
    arrays[(comm.rank + 1) % comm.size][0].copy_from(mine[-1])

An `Array` of a GPU is also an argument of MPI calls where the MPI takes device memory, for instance under
``warpway run --mpi``: ``comm.Send(mine, dest=1)``.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from warpway import _core

__all__ = ["share", "timelines"]

_T = TypeVar("_T", _core.Array, _core.Memory)


def _agree(comm: Any, failure: Exception | None) -> None:
    """Raise in all ranks what failed in one of them."""
    failures = comm.allgather(None if failure is None else f"rank {comm.rank}: {failure}")
    first = next((text for text in failures if text), None)
    if failure is not None:
        raise failure
    if first is not None:
        raise _core.Error(f"another rank of the communicator failed, {first}")


def _exchange(comm: Any, value: Any, token: Any, options: dict[str, Any]) -> list[Any]:
    node = comm.Split_type(_shared_memory(), comm.rank)
    try:
        text: str | None = None
        failure: Exception | None = None
        try:
            if value is not None and node.size > 1:
                text = token(uses=node.size - 1).text
        except Exception as error:
            failure = error
        _agree(comm, failure)
        offers = node.allgather((comm.rank, text))
    finally:
        node.Free()
    found: list[Any] = [None] * comm.size
    found[comm.rank] = value
    try:
        for rank, text in offers:
            if text is not None and rank != comm.rank:
                found[rank] = _core.Token(text).open(**options)
    except Exception as error:
        failure = error
    try:
        _agree(comm, failure)
    except Exception:
        for rank, peer in enumerate(found):
            if peer is not None and rank != comm.rank:
                peer.close()
        raise
    return found


def _shared_memory() -> Any:
    from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]

    return MPI.COMM_TYPE_SHARED


def share(
    comm: Any,
    array: _T | None,
    access: Literal["read", "write"] = "read",
    *,
    device: Any = None,
) -> list[_T | None]:
    """Every rank of a node gets the array of every other one, where it lies; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        An intracommunicator; all its ranks call this.
    array : Array, Memory or None
        This rank's own. None: it has none, and gets those of the others.
    access : "read" or "write"
        What the others may do with it, and what this rank asks for; the same in all ranks.
    device
        Which one is to reach the others' arrays, as for `Token.open`; None: a device that can.

    Returns
    -------
    list
        One for each rank of ``comm``: its array, to be closed when it is no longer used; ``array`` itself for the own
        rank; None for a rank on another node, or that gave None.

    Raises
    ------
    Error
        In all ranks, if one of them cannot share its array or open another one's: in that rank the exception of
        `Array.token` or `Token.open`, in the others one that says which rank failed, and why.
    """
    return _exchange(
        comm,
        array,
        None if array is None else lambda uses: array.token(access, uses=uses),
        {"access": access, "device": device},
    )


def timelines(comm: Any) -> list[_core.Timeline | None]:
    """A timeline of each rank of a node, in every one of them; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        An intracommunicator; all its ranks call this.

    Returns
    -------
    list
        One for each rank of ``comm``. The own one is new, and this process signals it; the others are for waiting. None
        for a rank on another node. If a rank ends, waits for its timeline raise `PeerLost`.

    Raises
    ------
    Error
        In all ranks, as `share`.
    """
    own = _core.Timeline()
    try:
        return _exchange(comm, own, own.token, {})
    except BaseException:
        own.close()
        raise
