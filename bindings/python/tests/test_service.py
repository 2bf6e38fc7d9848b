# SPDX-License-Identifier: Apache-2.0
"""Services and their clients in one process: threads serve, and the cases call."""
import asyncio
import gc
import logging
import math
import os
import signal
import struct
import sys
import threading
import time
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpway
from children import LIMIT_S
from waits import in_thread, interrupt_main_thread, interrupted, until

SAXPY = "f32 a, f32[n] x read, f32[n] y readwrite"


@contextmanager
def served(device, offer, threads=1, **options):
    """A service with the functions that offer(service) offers, and a client; threads serve."""
    cancel = warpway.Cancel()
    with warpway.Service(device=device, **options) as service:
        offer(service)
        service.start()
        ends = [in_thread(service.serve, cancel=cancel) for _ in range(threads)]
        try:
            with warpway.Client(service.token()) as client:
                yield service, client
        finally:
            cancel.set()
            for end in ends:
                with pytest.raises(warpway.Cancelled):
                    end()


def echo_offer(signature):
    def offer(service):
        service.offer("echo", signature, lambda *values: values if len(values) > 1 else values[0])

    return offer


def saxpy_offer(service):
    @service.function(SAXPY)
    def saxpy(a, x, y):
        numbers(y)[:] += a * numbers(x)


def numbers(array):
    """The elements in place: the tests' memory can be reached by the CPU."""
    return np.asarray(array)


def array(values, device):
    made = warpway.empty(len(values), "float32", device=device, kind="host")
    made.copy_from(np.asarray(values, "float32"))
    return made


def values_of(made):
    found = np.empty(made.shape, made.dtype)
    made.copy_to(found)
    return found.tolist()


class Stopper:
    """A function that runs until open()."""

    def __init__(self):
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self, number):
        self.begun.set()
        assert self.may_end.wait(LIMIT_S)
        return number

    def offer(self, service):
        service.offer("stop", "i32 number -> i32 result", self)
        service.offer("add", "i32 a, i32 b = 1 -> i32 sum", lambda a, b: a + b)


# --- calls ---


def test_arrays_are_used_in_place(device):
    x, y = array([1, 2, 3], device), array([10, 20, 30], device)
    with served(device, saxpy_offer) as (service, client):
        assert client.saxpy(2.0, x, y) is None
        assert client.call("saxpy", 2, y=y, x=x) is None
        assert values_of(y) == [14, 28, 42] and values_of(x) == [1, 2, 3]
        assert [(info.name, info.calls, info.failed) for info in service.functions()] == [("saxpy", 2, 0)]


def test_what_arrives(device):
    seen = {}

    def offer(service):
        @service.function("f32[2, 3] x read, any[...] y write, bytes b, timeline t = none, f64 d = 2.5, i32 k = 7")
        def look(x, y, b, t, d, k):
            seen.update(x=(x.shape, x.dtype, x.access), y=(y.shape, y.dtype, y.access), b=b, t=t, d=d, k=k)

    x = warpway.zeros((2, 3), "float32", device=device, kind="host")
    with served(device, offer) as (_, client):
        client.look(x, x.memory, b"bytes")
        assert seen == {"x": ((2, 3), "float32", "read"), "y": ((x.memory.nbytes,), "uint8", "write"), "b": b"bytes",
                        "t": None, "d": 2.5, "k": 7}
        client.look(x.token(uses=0), x, bytearray(b""), d=np.float32(1.5), k=True, t=warpway.Timeline())
        assert isinstance(seen["t"], warpway.Timeline) and (seen["b"], seen["d"], seen["k"]) == (b"", 1.5, 1)


def test_dimensions_are_taken_from_arrays(device):
    with served(device, lambda service: service.offer("length", "i64 n, f32[n] x read -> i64 m", lambda n, x: n)
                ) as (_, client):
        x = array([1, 2, 3], device)
        assert client.length(None, x) == 3 and client.length(x=x) == 3 and client.length(3, x) == 3
        with pytest.raises(warpway.InvalidArgument):
            client.length(4, x)


