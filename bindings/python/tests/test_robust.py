# SPDX-License-Identifier: Apache-2.0
"""Whatever a program does with the objects, it gets an exception: no crash, and no hang."""

import gc
import importlib.util
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

import warpway
from children import LIMIT_S, run_python
from waits import in_thread, interrupt_main_thread, interrupted, until, when_main_thread_sleeps

# One seed in each run of the tests; another one by WW_TEST_SEED.
SEED = int(os.environ.get("WW_TEST_SEED", "1"))


# --- random calls ---


@pytest.mark.parametrize("threads", [1, 3])
def test_random_calls(threads, device):
    program = Path(__file__).with_name("fuzz_calls.py")
    print(f"seed {SEED}")
    done = subprocess.run(
        [sys.executable, program, str(SEED), str(3000 // threads), str(threads)],
        env={**os.environ, "WW_TEST_DEVICE": device}, capture_output=True, text=True, timeout=3 * LIMIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), f"seed {SEED}: {done.stderr}"


# --- objects that were not made as they should be ---


TYPES = [value for value in vars(warpway._core).values() if isinstance(value, type) and value.__base__ is object]


@pytest.mark.parametrize("kind", TYPES)
def test_no_instance_is_made_another_way(kind):
    with pytest.raises(TypeError):
        object.__new__(kind)
    with pytest.raises(TypeError):
        type("Sub", (kind,), {})


def test_module_that_was_not_executed():
    module = importlib.util.module_from_spec(importlib.util.find_spec("warpway._core"))
    for name in ("itemsize", "unpickle", "from_dlpack"):
        with pytest.raises(RuntimeError, match="import warpway"):
            getattr(module, name)(b"")


def test_sub_interpreter_is_refused():
    """By this package, or by Python, which says so itself from 3.12 on."""
    interpreters = pytest.importorskip("_xxsubinterpreters")
    own = interpreters.create()
    try:
        with pytest.raises(interpreters.RunFailedError, match="main interpreter|loading in subinterpreters"):
            interpreters.run_string(own, "import warpway")
    finally:
        interpreters.destroy(own)


# --- streams of other libraries ---


def test_stream_that_names_itself(device):
    class Ring:
        pass

    ring = Ring()
    ring.handle = ring
    with pytest.raises(TypeError):
        warpway.Stream.wrap(ring, device)


@pytest.mark.parametrize("protocol", [(0, "x"), (0, None), (0,), None, 5, (0, 2**70), "ab"])
def test_stream_of_junk(protocol, device):
    class Junk:
        __cuda_stream__ = protocol

    with pytest.raises((TypeError, IndexError, OverflowError)):
        warpway.Stream.wrap(Junk(), device)


@pytest.mark.parametrize("kind", ["Timeline", "Barrier", "Memory"])
def test_own_objects_that_are_no_stream(kind, device):
    """A Timeline has a value, as a handle of ctypes has: no driver must get it as an address."""
    thing = {"Timeline": lambda: warpway.Timeline(77), "Barrier": lambda: warpway.Barrier(1),
             "Memory": lambda: warpway.Memory(1, device)}[kind]()  # fmt: skip
    with pytest.raises(TypeError, match="a stream is a warpway.Stream"):
        warpway.Stream.wrap(thing, device)
    with pytest.raises(TypeError, match="a stream is a warpway.Stream"):
        warpway.zeros(4, device=device).ready(thing)


class Closing:
    """A stream that closes something when it is asked for its number."""

    def __init__(self, victim):
        self.victim = victim

    def __cuda_stream__(self):
        self.victim.close()
        gc.collect()
        return (0, 1)


@pytest.mark.parametrize("use", ["close", "ready", "wait"])
def test_conversion_that_closes_the_memory(use, device):
    array = warpway.zeros(4, device=device)
    try:
        if use == "close":
            array.memory.close(Closing(array))
        elif use == "ready":
            array.ready(Closing(array))
        else:
            array.wait(Closing(array))
    except (ValueError, warpway.Unsupported):
        pass
    assert array.closed or device == "host"


def test_close_while_another_thread_closes_by_a_stream(device):
    memory, stream, gate = warpway.Memory(1, device), warpway.Stream(device), threading.Event()
    stream.call(gate.wait)
    result = in_thread(memory.close, stream)
    memory.close()
    gate.set()
    result()
    stream.close()


# --- numbers and names ---


@pytest.mark.parametrize("number", [2**64, 2**100, -(2**64), 10**5000], ids=["64", "100", "-64", "long"])
def test_numbers_that_are_too_large(number, device):
    array = warpway.zeros(4, device=device)
    calls = [
        lambda: warpway.Memory(number, device),
        lambda: warpway.Timeline(number),
        lambda: array[number],
        lambda: array.reshape(number),
        lambda: warpway.Device(number),
        lambda: array.token(uses=number),
    ]
    for call in calls:
        with pytest.raises((ValueError, OverflowError, IndexError)):
            call()
    try:
        array.ready(warpway.Stream(device)).__dlpack__(stream=number)
    except (BufferError, OverflowError):
        pass  # and no SystemError


@pytest.mark.parametrize("text", ["host\0", "\udc80"])
def test_texts_that_c_has_not(text):
    with warpway.Broker() as broker:
        calls = [warpway.Device, warpway.Token, broker.get, broker.stat, broker.list, warpway.Barrier.get]
        calls += [warpway.Broker, warpway._core.itemsize]
        for call in calls:
            if call is warpway.Broker and text == "\udc80":
                continue  # a path of any bytes
            with pytest.raises((ValueError, warpway.Error)):
                call(text)


# --- DLPack of others ---


class Tensor:
    def __init__(self, capsule, where=(1, 0)):
        self.capsule, self.where = capsule, where

    def __dlpack_device__(self):
        return self.where

    def __dlpack__(self, **keywords):
        return self.capsule


def test_tensors_of_junk(device):
    for capsule in (None, 5, "dltensor", type(warpway.zeros(1, device=device).__dlpack__())):
        with pytest.raises((ValueError, TypeError)):
            warpway.from_dlpack(Tensor(capsule))
    for where in (None, (1,), [1, 0], (2, 2**40), ("a", "b"), (2, -1)):
        with pytest.raises((ValueError, TypeError, OverflowError, warpway.Error)):
            warpway.from_dlpack(Tensor(None, where))


def test_a_capsule_is_taken_once(device):
    array = warpway.zeros(1000, device=device)
    for _ in range(20):
        tensor = Tensor(array.__dlpack__(), array.__dlpack_device__())
        start = threading.Barrier(4)

        def take(tensor=tensor, start=start):
            start.wait()
            try:
                return warpway.from_dlpack(tensor)
            except ValueError:
                return None

        taken = [result() for result in [in_thread(take) for _ in range(4)]]
        assert sum(made is not None for made in taken) == 1


# --- signals ---


def send(number):
    """Sends a signal to this process while its main thread waits."""
    return when_main_thread_sleeps(os.kill, os.getpid(), number)


@pytest.fixture
def handlers():
    numbers = (signal.SIGINT, signal.SIGUSR1, signal.SIGALRM)
    former = [signal.getsignal(number) for number in numbers]
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in zip(numbers, former):
        signal.signal(number, handler)


def waits_of(device):
    """Calls that wait for ever, without and with a broker."""
    name = f"{device}-never"
    with warpway.Timeline() as timeline, warpway.Channel(None, 3, "int32", device=device, kind="host") as channel, \
            warpway.Broker() as broker, warpway.Channel.get(channel.token()) as consumer:
        yield lambda **limit: timeline.wait(1, **limit)
        yield consumer.receive
        yield lambda **limit: broker.get(name, **limit)


def test_signal_that_another_thread_gets(handlers, device):
    def fail(*_unused):
        raise LookupError("handled")

    signal.signal(signal.SIGUSR1, fail)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        for wait in waits_of(device):
            sent = when_main_thread_sleeps(
                lambda: (signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1]),
                         signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)))
            with pytest.raises(LookupError, match="handled"):
                wait(timeout=LIMIT_S)
            sent()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])


