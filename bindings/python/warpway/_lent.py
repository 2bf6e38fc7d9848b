# SPDX-License-Identifier: Apache-2.0
"""Memory of other libraries that this process has released, and that other processes still use.

Its bytes belong to the allocator of the other library, which would hand them out again. So a Memory that wraps them,
and of which a token or a name was given away, comes here when it is released. It stays until its broker says that no
other process holds it and no token of it is in flight. While the broker does not answer, it stays.

One thread asks, for all of them, and ends with the last. At the end of Python nothing is kept: the bytes end with the
process.
"""

import atexit
import os
from _thread import allocate_lock, start_new_thread
from time import sleep

from warpway._core import Error

_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.25
_STEP_S = 0.01  # of a pause: within it the thread notices that Python ends
_END_S = 5.0  # the longest that the end of Python waits for the thread, which may be asking a broker that hangs

# Released in any thread, also by the garbage collector: so nothing here waits for a lock.
_lent = []
_is_asked = allocate_lock()  # held by the thread
_is_ending = False


def keep(memory):
    """Keep a Memory until no other process uses it."""
    if _is_ending:
        return
    _lent.append(memory)
    if _is_asked.acquire(False):
        try:
            start_new_thread(_ask, ())
        except RuntimeError:  # Python ends, or there are no more threads
            _is_asked.release()
            _lent.remove(memory)


def _ask():
    pause_s = _FIRST_PAUSE_S
    while True:
        while _lent:
            released = _release()
            pause_s = _FIRST_PAUSE_S if released else min(2 * pause_s, _LONGEST_PAUSE_S)
            _pause(pause_s)
        _is_asked.release()
        if not _lent or not _is_asked.acquire(False):  # one may have come just before the release
            return


def _pause(pause_s):
    while _lent and pause_s > 0:
        sleep(min(pause_s, _STEP_S))
        pause_s -= _STEP_S


def _release():
    """Let go of what nobody else uses. Returns whether there was any."""
    held = {}
    free = [memory for memory in tuple(_lent) if not _is_used(memory, held)]
    for memory in free:
        if memory in _lent:
            _lent.remove(memory)
        memory.close()
    return bool(free)


def _is_used(memory, held):
    """Whether another process holds it, or a token is in flight; `held` has what each broker said."""
    try:
        broker = memory.broker
        if broker is None:
            return False
        if broker.address not in held:
            held[broker.address] = broker._held_elsewhere()
    except Error:
        return True
    return memory.object_id in held[broker.address]


def _forget():
    """In a child made by fork(), which has no thread, and where these objects are of no use."""
    global _is_asked
    _lent.clear()
    _is_asked = allocate_lock()


def _end():
    """A thread that is starting while Python ends may crash: none is started any more, and the last one has ended."""
    global _is_ending
    _is_ending = True
    _lent.clear()
    _is_asked.acquire(timeout=_END_S)


atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