def test_results(device):
    def offer(service):
        service.offer("nothing", "", lambda: None)
        service.offer("several", "-> i32 a, bytes b, f32[n] c, bool d", several)
        service.offer("kept", "-> f32[3] a", lambda: kept)

    def several():
        return -5, b"bytes", np.array([1, 2], "float32"), True

    kept = array([7, 8, 9], device)
    with served(device, offer) as (_, client):
        assert client.nothing() is None
        a, b, c, d = client.several()
        assert (a, b, d) == (-5, b"bytes", True) and values_of(c) == [1, 2]
        result = client.kept()
        assert values_of(result) == [7, 8, 9]
        result.copy_from(np.array([1, 1, 1], "float32"))
        assert values_of(kept) == [1, 1, 1], "the same bytes"
        ticket = client.submit("kept")
        assert ticket.result() is ticket.result() and ticket.done and ticket.started


def test_array_is_passed_on_without_a_mapping(device):
    kept = array([1, 2, 3], device)

    def offer(service):
        saxpy_offer(service)
        service.offer("kept", "-> f32[3] a", lambda: kept)

    with served(device, offer) as (_, client):
        result = client.kept()
        assert result.is_lazy
        client.saxpy(1, result, result)
        assert result.is_lazy and values_of(kept) == [2, 4, 6]
        part = client.kept()[1:]
        client.saxpy(1, part, part)
        assert part.is_lazy and values_of(kept) == [2, 8, 12]


def test_call_names_its_client(device):
    seen = []

    def offer(service):
        @service.function("", name="lab/look")
        def look(*, call):
            seen.append(call)
            call.stream.synchronize()
            assert call.stream is call.stream and not call.is_cancelled()

    with served(device, offer) as (_, client):
        client.call("lab/look")
        client.submit("lab/look", lane=3, deadline=LIMIT_S).result()
    assert [(call.uid, call.pid, call.number, call.lane, call.function) for call in seen] == [
        (os.getuid(), os.getpid(), 1, 0, "lab/look"), (os.getuid(), os.getpid(), 2, 3, "lab/look")]
    assert seen[0].deadline is None and seen[1].deadline > time.monotonic() and seen[0].program
    for use in (lambda: seen[0].stream, seen[0].is_cancelled):
        with pytest.raises(ValueError, match="has ended"):
            use()


def test_signatures_are_told(device):
    with served(device, saxpy_offer) as (_, client):
        function = client.function("saxpy", "f32 a,f32[n] x read,f32[n] y readwrite")
        assert function.name == "saxpy" and function.signature == client.functions()[0].signature
        assert function.parameters == (("a", "f32", "", False), ("x", "f32[n]", "read", False),
                                       ("y", "f32[n]", "write", False))
        assert function.results == () and client.saxpy.signature == function.signature
        assert "saxpy" in dir(client) and "call" in dir(client)
        assert not hasattr(client, "missing") and not hasattr(client, "_missing")
        with pytest.raises(warpway.InvalidArgument, match="f64"):
            client.function("saxpy", "f64 a")
        with pytest.raises(warpway.NotFound, match="missing"):
            client.call("missing")


# --- round trips of values ---


@pytest.fixture(scope="module")
def echoes():
    """A client of echo functions for each type of scalar, and for bytes."""
    types = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]

    def offer(service):
        for name in types:
            service.offer(name, f"{name} a -> {name} b", lambda a: a)
        service.offer("bytes", "bytes a -> bytes b", lambda a: a)

    with served("host", offer) as (_, client):
        yield client


@given(bits=st.sampled_from([8, 16, 32, 64]), is_signed=st.booleans(), number=st.integers(-2**65, 2**65))
@settings(deadline=None, max_examples=200)
def test_integers_arrive_or_are_refused(echoes, bits, is_signed, number):
    low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    name = f"{'i' if is_signed else 'u'}{bits}"
    if low <= number <= high:
        assert echoes.call(name, number) == number
    else:
        with pytest.raises(ValueError, match=name):
            echoes.call(name, number)
    assert [echoes.call(name, edge) for edge in (low, high)] == [low, high]


