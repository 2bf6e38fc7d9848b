#!/usr/bin/env python3
"""soak.py [OPTION...] - random use of every kind of object, while processes are killed and others are hostile

  --seconds N      how long (default 120); --hours N the same in hours
  --seed N         of all that is drawn (default: another one each time)
  --round N        only this round of the seed; may be repeated
  --device NAME    host, fakecuda or cuda:N; may be repeated, and rounds take turns (default: host and fakecuda)
  --build DIR      the build folder (default: build)
  --out DIR        for the summary and the rounds that failed (default: soak in the build folder)
  --actors N       honest processes (default 5)
  --sanitizer      the programs have a sanitizer, which keeps memory that was freed: memory is not compared
  --test           in the words of TAP

A broker of its own serves all rounds, with its supervisor. In a round of some seconds actors do random operations
(soak.h), forgers do so too and write into the pages that they may write, and hostile processes send what they like
(hostile.c). Where this is root, forgers and hostile processes are another user; else these send no descriptors. Actors
are killed at moments that are drawn, and started again; in half of the rounds so are the broker and its supervisor, or they are told to begin anew.

A round passes if
  - each claim of each actor held: statuses that the headers document, data that are whole, no descriptor or mapping
    left when it ended;
  - no actor stood still for LIMIT_S seconds, which depends on no speed: a wait ends when the process ends that it is for;
  - memories that were kept in the broker before the round are in it, with their content, after it;
  - when all have ended, the broker goes back to no object, hold, waiting request and descriptor.
At the end the descriptors and memory of broker and supervisor are compared: medians of first and last third of the rounds.

What an actor draws follows from the seed, the round, its number and how often it was started (--seed, --round): the
decisions are repeated. How processes interleave is not, so a failure may need several tries. A round that fails leaves
its folder with the logs. The summary is DIR/summary.md; the last line has the totals:

  N passed, N failed, N skipped
"""
import argparse
import contextlib
import ctypes
import hashlib
import json
import mmap
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.dont_write_bytecode = True  # the sources may be another user's

SLOWNESS = int(os.environ.get("WW_TEST_SLOWNESS", "1"))
LIMIT_S = 180 * SLOWNESS  # for what takes milliseconds
ROUND_S = 8
FDS_MORE, KIB_MORE, SHARE_MORE = 8, 1024, 0.1
FORGERS = 2
# The kernel limits the descriptors of a user that are in flight, so one kind harms all other processes of its user.
IS_ROOT = os.geteuid() == 0
HOSTILE = ("messages", "bytes", "deaf", "descriptors") if IS_ROOT else ("messages", "bytes", "deaf")
ACTOR = struct.Struct("<QQII")
CONFIG = """[broker]
idle_s = 3600
escrow_max_s = 2
"""


