# SPDX-License-Identifier: Apache-2.0
"""Captures of streams into CUDA graphs."""

from collections.abc import Iterator
from contextlib import contextmanager

from warpway import _core


@contextmanager
def capturing() -> Iterator[None]:
    """A context in which streams can be captured into CUDA graphs while arrays end in any thread.

    CUDA ends captures when the memory of an array that other libraries used is released. The
    package sees captures of blocking streams, and of those that have a `Stream`. For others, such
    as the streams of PyTorch and JAX, it must be told::

        with warpway.capturing():
            with torch.cuda.graph(graph):
                ...

    Such memory is released by a later call, after the context.
    """
    _core.capture_begin()
    try:
        yield
    finally:
        _core.capture_end()
