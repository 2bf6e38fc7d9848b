# SPDX-License-Identifier: Apache-2.0
"""A notebook looks at the arrays of a job that runs already, by their names.

    python notebook_to_job.py job         # in one shell
    python notebook_to_job.py notebook    # in another one, started before or after it

Without an argument the program starts both.
"""

import subprocess
import sys

import numpy as np

import warpway

STEPS = 3
SHAPE = (2, 3)


def job():
    broker = warpway.Broker()
    weights = warpway.zeros(SHAPE, "float32", device="host")
    broker.put("example-job/weights", weights, life="owner", state="shared", replace=True)
    steps = []
    for step in range(1, STEPS + 1):
        np.asarray(weights)[:] += 1
        steps.append(warpway.empty(SHAPE, "float32", device="host"))
        steps[-1].copy_from(weights)
        broker.put(f"example-job/step{step}", steps[-1], life="owner", replace=True)
    input("job: its arrays are there until it ends: press Enter\n")


def notebook():
    broker = warpway.Broker()
    with broker.watch("example-job/step", existing=True) as watch:
        for event in watch:  # an event 'put' for each that is there, then for each new one
            if event.what != "put":
                continue
            name = event.object.name
            array = broker.get(name, timeout=60)
            print(f"notebook: {name} is {array.dtype}{list(array.shape)}, mean {np.asarray(array).mean()}")
            if name.endswith(f"step{STEPS}"):
                break
    weights = broker.get("example-job/weights")  # for reading, while the job may write
    pid = broker.stat("example-job/weights").pid
    print(f"notebook: the mean of the weights of process {pid} is {np.asarray(weights).mean()}")


def main():
    if len(sys.argv) > 1:
        {"job": job, "notebook": notebook}[sys.argv[1]]()
        return
    with subprocess.Popen([sys.executable, __file__, "job"], stdin=subprocess.PIPE) as running:
        subprocess.run([sys.executable, __file__, "notebook"], check=True)
        running.communicate(b"\n")
    assert running.returncode == 0


if __name__ == "__main__":
    main()