def test_signals_just_before_waits(handlers, device):
    """1,000, of which some come when the wait has just begun."""
    def fail(*_unused):
        raise LookupError("handled")

    signal.signal(signal.SIGALRM, fail)
    for wait in waits_of(device):
        for count in range(334):
            with pytest.raises(LookupError, match="handled"):
                signal.setitimer(signal.ITIMER_REAL, (count % 50 + 1) / 1e6)
                wait(timeout=LIMIT_S)


def test_idle_wait_costs_little(device):
    """At most 100 sleeps a second, of 50 us each: half a per cent of a core.

    If WW_TEST_TIMES is set, the CPU time of all threads is judged, too. A busy machine makes each sleep cost more.
    """
    for wait in waits_of(device):
        before = resource.getrusage(resource.RUSAGE_SELF)
        with pytest.raises((warpway.Timeout, warpway.NotFound)):
            wait(timeout=2)
        after = resource.getrusage(resource.RUSAGE_SELF)
        assert after.ru_nvcsw - before.ru_nvcsw <= 2 * 100
        if "WW_TEST_TIMES" in os.environ:
            assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime <= 2 * 0.005


def test_what_a_wait_received_before_a_handler_raised_is_not_lost(handlers, device):
    """Another thread waits, too, so the main thread's wait stands in a queue. The handler publishes a frame for each."""
    with warpway.WorkQueue(None, 3, "int32", device=device, kind="host") as producer, \
            warpway.WorkQueue.get(producer.token()) as consumer:
        def publish(*_unused):
            for _ in range(2):
                producer.acquire().publish()
            until(lambda: producer.available == 0)
            raise LookupError("handled")

        def first(*_unused):  # perhaps the main thread did not stand in the queue yet
            signal.signal(signal.SIGUSR1, publish)
            send(signal.SIGUSR1)

        signal.signal(signal.SIGUSR1, first)
        other = in_thread(consumer.receive)
        send(signal.SIGUSR1)
        with pytest.raises(LookupError, match="handled"):
            consumer.receive(timeout=LIMIT_S)
        other().acknowledge()
        consumer.receive(timeout=LIMIT_S).acknowledge()


