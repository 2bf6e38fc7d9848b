#!/usr/bin/env python3
"""random_test.py - random programs say with device memory what they say with the bare MPI

  random_test.py ABI LIBRARY FAKECUDA WARPWAYD PROGRAM [--first SEED] [--seeds COUNT] [--ranks N]

Runs the programs of COUNT seeds: with host memory and the bare MPI, then with device memory, with
both kinds, with ranks of which every other one has host memory and no library, and with ranks on two
nodes, as far as the library can see; each staged, and by the direct route as far as there is one. The
last two have twice as many ranks. Then 8 ranks run half of the seeds, by the direct route, with buffers
on all GPUs in each rank.
The results are printed as TAP. A difference names its seed: --first SEED --seeds 1 runs it again.
"""
import argparse
import sys

import launch


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("abi", "library", "fakecuda", "warpwayd", "program"):
        parser.add_argument(name)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--ranks", type=int, default=2)
    return parser.parse_args()


def run(launcher, given, mode, route, expected, ranks, seeds):
    """Return: what is wrong with one mode, or None."""
    with_library = None if mode == "every other rank" else True
    word = None if mode == "every other rank" else mode.split()[0]
    on_nodes = "on nodes" in mode
    more = {"WARPWAY_MPI_COLLECTIVES": "hierarchical"} if on_nodes else {}
    if "all GPUs" in mode:
        more["MPI_TEST_ALL_GPUS"] = "1"
    code, output, said = launcher.transcript(
        ranks, [*(launch.NODES if on_nodes else []), given.program, word, *seeds], with_library,
        WARPWAY_MPI_ROUTE=route, WARPWAY_MPI_REPORT="1", **more)
    if code:
        return f"exit code {code}: {output}"
    # Few seeds may have no message for it.
    problem = (launch.direct_problem(output, collectives=word == "device", hierarchical=on_nodes and word == "device")
               if route == "direct" and given.seeds >= 8 else None)
    return launch.difference(expected, said) or problem


def main():
    given = options()
    launcher = launch.Launcher(given.abi, given.library, given.fakecuda, given.warpwayd)
    launcher.seconds += 3 * given.seeds
    if not launcher.command:
        print(f"1..0 # SKIP no launcher of {given.abi} is installed")
        return 0
    failed, number = False, 0
    both = ("staged", "direct")
    for ranks, count, routes, modes in (
            (given.ranks, given.seeds, both, ("device", "mixed")),
            (2 * given.ranks, given.seeds, both, ("every other rank", "device on nodes", "mixed on nodes")),
            (8, (given.seeds + 1) // 2, ["direct"], ("device on all GPUs", "mixed on all GPUs"))):
        seeds = [str(given.first), str(count)]
        code, output, expected = launcher.transcript(ranks, [given.program, "host", *seeds], False)
        for mode in modes:
            for route in routes:
                number += 1
                problem = (f"bare MPI: exit code {code}: {output}" if code else
                           run(launcher, given, mode, route, expected, ranks, seeds))
                print(f"{'not ok' if problem else 'ok'} {number} - {count} seeds from {given.first}, "
                      f"{ranks} ranks, {mode}, {route}")
                if problem:
                    failed = True
                    print("\n".join("# " + line for line in problem.splitlines()))
    print(f"1..{number}")
    return 1 if failed else 0


sys.exit(main())