@given(number=st.floats())
@settings(deadline=None, max_examples=200)
def test_floats_arrive_as_the_type_has_them(echoes, number):
    found = echoes.f64(number)
    assert struct.pack("d", found) == struct.pack("d", number) or math.isnan(number) and math.isnan(found)
    for name, kind in (("f32", np.float32), ("f16", np.float16)):
        with np.errstate(over="ignore"):
            rounded = float(kind(number))
        if math.isinf(rounded) and not math.isinf(number):
            with pytest.raises(ValueError, match=name):
                echoes.call(name, number)
        else:
            found = echoes.call(name, number)
            assert found == rounded or math.isnan(found) and math.isnan(number)


@given(data=st.binary(max_size=4096))
@settings(deadline=None, max_examples=100)
def test_bytes_arrive(echoes, data):
    assert echoes.bytes(data) == data
    assert echoes.bytes(np.frombuffer(data, "uint8")) == data


def test_other_scalars(echoes):
    assert echoes.bool(True) is True and echoes.bool(0) is False
    assert echoes.bf16(1.0) == 1.0 and echoes.bf16(3.14) == 3.140625
    assert echoes.f32(np.int64(3)) == 3.0 and echoes.i8(np.uint8(100)) == 100


@pytest.mark.parametrize("name, value", [
    ("bool", 2), ("bool", "x"), ("i32", 1.0), ("i32", "1"), ("i32", [1]), ("f32", "1"), ("f32", None), ("f64", 1j),
    ("f64", 10**400), ("bytes", "text"), ("bytes", 5), ("bytes", b"x" * 4097), ("i32", None), ("u8", -1),
    ("i32", np.array([1])),
])
def test_values_that_are_refused(echoes, name, value):
    with pytest.raises((TypeError, ValueError, warpway.LimitReached), match="argument 'a'"):
        echoes.call(name, value)


# --- misuse ---


def test_arguments_that_do_not_fit(device):
    x = array([1, 2, 3], device)
    with served(device, saxpy_offer) as (_, client):
        for call, error, words in (
            (lambda: client.saxpy(), TypeError, "'a'"),
            (lambda: client.saxpy(1.0, x), TypeError, "'y'"),
            (lambda: client.saxpy(1.0, x, x, x), TypeError, "at most 3"),
            (lambda: client.saxpy(1.0, x, x, a=1.0), TypeError, "two values"),
            (lambda: client.saxpy(1.0, x, x, b=1.0), TypeError, "no parameter 'b'"),
            (lambda: client.saxpy(1.0, np.zeros(3, "float32"), x), TypeError, "warpway.share"),
            (lambda: client.saxpy(1.0, b"bytes", x), TypeError, "warpway.share"),
            (lambda: client.saxpy(1.0, None, x), TypeError, "cannot be None"),
            (lambda: client.saxpy(1.0, x, array([1, 2], device)), warpway.InvalidArgument, "n"),
            (lambda: client.saxpy(1.0, x.view("int32"), x), warpway.InvalidArgument, "x"),
            (lambda: client.saxpy(1.0, x, x, lane=64), warpway.InvalidArgument, "lane"),
            (lambda: client.saxpy(1.0, x, x, lane=-1), ValueError, ""),
            (lambda: client.saxpy(1.0, x, x, timeout=-1), ValueError, "timeout"),
            (lambda: client.saxpy(1.0, x, x, timeout="x"), TypeError, ""),
            (lambda: client.saxpy(1.0, x, x, depends_on=10**6), warpway.InvalidArgument, "depend"),
            (lambda: client.saxpy(1.0, x, x, depends_on="x"), AttributeError, ""),
            (lambda: client.saxpy(1.0, x, x, cancel=5), TypeError, "Cancel"),
            (lambda: client.call(), TypeError, "argument"),
            (lambda: client.call(5), TypeError, "name"),
            (lambda: client.function(5), TypeError, ""),
            (lambda: client.call("a\0b"), ValueError, ""),
        ):
            with pytest.raises(error, match=words):
                call()
        client.saxpy(1.0, x, x)
    with pytest.raises(ValueError, match="closed"):
        client.call("saxpy", 1.0, x, x)


