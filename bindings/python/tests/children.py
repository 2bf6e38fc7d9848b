"""Processes that a test starts: without fork(), and with a time limit for whatever it waits for."""
import multiprocessing
import os
import subprocess
import sys
import textwrap
import traceback

import warpway

LIMIT_S = 60 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))

context = multiprocessing.get_context("spawn")


class Child:
    """A process that runs function(parent, *arguments), where parent is a Connection to the test.

    The function is one of a test module's, since the process imports it anew. Both sides may send to each
    other what can be pickled.
    """

    def __init__(self, function, arguments=()):
        self._results, results = context.Pipe(duplex=False)
        self._talk, talk = context.Pipe()
        self.process = context.Process(target=_run, args=(results, talk, function, arguments), daemon=True)
        self.process.start()
        # The other ends are now the child's alone, so that its end is noticed.
        results.close()
        talk.close()

    @property
    def pid(self):
        return self.process.pid

    def send(self, value):
        self._talk.send(value)

    def has_sent(self):
        """Whether receive() returns at once."""
        return self._talk.poll()

    def receive(self, limit_s=LIMIT_S):
        """What the function sent next. AssertionError, with the child's exception: it ended instead."""
        try:
            if self._talk.poll(limit_s):
                return self._talk.recv()
        except EOFError:
            self.result(limit_s)
            raise AssertionError("the child ended, and did not send what the test waits for") from None
        raise self._too_late(limit_s, "sent nothing")

    def result(self, limit_s=LIMIT_S):
        """What the function returned. AssertionError: it raised an exception, crashed or did not end."""
        try:
            if not self._results.poll(limit_s):
                raise self._too_late(limit_s, "did not return")
            value, problem = self._results.recv()
        except EOFError:
            self.process.join(limit_s)
            raise AssertionError(f"the child ended with status {self.process.exitcode}") from None
        self.process.join(limit_s)
        assert problem is None, f"in the child:\n{problem}"
        return value

    def kill(self):
        """SIGKILL, whatever the process does, and wait for its end."""
        self.process.kill()
        self.process.join()

    def _too_late(self, limit_s, what):
        self.kill()
        return AssertionError(f"the child {what} within {limit_s} s, and was killed")


def _run(results, talk, function, arguments):
    try:
        results.send((function(talk, *arguments), None))
    except BaseException:  # pylint: disable=broad-exception-caught
        results.send((None, traceback.format_exc()))


def hold_timeline(talk):
    """For a Child: sends a Timeline of its own, which it never signals."""
    timeline = warpway.Timeline()
    talk.send(timeline)
    talk.recv()


def run_python(program, *arguments, **environment):
    """What a program prints, run by a Python of its own. AssertionError: it failed, complained, or did not end."""
    ended = subprocess.run([sys.executable, "-B", "-X", "faulthandler", "-c", textwrap.dedent(program), *arguments],
                           env={**os.environ, **environment}, capture_output=True, text=True, timeout=2 * LIMIT_S, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout
