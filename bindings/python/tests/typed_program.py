"""Calls as users write them: scripts/check-wheel has mypy --strict look at this file. It is never run."""
import asyncio
import multiprocessing as mp
import socket
import threading

import numpy as np
import numpy.typing as npt

import warpway
import warpway.aio


def use(array: warpway.Array) -> npt.NDArray[np.float32]:
    numbers: npt.NDArray[np.float32] = np.asarray(array)
    view = np.from_dlpack(array)
    view[...] = 1
    array.copy_from(numbers)
    array.copy_from(b"abc")
    array.copy_to(bytearray(4))
    row = array[0, ..., None, 1:2]
    print(row.shape, array.T.dtype, len(array), memoryview(array).nbytes)
    memoryview(array.memory)[:3] = b"abc"
    return numbers


def by_handle(array: warpway.Array, handle: bytes) -> None:
    with array.get_ipc_handle() as opened, warpway.open_ipc_array(handle, shape=3, dtype="float32") as other:
        opened.copy_from(other)


async def wait(timeline: warpway.Timeline, barrier: warpway.Barrier, broker: warpway.Broker) -> int:
    await timeline.wait_async(3, 1.5)
    async for event in broker.watch("lab/", existing=True):
        if event.object is not None:
            print(event.what, event.object.name, event.object.shape)
    stream = warpway.Stream()
    await warpway.aio.run(stream.synchronize)
    found = await broker.get_async("a", timeout=None)
    print(found.closed, found.shape)  # type: ignore[union-attr]
    if isinstance(found, warpway.Array):
        print(found.shape)
    print(barrier.fileno())
    return await barrier.wait_async()


def produce(channel: warpway.Channel) -> None:
    channel.wait_consumers(2, timeout=3)
    with channel.acquire(timeout=1.5, shape=(3, 4)) as frame:
        np.asarray(frame)[...] = 1
        frame.metadata = b"abc"
    print(channel.send(np.zeros((3, 4)), b"abc"), channel.send(b"abc"), channel.shape, channel.published)
    for consumer in channel.who():
        channel.evict(consumer.number)
    print(channel.next_event(timeout=3).what)


def work(queue: warpway.WorkQueue) -> None:
    print(queue.send(np.zeros((3, 4)), b"abc"), queue.role, queue.available, queue.shape)
    with queue.acquire(timeout=1.5) as frame:
        frame.metadata = b"abc"
    for frame in queue:
        if frame.attempts > 2:
            frame.reject()
        print(frame.producer, frame.is_repeat, memoryview(frame).nbytes, np.from_dlpack(frame))
        frame.acknowledge()
    queue.shutdown()


async def consume(channel: warpway.Channel) -> None:
    for frame in channel:
        print(frame.number, frame.metadata, frame.array.shape, memoryview(frame).nbytes, np.from_dlpack(frame))
    async for frame in channel:
        frame.release()
    with await channel.receive_async(timeout=3) as frame:
        print(frame.submitted_ns)


def serve(service: warpway.Service) -> None:
    @service.function("f32 a, f32[n] x read -> f64 sum", name="lab/sum", idempotent=True)
    def total(a: float, x: warpway.Array, call: warpway.Call) -> float:
        if call.is_cancelled():
            call.fail(f"process {call.pid} of user {call.uid} waits no more", warpway.Unavailable)
        with call.stream:
            return float(a * np.asarray(x).sum())

    service.offer("echo", "bytes a -> bytes b", bytes, uids=[0])
    with service:
        print(total(1.0, warpway.zeros(3), next(iter(()))), service.serve(timeout=3), service.info().state)
        print([info.calls / info.run_time for info in service.functions()])


async def call(client: warpway.Client, array: warpway.Array) -> None:
    client.wait_ready(timeout=3)
    total = client.call("lab/sum", 2.0, array)
    print(total + 1)  # type: ignore[operator]
    if isinstance(total, float):
        print(total + 1)
    found = client.function("lab/sum", "f32 a, f32[n] x read -> f64 sum")
    print(found(2.0, array, timeout=3) + client.echo(b"abc"), found.parameters)
    ticket = client.submit("lab/sum", 2.0, x=array, lane=3, deadline=0.5)
    print(await ticket, ticket.result(timeout=3), ticket.done)
    print(ticket.fileno())
    ticket.cancel()


def main() -> None:
    serve(warpway.Service("a", mode=0o660, version="2.1"))
    asyncio.run(call(warpway.Client("a", timeout=None), warpway.zeros(3)))
    produce(warpway.Channel("a", (3, 4), np.float32, policy="latest", deadline=0.5))
    work(warpway.WorkQueue("b", (3, 4), np.float32, attempts_max=2))
    work(warpway.WorkQueue.get(warpway.WorkQueue.get("b", role="failed").token("write"), role="producer", timeout=3))
    asyncio.run(consume(warpway.Channel.get("a", history="all", timeout=None)))
    device = warpway.Device("host")
    array = warpway.zeros((3, 4), np.float32, device=device)
    array2 = warpway.empty(np.int64(5), np.dtype("int8"), pool=warpway.Pool(0, bytes_max=1 << 20))
    context = mp.get_context("spawn")
    queue: mp.Queue[warpway.Array | warpway.Token] = context.Queue()
    queue.put(array.token("read", uses=2, escrow=None))
    broker = warpway.Broker()
    broker.put("a", array, life="kept", mode=0o640)
    other = broker.get("a", timeout=3)
    assert isinstance(other, warpway.Array)
    try:
        info = broker.stat("a")
        for info in broker.list("a"):
            print(info.name, info.time_left)
    except warpway.Timeout as error:
        print(error.status, error.message)
    a, b = socket.socketpair()
    array.memory.send(a, "read")
    stop = warpway.Cancel()
    threading.Thread(target=stop.set).start()
    with warpway.Memory.receive(b, cancel=stop) as memory:
        memory.write(np.zeros(3), 5)
        print(memory.array((2, 3), "float32").reshape(-1).reshape((3, 2)))
    warpway.share(np.zeros(3), copy=True)
    warpway.enable_logging()
    use(other)
    use(array2)
    token = warpway.Token.from_bytes(array.token().to_bytes())
    print(token.open().closed, token.open().shape)  # type: ignore[union-attr]
    memory2, offset = warpway.Memory.find(array.pointer)
    print(token == array.token(), memory2, offset)
    timeline = warpway.Timeline()
    asyncio.run(wait(timeline, warpway.Barrier(2), broker))

