"""Calls that wait, and what keeps them waiting."""
import os
import signal
import threading

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
        except Exception as error:  # pylint: disable=broad-exception-caught
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

    return result


def interrupt_main_thread():
    """As Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)
