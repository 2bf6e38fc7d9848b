#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION - files, pages and comparisons of `warpway bench`

What each suite measures is tested in tools/warpway/cli_test.py.
"""
import contextlib
import copy
import html.parser
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources may be another user's
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../warpway"))

from broker_cli_test import DEVICE, FOLDER, WARPWAY, expect, main, path_of as path  # noqa: E402

LIMIT_S = 300 * int(os.environ.get("WW_TEST_SLOWNESS", "1"))
SMALL = ["--device", DEVICE, "--quick", "--iterations", "3", "--kills", "3", "--objects", "400", "--clients", "10",
         "--slices", "2000"]
# Nothing that is measured beside the library, and no gnuplot; the broker is found beside the command.
BARE = {"PATH": "/nonexistent", "PYTHONPATH": ""}
SUITES = ["memory", "broker", "sync", "pool", "foreign", "channel", "calls", "mpi", "python", "pairs"]


def run(*arguments, **settings):
    return subprocess.run([WARPWAY, "bench", *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          env={**os.environ, **settings})


def load(name):
    with open(path(name), encoding="utf-8") as file:
        return json.load(file)


def write(name, content):
    """Writes bytes, text, or anything else as JSON. Returns the path."""
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content)
    with open(path(name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path(name)


def row(name, p50=10.0, goal=None, **more):
    return {"name": name, "unit": "us", "p50": p50, "p99": 2 * p50, "floor_p50": p50 / 2, "ratio": 2.0, "goal": goal,
            "met": None if goal is None else p50 <= goal, **more}


SAMPLE = {
    "device": "cuda:0 (Some GPU)", "driver": "CUDA 13.0", "mps": "off", "date": "2026-01-01T00:00:00Z", "version": "1.0",
    "host": {"cpu": "Some CPU", "cpus": 8, "kernel": "6.1"}, "complete": True, "quick": False,
    "suites": [{"name": "memory", "device": None, "state": "done", "reason": None, "seconds": 1.5, "notes": ["a note"]}],
    "results": [row("memory.create.4KiB", 3), row("memory.create.2MiB", 4), row("memory.import_map.2MiB", 8, 10.0),
                row("channel.rate.64B.x1"), row("channel.rate.1MiB.x1", 20), row("pairs.read.0-1", 200.0, 190.0),
                row("pairs.read.1-0", 210.0, 220.0), row("pairs.signal.0-1"),
                row("sync.release.cpu", samples=[1, 1.5, 2, 40, 3000])],
}


# --- all suites, and what ends them early ---


def all_suites_are_in_one_file():
    result = run("all", *SMALL, "-o", path("all.json"), "--html", path("all.html"), "--json", **BARE)
    expect(result.returncode == 0, str(result))
    told = load("all.json")
    expect(json.loads(result.stdout) == told and told["complete"] is True and told["quick"] is True, result.stdout)
    states = [(suite["name"], suite["state"]) for suite in told["suites"]]
    skipped = ["mpi", "python"] + (["foreign", "pairs"] if DEVICE == "host" else [])
    names = SUITES if DEVICE == "host" else SUITES + ["pairs"]  # from each of the two GPUs
    expect(states == [(name, "skipped" if name in skipped else "done") for name in names], str(states))
    for suite in told["suites"]:
        expect((suite["reason"] is not None) == (suite["state"] == "skipped") and suite["seconds"] >= 0, str(suite))
    expect([suite["device"] for suite in told["suites"] if suite["name"] == "pairs"] ==
           ([None] if DEVICE == "host" else ["cuda:0", "cuda:1"]), str(told["suites"]))
    measured = {entry["name"].split(".")[0] for entry in told["results"]}
    expect(measured == set(SUITES) - set(skipped), str(measured))
    if DEVICE != "host":
        expect({"pairs.read.0-1", "pairs.read.1-0", "pairs.import.x1", "pairs.import.x1.cuda1"} <=
               {entry["name"] for entry in told["results"]}, str(told["results"]))
    expect(re.search(r"\[1/\d+\] memory: done, \d+ rows in \d+ s; about \d+:\d\d left", result.stderr), result.stderr)
    shown = run("--from", path("all.json"))
    expect(shown.returncode == 0 and "mpi: skipped: mpi." in shown.stdout, str(shown))
    check_page("all.html", drawn=False)


def start(*arguments):
    """A run of three suites. Returns it when the first is done, and a descriptor of the process of the second."""
    process = subprocess.Popen([WARPWAY, "bench", "memory", "sync", "pool", *SMALL, "--sizes", "4K", *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while not line.startswith("[1/3]"):
        line = process.stdout.readline()
        expect(line, "the first suite did not end")
    while True:
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        expect(process.poll() is None, "the run is over before it was interrupted")
        with contextlib.suppress(IndexError, ProcessLookupError):  # not there yet, or that of the first suite
            return process, os.pidfd_open(int(children[-1]))


def is_gone(pidfd):
    ready, _, _ = select.select([pidfd], [], [], LIMIT_S)
    os.close(pidfd)
    return bool(ready)


def an_interrupted_run_keeps_what_it_has():
    for number in (signal.SIGINT, signal.SIGTERM):
        process, suite = start("--kills", "1000000", "-o", path("part.json"), "--html", path("part.html"))
        process.send_signal(number)
        output, errors = process.communicate(timeout=LIMIT_S)
        expect(process.returncode == 1 and "interrupted: 2 of 3 suites" in errors, errors)
        expect(is_gone(suite), "the suite goes on")
        expect("memory.create.4KiB" in output and "incomplete" in output and "pool: not run" in output, output)
        told = load("part.json")
        expect(told["complete"] is False, str(told))
        expect([entry["state"] for entry in told["suites"]] == ["done", "interrupted", "not run"], str(told["suites"]))
        expect({"memory.create.4KiB", "memory.unmap.4KiB"} <= {entry["name"] for entry in told["results"]}, str(told))
        check_page("part.html")


def a_killed_run_keeps_what_it_has():
    process, suite = start("--kills", "1000000", "-o", path("killed.json"))
    process.kill()
    process.communicate(timeout=LIMIT_S)
    expect(is_gone(suite), "the suite goes on")
    told = load("killed.json")
    expect(told["complete"] is False and len(told["results"]) >= 5, str(told))
    expect([entry["state"] for entry in told["suites"]][0::2] == ["done", "not run"], str(told["suites"]))
    shown = run("--from", path("killed.json"), "--html", path("killed.html"))
    expect(shown.returncode == 0 and "incomplete" in shown.stdout and "pool: not run" in shown.stdout, str(shown))
    check_page("killed.html")


def a_suite_that_fails_stops_no_other():
    result = run("memory", "broker", "--device", "host", "--quick", "--sizes", "4K", "-o", path("failed.json"), "--json",
                 WARPWAYD="/nonexistent/warpwayd")
    expect(result.returncode == 1, str(result))
    told = load("failed.json")
    expect(told["complete"] is False and len(told["results"]) == 5, str(told))
    expect([entry["state"] for entry in told["suites"]] == ["done", "failed"], str(told["suites"]))
    expect("cannot start /nonexistent/warpwayd" in told["suites"][1]["reason"], str(told["suites"]))


def a_file_that_cannot_be_written_ends_the_run():
    result = run("memory", "broker", *SMALL, "-o", "/nonexistent/run.json")
    expect(result.returncode == 1 and result.stderr.count("cannot write /nonexistent/run.json") == 1, str(result))
    result = run("memory", *SMALL, "--sizes", "4K", "--html", "/nonexistent/page.html")
    expect(result.returncode == 1 and "cannot write /nonexistent/page.html" in result.stderr, str(result))
    # A device that cannot be used leaves the file as it is.
    kept = write("kept.json", SAMPLE)
    expect(run("memory", "--device", "cuda:99", "-o", kept).returncode == 2 and load("kept.json") == SAMPLE, kept)


# --- files of others ---


def changed(*keys, value):
    """The sample with another value at a place; without it if the value is `changed`."""
    run_ = copy.deepcopy(SAMPLE)
    place = run_
    for key in keys[:-1]:
        place = place[key]
    if value is changed:
        del place[keys[-1]]
    else:
        place[keys[-1]] = value
    return run_


LONG = "x" * 5000
HOSTILE = {
    "nothing": b"", "no JSON": "hello", "cut": json.dumps(SAMPLE)[:-40], "binary": bytes(range(256)), "zeros": bytes(4096),
    "a list": [], "a number": "1", "null": "null", "more behind": json.dumps(SAMPLE) + "{}",
    "deep": "[" * 100000, "deep object": '{"a":' * 100000, "huge number": '{"device": 1e999999}',
    "huge whole number": json.dumps(SAMPLE).replace('"cpus": 8', '"cpus": ' + "9" * 400),
    "NaN": json.dumps(changed("results", 0, "p50", value=float("nan"))),
    "infinite": json.dumps(changed("results", 0, "p50", value=float("inf"))),
    "no UTF-8": json.dumps(SAMPLE).encode().replace(b"Some GPU", b"\xff\xfe"),
    "NUL in a text": changed("device", value="a\0b"), "control character": changed("driver", value="a\x1b[2Jb"),
    "twice the same key": json.dumps(SAMPLE).replace('"mps"', '"date"', 1),
    "no device": changed("device", value=changed), "device is a number": changed("device", value=1),
    "long text": changed("version", value=LONG), "no results": changed("results", value=changed),
    "results is an object": changed("results", value={}), "a row is a number": changed("results", 0, value=1),
    "a row without name": changed("results", 0, "name", value=changed),
    "name is HTML": changed("results", 0, "name", value="<script>"), "name is empty": changed("results", 0, "name", value=""),
    "name is long": changed("results", 0, "name", value=LONG), "name has a quote": changed("results", 0, "name", value="a'b"),
    "two rows of a name": changed("results", 1, "name", value="memory.create.4KiB"),
    "no such unit": changed("results", 0, "unit", value="parsecs"), "p50 is text": changed("results", 0, "p50", value="1"),
    "p50 is null": changed("results", 0, "p50", value=None), "p50 is large": changed("results", 0, "p50", value=1e300),
    "met is text": changed("results", 0, "met", value="yes"), "goal is a list": changed("results", 0, "goal", value=[]),
    "samples is a number": changed("results", 8, "samples", value=1),
    "samples are texts": changed("results", 8, "samples", value=["1"]),
    "many samples": changed("results", 8, "samples", value=[1] * 1001), "host is text": changed("host", value="host"),
    "host without kernel": changed("host", "kernel", value=changed), "complete is a number": changed("complete", value=1),
    "suites is null": changed("suites", value=None), "a suite is a list": changed("suites", 0, value=[]),
    "a state is a number": changed("suites", 0, "state", value=3), "a note is null": changed("suites", 0, "notes", value=[None]),
    "many rows": changed("results", value=[row(f"memory.x{number}") for number in range(20001)]),
    "many bytes": b" " * (33 << 20),
}


def files_that_are_none_are_refused():
    good = write("good.json", SAMPLE)
    for what, content in HOSTILE.items():
        bad = write("bad.json", content)
        for arguments in (["--from", bad, "--html", path("bad.html")], ["--compare", good, bad], ["--compare", bad, good]):
            result = run(*arguments)
            expect(result.returncode == 2 and result.stdout == "", f"{what}: {result}")
            expect(result.stderr.startswith("warpway bench: ") and result.stderr.count("\n") == 1 and bad in result.stderr,
                   f"{what}: {result}")
        expect(not os.path.exists(path("bad.html")), what)
    for missing in (path("missing.json"), FOLDER):
        result = run("--compare", good, missing)
        expect(result.returncode == 2 and f"cannot read {missing}" in result.stderr, str(result))


def damaged_files_crash_nothing():
    """Bytes of a good file are changed at random; the seed is the same each time."""
    chosen = random.Random(1)
    text = json.dumps(SAMPLE).encode()
    for number in range(150):
        content = bytearray(text)
        for _ in range(chosen.choice((1, 1, 2, 8))):
            at = chosen.randrange(len(content))
            content[at:at + chosen.choice((0, 1, 1, 20))] = chosen.choice(
                (bytes([chosen.randrange(256)]), b"-", b"9" * 30, b"1e308", b"null", b'"', b"[", b"{}", b"\\u0000", b"."))
        damaged = write("damaged.json", bytes(content))
        result = subprocess.run([WARPWAY, "bench", "--from", damaged, "--html", path("damaged.html")], capture_output=True,
                                timeout=LIMIT_S, check=False, env={**os.environ, **BARE})
        expect(result.returncode in (0, 2), f"{number}: {bytes(content)!r}: {result}")
        if result.returncode == 0:
            check_page("damaged.html", drawn=False)


def files_of_earlier_versions_are_read():
    old = {key: SAMPLE[key] for key in ("device", "driver", "mps", "date", "version", "results")}
    result = run("--from", write("old.json", old), "--json")
    expect(result.returncode == 0 and json.loads(result.stdout) == old, str(result))
    later = {**SAMPLE, "more": {"of": ["a", "later", "version"]}}
    expect(run("--from", write("later.json", later)).returncode == 0, "later")
    result = run("--from", path("old.json"), "--check")
    expect(result.returncode == 1 and "pairs.read.0-1 takes 200.0 us, more than the 190.0" in result.stderr, str(result))


# --- comparisons ---


def runs_are_compared():
    good = write("a.json", SAMPLE)
    result = run("--compare", good, good)
    expect(result.returncode == 0 and "Beware" not in result.stdout and "only in" not in result.stdout, str(result))
    other = changed("results", 0, value=row("memory.create.1GiB"))
    other["device"], other["complete"], other["host"]["cpus"] = "cuda:0 (Another GPU)", False, 64
    other["results"][1]["unit"] = "ns"
    other["results"][2] = row("memory.import_map.2MiB", 16, 12.0)
    other["results"][5] = row("pairs.read.0-1", 100.0, 190.0)
    result = run("--compare", good, write("b.json", other), "--json")
    expect(result.returncode == 1, str(result))
    told = json.loads(result.stdout)
    expect(told["only_a"] == ["memory.create.4KiB"] and told["only_b"] == ["memory.create.1GiB"], result.stdout)
    rows = {entry["name"]: entry for entry in told["rows"]}
    expect(len(rows) == 8 and rows["memory.create.2MiB"]["ratio"] is None, result.stdout)
    entry = rows["memory.import_map.2MiB"]
    expect((entry["p50_a"], entry["p50_b"], entry["ratio"], entry["change"]) == (8, 16, 2, "unmet"), str(entry))
    entry = rows["pairs.read.0-1"]
    expect((entry["met_a"], entry["met_b"], entry["change"]) == (False, True, "met"), str(entry))
    expect(all(entry["change"] == "none" for name, entry in rows.items()
               if name not in ("memory.import_map.2MiB", "pairs.read.0-1")), str(rows))
    for warning in ("the device differs: cuda:0 (Some GPU) and cuda:0 (Another GPU)",
                    "the number of processors differs: 8 and 64", "run B is incomplete",
                    "the units of memory.create.2MiB differ: us and ns"):
        expect(warning in told["warnings"], str(told["warnings"]))
    expect(len(told["warnings"]) == 4, str(told["warnings"]))
    shown = run("--compare", good, path("b.json"))
    expect(shown.returncode == 1 and shown.stdout.count("Beware: ") == 4, str(shown))
    expect(re.search(r"memory.import_map.2MiB +us +8.0 +16.0 +2.000 +yes +no +unmet", shown.stdout), shown.stdout)
    # A goal that is not met any more is failure; one that is met now is none.
    better = write("better.json", changed("results", 5, value=row("pairs.read.0-1", 100.0, 190.0)))
    expect(run("--compare", good, better).returncode == 0 and run("--compare", better, good).returncode == 1, better)


def wrong_use_is_refused():
    good = write("good.json", SAMPLE)
    for arguments in (["all", "memory"], ["--compare"], ["--compare", good], ["--compare", good, good, good],
                      ["--compare", good, good, "--html", path("x")], ["--from", good, "memory"],
                      ["--from", good, "-o", path("x")], ["--from", path("missing")], ["--from"]):
        result = run(*arguments)
        expect(result.returncode == 2 and result.stderr.startswith("warpway"), f"{arguments}: {result}")
    for arguments in (["bench-suite"], ["bench-suite", "memory"], ["bench-suite", "nonsense"]):
        result = subprocess.run([WARPWAY + "-bench", *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                                check=False)
        expect(result.returncode == 2 and "starts itself" in result.stderr, f"{arguments}: {result}")


# --- pages ---


class Page(html.parser.HTMLParser):
    """Whether elements are closed as they were opened, and what the page would load."""

    EMPTY = ("meta", "br", "link", "img", "hr", "input")

    def __init__(self):
        super().__init__()
        self.open, self.names, self.loads, self.ids, self.text = [], [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.look(attrs)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.look(attrs)

    def look(self, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "data", "srcset", "action") and not (value or "").startswith("#"):
                self.loads.append((name, value))
            if name.startswith("on"):
                self.loads.append((name, value))

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop() == tag, f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text += data


def check_page(name, drawn=None):
    with open(path(name), encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    expect(not page.open and not page.loads, f"{name}: {page.open} {page.loads}")
    expect(not {"script", "link", "img", "iframe", "object", "image"} & set(page.names), f"{name}: {set(page.names)}")
    expect(not re.search(r"url\((?!#)|@import", text), f"{name} loads by CSS")
    expect(len(page.ids) == len(set(page.ids)), f"{name}: an id is there twice")
    if drawn is not None:
        expect(("svg" in page.names) == drawn, f"{name}: {set(page.names)}")
        expect(("gnuplot-nox" in page.text) == (not drawn), page.text)
    return page


def pages_say_what_was_measured():
    made = changed("suites", value=[*SAMPLE["suites"], {"name": "mpi", "state": "skipped", "reason": "no <b>MPI</b> & so"},
                                    {"name": "pool", "state": "running"}])
    made["complete"] = False
    made["device"] = "<script>alert(1)</script> \"'&amp;"
    made["host"]["cpu"] = "</td><img src=x onerror=alert(1)>"
    has_gnuplot = shutil.which("gnuplot") is not None
    result = run("--from", write("made.json", made), "--html", path("made.html"))
    expect(result.returncode == 0 and ("gnuplot-nox" in result.stdout) == (not has_gnuplot), str(result))
    page = check_page("made.html", drawn=has_gnuplot)
    for text in (made["device"], made["host"]["cpu"], "no <b>MPI</b> & so", "2 of 3 goals are met",
                 "unmet pairs.read.0-1: 200.0 us, goal 190.0", "interrupted", "incomplete", "memory.import_map.2MiB",
                 "memory of GPU 1", "336 GB/s", "gnuplot-nox" if not has_gnuplot else "numbers"):
        expect(text in page.text, f"{text}: {page.text}")
    if has_gnuplot:
        expect(page.names.count("svg") == 4, str(page.names))


def a_gnuplot_that_fails_leaves_tables():
    """Also one that answers with what is no drawing, or does something, or never ends."""
    for what in ("exit 1", "echo nonsense", "echo '<svg><script>x</script></svg>'", "echo '<svg>'", "exec sleep infinity",
                 "kill -9 $$", "cat /dev/zero | head -c 5000000"):
        with open(path("gnuplot"), "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{what}\n")
        os.chmod(path("gnuplot"), 0o755)
        result = run("--from", write("sample.json", SAMPLE), "--html", path("sample.html"),
                     PATH=FOLDER + ":" + os.environ["PATH"])
        expect(result.returncode == 0 and "gnuplot was not found, or has failed" in result.stdout, f"{what}: {result}")
        check_page("sample.html", drawn=False)
    os.unlink(path("gnuplot"))


CASES = [all_suites_are_in_one_file, an_interrupted_run_keeps_what_it_has, a_killed_run_keeps_what_it_has,
         a_file_that_cannot_be_written_ends_the_run]
# What has nothing to do with a device is tested once.
CASES_ONCE = [a_suite_that_fails_stops_no_other, files_that_are_none_are_refused, damaged_files_crash_nothing,
              files_of_earlier_versions_are_read, runs_are_compared, wrong_use_is_refused, pages_say_what_was_measured,
              a_gnuplot_that_fails_leaves_tables]

sys.exit(main(CASES + (CASES_ONCE if DEVICE == "host" else [])))