@pytest.mark.parametrize("by", ["handler", "thread"])
def test_flag_of_a_wait_is_set(handlers, by):
    cancel = warpway.Cancel()
    signal.signal(signal.SIGUSR1, lambda *unused: cancel.set())
    with warpway.Timeline() as timeline:
        interrupted(timeline.wait, 1, timeout=LIMIT_S, cancel=cancel)
        sent = send(signal.SIGUSR1) if by == "handler" else when_main_thread_sleeps(cancel.set)
        with pytest.raises(warpway.Cancelled):
            timeline.wait(1, timeout=LIMIT_S, cancel=cancel)
        sent()


@pytest.mark.parametrize("wait", ["close", "synchronize"])
def test_interrupt_of_a_wait_for_a_stream_that_is_stuck(handlers, wait):
    """What releases the stream does not wait either. The timeline is closed at last, and ends its work."""
    with warpway.Timeline() as timeline:
        stream = warpway.Stream("host")
        timeline.wait(1, stream=stream, unsubmitted=True)
        interrupted(getattr(stream, wait))
        assert not stream.query()
        del stream
        timeline.signal(1)


def test_a_handler_that_waits(handlers):
    with warpway.Timeline() as timeline:
        def wait(*unused):
            when_main_thread_sleeps(interrupt_main_thread)
            timeline.wait(1, timeout=LIMIT_S)

        signal.signal(signal.SIGUSR1, wait)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGUSR1)
            timeline.wait(1, timeout=LIMIT_S)


def test_a_handler_that_sets_another_handler(handlers):
    def second(*_unused):
        raise KeyError("second")

    def first(*_unused):
        signal.signal(signal.SIGUSR1, second)
        send(signal.SIGUSR1)

    signal.signal(signal.SIGUSR1, first)
    with warpway.Timeline() as timeline, pytest.raises(KeyError):
        send(signal.SIGUSR1)
        timeline.wait(1, timeout=LIMIT_S)


def test_interrupt_of_closing_a_busy_stream(handlers, device):
    gate, stream = threading.Event(), warpway.Stream(device)
    stream.call(gate.wait)
    interrupted(stream.close)
    gate.set()
    stream.close()


def test_interrupt_of_an_export_that_a_stopped_broker_holds_up(handlers, device):
    with warpway.Broker() as broker, warpway.empty(4, "uint8", device=device) as array:
        daemon = broker.info().pid
        os.kill(daemon, signal.SIGSTOP)
        try:
            interrupted(array.token)
        finally:
            os.kill(daemon, signal.SIGCONT)
        assert array.token().open().nbytes == 4


