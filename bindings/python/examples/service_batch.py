# SPDX-License-Identifier: Apache-2.0
"""A server of a model: calls of several processes are worked on together, as one matrix.

On a GPU the function would stack tensors and run the model once, which takes about as long for 32 inputs as for one.
"""

import asyncio
import multiprocessing as mp
import signal

import numpy as np

import warpway

NAME = "example-model"
INPUTS = 64
CLIENTS = 3
CALLS = 40  # of each client, in 8 lanes


def server():
    weights = np.linspace(0, 1, INPUTS, dtype="float32")
    service = warpway.Service(NAME, device="host", replace=True)

    @service.function(f"f32[{INPUTS}] x read -> f32 y", batch=32, batch_wait=0.002)
    def predict(x):  # a tuple of Arrays, one of each call
        results = np.stack(x) @ weights
        return [y if y >= 0 else warpway.InvalidArgument("the sum is negative") for y in results]

    signal.signal(signal.SIGTERM, lambda *_: service.drain())
    service.serve()
    (info,) = service.functions()
    print(f"server: {info.calls} calls in {info.batches} batches; {info.failed} failed")


def make_input(value):
    x = warpway.empty(INPUTS, "float32", device="host", kind="host")
    np.asarray(x)[:] = value
    return x


async def predict_all(number):
    with warpway.Client(NAME, timeout=60) as client:
        inputs = [make_input(number * CALLS + i) for i in range(CALLS)]
        return await asyncio.gather(*(client.submit("predict", x, lane=i % 8) for i, x in enumerate(inputs)))


def client(number):
    results = asyncio.run(predict_all(number))
    expected = [(number * CALLS + i) * INPUTS / 2 for i in range(CALLS)]
    assert np.allclose(results, expected), results


def main():
    context = mp.get_context("spawn")
    serving = context.Process(target=server)
    serving.start()
    clients = [context.Process(target=client, args=(number,)) for number in range(CLIENTS)]
    for each in clients:
        each.start()
    with warpway.Client(NAME, timeout=60) as wrong:
        try:
            wrong.predict(make_input(-1))  # alone: calls beside it succeed
        except warpway.InvalidArgument as error:
            print(error)
    for each in clients:
        each.join()
        assert each.exitcode == 0
    print(CLIENTS, "clients got all of their results")
    serving.terminate()
    serving.join()
    assert serving.exitcode == 0


if __name__ == "__main__":
    main()
