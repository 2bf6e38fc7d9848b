"""Waits in asyncio: results, cancellation, and that none holds up others or the end."""
import asyncio
import os
import threading
import uuid
from types import SimpleNamespace

import pytest

import warpway
import warpway.aio
from children import LIMIT_S, run_python
from waits import Gate


def wait_threads():
    return [thread for thread in threading.enumerate() if thread.name == "warpway wait"]


def test_wait_returns_when_the_value_is_signalled():
    async def main():
        with warpway.Timeline() as timeline:
            task = asyncio.create_task(timeline.wait_async(1))
            await asyncio.sleep(0)
            assert not task.done()
            timeline.signal(1)
            assert await task is None
            await timeline.wait_async(1, 0)

    asyncio.run(main())


def test_timeout_and_errors_are_raised_where_it_is_awaited():
    async def main():
        with warpway.Timeline() as timeline:
            with pytest.raises(warpway.Timeout):
                await timeline.wait_async(1, timeout=0.01)
            with pytest.raises(ValueError):
                await timeline.wait_async(-1)
            with pytest.raises(TypeError):
                await timeline.wait_async()
            with pytest.raises(TypeError, match="task"):
                await timeline.wait_async(1, cancel=warpway.Cancel())
        with pytest.raises(ValueError, match="closed"):
            await timeline.wait_async(1)

    asyncio.run(main())


def test_waits_have_no_limit_and_do_not_delay_each_other():
    async def main():
        with warpway.Timeline() as timeline:
            waits = [asyncio.create_task(timeline.wait_async(value)) for value in range(100, 0, -1)]
            for value in range(1, 101):
                timeline.signal(value)
                await waits[-value]

    asyncio.run(main())


def test_cancelled_wait_has_ended():
    async def main():
        with warpway.Timeline() as timeline:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(timeline.wait_async(1), 0.01)
            task = asyncio.create_task(timeline.wait_async(1))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()  # once more, while it ends
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    for thread in wait_threads():
        thread.join(LIMIT_S)
    assert wait_threads() == []


def test_end_of_the_loop_ends_its_waits():
    async def main():
        for value in range(1, 9):
            tasks.append(asyncio.create_task(timeline.wait_async(value)))
        await asyncio.sleep(0)

    tasks = []
    with warpway.Timeline() as timeline:
        asyncio.run(main())
    assert [task.cancelled() for task in tasks] == [True] * 8


def test_coroutine_that_is_dropped_ends_its_wait():
    """Its loop is closed without cancelling it."""
    for thread in wait_threads():
        thread.join(LIMIT_S)  # of the cases before
    loop = asyncio.new_event_loop()
    with warpway.Timeline() as timeline:
        coroutine = timeline.wait_async(1)
        task = loop.create_task(coroutine)
        loop.run_until_complete(asyncio.sleep(0))
        [thread] = wait_threads()
        loop.close()
        coroutine.close()
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    task._log_destroy_pending = False  # pylint: disable=protected-access


def test_barrier():
    async def main():
        with warpway.Barrier(3) as barrier:
            members = [barrier, barrier.token().open(), barrier.token().open()]
            for _ in range(3):
                assert sorted(await asyncio.gather(*(member.wait_async() for member in members))) == [0, 1, 2]

    asyncio.run(main())


def test_barrier_can_be_used_again_after_a_cancelled_wait():
    async def main():
        with warpway.Barrier(2) as barrier, barrier.token().open() as other:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(barrier.wait_async(), 0.01)
            assert sorted(await asyncio.gather(barrier.wait_async(), other.wait_async())) == [0, 1]

    asyncio.run(main())


def test_stream_and_event(device):
    async def main():
        with Gate(device) as gate, warpway.Event(device) as event:
            event.record(gate.stream)
            waits = asyncio.gather(warpway.aio.run(gate.stream.synchronize), event.synchronize_async(timeout=1000))
            await asyncio.sleep(0)
            assert not waits.done()
            gate.open()
            await waits

    asyncio.run(main())


@pytest.mark.parametrize("name", "Barrier Broker Channel Client Event Service Timeline Watch WorkQueue".split())
def test_async_with_closes_in_a_thread(name, request, monkeypatch):
    request.getfixturevalue("broker")
    kind, closing = getattr(warpway, name), []
    close = kind.close
    monkeypatch.setattr(kind, "close", lambda self: (closing.append(threading.get_ident()), close(self)))
    served = uuid.uuid4().hex
    service = warpway.Service(served, device="host")
    made = {
        "Barrier": lambda: warpway.Barrier(1),
        "Channel": lambda: warpway.Channel(shape=(1,), dtype="uint8", device="host"),
        "Client": lambda: warpway.Client(served),
        "Service": lambda: service,
        "Watch": lambda: warpway.Broker().watch(),
        "WorkQueue": lambda: warpway.WorkQueue(None, (1,), "uint8", device="host"),
    }.get(name, kind)()

    async def main():
        with pytest.raises(KeyError):
            async with made as entered:
                assert entered is made and not made.closed
                raise KeyError
        assert made.closed and closing and threading.get_ident() not in closing

    asyncio.run(main())


