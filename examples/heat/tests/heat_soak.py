#!/usr/bin/env python3
"""heat_soak.py [OPTION...] - a day of a heat daemon: frames, watchers that come and go, kills at random

  --frames N   how many the daemons publish (default 52,000, a hundredth of a day's at 60 a second)
  --uis N      watchers that come and go meanwhile; some are killed (default 20)
  --kills N    daemons that are killed and started again (default 2)
  --seed N     of what is random (default: another one each time)
  --test       fewer, and in the words of TAP
  --sanitizer  the programs have a sanitizer, which keeps memory that was freed: memory is not compared

Four more watchers stay all the time. Each frame that a watcher receives is checked: its checksum, its shape, its step.
Frames have 64 KiB, and each step is a frame. Descriptors and memory of daemon, broker and a watcher that stays are
compared while no others are there, the medians of the first and the last third of the time: at most 8 descriptors, and 1 MiB and a tenth of
memory that is the process's own (RssAnon) may be more. The environment names the programs: heat_case.py. If HEAT_JAVA
in it is the command of the client in Java, that stays too, with a heap of a fixed size; a heap that leaks ends it.
"""
import argparse
import json
import os
import random
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True  # the sources may be another user's

from heat_case import (  # noqa: E402
    WARPWAY, Daemon, Watcher, end_broker, end_started, expect, path_of, read, run, start, wait_until)

FDS_MORE = 8  # some belong to processes whose end was not noticed yet
KIB_MORE, SHARE_MORE = 1024, 0.1
SETTLE_S = 10
WATCHERS_MOST = 24  # at one time, beside those that stay
STAY = 4


def own_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("RssAnon:"))


class Use:
    """Descriptors and memory of some processes in the course of time."""

    def __init__(self):
        self.samples = {}

    def take(self, what, pid, kept):
        """kept: descriptors of objects, which the broker keeps for up to a minute after the end of who got a token.

        The supervisor closes descriptors in a thread of its own, so a count that is too high is looked at again.
        """
        most = self.samples[what][0][0] + FDS_MORE if what in self.samples else sys.maxsize
        end = time.monotonic() + SETTLE_S
        try:
            while (fds := len(os.listdir(f"/proc/{pid}/fd")) - kept) > most and time.monotonic() < end:
                time.sleep(0.01)
            self.samples.setdefault(what, []).append((fds, own_kib(pid)))
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            pass  # it has just ended

    def compare(self, is_memory_kept):
        """A line for each, and whether all is well. is_memory_kept: by a sanitizer, so that memory says nothing."""
        lines, good = [], True
        for what, samples in sorted(self.samples.items()):
            third = max(1, len(samples) // 3)
            (fds, kib), (late_fds, late_kib) = (
                [statistics.median(sample[i] for sample in part) for i in (0, 1)]
                for part in (samples[:third], samples[-third:]))
            grows = late_fds > fds + FDS_MORE or (not is_memory_kept and late_kib > kib * (1 + SHARE_MORE) + KIB_MORE)
            good = good and not grows
            lines.append(f"{what}: {len(samples)} samples, descriptors {fds:.0f} -> {late_fds:.0f}, memory {kib:.0f} -> "
                         f"{late_kib:.0f} KiB" + (": IT GROWS" if grows else ""))
        return lines, good


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
        self.use = Use()
        self.visitors = []
        self.started = self.killed = self.kills = 0
        self.frames_before = self.frames_now = 0
        self.received = 0
        self.processes = 0
        self.kill_at = sorted(self.random.randrange(options.frames) for _ in range(options.kills))
        self.daemon = Daemon("soak", rows=128, columns=128, rows_max=128, columns_max=128, frames_per_second=0)
        self.run = self.daemon.status()["run"]
        self.staying = [Watcher("soak") for _ in range(STAY)]
        for watcher in self.staying:
            expect(watcher.line() == "first", "no frame")
        self.java = JavaClient(os.environ["HEAT_JAVA"]) if os.environ.get("HEAT_JAVA") else None

    def look(self):
        """How many frames there were."""
        status = self.daemon.status()
        expect(status["run"] == self.run and status["restarts"] == self.kills, f"another simulation: {status}")
        self.frames_now = status["frames"]

    def broker(self):
        return json.loads(run(WARPWAY, "serve", "--status", "--json").stdout)

    def measure(self):
        """While the daemon and the watchers that stay are alone, which the broker must have noticed."""
        self.processes = self.processes or self.broker()["processes"]
        wait_until(lambda: self.broker()["processes"] == self.processes, "the broker to notice who has ended")
        broker = self.broker()
        for what, pid, kept in (("daemon", self.daemon.process.pid, 0), ("broker", broker["pid"], broker["fds"]),
                                ("supervisor", broker["supervisor_pid"], broker["fds"]),
                                ("watcher", self.staying[0].process.pid, 0),
                                *([("client in Java", self.java.process.pid, 0)] if self.java else [])):
            self.use.take(what, pid, kept)

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

    def visit(self):
        """A round of watchers, until they have ended."""
        count = min(self.options.uis - self.started, self.random.randint(1, WATCHERS_MOST))
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

    def go(self):
        self.measure()
        while self.frames() < self.options.frames or self.started < self.options.uis:
            self.step()
            if self.frames() * self.options.uis >= self.started * self.options.frames:
                self.visit()
            self.measure()
        while self.kill_at:
            self.kill()
        self.look()
        for watcher in self.staying:
            counts = watcher.stop()
            self.check(counts)
            expect(counts["daemons"] <= self.kills + 1, str(counts))
        if self.java:
            self.received += self.java.stop()
        expect(self.daemon.end() == 0, self.daemon.said())


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
        soak.go()
        lines, good = soak.use.compare(options.sanitizer)
        seconds = time.monotonic() - begin
        print(f"{mark}{soak.frames()} frames of 64 KiB published, {soak.received} received and none torn, by {soak.started} "
              f"watchers that came and went ({soak.killed} killed) and {STAY} that stayed; {soak.kills} daemons killed; "
              f"{seconds:.0f} s")
        print("\n".join(mark + line for line in lines))
    except AssertionError as error:
        print("\n".join(mark + line for line in str(error).splitlines()))
    finally:
        end_started()
        end_broker()
    if options.test:
        print(("ok" if good else "not ok") + " 1 - a day of a heat daemon, in short")
    sys.exit(0 if good else 1)


main()