def test_offers_that_are_refused(device):
    with warpway.Service(device=device) as service:
        saxpy_offer(service)
        for call, error in (
            (lambda: saxpy_offer(service), warpway.AlreadyExists),
            (lambda: service.offer("f", "f32", len), warpway.InvalidArgument),
            (lambda: service.offer("f", "f32 a, f32 a", len), warpway.InvalidArgument),
            (lambda: service.offer("a b", "", len), warpway.InvalidArgument),
            (lambda: service.offer("f", "", 5), TypeError),
            (lambda: service.offer(5, "", len), TypeError),
            (lambda: service.function(len), TypeError),
            (lambda: service.offer("f", "", len, uids=[-1]), (OverflowError, ValueError)),
            (lambda: service.offer("f", "", len, uids=5), TypeError),
            (lambda: service.offer("f", "", len, uids=["x"]), TypeError),
            (lambda: warpway.Service(device=device, calls_max=3), warpway.InvalidArgument),
            (lambda: warpway.Service(device=device, clients_max=0), ValueError),
            (lambda: warpway.Service(device=device, version="x" * 32), ValueError),
        ):
            with pytest.raises(error):
                call()
        service.offer("builtin", "bytes a -> i64 n", len)
        assert [info.name for info in service.functions()] == ["saxpy", "builtin"]


def test_use_after_close(device):
    service = warpway.Service(device=device)
    saxpy_offer(service)
    client = warpway.Client(service.token())
    function = client.saxpy
    service.close()
    assert service.closed
    for use in (service.start, service.serve, service.drain, service.info, service.functions, service.token,
                lambda: service.device, lambda: service.offer("f", "", len)):
        with pytest.raises(ValueError, match="closed"):
            use()
    with pytest.raises((warpway.Unavailable, warpway.PeerLost)):
        function(1.0, array([1], device), array([1], device))
    assert client.info().state in ("stopped", "lost")
    client.close()
    client.close()
    for use in (client.info, client.functions, client.wait_ready, lambda: client.saxpy,
                lambda: function(1.0, array([1], device), array([1], device))):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(client)


def test_instances_are_made_by_the_package_only():
    for kind in (warpway.Call, warpway.Ticket, warpway.Function):
        with pytest.raises(TypeError):
            kind()


# --- failures ---


@pytest.mark.parametrize("raised, expected, words", [
    (warpway.NotFound("there is no model 'x'"), warpway.NotFound, "^there is no model 'x'$"),
    (warpway.AccessDenied("not you"), warpway.AccessDenied, "^not you$"),
    (warpway.Timeout("too slow"), warpway.CallError, "^Timeout: too slow$"),
    (warpway.WrongState("busy"), warpway.CallError, "^WrongState: busy$"),
    (warpway.CallError("of another service"), warpway.CallError, "^of another service$"),
    (KeyError("key"), warpway.CallError, "^KeyError: 'key'$"),
    (ValueError("é" * 300), warpway.CallError, "^ValueError: é+$"),
    (ValueError(), warpway.CallError, "^ValueError$"),
    (ValueError("two\nlines, \0, \ud800"), warpway.CallError, "^ValueError: two lines,  , [?]$"),
])
def test_exceptions_are_failures(device, raised, expected, words, caplog):
    def offer(service):
        @service.function("")
        def fail():
            raise raised

    with served(device, offer) as (service, client), caplog.at_level(logging.ERROR, "warpway"):
        with pytest.raises(expected, match=words) as caught:
            client.fail()
        assert caught.value.has_started is True
        assert service.functions()[0].failed == 1
        assert [record.name for record in caplog.records] == ([] if isinstance(raised, warpway.Error) else ["warpway"])
        assert all(record.exc_info[1] is raised for record in caplog.records)


class Untold(Exception):
    """Ctrl-C comes while its text is made."""

    def __str__(self):
        raise KeyboardInterrupt


def test_ctrl_c_while_a_failure_is_told(device):
    def fail():
        raise Untold

    with warpway.Service(device=device) as service:
        service.offer("fail", "", fail)
        service.offer("fail_before", "", lambda: 1 / 0)
        with warpway.Client(service.token()) as client:
            client.submit("fail_before")
            ticket = client.submit("fail")
            with pytest.raises(KeyboardInterrupt):
                service.serve()
            with pytest.raises(warpway.CallError, match="cannot be told"):
                ticket.result(LIMIT_S)


