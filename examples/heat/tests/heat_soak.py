#!/usr/bin/env python3
"""heat_soak.py [OPTION...] - a day of a heat daemon: frames, watchers that come and go, kills at random

  --frames N   how many the daemons publish (default 52,000, a hundredth of a day's at 60 a second)
  --uis N      watchers that come and go meanwhile; some are killed (default 20)
  --kills N    daemons that are killed and started again (default 2)
  --seed N     of what is random (default: another one each time)
  --test       fewer, and in the words of TAP
  --sanitizer  the programs have a sanitizer, which keeps memory that was freed: memory is not compared

Four more watchers stay all the time. Each frame that a watcher receives is checked: its checksum, its shape, its step.
Frames have 64 KiB, and each step is a frame. Descriptors and memory of daemon, broker, supervisor and a watcher that
stays are compared in states of rest: the daemon and the broker count nobody but those that stay, for which the test
waits. At the end there are at most 8 descriptors more than before anybody had left, and at most 1 MiB and a tenth more of a
process's own memory (Anonymous of smaps_rollup) than after a first kill and a first round of watchers. The
environment names the programs: heat_case.py. If HEAT_JAVA in it is the command of the client in Java, that stays too,
with a heap of a fixed size; a heap that leaks ends it.
"""
import argparse
import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter

sys.dont_write_bytecode = True  # the sources may be another user's

from heat_case import (  # noqa: E402
    LIMIT_S, WARPWAY, Daemon, Watcher, end_broker, end_started, expect, path_of, read, run, start, wait_until)

FDS_MORE = 8  # the calls that ask for a state have descriptors, too, which are closed some time after them
KIB_MORE, SHARE_MORE = 1024, 0.1
WATCHERS_MOST = 24  # at one time, beside those that stay
STAY = 4


def own_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("Anonymous:"))


