# SPDX-License-Identifier: Apache-2.0
"""One server has the arrays' device; its clients hold arrays without mapping them, and one of them is killed.

On a GPU the functions would be those of CuPy or PyTorch, on ``call.stream``.
"""

import asyncio
import multiprocessing as mp
import signal

import numpy as np

import warpway

NAME = "example-service"


def server(parent):
    service = warpway.Service(NAME, device="host", version="1.0", replace=True)

    @service.function("f32 a, f32[n] x read, f32[n] y readwrite")
    def saxpy(a, x, y):
        np.asarray(y)[:] += np.float32(a) * np.asarray(x)  # in place: no byte of x or y crosses a process

    @service.function("u64 n, f32 first = 0 -> f32[n] x")
    def ramp(n, first):
        if n > 1 << 20:
            raise warpway.InvalidArgument(f"a ramp has at most {1 << 20} elements, not {n}")
        return np.arange(first, first + n, dtype="float32")  # the client gets a token of a copy

    service.offer("total", "f32[n] x read -> f64 sum", lambda x: np.asarray(x).sum())

    @service.function("")
    def work_long(call):
        parent.send(f"a long call of process {call.pid} has begun")
        while not call.is_cancelled():  # also when the client ends
            parent.poll(0.01)
        parent.send("and nobody waits for it any more")

    signal.signal(signal.SIGTERM, lambda *_: service.drain())
    service.serve()
    print("server:", [(info.name, info.calls) for info in service.functions()])


def call_long():
    warpway.Client(NAME).work_long()


async def ramps(client):
    """Calls of four lanes run independently of each other."""
    return await asyncio.gather(*(client.submit("ramp", 1000, n, lane=n) for n in range(4)))


def main():
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=server, args=(theirs,))
    process.start()
    with warpway.Client(NAME, timeout=60) as client:
        x, y = client.ramp(1000), client.ramp(1000, first=5)
        client.saxpy(2.0, x, y)
        assert x.is_lazy and y.is_lazy  # this process has mapped neither
        print(client.saxpy.signature, "|", client.total(y), "|", [client.total(each) for each in asyncio.run(ramps(client))])
        try:
            client.ramp(1 << 30)
        except warpway.InvalidArgument as error:
            print(error)
        other = context.Process(target=call_long)
        other.start()
        print(ours.recv())
        other.kill()
        print(ours.recv())
        print(client.total(y), "as before")
    process.terminate()
    process.join()
    assert process.exitcode == 0


if __name__ == "__main__":
    main()