def test_failure_that_cannot_be_logged_is_one(device, monkeypatch):
    def refuse(record):
        raise RuntimeError("not logged")

    reported = []
    monkeypatch.setattr(logging.getLogger("warpway"), "filters", [refuse])
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    with served(device, lambda service: service.offer("fail", "", lambda: 1 / 0)) as (_, client):
        with pytest.raises(warpway.CallError, match="^ZeroDivisionError"):
            client.fail()
    assert [str(one.exc_value) for one in reported] == ["not logged"]


def test_call_fail(device):
    def offer(service):
        @service.function("i32 which")
        def fail(which, call):
            if which == 0:
                call.fail("no such thing", warpway.NotFound)
            if which == 1:
                call.fail("wrong")
            if which == 2:
                call.fail("wrong", KeyError)

    with served(device, offer) as (_, client):
        for which, error, words in ((0, warpway.NotFound, "no such thing"), (1, warpway.CallError, "^wrong$"),
                                    (2, warpway.CallError, "TypeError.*below warpway.Error")):
            with pytest.raises(error, match=words):
                client.fail(which)


@pytest.mark.parametrize("signature, returned, words", [
    ("", 5, "returned <class 'int'>"),
    ("-> i32 a", "x", "result 'a' is i32"),
    ("-> i32 a", 2**40, "result 'a' is i32"),
    ("-> i32 a", None, "cannot be None"),
    ("-> i32 a, i32 b", (1,), "returned 1 results"),
    ("-> i32 a, i32 b", "xy", "returned <class 'str'>"),
    ("-> i32 a, i32 b", 7, "returned <class 'int'>"),
    ("-> f32[3] a", np.zeros(2, "float32"), "a"),
    ("-> f32[n] a", np.zeros(2, "float64"), "a"),
    ("-> f32[n] a", object(), "TypeError"),
    ("-> bytes[4] a", b"12345", "result 'a' has 5 bytes"),
])
def test_results_that_do_not_fit(device, signature, returned, words):
    with served(device, lambda service: service.offer("give", signature, lambda: returned)) as (_, client):
        for _ in range(2):
            with pytest.raises(warpway.Error, match=words):
                client.give()


# --- waiting ---


def test_tickets(device):
    stopper = Stopper()
    with served(device, stopper.offer) as (_, client):
        ticket = client.submit("stop", 5)
        assert stopper.begun.wait(LIMIT_S)
        later = client.add.submit(1, b=2)
        assert (ticket.done, later.done, ticket.started, later.started) == (False, False, True, False)
        assert (ticket.number, later.number, ticket.lane) == (1, 2, 0)
        with pytest.raises(warpway.Timeout, match="goes on"):
            later.result(timeout=0.001)
        cancel = warpway.Cancel()
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            later.result(cancel=cancel)
        stopper.may_end.set()
        assert later.result() == 3 and ticket.result(timeout=0) == 5


def test_cancelled_and_late_calls(device):
    stopper = Stopper()
    with served(device, stopper.offer) as (_, client):
        ticket = client.submit("stop", 5)
        assert stopper.begun.wait(LIMIT_S)
        cancelled, late = client.submit("add", 1), client.submit("add", 1, deadline=0.000001)
        depends = client.submit("add", 1, depends_on=cancelled)
        cancelled.cancel()
        with pytest.raises(warpway.Timeout, match="was cancelled"):
            client.add(1, timeout=0.001)
        stopper.may_end.set()
        assert ticket.result() == 5
        with pytest.raises(warpway.Cancelled, match="before the function was started") as caught:
            cancelled.result()
        assert caught.value.has_started is False
        with pytest.raises(warpway.Timeout, match="deadline"):
            late.result()
        with pytest.raises(warpway.DependencyFailed) as caught:
            depends.result()
        assert caught.value.failed_call == cancelled.number


