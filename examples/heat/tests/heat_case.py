"""heat_case.py - what the tests of heat daemons share: a broker of their own, daemons, watchers, TAP

Programs are found by the environment: HEATD (the daemon), HEAT_WATCH (heat_watch.c), WARPWAY and WARPWAYD.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

HEATD = os.path.abspath(os.environ["HEATD"])
HEAT_WATCH = os.path.abspath(os.environ["HEAT_WATCH"])
WARPWAY = os.path.abspath(os.environ["WARPWAY"])
WARPWAYD = os.path.abspath(os.environ["WARPWAYD"])
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_S = 120 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))
FOLDER = tempfile.mkdtemp(prefix="warpway-heat-")
ENVIRONMENT = {**os.environ, "XDG_RUNTIME_DIR": FOLDER, "WARPWAY_BROKER": os.path.join(FOLDER, "warpway/broker.sock"),
               "OMP_WAIT_POLICY": "passive"}
for name in ("WARPWAY_NO_START", "NOTIFY_SOCKET", "WATCHDOG_USEC"):
    ENVIRONMENT.pop(name, None)

IS_PAUSED, IS_LAST, IS_GPU = 1, 2, 4
STARTED = []


def expect(what, told):
    if not what:
        raise AssertionError(told)


def start(*command, log=None, **more):
    """A process whose output is read; log: a file of FOLDER for its standard error."""
    with open(log or os.devnull, "ab") as stream:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stream,
                                   env={**ENVIRONMENT, **more.pop("env", {})}, text=True, **more)
    STARTED.append(process)
    return process


def run(*command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          env={**ENVIRONMENT, **more.pop("env", {})}, **more)


def listens(address):
    """Whether a broker does; the socket has its name before that."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
        return end.connect_ex(address) == 0


def wait_until(is_true, what):
    """What another process does is looked for until it is there: nobody tells it."""
    end = time.monotonic() + LIMIT_S
    while not is_true():
        expect(time.monotonic() < end, f"it took too long: {what}")
        time.sleep(0.01)


def path_of(name):
    return os.path.join(FOLDER, name)


def write(name, text):
    with open(path_of(name), "w", encoding="utf-8") as stream:
        stream.write(text)
    return path_of(name)


def read(name):
    with open(path_of(name), encoding="utf-8") as stream:
        return stream.read()


class Daemon:
    """A daemon of its own name, small and quick if the settings do not say otherwise."""

    def __init__(self, name, *options, env=None, **settings):
        self.name = name
        self.log = path_of(name + ".log")
        values = {"name": name, "rows": 32, "columns": 48, "rows_max": 64, "columns_max": 64, **settings}
        self.settings = [f"--set={key}={value}" for key, value in values.items()]
        self.env = env or {}
        self.start(*options)

    def start(self, *options):
        begun = len(self.said())
        self.process = start(HEATD, *options, *self.settings, log=self.log, env=self.env)
        wait_until(lambda: re.search(r"(begins|continues) simulation", self.said()[begun:]) or
                   self.process.poll() is not None, "the start of a daemon")
        expect(self.process.poll() is None, f"it ended: {self.said()}")

    def said(self):
        try:
            with open(self.log, encoding="utf-8") as stream:
                return stream.read()
        except FileNotFoundError:
            return ""

    def call(self, function, **arguments):
        """The results of a function of its service; an error is AssertionError."""
        words = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in arguments.items()]
        done = run(WARPWAY, "call", "--json", f"{self.name}/steer", function, *words)
        expect(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)["results"]

    def refuses(self, words, function, **arguments):
        try:
            self.call(function, **arguments)
        except AssertionError as error:
            expect(words in str(error), f"{words!r} is not in {error}")
            return
        raise AssertionError(f"{function} {arguments} was done")

    def status(self):
        """Numbers that JSON's readers could round come as text."""
        return {key: int(value) if key in ("run", "step", "frames", "started_ns") else value
                for key, value in self.call("status").items()}

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """By SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=LIMIT_S)


class Watcher:
    """A process that receives frames and checks them."""

    def __init__(self, name, frames=0, file=None):
        self.process = start(HEAT_WATCH, f"{name}/field", str(frames), *([file] if file else []),
                             log=path_of("watch.log"))

    def line(self):
        return self.process.stdout.readline().strip()

    def counts(self, code=0):
        """After the end that it was told, or that comes by itself."""
        output, _ = self.process.communicate(timeout=LIMIT_S)
        expect(self.process.returncode == code, f"{self.process.returncode}: {output}{read('watch.log')}")
        return json.loads(output.strip().splitlines()[-1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.counts()


def newest(name, file=None):
    """A frame as it comes next, checked. A daemon learns with its next frame which watchers have left: while it publishes
    one a second, many that come and go fill all places."""
    end = time.monotonic() + LIMIT_S
    while True:
        done = run(HEAT_WATCH, f"{name}/field", "1", *([file] if file else []))
        if "WW_ERR_LIMIT" not in done.stderr or time.monotonic() > end:
            expect(done.returncode == 0, str(done))
            return json.loads(done.stdout.strip().splitlines()[-1])
        time.sleep(0.1)


def end_started():
    while STARTED:
        with STARTED.pop() as process:
            process.kill()


def end_broker():
    run(WARPWAY, "serve", "--stop", "--force")
    shutil.rmtree(FOLDER, ignore_errors=True)


def main(cases):
    """A line of TAP for each case. A case returns why it was skipped, or nothing."""
    failed = 0
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        title = case.__name__.replace("_", " ")
        try:
            skipped = case()
            print(f"ok {number} - {title}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
        except Exception as error:  # each case is told, whatever happens
            failed += 1
            print(re.sub("(?m)^", "# ", traceback.format_exc().rstrip()), flush=True)
            print(f"# {type(error).__name__}: {' '.join(str(error).split())}", flush=True)  # the reason, as the totals have it
            print(f"not ok {number} - {title}", flush=True)
        finally:
            end_started()
    end_broker()
    sys.exit(1 if failed else 0)
