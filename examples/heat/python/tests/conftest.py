"""What the tests of the user interfaces share: a broker, heat daemons, a screen, a terminal.

Meson says in the environment where programs are: HEATD, WARPWAY. Nothing is drawn on a screen that a person looks at:
windows are on one of Xvfb, and heat-top is in a terminal of tmux.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import warpway
from tap import TapReporter

FOLDER = Path(__file__).parent.parent
LIMIT_S = 100 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))

sys.path.insert(0, str(FOLDER))


def pytest_addoption(parser):
    parser.addoption("--tap", action="store_true", help="print TAP, and nothing else")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if config.getoption("tap"):
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(TapReporter(), "tap")
    folder = tempfile.mkdtemp(prefix="heat-")
    os.environ["XDG_RUNTIME_DIR"] = folder
    os.environ["WARPWAY_BROKER"] = f"{folder}/warpway/broker.sock"
    os.environ["MPLCONFIGDIR"] = f"{folder}/matplotlib"


def pytest_unconfigure():
    if os.path.exists(os.environ["WARPWAY_BROKER"]):
        stop = [os.environ["WARPWAY"], "serve", "--stop", "--force"]
        subprocess.run(stop, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(os.environ["XDG_RUNTIME_DIR"])


def wait_until(condition, what, limit_s=LIMIT_S):
    """What condition() returns when that is true; `what` may be a function that says what is there instead."""
    end = time.monotonic() + limit_s
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {what() if callable(what) else what}")
        time.sleep(0.02)


class Heatd:
    """Heat daemons of one name, one after the other, and what they say of themselves."""

    def __init__(self, name):
        self.name = name
        self.process = None
        self.client = None
        self.prefix = ()  # a command that runs the daemon as another user

    def start(self, *settings):
        """Settings are as on the command line: "rows=64"."""
        arguments = [*self.prefix, os.environ["HEATD"], "--name", self.name]
        for setting in settings:
            arguments += ["--set", setting]
        self.process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
        self.client = warpway.Client(f"{self.name}/steer", timeout=LIMIT_S)
        # A former daemon's service may have had the name until now.
        wait_until(lambda: self.process.poll() is not None or self.is_there(), "the daemon serves")
        assert self.process.poll() is None
        return self

    def is_there(self):
        try:
            return self.status().pid == self.process.pid
        except (warpway.PeerLost, warpway.Unavailable, warpway.NotFound):
            self.client.close()
            self.client = warpway.Client(f"{self.name}/steer", timeout=LIMIT_S)
            return False

    @property
    def pid(self):
        return self.process.pid

    def call(self, function, *arguments):
        return self.client.call(function, *arguments, timeout=LIMIT_S)

    def status(self):
        from heat_steering import Status

        return Status(*self.call("status"))

    def status_or_end(self):
        """None: it has ended, or does so."""
        try:
            return self.status()
        except (warpway.PeerLost, warpway.Unavailable):
            return None

    def header(self):
        """Of the newest frame."""
        return self.frame()[0]

    def frame(self):
        """The newest frame: what the daemon says of it, and its cells as lists."""
        from heat_model import Header

        with warpway.Channel.get(f"{self.name}/field", timeout=LIMIT_S) as channel:
            with channel.receive(timeout=LIMIT_S) as frame:
                return Header.from_bytes(frame.metadata), memoryview(frame).tolist()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(LIMIT_S)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(LIMIT_S)
        if self.client:
            self.client.close()
        try:
            warpway.Broker().remove(f"{self.name}/state")
        except warpway.NotFound:
            pass


@pytest.fixture
def heatd(request):
    """A daemon that is not started yet, with a name of the test's own."""
    daemon = Heatd(f"heat-{request.node.name.replace('[', '-').rstrip(']')[:60]}")
    yield daemon
    daemon.end()


@pytest.fixture
def python():
    """The start of a command that runs a program of Python."""
    return [sys.executable, "-B"]


@pytest.fixture(scope="session")
def display():
    """A screen of 1280 x 800 that nobody sees: its name."""
    for program in "Xvfb", "xdotool":
        if not shutil.which(program):
            pytest.skip(f"{program} is missing: scripts/setup --all installs it")
    for module in "tkinter", "matplotlib", "PIL.ImageTk":
        pytest.importorskip(module, reason=f"the Python module {module} is missing: scripts/setup --all installs it")
    reading, writing = os.pipe()
    screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"]
    process = subprocess.Popen(screen, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as file:
        number = file.readline().strip()
    assert number, "Xvfb has not started"
    yield f":{number}"
    process.terminate()
    process.wait(LIMIT_S)