def own_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("RssAnon:"))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def number_of(*words):
    """63 random bits that follow from these words."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, words)).encode()).digest()[:8], "little") >> 1


# A broker whose supervisor was killed is this process's child then, so that it can be waited for.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


class Failure(Exception):
    """A round does not pass."""


def wait_until(is_true, what, while_waiting=lambda: None):
    end = time.monotonic() + LIMIT_S
    while not is_true():
        if time.monotonic() >= end:
            raise Failure(f"it took more than {LIMIT_S} s: {what}")
        while_waiting()
        time.sleep(0.02)


class Programs:
    """Where things are, and what `soak --role names` says of the board."""

    def __init__(self, options):
        build = os.path.abspath(options.build)
        self.soak = os.path.join(build, "tests/soak/soak")
        self.warpway = os.path.join(build, "tools/warpway")
        self.warpwayd = os.environ.get("WARPWAYD", os.path.join(build, "src/daemon/warpwayd"))
        self.libraries = {"host": os.path.join(build, "tests/nodriver"), "fakecuda": os.path.join(build, "tests/fakecuda")}
        said = subprocess.run([self.soak, "--role", "names"], capture_output=True, text=True, check=True).stdout
        words = [line.split() for line in said.splitlines()]
        self.ops = [word[1] for word in words if word[0] == "op"]
        self.statuses = [word[1] for word in words if word[0] == "status"]
        self.places = {word[1]: int(word[2]) for word in words if word[0] == "place"}

    def environment(self, device, address):
        environment = {**os.environ, "WARPWAY_BROKER": address, "WARPWAYD": self.warpwayd,
                       "WW_TEST_DEVICE": "cuda:0" if device == "fakecuda" else device}
        if device in self.libraries:
            environment["LD_LIBRARY_PATH"] = self.libraries[device] + ":" + os.environ.get("LD_LIBRARY_PATH", "")
        for name in ("WARPWAY_NO_START", "NOTIFY_SOCKET", "WATCHDOG_USEC"):
            environment.pop(name, None)
        return environment


class Broker:
    """The broker with its supervisor, whichever processes they are."""

    def __init__(self, programs, folder, log):
        self.programs, self.folder = programs, folder
        self.address = os.path.join(folder, "broker.sock")
        config = os.path.join(folder, "warpwayd.conf")
        with open(config, "w", encoding="ascii") as stream:
            stream.write(CONFIG)
        self.environment = programs.environment("host", self.address)
        with open(log, "ab") as stream:
            self.process = subprocess.Popen(
                [programs.warpwayd, "--socket", self.address, "--socket-mode", "0666", "--config", config,
                 "--leave-when-idle"], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=self.environment,
                process_group=0)
        self.group = self.process.pid
        self.fds = None
        self.samples = {}
        self.events = Counter()
        wait_until(self.status, "the start of the broker")

    def status(self):
        """None: it does not answer just now."""
        done = subprocess.run([self.programs.warpway, "serve", "--status", "--json", "--broker", self.address],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env=self.environment)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def wait_for_status(self):
        found = []
        wait_until(lambda: found.append(self.status()) or found[-1], "the broker's answer")
        return found[-1]

    def reap(self):
        """A broker whose supervisor was killed is our child then."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self.group, os.WNOHANG)[0]:
                pass

    def disturb(self, what):
        """Kills one of them, or has them begin anew, and waits until both are there again."""
        before = self.wait_for_status()
        pid = before["supervisor_pid" if what != "broker killed" else "pid"]
        os.kill(pid, signal.SIGHUP if what == "upgrade" else signal.SIGKILL)
        self.events[what] += 1
        last = [None]

        def is_back():
            self.reap()
            now = last[0] = self.status()
            return now and now["pid"] != before["pid"] and is_alive(now["supervisor_pid"]) and (
                what != "supervisor killed" or now["supervisor_pid"] != pid)

        wait_until(is_back, f"the broker's return: {what}")
        if last[0]["broker_id"] != before["broker_id"]:
            raise Failure(f"the broker has lost its objects: {what}")

    def settle(self, clear):
        """Waits until nothing is left of those that have ended."""
        last = [None]

        def is_empty():
            now = last[0] = self.status()
            if not now or any(now[key] for key in ("objects", "holds", "waits", "bytes", "fds")) or now["processes"] > 1:
                return False
            self.fds = self.fds or now["open_fds"]
            return now["open_fds"] <= self.fds + FDS_MORE

        try:
            wait_until(is_empty, "the broker's return to nothing", clear)
        except Failure as failure:
            listed = subprocess.run([self.programs.warpway, "list", "--all", "--json"], capture_output=True, text=True,
                                    timeout=LIMIT_S, check=False, env=self.environment).stdout
            raise Failure(f"{failure}: {last[0]}\n{listed}") from None
        self.reap()
        for role, pid in (("broker", last[0]["pid"]), ("supervisor", last[0]["supervisor_pid"])):
            self.samples.setdefault(role, []).append((len(os.listdir(f"/proc/{pid}/fd")), own_kib(pid)))

    def compare(self, is_memory_kept):
        """A line for each role, and those that grow."""
        lines, bad = [], []
        for role, samples in self.samples.items():
            third = max(1, len(samples) // 3)
            (fds, kib), (late_fds, late_kib) = (
                [statistics.median(sample[i] for sample in part) for i in (0, 1)]
                for part in (samples[:third], samples[-third:]))
            grows = late_fds > fds + FDS_MORE or (not is_memory_kept and late_kib > kib * (1 + SHARE_MORE) + KIB_MORE)
            lines.append((role, fds, late_fds, kib, late_kib))
            if grows:
                bad.append(f"the {role} grows: descriptors {fds:.0f} -> {late_fds:.0f}, memory {kib:.0f} -> {late_kib:.0f} KiB")
        return lines, bad

    def is_gone(self):
        self.reap()
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return True
        return False

    def stop(self):
        status = self.status()
        if status:
            os.kill(status["supervisor_pid"], signal.SIGTERM)
        wait_until(lambda: self.is_gone() and not os.path.exists(self.address), "the end of the broker")

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        wait_until(self.is_gone, "the end of the broker that was killed")


class Actor:
    """One number of a round, and the processes that have it, one after the other."""

    def __init__(self, current, role, number, *more):
        self.round, self.role, self.number, self.more = current, role, number, more
        self.starts = 0
        self.progress, self.since = None, time.monotonic()
        self.log = os.path.join(current.folder, f"{role}-{number}.log")
        self.start()

    def start(self):
        words = self.round.seed, self.role, self.number, self.starts
        plan = random.Random(number_of(*words, "end"))
        self.kill_at = int(10 ** plan.uniform(0.5, 3.7)) if self.role == "actor" and plan.random() < 0.7 else 0
        self.starts += 1
        arguments = [self.number, number_of(*words)]
        if self.role != "hostile":
            arguments += [self.kill_at, plan.randrange(3000000)]
        self.process = self.round.run(self.role, self.log, self.round.board_path, *arguments, *self.more)
        self.since = time.monotonic()

    def look(self, is_over):
        """Starts it again if it was killed as planned, or is one whose end does not matter."""
        status = self.process.poll()
        if status is None:
            return self.look_at_progress()
        if self.role != "actor":
            self.round.use.ends[f"{self.role} ended"] += 1
        elif status == -signal.SIGKILL and self.kill_at:
            self.round.use.ends["actor killed"] += 1
        elif status != 0 or not is_over:
            raise Failure(f"{self.name()} ended with status {status}: {self.last_words()}")
        if not is_over:
            self.start()
        return status

    def look_at_progress(self):
        ops = self.round.actor(self.number)[0]
        if ops != self.progress:
            self.progress, self.since = ops, time.monotonic()
        if self.role == "actor" and time.monotonic() - self.since > LIMIT_S:
            raise Failure(f"{self.name()} has stood still for {LIMIT_S} s, see {self.describe()}")

    def name(self):
        _, index, pid, op = self.round.actor(self.number)
        return f"{self.role} {self.number} (pid {pid}, start {self.starts}, operation {index}, {self.round.programs.ops[op]})"

    def last_words(self):
        with open(self.log, encoding="utf-8", errors="replace") as stream:
            return "\n".join(stream.read().splitlines()[-12:])

    def describe(self):
        """Where it is, by the kernel's word and by its stacks."""
        path = os.path.join(self.round.folder, f"{self.role}-{self.number}.stuck")
        pid = self.process.pid
        with open(path, "w", encoding="utf-8") as stream:
            for name in ("status", "wchan", "stack", "maps"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", encoding="utf-8") as source:
                    stream.write(f"== {name}\n{source.read()}\n")
            if shutil.which("gdb"):
                done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all backtrace"],
                                      capture_output=True, text=True, timeout=LIMIT_S, check=False)
                stream.write(f"== stacks\n{done.stdout}")
        return path

    def end(self):
        self.process.kill()
        self.process.wait()


class Use:
    """What all rounds did together."""

    def __init__(self):
        self.counts, self.ends = Counter(), Counter()


class Round:
    def __init__(self, soak, number, device):
        self.programs, self.broker, self.use = soak.programs, soak.broker, soak.use
        self.number, self.device = number, device
        self.seed = number_of(soak.options.seed, number)
        self.folder = os.path.join(soak.out, f"round-{number}")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.board_path = os.path.join(self.folder, "board")
        self.environment = self.programs.environment(device, self.broker.address)
        with open(self.board_path, "wb+") as stream:
            stream.truncate(self.programs.places["board"])
            self.board = mmap.mmap(stream.fileno(), 0)
        self.actors = []
        self.soak = soak

    def run(self, role, log, *arguments):
        with open(log, "ab") as stream:
            return subprocess.Popen([self.programs.soak, "--role", role, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                    stdout=stream, stderr=stream, env=self.environment)

    def run_whole(self, role, *arguments):
        """A role that ends by itself."""
        log = os.path.join(self.folder, f"{role}.log")
        status = self.run(role, log, *arguments).wait(LIMIT_S)
        if status and role != "clear":
            with open(log, encoding="utf-8", errors="replace") as stream:
                raise Failure(f"{role} ended with status {status}: {stream.read()}")

    def actor(self, number):
        return ACTOR.unpack_from(self.board, self.programs.places["actors"] + number * ACTOR.size)

    def plan(self):
        """When in the round, as parts of it, something befalls the broker: in half of the rounds, in blocks."""
        draw = random.Random(number_of(self.seed, "broker"))
        if self.number // 4 % 2:
            return []
        return sorted((draw.uniform(0.05, 0.95), draw.choice(["broker killed", "broker killed", "supervisor killed", "upgrade"]))
                      for _ in range(draw.randint(1, 5)))

    def go(self):
        self.run_whole("keep", self.board_path, self.seed)
        honest = self.soak.options.actors
        self.actors = [Actor(self, "actor", number + 1) for number in range(honest)]
        self.actors += [Actor(self, "forger", honest + 1 + number) for number in range(FORGERS)]
        self.actors += [Actor(self, "hostile", honest + 1 + FORGERS + at, kind) for at, kind in enumerate(HOSTILE)]
        begin, plan = time.monotonic(), self.plan()
        while time.monotonic() < begin + ROUND_S * SLOWNESS:
            for actor in self.actors:
                actor.look(False)
            if plan and time.monotonic() >= begin + plan[0][0] * ROUND_S * SLOWNESS:
                self.broker.disturb(plan.pop(0)[1])
            time.sleep(0.02)
        self.finish()

    def finish(self):
        struct.pack_into("<Q", self.board, 0, 1)
        for actor in self.actors:
            while actor.role == "actor" and actor.look(True) is None:
                time.sleep(0.01)
        self.end()
        self.run_whole("kept", self.board_path, self.seed)
        self.broker.settle(lambda: self.run_whole("clear"))

    def end(self):
        for actor in self.actors:
            actor.end()
        self.actors = []

    def count(self):
        places, use = self.programs.places, self.use
        for op, name in enumerate(self.programs.ops):
            row = struct.unpack_from(f"<{places['statuses']}Q", self.board,
                                     places["counts"] + op * places["statuses"] * 8)
            for status, many in enumerate(row):
                if many:
                    use.counts[name, self.programs.statuses[status]] += many


class Soak:
    def __init__(self, options):
        self.options = options
        self.out = os.path.abspath(options.out or os.path.join(options.build, "soak"))
        os.makedirs(self.out, exist_ok=True)
        self.programs = Programs(options)
        self.use = Use()
        self.folder = tempfile.mkdtemp(prefix="warpway-soak-")
        os.chmod(self.folder, 0o755)
        self.broker = Broker(self.programs, self.folder, os.path.join(self.out, "broker.log"))
        self.lines = []
        self.failed = self.passed = self.skipped = 0

    def say(self, text):
        print("\n".join(("# " if self.options.test else "") + line for line in text.splitlines()), flush=True)

    def report(self, good, what, text=""):
        self.passed += good
        self.failed += not good
        if self.options.test:
            print(f"{'ok' if good else 'not ok'} {self.passed + self.failed} - {what}", flush=True)
        else:
            print(f"{'passed' if good else 'failed'}: {what}", flush=True)
        if text:
            self.say(text)

    def run_round(self, number):
        device = self.options.device[number % len(self.options.device)]
        current = Round(self, number, device)
        begin, failure = time.monotonic(), None
        try:
            current.go()
        except (Failure, subprocess.TimeoutExpired) as error:
            failure = str(error)
        finally:
            current.end()
        current.count()
        what = f"round {number} (seed {current.seed}, {device}, {time.monotonic() - begin:.0f} s)"
        self.report(not failure, what, failure and f"{failure}\nlogs: {current.folder}\n"
                    f"again: make soak SEED={self.options.seed} ROUND={number}")
        self.lines.append((number, current.seed, device, time.monotonic() - begin, failure))
        if not failure:
            shutil.rmtree(current.folder)
        return not failure

    def renew(self):
        """Another broker, so that what a failed round left behind fails no other one."""
        self.broker.kill()
        samples, events = self.broker.samples, self.broker.events
        self.broker = Broker(self.programs, self.folder, os.path.join(self.out, "broker.log"))
        self.broker.samples, self.broker.events = samples, events

    def go(self):
        end = time.monotonic() + self.options.seconds
        rounds = iter(self.options.round or range(sys.maxsize))
        for number in rounds:
            if not self.run_round(number):
                self.renew()
            if not self.options.round and time.monotonic() + ROUND_S * SLOWNESS >= end:
                break
        lines, bad = self.broker.compare(self.options.sanitizer)
        self.report(not bad, "broker and supervisor do not grow", "\n".join(bad))
        try:
            self.broker.stop()
            self.report(True, "the broker ends when it is told to")
        except Failure as failure:
            self.report(False, "the broker ends when it is told to", str(failure))
        if not IS_ROOT:
            self.skipped += 1
            what = "a hostile process that sends descriptors # SKIP only root can have it be another user"
            print(f"ok {self.passed + self.failed + self.skipped} - {what}" if self.options.test else f"skipped: {what}")
        self.write_summary(lines, bad)

    def write_summary(self, growth, bad):
        ops, statuses = Counter(), Counter()
        for (op, status), many in self.use.counts.items():
            ops[op] += many
            statuses[status] += many
        hostile = ops.pop("hostile_message", 0)
        ends = {**self.use.ends, **self.broker.events}
        text = [f"# Soak of {sum(line[3] for line in self.lines):.0f} s, seed {self.options.seed}", "",
                f"{self.passed} passed, {self.failed} failed. {len(self.lines)} rounds with {self.options.actors} actors, "
                f"{FORGERS} forgers and {len(HOSTILE)} hostile processes each; {sum(ops.values())} calls, "
                f"{hostile} hostile messages.", "",
                "| what befell processes | times |", "| --- | --- |", *(f"| {key} | {ends[key]} |" for key in sorted(ends)), "",
                "| process | descriptors, first third | last third | own memory, first third | last third |",
                "| --- | --- | --- | --- | --- |",
                *(f"| {role} | {fds:.0f} | {late:.0f} | {kib:.0f} KiB | {late_kib:.0f} KiB |"
                  for role, fds, late, kib, late_kib in growth), *bad, "",
                "| status | times |", "| --- | --- |", *(f"| {key} | {many} |" for key, many in statuses.most_common()), "",
                "| operation | calls | statuses other than WW_OK |", "| --- | --- | --- |"]
        for op in sorted(ops):
            others = [f"{status} {many}" for (name, status), many in sorted(self.use.counts.items())
                      if name == op and status != "WW_OK"]
            text.append(f"| {op} | {ops[op]} | {', '.join(others)} |")
        text += ["", "| round | seed | device | seconds | result |", "| --- | --- | --- | --- | --- |"]
        for number, seed, device, seconds, failure in self.lines:
            result = failure.splitlines()[0].replace("|", "\\|") if failure else "passed"
            text.append(f"| {number} | {seed} | {device} | {seconds:.0f} | {result} |")
        path = os.path.join(self.out, "summary.md")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(text) + "\n")
        self.say(f"{sum(ops.values())} calls, {hostile} hostile messages, " +
                 ", ".join(f"{key}: {ends[key]}" for key in sorted(ends)) + f"; see {path}")

    def close(self):
        self.broker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def parse():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--seed", type=int, default=random.randrange(2 ** 32))
    parser.add_argument("--round", type=int, action="append")
    parser.add_argument("--device", action="append")
    parser.add_argument("--build", default="build")
    parser.add_argument("--out")
    parser.add_argument("--actors", type=int, default=5)
    parser.add_argument("--sanitizer", action="store_true")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--help", action="store_true")
    options = parser.parse_args()
    if options.help:
        print(__doc__)
        sys.exit(0)
    if options.hours is not None:
        options.seconds = options.hours * 3600
    options.device = options.device or ["host", "fakecuda"]
    if not 2 <= options.actors <= 16 or options.seconds <= 0:
        parser.error("there are 2 to 16 actors, and some time")
    return options


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    soak = Soak(parse())
    try:
        soak.say(f"seed {soak.options.seed}")
        soak.go()
        if soak.options.test:
            print(f"1..{soak.passed + soak.failed + soak.skipped}")
        print(f"{soak.passed} passed, {soak.failed} failed, {soak.skipped} skipped")
    finally:
        soak.close()
    sys.exit(0 if soak.failed == 0 else 1)


main()
