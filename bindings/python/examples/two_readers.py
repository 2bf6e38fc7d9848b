# SPDX-License-Identifier: Apache-2.0
"""Two servers of one model share one set of weights, by name and for reading only.

The loader puts the weights under a name. Each server waits for the name and maps the same memory. A
server cannot change the weights, and the weights stay when a server is killed.
"""

import multiprocessing as mp
import os

import numpy as np

import warpway

NAME = "example-readers/layer0/w"
ROWS, COLUMNS = 256, 64


def server(connection):
    with warpway.Broker().get(NAME, timeout=60) as array:
        weights = np.asarray(array)
        assert array.access == "read" and not weights.flags.writeable
        try:
            weights[0, 0] = 1
        except ValueError as error:  # NumPy knows that the memory is for reading only
            refusal = str(error)
        while (values := connection.recv()) is not None:
            connection.send((os.getpid(), refusal, weights @ values))


def main():
    context = mp.get_context("spawn")
    # A pipe for each: a process that is killed may hold a lock of a Queue that others use, too.
    pipes = [context.Pipe() for _ in range(2)]
    servers = [context.Process(target=server, args=(theirs,)) for _, theirs in pipes]
    ours = [connection for connection, _ in pipes]
    for process in servers:
        process.start()  # before the weights are there

    array = warpway.empty((ROWS, COLUMNS), "float32", device="host")
    weights = np.asarray(array)
    weights[:] = np.random.default_rng(0).random((ROWS, COLUMNS))
    broker = warpway.Broker()
    broker.put(NAME, array, life="owner", replace=True)  # with this process the name ends

    values = np.arange(COLUMNS, dtype="float32")
    for connection in ours:
        connection.send(values)
        pid, refusal, result = connection.recv()
        assert np.allclose(result, weights @ values)
        print(f"server {pid}: {result.shape[0]} results; storing: {refusal}")
    info = broker.stat(NAME)
    print(f"{info.bytes} bytes in state {info.state!r} are held by {info.holders} processes")

    servers[0].kill()
    servers[0].join()
    ours[1].send(values)
    assert np.allclose(ours[1].recv()[2], weights @ values)
    ours[1].send(None)
    servers[1].join()
    assert servers[1].exitcode == 0
    print("one server was killed, the other one went on")


if __name__ == "__main__":
    main()