def test_ctrl_c_ends_waits(device):
    stopper = Stopper()
    with served(device, stopper.offer, calls_max=2) as (_, client):
        ticket = client.submit("stop", 5)
        assert stopper.begun.wait(LIMIT_S)
        interrupted(ticket.result)
        interrupted(client.add, 1)  # it has its place still, and there is no other
        for timeout in (0, 0.001):
            with pytest.raises(warpway.Timeout, match="no room"):
                client.submit("add", 1, timeout=timeout)
        interrupted(client.submit, "add", 1)
        stopper.may_end.set()
        assert ticket.result() == 5 and client.add(1) == 2
    with warpway.Service(device=device) as service:
        interrupted(service.serve)
        assert service.serve(timeout=0) is False


def test_running_function_sees_that_it_is_cancelled(device):
    begun = threading.Event()

    def offer(service):
        @service.function("-> bool seen")
        def watch(call):
            begun.set()
            until(call.is_cancelled)
            return True

    with served(device, offer) as (_, client):
        ticket = client.submit("watch")
        assert begun.wait(LIMIT_S)
        ticket.cancel()
        assert ticket.result(LIMIT_S) is True


def test_ctrl_c_in_a_function_ends_serving(device):
    def forever():
        interrupt_main_thread()
        while True:
            time.sleep(0.01)

    with warpway.Service(device=device) as service:
        service.offer("forever", "", forever)
        service.offer("exit", "", lambda: exit(3))
        with warpway.Client(service.token()) as client:
            result = in_thread(lambda: client.forever())
            with pytest.raises(KeyboardInterrupt):
                service.serve()
            with pytest.raises(warpway.CallError, match="KeyboardInterrupt"):
                result()
            result = in_thread(lambda: client.exit())
            with pytest.raises(SystemExit):
                service.serve()
            with pytest.raises(warpway.CallError, match="SystemExit"):
                result()


def test_a_reply_comes_in_spite_of_signals(device):
    """The main thread waits for it, whose handlers return."""
    handled, calls = [], []

    def offer(service):
        @service.function("")
        def wait():
            calls.append(1)
            until(lambda: len(handled) > 20)

    former = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    try:
        with warpway.Service(device=device) as service:
            offer(service)
            with warpway.Client(service.token()) as client:
                serving = in_thread(service.serve, timeout=LIMIT_S)
                signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
                assert client.wait() is None
                service.drain()
                assert serving() is True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert calls == [1]


def test_signals_while_a_server_does_not_answer_for_a_lane(device):
    """The last of many handlers has it answer. The library itself waits for a second."""
    handled, may_serve = [], threading.Event()

    def handle(*_):
        handled.append(1)
        if len(handled) == 20:
            may_serve.set()
        else:
            signal.setitimer(signal.ITIMER_REAL, 0.001)

    former = signal.signal(signal.SIGALRM, handle)
    try:
        with warpway.Service(device=device) as service, warpway.Client(service.token()) as client:
            serving = in_thread(lambda: may_serve.wait(LIMIT_S) and service.serve(timeout=LIMIT_S))
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            client.lane_timeline(timeout=LIMIT_S / 6)
            service.drain()
            assert serving() is True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_a_function_that_waits_itself(device):
    """In the main thread a wait inside a wait, which a signal without an exception does not end."""
    calls = []

    def offer(service):
        @service.function("")
        def wait():
            with warpway.Stream(service.device) as stream:
                signal.raise_signal(signal.SIGUSR1)
                stream.synchronize()

    former = signal.signal(signal.SIGUSR1, lambda *_: calls.append("signal"))
    try:
        with warpway.Service(device=device) as service:
            offer(service)
            with warpway.Client(service.token()) as client:
                done = in_thread(lambda: (client.wait(), client.wait(), service.drain()))
                assert service.serve(timeout=LIMIT_S) is True
                done()
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert calls == ["signal"] * 2


def test_serving_ends(device):
    cancel = warpway.Cancel()
    with warpway.Service(device=device) as service:
        saxpy_offer(service)
        assert service.info().state == "starting"
        with pytest.raises(warpway.Timeout):
            with warpway.Client(service.token()) as client:
                client.wait_ready(timeout=0)
        assert service.serve(timeout=0.001) is False and service.info().state == "ready"
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            service.serve(cancel=cancel)
        with warpway.Client(service.token()) as client:
            client.wait_ready()
            service.drain()
            with pytest.raises(warpway.Unavailable):
                client.wait_ready()
            x = array([1], device)
            with pytest.raises(warpway.Unavailable):
                client.saxpy(1.0, x, x)
        assert service.serve() is True


