"""Calls that wait, and what keeps them waiting."""
import os
import select
import signal
import threading
import time

import pytest

import warpway
from children import LIMIT_S


class Gate:
    """A stream that is busy until open()."""

    def __init__(self, device):
        self.stream = warpway.Stream(device)
        self._opened = threading.Event()
        self.stream.call(self._opened.wait)

    def open(self):
        self._opened.set()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.open()
        self.stream.close()


def in_thread(function, *arguments, **keywords):
    """Starts a call; the function that is returned waits for its result."""
    outcome = []

    def call():
        try:
            outcome.append((function(*arguments, **keywords), None))
        except BaseException as error:  # pylint: disable=broad-exception-caught
            outcome.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()

    def result():
        thread.join(LIMIT_S)
        assert outcome, "the call has not ended"
        value, error = outcome[0]
        if error:
            raise error
        return value

    result.thread = thread
    return result


def until_asleep(thread):
    """Until a thread has waited in a system call for some milliseconds, in which it could have had the GIL."""
    seen = 0
    while seen < 10 and thread.is_alive():
        time.sleep(0.001)
        with open(f"/proc/self/task/{thread.native_id}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        seen = seen + 1 if state == "S" else 0


def when_main_thread_sleeps(function, *arguments):
    """Calls the function in another thread while this one waits."""
    begun = threading.Event()

    def call():
        begun.wait()
        until_asleep(threading.main_thread())
        function(*arguments)

    result = in_thread(call)
    begun.set()
    return result


def interrupt_main_thread():
    """As Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(function, *arguments, **keywords):
    """Ctrl-C ends a call that waits in the main thread."""
    with pytest.raises(KeyboardInterrupt):
        when_main_thread_sleeps(interrupt_main_thread)
        function(*arguments, **keywords)


def is_readable(what, limit_s=0.0):
    return bool(select.select([what], [], [], limit_s)[0])


def until(reached, what=lambda: ""):
    """Until a condition holds that another process brings about."""
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < end, what()
        time.sleep(0.001)


def until_waits(broker, count=1):
    """Until so many calls wait in the broker."""
    until(lambda: broker.info().waits >= count, broker.info)
