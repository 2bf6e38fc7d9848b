# SPDX-License-Identifier: Apache-2.0
"""What is done many times leaves nothing behind, in this process and in the broker.

WW_TEST_ROUNDS says how often: a few hundred times without it, 100000 for a thorough run.
"""

import gc
import os
import pickle
import threading
import time

import pytest

import warpway
from children import LIMIT_S
from waits import until

ROUNDS = int(os.environ.get("WW_TEST_ROUNDS", "300"))
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")  # which keeps freed memory for a while


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return sum(1 for _ in file)


class Use:
    """What this process and the broker use now."""

    def __init__(self, broker):
        gc.collect()
        info = broker.info()
        self.descriptors = len(os.listdir("/proc/self/fd"))
        self.mappings = lines("/proc/self/maps")
        self.threads = len(os.listdir("/proc/self/task"))
        self.python_objects = len(gc.get_objects())
        self.resident = resident_bytes()
        self.objects, self.holds = info.objects, info.holds

    def grown(self, before, rounds):
        """What there is more of. A little is not counted: the allocator's own."""
        slack = {"descriptors": 2, "mappings": 20, "threads": 1, "python_objects": 100, "objects": 0, "holds": 0}
        slack["resident"] = 8 * 2**20 + 4 * rounds if not SANITIZED else 2**40
        more = {name: getattr(self, name) - getattr(before, name) for name in slack}
        return {name: count for name, count in more.items() if count > slack[name]}


def check(step, rounds=ROUNDS):
    """Does it often, and then looks what is left. Threads and the broker may need a moment."""
    with warpway.Broker() as broker:
        for _ in range(min(rounds, 100)):
            step()
        before = Use(broker)
        for _ in range(rounds):
            step()
        deadline = time.monotonic() + LIMIT_S
        while (grown := Use(broker).grown(before, rounds)) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert grown == {}


def test_arrays(device):
    def step():
        with warpway.zeros((3, 4), device=device) as array:
            with pickle.loads(pickle.dumps(array)) as lazy:
                lazy.shape
            with pickle.loads(pickle.dumps(array[1:])) as received:
                received.pointer
                received.T.T.reshape(8)
            array.memory.revoke()  # what a process opens that holds it already stays in flight

    check(step)


def test_buffers_and_tensors(device):
    with warpway.zeros((3, 4), device="host") as kept:

        def step():
            view = memoryview(kept)
            warpway.from_dlpack(kept).close()
            kept.__dlpack__()
            kept.__dlpack__(max_version=(1, 1))
            warpway.Memory.wrap(kept.pointer, 16, "host", keep=view).close()
            kept.memory.read(0, 16)
            kept.copy_from(bytes(48))

        check(step)


def test_tokens(device):
    with warpway.zeros(4, device=device) as array:

        def step():
            token = warpway.Token(array.token(uses=0, escrow=None).text)
            token.open().close()
            token.open("read").close()

        check(step)


def test_names(device):
    with warpway.Broker() as broker, warpway.zeros(4, device=device) as array:

        def step():
            broker.put("leaks/a", array, state="shared")
            broker.get("leaks/a", access="write").close()
            broker.list()
            broker.who()
            broker.stat("leaks/a")
            broker.remove("leaks/a")

        check(step)


def test_watches():
    with warpway.Broker() as broker:

        def step():
            with broker.watch("leaks/", existing=True) as watch, warpway.Timeline() as timeline:
                broker.put("leaks/b", timeline)
                assert watch.next(LIMIT_S).what == "put"
                broker.remove("leaks/b")

        check(step)


def test_timelines():
    def step():
        with warpway.Timeline() as timeline:
            timeline.signal(1)
            timeline.wait(1)
            os.close(timeline.eventfd(1))
            os.close(timeline.eventfd(2))
            with timeline.token(escrow=None).open() as other:
                other.query(1)

    check(step)


def test_streams(device):
    def step():
        with warpway.Stream(device) as stream, warpway.zeros(4, device=device) as array:
            array[:2].copy_from(array[2:])  # by a stream of the library's
            stream.call(object)
            array.ready(stream).wait()
            array.wait(stream)
            stream.synchronize()

    check(step)


def test_events_and_barriers(device):
    def step():
        with warpway.Event(device) as event, warpway.Stream(device) as stream, warpway.Barrier(1) as barrier:
            event.record(stream)
            event.synchronize()
            barrier.wait()

    check(step)


def test_slices(device):
    with warpway.Pool(device, bytes_max=2**22) as pool, warpway.Stream(device) as stream:

        def step():
            pool.empty(100, "uint8").close(stream)
            with pool.empty(100, "uint8") as array, pickle.loads(pickle.dumps(array)) as other:
                other.pointer

        check(step)
        stream.synchronize()
        until(lambda: pool.info().bytes_used == 0, pool.info)