def test_closing_ends_serving_and_waits(device):
    stopper = Stopper()
    service = warpway.Service(device=device)
    stopper.offer(service)
    serves = in_thread(service.serve)
    with warpway.Client(service.token()) as client:
        ticket = client.submit("stop", 1)
        assert stopper.begun.wait(LIMIT_S)
        other = client.submit("add", 1)
        service.close()
        stopper.may_end.set()
        assert serves() is True
        assert ticket.result(LIMIT_S) == 1
        with pytest.raises((warpway.Unavailable, warpway.PeerLost)):
            other.result(LIMIT_S)


def test_closing_a_client_ends_its_waits(device):
    stopper = Stopper()
    with served(device, stopper.offer) as (service, client), warpway.Client(service.token()) as other:
        ticket = other.submit("stop", 1)
        assert stopper.begun.wait(LIMIT_S)
        waits = [in_thread(ticket.result) for _ in range(3)]
        other.close()
        for wait in waits:
            with pytest.raises(ValueError, match="closed"):
                wait()
        stopper.may_end.set()


# --- asyncio ---


def test_awaited_calls(device):
    async def main(service, client):
        serving = asyncio.ensure_future(service.serve_async())
        results = await asyncio.gather(*(client.submit("add", number, lane=number % 4) for number in range(20)))
        assert results == [number + 1 for number in range(20)]
        ticket = client.submit("add", 5)
        assert await ticket == 6 and await ticket == 6
        with pytest.raises(warpway.CallError, match="ZeroDivisionError"):
            await client.submit("fail")
        service.drain()
        assert await serving is True

    with warpway.Service(device=device) as service:
        Stopper().offer(service)
        service.offer("fail", "", lambda: 1 // 0)
        with warpway.Client(service.token()) as client:
            asyncio.run(main(service, client))


def test_cancelled_tasks(device):
    stopper = Stopper()

    async def main(service, client):
        serving = asyncio.ensure_future(service.serve_async())
        first = client.submit("stop", 1)
        await asyncio.to_thread(stopper.begun.wait, LIMIT_S)
        second = client.submit("add", 1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(second, 0.001)
        stopper.may_end.set()
        assert await first == 1
        with pytest.raises(warpway.Cancelled):
            await second
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    with warpway.Service(device=device) as service:
        stopper.offer(service)
        with warpway.Client(service.token()) as client:
            asyncio.run(main(service, client))


# --- lifetime ---


def test_functions_are_released_with_the_service(device):
    def offer(service):
        def use():
            return service

        service.offer("use", "", use)
        return weakref.ref(use)

    service = warpway.Service(device=device)
    seen = offer(service)
    gc.collect()
    assert seen()
    del service
    gc.collect()
    assert not seen()


def test_arguments_are_released(device):
    seen = []

    def offer(service):
        @service.function("f32[n] x read, bytes b -> f32[n] y")
        def look(x, b):
            seen.extend([weakref.ref(x), weakref.ref(x.memory)])
            return x

    x = array([1, 2, 3], device)
    with served(device, offer) as (_, client):
        for _ in range(20):
            assert values_of(client.look(x, b"b")) == [1, 2, 3]
        gc.collect()
        assert len(seen) == 40 and not any(reference() for reference in seen)


def test_tickets_that_are_dropped(device):
    with served(device, echo_offer("i32 a -> i32 b"), calls_max=4) as (service, client):
        for number in range(200):
            client.submit("echo", number)
        assert client.echo(5) == 5
        assert service.functions()[0].calls == 201
        client.submit("echo", 1).cancel()


def test_array_that_a_function_keeps(device):
    kept = []
    with served(device, lambda service: service.offer("keep", "f32[n] x write", kept.append)) as (_, client):
        x = array([1, 2, 3], device)
        client.keep(x)
        x.close()
        assert values_of(kept[0]) == [1, 2, 3]
