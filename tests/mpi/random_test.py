#!/usr/bin/env python3
"""random_test.py - random programs say with device memory what they say with the bare MPI

  random_test.py ABI LIBRARY FAKECUDA PROGRAM [--first SEED] [--seeds COUNT] [--ranks N]

Runs the programs of COUNT seeds: with host memory and the bare MPI, then with device memory, with
both kinds, and with ranks of which every other one has host memory and no library.
The results are printed as TAP. A difference names its seed: --first SEED --seeds 1 runs it again.
"""
import argparse
import sys

import launch


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("abi", "library", "fakecuda", "program"):
        parser.add_argument(name)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--ranks", type=int, default=2)
    return parser.parse_args()


def main():
    given = options()
    launcher = launch.Launcher(given.abi, given.library, given.fakecuda)
    if not launcher.command:
        print(f"1..0 # SKIP no launcher of {given.abi} is installed")
        return 0
    seeds = [str(given.first), str(given.seeds)]
    code, output, expected = launcher.transcript(given.ranks, [given.program, "host", *seeds], False)
    if code:
        print(f"not ok 1 - bare MPI\n1..1\n# exit code {code}: {output}")
        return 1
    failed = False
    modes = ("device", "mixed", "every other rank")
    for number, mode in enumerate(modes, 1):
        if mode == "every other rank":
            code, output, said = launcher.transcript(given.ranks, [given.program, None, *seeds], None)
        else:
            code, output, said = launcher.transcript(given.ranks, [given.program, mode, *seeds], True)
        problem = f"exit code {code}: {output}" if code else launch.difference(expected, said)
        print(f"{'not ok' if problem else 'ok'} {number} - {given.seeds} seeds from {given.first}, "
              f"{given.ranks} ranks, {mode}")
        if problem:
            failed = True
            print("\n".join("# " + line for line in problem.splitlines()))
    print(f"1..{len(modes)}")
    return 1 if failed else 0


sys.exit(main())