def test_channels(device):
    def step():
        with warpway.Channel(None, (3, 4), "float32", device=device, metadata_bytes=8) as channel:
            with channel.token(escrow=None).open() as consumer:
                channel.send(bytes(48) if channel.dtype is None else memoryview(bytes(48)).cast("f", (3, 4)), b"a")
                assert next(consumer).metadata == b"a"

    check(step, max(ROUNDS // 3, 10))


def test_frames(device):
    with warpway.Channel(None, (3, 4), "float32", device=device, kind="host", metadata_bytes=8) as channel:
        with channel.token().open() as consumer, warpway.Stream(device) as stream:

            def step():
                with channel.acquire(stream) as frame:
                    memoryview(frame)
                    frame.__dlpack__()
                channel.acquire().discard()
                channel.acquire(shape=(1, 1)).array  # and forgotten
                with consumer.receive(stream) as frame:
                    view = memoryview(frame.array[1:])
                    frame.__dlpack__(max_version=(1, 1))
                del view

            check(step)


def test_work_queues(device):
    def step():
        with warpway.WorkQueue(None, (3, 4), "float32", device=device, metadata_bytes=8) as queue:
            with queue.token(escrow=None).open() as consumer:
                for _ in range(3):
                    queue.send(memoryview(bytes(48)).cast("f", (3, 4)), b"a")
                assert next(consumer).metadata == b"a"
                next(consumer).array
                consumer.receive().reject()

    check(step, max(ROUNDS // 3, 10))


def test_work_frames(device):
    with warpway.WorkQueue(None, (3, 4), "float32", device=device, kind="host", metadata_bytes=8, attempts_max=64) as queue:
        with queue.token().open() as consumer, warpway.Stream(device) as stream:

            def step():
                with queue.acquire(stream) as frame:
                    memoryview(frame)
                    frame.__dlpack__()
                queue.acquire().discard()
                queue.acquire(shape=(1, 1)).array  # and forgotten
                consumer.receive(stream).array  # and forgotten, so it comes again
                with consumer.receive(stream) as frame:
                    view = memoryview(frame.array[1:])
                    assert frame.is_repeat
                del view

            check(step)


FAILURES = [
    lambda thing: warpway.Memory(-1),
    lambda thing: warpway.Memory(2**62, "host"),
    lambda thing: warpway.Memory(1, "no such device"),
    lambda thing: warpway.Array(thing["memory"], (2**40, 2**40), "float32"),
    lambda thing: warpway.Array(thing["memory"], (1, 1), "float32", strides=(1,)),
    lambda thing: warpway.Token(b"junk"),
    lambda thing: warpway.Stream.wrap(object(), "host"),
    lambda thing: warpway.from_dlpack(bytearray(3)),
    lambda thing: thing["memory"].write(b"x" * 10, 2**40),
    lambda thing: thing["memory"].write(b"x" * 10, offset="a"),
    lambda thing: thing["memory"].readinto(bytearray(10), 0, timeout=-1),
    lambda thing: thing["memory"].read(0, 2**62),
    lambda thing: thing["memory"].token(uses=-1),
    lambda thing: thing["memory"].token(broker=thing["closed"]),
    lambda thing: thing["timeline"].wait(5, timeout=0),
    lambda thing: thing["timeline"].wait(5, cancel=thing["cancelled"]),
    lambda thing: thing["timeline"].wait(5, stream=3.5),
    lambda thing: thing["broker"].get("no such name"),
    lambda thing: thing["broker"].put("leaks/c", object()),
    lambda thing: thing["broker"].put(None, thing["timeline"]),
    lambda thing: warpway.Barrier.get("no such name").join(timeout=0),
    lambda thing: warpway.Barrier.get("name", broker=thing["closed"]),
    lambda thing: thing["closed"].info(),
    lambda thing: thing["pool"].alloc(2**40),
    lambda thing: thing["pool"].empty((1, "x"), "float32"),
    lambda thing: pickle.dumps(thing["broker"]),
    lambda thing: warpway._core.unpickle(b"\1\0\5\0abcde"),
    lambda thing: thing["memory"].close(object()),
    lambda thing: thing["array"][0, 0, 0],
    lambda thing: thing["array"].copy_from(b"1"),
    lambda thing: thing["array"].copy_from(thing["array"][:2]),
    lambda thing: thing["array"].__dlpack__(dl_device=(9, 9)),
    lambda thing: warpway.Channel("leaks/d"),
    lambda thing: warpway.Channel("leaks/d", slot_bytes=2**62),
    lambda thing: warpway.Channel.get("no such name"),
    lambda thing: warpway.Channel.get(thing["channel"].token(escrow=None), shape=(1,), dtype="int8"),
    lambda thing: thing["channel"].acquire(shape=(9,)),
    lambda thing: thing["channel"].acquire(3.5),
    lambda thing: thing["channel"].receive(),
    lambda thing: thing["channel"].send(b"abc"),
    lambda thing: thing["consumer"].receive(timeout=0),
    lambda thing: thing["consumer"].receive(cancel=thing["cancelled"]),
    lambda thing: thing["channel"].acquire().array.token(),
    lambda thing: thing["channel"].acquire().publish(nbytes=3),
    lambda thing: setattr(thing["channel"].acquire(), "metadata", b"too long"),
    lambda thing: warpway.WorkQueue("leaks/e"),
    lambda thing: warpway.WorkQueue("leaks/e", slot_bytes=2**62),
    lambda thing: warpway.WorkQueue("leaks/e", slot_bytes=8, role="nobody"),
    lambda thing: warpway.WorkQueue.get("no such name"),
    lambda thing: warpway.WorkQueue.get(thing["queue"].token(escrow=None), shape=(1,), dtype="int8"),
    lambda thing: thing["queue"].receive(),
    lambda thing: thing["queue"].acquire(nbytes=513),
    lambda thing: thing["worker"].receive(timeout=0),
    lambda thing: thing["worker"].acquire(),
    lambda thing: thing["worker"].shutdown(),
    lambda thing: thing["queue"].acquire().acknowledge(),
]


def test_failures():
    things = {
        "memory": warpway.Memory(4096, "host"),
        "timeline": warpway.Timeline(),
        "broker": warpway.Broker(),
        "closed": warpway.Broker(),
        "cancelled": warpway.Cancel(),
        "pool": warpway.Pool("host"),
        "array": warpway.zeros((4, 4), device="host"),
        "channel": warpway.Channel(None, (3, 4), "float32", device="host"),
    }
    things["consumer"] = things["channel"].token().open()
    things["queue"] = warpway.WorkQueue(None, slot_bytes=8, device="host")
    things["worker"] = things["queue"].token().open()
    things["closed"].close()
    things["cancelled"].set()

    def step():
        for failure in FAILURES:
            with pytest.raises((ValueError, TypeError, LookupError, AttributeError, BufferError, warpway.Error)):
                failure(things)

    check(step, max(ROUNDS // 10, 10))


# --- between processes ---


def echo(parent):
    """Sends back what it gets, as long as it gets something."""
    while (received := parent.recv()) is not None:
        parent.send(received)
        received.close()
    with warpway.Broker() as broker:
        use = Use(broker)
    return use.descriptors, use.mappings


def test_slices_there_and_back(device, spawn):
    child = spawn(echo)
    with warpway.Pool(device, bytes_max=2**22) as pool:

        def step():
            with pool.empty(100, "uint8") as array:
                child.send(array)
                child.receive().close()

        check(step)
        child.send(None)
        descriptors, mappings = child.result()
        assert descriptors < 60 and mappings < 2000
        until(lambda: (pool.info().bytes_used, pool.info().bytes_waiting) == (0, 0), pool.info)


def test_calls(device):
    kept = warpway.zeros(4, "float32", device=device)
    cancel = warpway.Cancel()
    with warpway.Service(device=device) as service, kept:
        service.offer("echo", "f64 a, bytes b, f32[n] x read, timeline t -> f64 c, bytes d", lambda a, b, x, t: (a, b))
        service.offer("kept", "-> f32[n] y", lambda: kept)
        service.offer("invert", "f64 a, f32[n] x read -> f64 b", invert_all, batch=4)
        service.offer("fail", "i32 a", refuse)  # a traceback in the log would keep what it shows
        thread = threading.Thread(target=serve, args=(service, cancel))
        thread.start()
        with warpway.Client(service.token()) as client, warpway.Timeline() as timeline:

            def step():
                assert client.echo(1.5, b"bytes", kept, timeline) == (1.5, b"bytes")
                client.submit("kept")
                client.kept().close()
                lazy = client.kept()
                client.echo(1.5, b"bytes", lazy, timeline)
                assert client.invert(4.0, kept) == 0.25
                for wrong in (0.0, -1.0):
                    try:
                        client.invert(wrong, kept)
                    except warpway.CallError:
                        pass
                try:
                    client.fail(0)
                except warpway.CallError:
                    pass
                try:
                    client.fail("x")
                except TypeError:
                    pass

            check(step)
        cancel.set()
        thread.join()


def refuse(number):
    raise warpway.WrongState(f"{number} is refused")


def invert_all(a, x, call):
    """A call of 0 fails alone, with one of -1 all fail."""
    if -1.0 in a:
        raise warpway.WrongState(f"one of {len(call)} is -1")
    return [1 / each if each else warpway.WrongState("it is 0") for each in a]


def serve(service, cancel):
    try:
        service.serve(cancel=cancel)
    except warpway.Cancelled:
        pass


def test_services(device):
    def step():
        with warpway.Service(device=device) as service:
            service.function("i32 a -> i32 b", name="step")(int)
            service.start()
            with warpway.Client(service.token()) as client:
                ticket = client.submit("step", 1)
                client.functions()
                client.info()
                service.serve(timeout=0)
                ticket.cancel()

    check(step, min(ROUNDS, 300))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_stream_is_closed_without_memory(device):
    memory = pytest.importorskip("_testcapi")
    for n in range(10):
        stream = warpway.Stream(device)
        memory.set_nomemory(n, n + 1)
        try:
            stream.close()
        except MemoryError:
            continue
        finally:
            memory.remove_mem_hooks()
        assert repr(stream) == "<warpway.Stream closed>"
