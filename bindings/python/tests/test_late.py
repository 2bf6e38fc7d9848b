# SPDX-License-Identifier: Apache-2.0
"""Threads of multiprocessing pickle after put() and submit() have returned: what is lost."""

import subprocess
import sys

import pytest

from children import LIMIT_S

PROGRAM = """
import multiprocessing as mp, pickle, sys, warpway

def child(queue, how):
    timeline = warpway.Timeline()
    timeline.close()
    sys.stdout.write(how + " ")
    if how == "caught":
        try: pickle.dumps(timeline)
        except ValueError: pass
    else:
        queue.put([(how, timeline)])
    if how.isdigit(): sys.exit(int(how))

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    queue, statuses = context.Queue(), []
    for how in ("returns", "0", "3", "caught"):
        process = context.Process(target=child, args=(queue, how))
        process.start()
        process.join()
        statuses.append(process.exitcode)
    child(queue, "main")
    print(statuses)
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_what_is_lost_is_told_at_exit(tmp_path, method):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    ended = subprocess.run([sys.executable, "-B", str(program), method], capture_output=True, text=True, timeout=2 * LIMIT_S,
                           check=True)  # fmt: skip
    assert ended.stdout == "returns 0 3 caught main [1, 1, 3, 0]\n"
    assert ended.stderr.count(" has lost objects, which a thread") == 4
    assert ended.stderr.count("  1 x Timeline: ValueError: this Timeline is closed") == 4