def test_async_with_closes_without_a_loop():
    """As when a loop was closed before its tasks have ended."""
    channel = warpway.Channel(shape=(1,), dtype="uint8", device="host")

    async def wait():
        async with channel:
            await asyncio.sleep(0)

    waiting = wait()
    waiting.send(None)
    waiting.close()
    assert channel.closed


def test_run_refuses_what_takes_no_cancel():
    async def main():
        with pytest.raises(TypeError):
            await warpway.aio.run(print)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await warpway.aio.run(lambda cancel: next(iter(())))

    asyncio.run(main())


def test_wait_for_ever_does_not_hold_up_the_end_of_the_program():
    code = ("import asyncio, warpway\n"
            "timeline = warpway.Timeline()\n"
            "loop = asyncio.new_event_loop()\n"
            "task = loop.create_task(timeline.wait_async(1))\n"
            "loop.run_until_complete(asyncio.sleep(0))\n"
            "print('end')\n")
    assert run_python(code) == "end\n"


def test_broker_gets_what_is_put_later(request):
    name = request.node.name

    async def main():
        with warpway.Broker() as broker, warpway.Memory(4096, "host") as memory:
            task = asyncio.create_task(broker.get_async(name, timeout=None))
            await asyncio.sleep(0)
            assert not task.done()
            broker.put(name, memory)
            with await task as found:
                assert found.nbytes == memory.nbytes
            broker.remove(name)

    asyncio.run(main())


def test_cancelled_get_leaves_the_broker_usable(request):
    async def main():
        with warpway.Broker() as broker:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(broker.get_async(request.node.name, timeout=None), 0.01)
            assert broker.list(request.node.name) == []

    asyncio.run(main())


def views_held(fd=-1):
    """What `_poll` needs of a Channel of a GPU."""
    return SimpleNamespace(device=SimpleNamespace(backend="cuda"), held=0, fileno=lambda: fd)


def test_wait_for_views_has_the_time_that_is_left():
    reader, writer = os.pipe()
    timeouts = []

    def call(timeout, cancel=None):
        timeouts.append(timeout)
        if cancel:
            return "frame"
        raise warpway.Timeout("no frame") if len(timeouts) == 1 else warpway.WrongState("views")

    async def main():
        asyncio.get_running_loop().call_later(0.01, os.write, writer, b"1")
        assert await warpway.aio._poll(views_held(reader), call, LIMIT_S, print) == "frame"

    try:
        asyncio.run(main())
    finally:
        os.close(reader)
        os.close(writer)
    assert timeouts[:2] == [0, 0] and 0 < timeouts[2] < LIMIT_S


def test_cancelled_wait_for_views_gives_its_frame_back():
    started, came, kept = threading.Event(), threading.Event(), []

    def call(timeout, cancel=None):
        if not cancel:
            raise warpway.WrongState("views")
        started.set()
        came.wait(LIMIT_S)
        return "frame"

    async def main():
        task = asyncio.create_task(warpway.aio._poll(views_held(), call, None, kept.append))
        while not started.is_set():
            await asyncio.sleep(0)
        task.cancel()
        came.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert kept == ["frame"]


def test_watch_is_an_asynchronous_iterator(request):
    prefix = request.node.name

    async def main():
        seen = []
        with warpway.Broker() as broker, warpway.Memory(4096, "host") as memory, broker.watch(prefix) as watch:
            broker.put(f"{prefix}/one", memory)
            async for event in watch:
                seen.append(event.what)
                if event.what == "put":
                    broker.remove(f"{prefix}/one")
                elif event.what == "removed":
                    watch.close()
        return seen

    seen = asyncio.run(main())
    assert (seen[0], seen[-1]) == ("put", "removed")


def test_closing_a_watch_ends_its_iteration(request):
    async def main():
        with warpway.Broker() as broker:
            watch = broker.watch(request.node.name)

            async def follow():
                return [event async for event in watch]

            task = asyncio.create_task(follow())
            await asyncio.sleep(0)
            watch.close()
            assert await task == []

    asyncio.run(main())


def test_cancelled_wait_for_an_event_loses_none(device):
    """The wait has ended, and the loop has not run since, when the task is cancelled."""
    broker = warpway.Broker()

    async def main():
        with broker.watch("events/") as watch:
            for number in range(3):
                task = asyncio.create_task(watch.__anext__())
                await asyncio.sleep(0)
                with warpway.Memory(4096, device) as memory:
                    broker.put(f"events/{number}", memory)
                for thread in wait_threads():
                    thread.join(LIMIT_S)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                event = await anext(watch)
                assert (event.what, event.object.name) == ("put", f"events/{number}")
                while (await anext(watch)).what != "gone":
                    pass

    asyncio.run(main())