def test_signals_while_a_stopped_broker_holds_up_an_export(handlers, device):
    """The export is made again when the handlers have run. It is one token all the same."""
    handled = []
    signal.signal(signal.SIGALRM, lambda *_unused: handled.append(1))
    with warpway.Broker() as broker, warpway.empty(4, "uint8", device=device) as array:
        broker.put("sent", array)
        daemon = broker.info().pid

        def sent():
            return [one for one in broker.in_flight() if one.object_id == broker.stat("sent").object_id]

        def go_on():
            until(lambda: len(handled) > 20)
            os.kill(daemon, signal.SIGCONT)

        os.kill(daemon, signal.SIGSTOP)
        gone_on = in_thread(go_on)
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        token = array.token(uses=1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        gone_on()
        assert len(sent()) == 1
        assert token.open().nbytes == 4
        assert sent() == []


# --- functions that the library calls ---


def test_log_that_uses_the_library(device):
    lines = []

    def log(line):
        lines.append(line)
        warpway.Memory(1, device)
        if len(lines) > 1:
            raise ValueError(line)

    told = []
    former, sys.unraisablehook = sys.unraisablehook, told.append
    warpway.set_log(log)
    try:
        for _ in range(3):
            warpway.Memory(1, device).close()
    finally:
        warpway.set_log(None)
        sys.unraisablehook = former
    assert 3 <= len(lines) < 100 and told


def test_log_in_the_thread_that_makes_the_call(device):
    """It may have locks that the function takes. Another thread of the package makes the channels. What the function does
    itself is not logged."""
    depths, running, threads = [], [], set()

    def log(_line):
        threads.add(threading.get_ident())
        depths.append(len(running))
        running.append(1)
        try:
            warpway.Channel(None, 3, "int32", device=device).close()
        finally:
            running.pop()

    warpway.set_log(log)
    try:
        warpway.Memory(1, device).close()
        before = len(depths)
        warpway.Channel(None, 3, "int32", device=device).close()
    finally:
        warpway.set_log(None)
    assert 0 < before < len(depths) and not any(depths) and threads == {threading.get_ident()}


def test_log_that_uses_a_timeline_whose_page_is_mapped(device):
    """The library holds no lock while it logs; otherwise this waits for ever."""
    program = """
import sys, warpway
timelines = [warpway.Timeline() for _ in range(3)]
stream = warpway.Stream(sys.argv[1])
warpway.set_log(lambda line: warpway.Timeline().close())
for timeline in timelines:
    timeline.signal(1, stream)
pool = warpway.Pool(sys.argv[1])
piece = pool.alloc(1)
piece.close(stream)
stream.synchronize()
print("end")
"""
    assert run_python(program, device) == "end\n"


def test_log_while_an_exception_is_raised(device):
    """A release that is logged keeps the exception that is on its way."""
    warpway.set_log(lambda line: None)
    try:
        with pytest.raises(KeyError):
            memory = warpway.Memory(1, device)
            view = weakref.ref(memory)
            del memory
            raise KeyError(view)
    finally:
        warpway.set_log(None)


def test_keep_is_released_with_its_memory():
    class Kept:
        pass

    for _ in range(10):
        memory = warpway.Memory(4096, "host")
        kept = Kept()
        gone = weakref.ref(kept)
        part = warpway.Memory.wrap(memory.pointer, 10, "host", keep=kept)
        del kept
        assert gone() is not None
        part.close()
        memory.close()
        assert gone() is None


# --- the end of Python ---

ENDS = {
    "a stream calls what never returns": "s = w.Stream(d); s.call(threading.Event().wait); began.wait()",
    "a stream has more to call": "s = w.Stream(d); s.call(lambda: time.sleep(0.3)); s.call(print)",
    "a thread waits": "t = w.Timeline(); start(t.wait, 1)",
    "a thread waits with a flag": "t = w.Timeline(); c = w.Cancel(); start(lambda: t.wait(1, cancel=c))",
    "a thread reads a watch": "b = w.Broker(); v = b.watch('no-such'); start(v.next)",
    "a thread joins": "n = w.Barrier(2); start(n.join)",
    "a pool has slices": "p = w.Pool(d); a = [p.alloc(100) for _ in range(10)]; s = w.Stream(d); a[0].close(s)",
    "a ready array": "s = w.Stream(d); a = w.zeros(4, device=d).ready(s)",
    "a cycle": "class C: pass\nc = C(); c.c = c; c.a = w.zeros(4, device=d); c.s = w.Stream(d)",
    "a log": "w.set_log(lambda line: None); a = w.zeros(4, device=d)",
    "an object of a function at exit": "import atexit; a = w.zeros(4, device=d); atexit.register(a.close)",
    "an object that is used last": "class C:\n def __del__(self): self.a.nbytes; self.a.close()\nc = C(); c.a = w.zeros(4, device=d)\nsys.c = c",
}


@pytest.mark.parametrize("what", ENDS)
def test_end_of_python(what, device):
    program = f"""
import sys, threading, time
import warpway as w
d = sys.argv[1]
began = threading.Event()
began.set()
def start(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()
    time.sleep(0.05)
{ENDS[what]}
print("end")
"""
    assert "end" in run_python(program, device)


# --- other odd uses ---


def test_copies_are_imports(device):
    import copy

    array = warpway.zeros(4, "uint8", device=device)
    for made in (copy.copy(array), copy.deepcopy(array), copy.copy(array.memory), copy.deepcopy([array])[0]):
        made.close()
    for thing in (warpway.Cancel(), warpway.Stream(device), warpway.Device(device), warpway.Broker()):
        with pytest.raises(TypeError):
            copy.copy(thing)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError):
                pickle.dumps(thing, protocol)


def test_weak_references_in_any_order(device):
    told = []
    for kind in (lambda: warpway.zeros(4, device=device), warpway.Timeline, lambda: warpway.Stream(device), warpway.Cancel):
        thing = kind()
        references = [weakref.ref(thing, told.append) for _ in range(3)]
        del references[1], thing
        gc.collect()
    assert len(told) == 8
