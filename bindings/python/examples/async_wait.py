# SPDX-License-Identifier: Apache-2.0
"""Waits for other processes in asyncio: each is a coroutine, and none of them blocks the loop."""

import asyncio
import multiprocessing as mp

import warpway
from warpway import aio


def child(barrier, wanted, answers):
    timeline = warpway.Timeline()
    answers.put(timeline)
    barrier.wait()
    for value in range(1, 4):
        wanted.wait(value)
        timeline.signal(value)
    broker = warpway.Broker()
    broker.put("example-async/result", warpway.zeros(3, "float32"), life="owner", replace=True)
    wanted.wait(4)


async def values(timeline, wanted):
    for value in range(1, 4):
        wanted.signal(value)
        await timeline.wait_async(value)
        print(f"value {value}")


async def names(broker):
    with broker.watch("example-async/") as watch:
        async for event in watch:
            if event.what == "put":
                print(f"{event.object.name} of process {event.object.pid}")
                return


async def main(process, barrier, wanted, timeline):
    broker = warpway.Broker()
    async with asyncio.TaskGroup() as group:
        named = group.create_task(names(broker))
        group.create_task(aio.run(warpway.Stream().synchronize))  # any call that takes cancel=
        await barrier.wait_async()
        group.create_task(values(timeline, wanted))
        result = await broker.get_async("example-async/result", timeout=60)
    assert named.done() and result.shape == (3,)

    # asyncio's own time limit ends the wait, as any cancelling of the task does.
    try:
        async with asyncio.timeout(0.1):
            await timeline.wait_async(5)
    except TimeoutError:
        print("value 5 did not come within 0.1 s")

    lost = asyncio.create_task(timeline.wait_async(5))
    await asyncio.sleep(0)
    process.kill()
    try:
        await lost
    except warpway.PeerLost as error:
        print(error)


if __name__ == "__main__":
    context = mp.get_context("spawn")
    together, progress, queue = warpway.Barrier(2), warpway.Timeline(), context.Queue()
    started = context.Process(target=child, args=(together, progress, queue))
    started.start()
    asyncio.run(main(started, together, progress, queue.get()))
    started.join()