def descriptors(pid):
    """What each shows, sorted."""
    shown = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            shown.append(re.sub(r":\[\d+\]", "", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except FileNotFoundError:
            pass  # closed meanwhile
    return sorted(shown)


class Use:
    """Descriptors and memory of a process in a state of rest."""

    def __init__(self, pid, kept):
        """kept: descriptors of objects, which the broker keeps for up to a minute after the end of who got a token."""
        self.descriptors = descriptors(pid)
        self.fds = len(self.descriptors) - kept
        self.kib = own_kib(pid)

    def growth(self, fresh, warm, is_memory_kept):
        """What has grown, with its figures. is_memory_kept: by a sanitizer, so that memory says nothing."""
        grown = []
        if self.fds > fresh.fds + FDS_MORE:
            more = Counter(self.descriptors) - Counter(fresh.descriptors)
            grown.append(f"descriptors {fresh.fds} -> {self.fds}, more by {dict(more)}")
        if not is_memory_kept and self.kib > warm.kib * (1 + SHARE_MORE) + KIB_MORE:
            grown.append(f"memory {warm.kib} -> {self.kib} KiB")
        return " and ".join(grown)


class JavaClient:
    """The terminal client in Java, which writes what it sees to a file."""

    def __init__(self, command):
        self.process = start("sh", "-c", f'exec {command} --name soak --json >"$0"', path_of("java.out"), log=path_of("java.log"))
        wait_until(lambda: "Watching run" in self.said() or self.process.poll() is not None, "the client in Java")
        expect(self.process.poll() is None, read("java.log"))

    @staticmethod
    def said():
        return read("java.out") if os.path.exists(path_of("java.out")) else ""

    def stop(self):
        """How many frames it had."""
        expect(self.process.poll() is None, f"the client in Java has ended: {read('java.log')}")
        self.process.kill()
        self.process.communicate()
        lines = [json.loads(line) for line in self.said().splitlines() if line.endswith("}")]
        bad = [line for line in lines if "damaged" in str(line.get("event")) or "A new run" in str(line.get("event"))]
        expect(not bad, f"the client in Java: {bad[:3]}")
        return max((line["frames"] for line in lines if "frames" in line), default=0)


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.visitors = []
        self.started = self.killed = self.kills = 0
        self.frames_before = self.frames_now = 0
        self.received = 0
        self.kill_at = sorted(self.random.randrange(options.frames) for _ in range(options.kills))
        self.daemon = Daemon("soak", rows=128, columns=128, rows_max=128, columns_max=128, frames_per_second=0)
        self.run = self.daemon.status()["run"]
        self.staying = [Watcher("soak") for _ in range(STAY)]
        for watcher in self.staying:
            expect(watcher.line() == "first", "no frame")
        self.java = JavaClient(os.environ["HEAT_JAVA"]) if os.environ.get("HEAT_JAVA") else None

    def look(self):
        """Its status: how many frames there were."""
        status = self.daemon.status()
        expect(status["run"] == self.run and status["restarts"] == self.kills, f"another simulation: {status}")
        self.frames_now = status["frames"]
        return status

    def broker(self):
        done = run(WARPWAY, "serve", "--status", "--json")
        expect(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)

    def is_at_rest(self):
        """The daemon serves those that stay, and the broker knows them, the daemon and the command that asks."""
        stay = STAY + (self.java is not None)
        return self.look()["watchers"] == stay and self.broker()["processes"] == stay + 2

    def measure(self):
        wait_until(self.is_at_rest, "the daemon and the broker to notice who has ended and who is back")
        broker = self.broker()
        pids = {"daemon": (self.daemon.process.pid, 0), "broker": (broker["pid"], broker["fds"]),
                "supervisor": (broker["supervisor_pid"], broker["fds"]), "watcher": (self.staying[0].process.pid, 0)}
        if self.java:
            pids["client in Java"] = self.java.process.pid, 0
        return {what: Use(*which) for what, which in pids.items()}

    def compare(self, fresh, warm):
        """A line for each, and what has grown. The supervisor closes descriptors in a thread of its own, so what has
        too many is looked at again."""
        end = time.monotonic() + LIMIT_S
        last = self.measure()
        while any(use.fds > fresh[what].fds + FDS_MORE for what, use in last.items()) and time.monotonic() < end:
            last = self.measure()
        lines = [f"{what}: descriptors {fresh[what].fds} -> {use.fds}, memory {warm[what].kib} -> {use.kib} KiB"
                 for what, use in last.items()]
        grown = [f"{what}: {growth}" for what, use in last.items()
                 if (growth := use.growth(fresh[what], warm[what], self.options.sanitizer))]
        return lines, grown

    def frames(self):
        return self.frames_before + self.frames_now

    def check(self, counts):
        expect(counts["torn"] == counts["wrong"] == counts["backwards"] == 0, f"a frame is wrong: {counts}")
        expect(counts["runs"] <= 1, f"another simulation: {counts}")
        self.received += counts["frames"]

    def end_visitors(self):
        """Of those that came some end by themselves, some when they are told, and some are killed."""
        for watcher in list(self.visitors):
            if watcher.process.poll() is None:
                chance = self.random.random()
                if chance < 0.1:
                    watcher.process.kill()
                    watcher.process.communicate()
                    self.killed += 1
                    self.visitors.remove(watcher)
                elif chance < 0.2:
                    watcher.process.send_signal(signal.SIGTERM)
            elif watcher.process.returncode == -signal.SIGTERM:  # before it knew what to do then
                watcher.process.communicate()
                self.killed += 1
                self.visitors.remove(watcher)
            else:
                self.check(watcher.counts())
                self.visitors.remove(watcher)

    def visit(self, most):
        """A round of watchers, until they have ended."""
        count = min(self.options.uis - self.started, most)
        self.visitors = [Watcher("soak", self.random.choice([1, 10, 100, 1000, 0])) for _ in range(count)]
        self.started += count
        while self.visitors:
            self.end_visitors()
            self.step()

    def step(self):
        self.look()
        while self.kill_at and self.frames() >= self.kill_at[0]:
            self.kill()

    def kill(self):
        self.kill_at.pop(0)
        self.daemon.kill()
        self.frames_before += self.frames_now
        self.frames_now = 0
        self.kills += 1
        self.daemon.start()

    def warm_up(self):
        """What a daemon and a broker have made once does not grow any more."""
        if self.kill_at:
            self.kill()
        self.visit(min(WATCHERS_MOST, self.options.uis // 2))

    def go(self):
        """What grew since the first state of rest."""
        fresh = self.measure()
        self.warm_up()
        warm = self.measure()
        while self.frames() < self.options.frames or self.started < self.options.uis:
            self.step()
            if self.frames() * self.options.uis >= self.started * self.options.frames:
                self.visit(self.random.randint(1, WATCHERS_MOST))
                wait_until(self.is_at_rest, "the next round's places")
        while self.kill_at:
            self.kill()
        lines, grown = self.compare(fresh, warm)
        for watcher in self.staying:
            counts = watcher.stop()
            self.check(counts)
            expect(counts["daemons"] <= self.kills + 1, str(counts))
        if self.java:
            self.received += self.java.stop()
        expect(self.daemon.end() == 0, self.daemon.said())
        return lines, grown


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--frames", type=int, default=52000)
    parser.add_argument("--uis", type=int, default=20)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(2 ** 32))
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--sanitizer", action="store_true")
    options = parser.parse_args()
    if options.frames < 1 or options.uis < 0 or options.kills < 0:
        parser.error("there is at least one frame, and nothing is negative")
    return options


def main():
    options = parse()
    mark = "# " if options.test else ""
    print(("1..1\n" if options.test else "") + f"{mark}seed {options.seed}", flush=True)
    begin = time.monotonic()
    good = False
    try:
        soak = Soak(options)
        lines, grown = soak.go()
        seconds = time.monotonic() - begin
        print(f"{mark}{soak.frames()} frames of 64 KiB published, {soak.received} received and none torn, by {soak.started} "
              f"watchers that came and went ({soak.killed} killed) and {STAY} that stayed; {soak.kills} daemons killed; "
              f"{seconds:.0f} s")
        print("\n".join(mark + line for line in lines))
        good = not grown
        if grown:
            print(f"{mark}IT GROWS: " + "; ".join(grown))
    except AssertionError as error:
        print(mark + " ".join(str(error).split()))
    finally:
        end_started()
        end_broker()
    if options.test:
        print(("ok" if good else "not ok") + " 1 - a day of a heat daemon, in short")
    sys.exit(0 if good else 1)


main()
