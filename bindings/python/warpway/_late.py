# SPDX-License-Identifier: Apache-2.0
"""Threads of multiprocessing that pickle what the program gave them before, and what they could not pickle.

Such a thread is the feeder of a queue, the manager of an executor or the task handler of a Pool: of the standard
library, or of a package with a copy of it, such as loky. It is known by its class or its function. What it cannot pickle
is lost, and multiprocessing hides that when the process ends. So it is noted here, and printed when the last feeder has
ended; a child of multiprocessing that would have ended with 0 ends with 1 then.
"""

import atexit
import os
import sys
from _thread import get_ident

from warpway._core import _fail_at_exit

_TEXTS_MAX = 20

_lost = {}  # what is printed of an object: how many there were
_found = None
_is_known = False  # to multiprocessing, which tells of its forks


def _is_late(thread):
    if type(thread).__name__ == "_ExecutorManagerThread":
        return True
    target = vars(thread).get("_target")
    if type(target) is not type(_is_late):  # what proxies and properties of the program do is not known
        return False
    if target.__qualname__ == "Pool._handle_tasks":  # also of a ThreadPool, which puts tasks as they are
        return any(getattr(argument, "__name__", "") == "send" for argument in vars(thread).get("_args", ()))
    return target.__qualname__ == "Queue._feed"


def _threads():
    threading = sys.modules.get("threading")
    return threading.enumerate() if threading else ()


def lives():
    """Whether this process has such a thread. Each close() asks, so the one that was found last is asked first."""
    global _found
    found = _found  # other threads may set it
    if not (found and found.is_alive()):
        _found = found = next(filter(_is_late, _threads()), None)
    return found is not None


def note(kind, error):
    """An object of this type was not pickled; in another thread, the program gets the exception."""
    if any(thread.ident == get_ident() and _is_late(thread) for thread in _threads()):
        text = f"{kind}: {type(error).__name__}: {error}"
        if text not in _lost and len(_lost) == _TEXTS_MAX:
            text = "others"
        _lost[text] = _lost.get(text, 0) + 1


def _tell():
    """Print what was lost. Returns whether there was any."""
    lost = _lost.copy()
    _lost.clear()
    if lost and sys.stderr:
        print(f"warpway: process {os.getpid()} has lost objects, which a thread of multiprocessing could not pickle:",
              *(f"  {count} x {text}" for text, count in lost.items()), sep="\n", file=sys.stderr, flush=True)  # fmt: skip
    return bool(lost)


def _tell_and_fail():
    """After the feeders of a process have ended."""
    process = sys.modules["multiprocessing.process"]
    if not _tell() or process.parent_process() is None:
        return
    error, frame = sys.exc_info()[1], sys._getframe()
    while frame and not (frame.f_code.co_name == "_bootstrap" or "code" in frame.f_locals):
        frame = frame.f_back
    if frame and frame.f_code.co_name == "_bootstrap":  # until Python 3.12
        if "exitcode" in frame.f_locals or (isinstance(error, SystemExit) and not error.code):
            raise SystemExit(1)
    elif not frame:
        _fail_at_exit()
    elif frame.f_locals["code"] == 0:  # what os._exit() is about to be given
        sys.modules["multiprocessing.util"]._flush_std_streams()
        os._exit(1)


def _watch(_=None):
    """Be called at the end of this process; of a child of multiprocessing, again when it has forgotten its parent's."""
    global _is_known
    util = sys.modules.get("multiprocessing.util")
    if util is None:  # if it is imported later, its feeders end before this is called
        atexit.register(_tell)
        return
    util.Finalize(None, _tell_and_fail, exitpriority=-1000)  # the feeders have -5
    if not _is_known:
        util.register_after_fork(_watch, _watch)
    _is_known = True


def _forget():
    """In a child made by fork()."""
    _lost.clear()
    if "multiprocessing.util" in sys.modules:
        _watch()


_watch()
os.register_at_fork(after_in_child=_forget)
