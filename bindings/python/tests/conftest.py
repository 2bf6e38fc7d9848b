"""What the tests of the Python package share: a broker, the device, other processes, TAP.

The tests use the package that Python finds: the build folder's when meson runs them, an installed one
otherwise. They find no broker, so the first that needs one has it started, in a folder made for the
run; both are gone afterwards. WW_TEST_DEVICE names the device.
"""
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import warpway
from children import Child
from tap import TapReporter
from waits import Gate


def pytest_addoption(parser):
    parser.addoption("--tap", action="store_true", help="print TAP, and nothing else")
    parser.addoption("--part", metavar="N/COUNT", default="1/1",
                     help="one of COUNT parts of the files only; it is written with the '='")


# Seconds, on a busy machine; each other file takes about one.
SLOW = {"test_examples.py": 15, "test_service_peers.py": 11, "test_leaks.py": 7, "test_pickle.py": 7, "test_fork.py": 6,
        "test_in_flight.py": 6, "test_robust.py": 5, "test_lent.py": 4, "test_service_after.py": 3}  # fmt: skip


def part_of(path, count):
    """The number of the part that a file belongs to. All parts take about the same time."""
    seconds = {file: SLOW.get(file.name, 1) for file in sorted(path.parent.glob("test_*.py"))}
    totals = [0] * count
    for file in sorted(seconds, key=seconds.get, reverse=True):
        part = totals.index(min(totals))
        totals[part] += seconds[file]
        if file == path:
            return part + 1
    return None


def pytest_ignore_collect(collection_path, config):
    part, count = map(int, config.getoption("part").split("/"))
    return True if part_of(collection_path, count) not in (None, part) else None


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Before any test module is imported, since the library reads the environment in every call."""
    if config.getoption("tap"):
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(TapReporter(), "tap")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has it ignored in the background
    folder = tempfile.mkdtemp(prefix="warpway-")
    os.environ["XDG_RUNTIME_DIR"] = folder
    os.environ["WARPWAY_BROKER"] = f"{folder}/warpway/broker.sock"


def pytest_unconfigure():
    if os.path.exists(os.environ["WARPWAY_BROKER"]):
        subprocess.run([find_tool(), "serve", "--stop", "--force"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(os.environ["XDG_RUNTIME_DIR"])


def find_tool():
    """The program warpway: the build's, or the one that was installed with this Python's package."""
    return os.environ.get("WARPWAY") or str(Path(sys.executable).with_name("warpway"))


@pytest.fixture(autouse=True)
def feeders_end():
    """While the feeder of a queue lives, which ends some time after the queue, a closed Memory keeps its hold."""
    yield
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":
            gc.collect()
            thread.join(5)  # a test that failed keeps its queue


@pytest.fixture(scope="session")
def tool():
    """The path of the program warpway."""
    return find_tool()


@pytest.fixture(scope="session")
def device():
    """The name of the device under test: 'host', or a GPU such as 'cuda:0'."""
    return os.environ.get("WW_TEST_DEVICE", "host")


@pytest.fixture
def gpu(device):
    """The device under test, which is a GPU."""
    if device == "host":
        pytest.skip("this is about GPUs")
    return device


@pytest.fixture
def gate(device):
    """A stream that is busy until gate.open()."""
    with Gate(device) as made:
        yield made


@pytest.fixture
def broker():
    """A connection to the broker of this run."""
    with warpway.Broker() as opened:
        yield opened


@pytest.fixture
def spawn():
    """Starts a function in a process of its own: spawn(function, *arguments) is a Child."""
    children = []

    def start(function, *arguments):
        children.append(Child(function, arguments))
        return children[-1]

    yield start
    for child in children:
        child.kill()


@pytest.fixture
def no_broker(tool, monkeypatch):
    """An address where no broker listens yet; one that was started ends with the test."""
    with tempfile.TemporaryDirectory(prefix="warpway-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        monkeypatch.setenv("WARPWAY_BROKER", f"{folder}/warpway/broker.sock")
        yield
        subprocess.run([tool, "serve", "--stop", "--force"], check=True, stdout=subprocess.DEVNULL)
