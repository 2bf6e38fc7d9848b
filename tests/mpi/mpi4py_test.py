#!/usr/bin/env python3
"""mpi4py_test.py - mpi4py's own test suite passes with the library as without it, and with device memory

  mpi4py_test.py ABI LIBRARY FAKECUDA WARPWAYD [--python PROGRAM] [--suite FOLDER] [--ranks N] [--parts NAME,...]

PROGRAM is a Python that has mpi4py for this MPI; else one is looked for. FOLDER is the folder test/ of the sources of that
mpi4py; else pip fetches them, and without the package index the test is skipped. Parts: "host" runs the suite with host
memory, without the library and with it; "device" with device memory only. The results are printed as TAP.

Tests in which the bare MPI can wait for ever are left out: of Open MPI 4.1.4 those of MPI_Comm_spawn(), of MPICH 4.0.2 those
of mpi4py.util.sync. With device memory, windows and files are left out too, which the library refuses.
"""
import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile

import launch

SELF = os.path.dirname(os.path.abspath(__file__))
LEFT_OUT = {"host": ("spawn", "dynproc", "util_sync"), "device": ("spawn", "dynproc", "util_sync", "test_io", "test_rma")}
FAILED = re.compile(r"^(?:FAIL|ERROR): (.*)$", re.M)
TOTAL = re.compile(r"^Ran (\d+) tests", re.M)


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("abi", "library", "fakecuda", "warpwayd"):
        parser.add_argument(name)
    parser.add_argument("--python")
    parser.add_argument("--suite")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--parts", default="host,device")
    return parser.parse_args()


def fetch(python, folder):
    """The suite of the mpi4py that is installed, or None."""
    version = subprocess.run([python, "-c", "import mpi4py; print(mpi4py.__version__)"], check=True, text=True,
                             capture_output=True).stdout.strip()
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py",
                           "--dest", folder, f"mpi4py=={version}"], check=False)
    path = os.path.join(folder, f"mpi4py-{version}.tar.gz")
    if done.returncode or not os.path.exists(path):
        return None
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    return os.path.join(folder, f"mpi4py-{version}", "test")


def run(launcher, given, suite, kind, with_library):
    """Return: the tests that failed; how many ran; the last of what was printed."""
    left_out = [word for name in LEFT_OUT[kind] for word in ("-e", name)]
    command = [given.python, "-B", os.path.join(SELF, "mpi4py_rank.py"), suite, kind, "-v", *left_out]
    code, output = launcher.run(given.ranks, command, with_library, WARPWAY_MPI_ROUTE="direct", OMP_NUM_THREADS="1",
                                WARPWAY_MPI_REPORT="1")
    failed = set(FAILED.findall(output))
    total = sum(map(int, TOTAL.findall(output)))
    if (code and not failed) or not total:
        failed.add(f"the suite itself, exit code {code}")
    return failed, total, output


def parts(launcher, given, suite):
    """The name of each part, and what is wrong with it, or None."""
    chosen = given.parts.split(",")
    if "host" in chosen:
        expected, _, output = run(launcher, given, suite, "host", False)
        if any("suite itself" in name for name in expected):
            yield "host memory, bare MPI", output[-4000:]
            return
        failed, total, output = run(launcher, given, suite, "host", True)
        more = sorted(failed - expected)
        yield f"host memory, {total} tests, {len(expected)} fail without the library", more and f"{more}\n{output[-4000:]}"
    if "device" in chosen:
        failed, total, output = run(launcher, given, suite, "device", True)
        if not failed and not re.search(r"[1-9]\d* buffers staged", output):
            failed = {"nothing was staged"}
        yield f"device memory, {total} tests", failed and f"{sorted(failed)}\n{output[-4000:]}"


def main():
    given = options()
    launcher = launch.Launcher(given.abi, given.library, given.fakecuda, given.warpwayd)
    launcher.seconds = 900
    given.python = given.python or launch.python_of(given.abi)
    if not launcher.command or not given.python:
        print(f"1..0 # SKIP there is no launcher, or no mpi4py, of {given.abi}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        suite = given.suite or fetch(given.python, folder)
        if not suite:
            print("1..0 # SKIP pip cannot fetch the sources of mpi4py")
            return 0
        number, is_failed = 0, False
        for name, problem in parts(launcher, given, os.path.abspath(suite)):
            number += 1
            is_failed = is_failed or bool(problem)
            print(f"{'not ok' if problem else 'ok'} {number} - {given.abi}, mpi4py, {given.ranks} ranks: {name}", flush=True)
            if problem:
                print("\n".join("# " + line for line in problem.splitlines()), flush=True)
    print(f"1..{number}")
    return 1 if is_failed else 0


sys.exit(main())
