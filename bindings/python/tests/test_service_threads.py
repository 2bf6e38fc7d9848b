# SPDX-License-Identifier: Apache-2.0
"""Several threads that serve, call and wait; Service.serve(threads=n)."""

import signal
import threading
import time

import pytest

import warpway
from children import LIMIT_S
from test_service import Stopper, echo_offer, served
from waits import in_thread, interrupt_main_thread


def test_threads_that_serve_run_functions_at_the_same_time(device):
    barrier = threading.Barrier(2)

    def offer(service):
        service.offer("meet", "-> i32 place", lambda: barrier.wait(LIMIT_S))

    with served(device, offer, threads=2) as (_, client):
        tickets = [client.submit("meet", lane=lane) for lane in (0, 1)]
        assert sorted(ticket.result(LIMIT_S) for ticket in tickets) == [0, 1]


def test_threads_that_share_a_client(device):
    with served(device, echo_offer("i64 a, bytes b -> i64 c, bytes d"), threads=2) as (_, client):
        def work(first):
            for number in range(first, first + 50):
                data = str(number).encode()
                assert client.echo(number, data, lane=first % 7) == (number, data)
                ticket = client.submit("echo", number, data)
                assert ticket.result() == (number, data)
            return first

        ends = [in_thread(work, first) for first in range(0, 800, 100)]
        assert [end() for end in ends] == list(range(0, 800, 100))


def test_threads_that_wait_for_one_ticket(device):
    stopper = Stopper()
    with served(device, stopper.offer) as (_, client):
        ticket = client.submit("stop", 9)
        waits = [in_thread(ticket.result) for _ in range(5)]
        assert stopper.begun.wait(LIMIT_S)
        stopper.may_end.set()
        assert [wait() for wait in waits] == [9] * 5


# --- serve(threads=n) ---


def threads_of_serve():
    return [thread for thread in threading.enumerate() if thread.name == "warpway serve"]


@pytest.mark.parametrize("end, outcome", [
    (lambda service, cancel: service.drain(), None),
    (lambda service, cancel: service.close(), None),
    (lambda service, cancel: cancel.set(), warpway.Cancelled),
    (lambda service, cancel: interrupt_main_thread(), KeyboardInterrupt),
], ids=["drain", "close", "cancel", "ctrl_c"])
def test_serving_with_several_threads(device, end, outcome):
    """Each runs a function at the same time, and what ends one of them ends all."""
    barrier = threading.Barrier(3)
    cancel = warpway.Cancel()

    def call_and_end():
        tickets = [client.submit("meet", lane=lane) for lane in range(3)]
        assert sorted(ticket.result(LIMIT_S) for ticket in tickets) == [0, 1, 2]
        end(service, cancel)

    with warpway.Service(device=device) as service:
        service.offer("meet", "-> i32 place", lambda: barrier.wait(LIMIT_S))
        with warpway.Client(service.token()) as client:
            calls = in_thread(call_and_end)
            if outcome:
                with pytest.raises(outcome):
                    service.serve(threads=3, cancel=cancel)
            else:
                assert service.serve(threads=3, cancel=cancel) is True
            assert threads_of_serve() == []
            calls()


def test_an_exception_in_a_thread_of_serve(device):
    barrier = threading.Barrier(2)

    def leave():
        barrier.wait(LIMIT_S)
        exit(3)

    with warpway.Service(device=device) as service:
        service.offer("leave", "", leave)
        with warpway.Client(service.token()) as client:
            tickets = [client.submit("leave", lane=lane) for lane in range(2)]
            with pytest.raises(SystemExit):
                service.serve(threads=3)
            assert threads_of_serve() == []
            assert [ticket.done for ticket in tickets] == [True, True]
            assert service.serve(0, threads=2) is False


@pytest.mark.parametrize("threads, error", [(0, ValueError), (2.0, TypeError)])
def test_number_of_threads(device, threads, error):
    with warpway.Service(device=device) as service, pytest.raises(error):
        service.serve(0, threads=threads)


def test_ctrl_c_interrupts_no_function_of_several_threads(device):
    barrier = threading.Barrier(3)
    may_end = threading.Event()

    def run():
        barrier.wait(LIMIT_S)
        return may_end.wait(LIMIT_S)

    def interrupt():
        barrier.wait(LIMIT_S)
        interrupt_main_thread()
        time.sleep(0.1) # so that it is noticed
        may_end.set()

    with warpway.Service(device=device) as service:
        service.offer("run", "-> bool has_ended", run)
        with warpway.Client(service.token()) as client:
            tickets = [client.submit("run", lane=lane) for lane in range(2)]
            interrupted = in_thread(interrupt)
            with pytest.raises(KeyboardInterrupt):
                service.serve(threads=2)
            assert may_end.is_set()
            interrupted()
            assert [ticket.result(LIMIT_S) for ticket in tickets] == [True, True]


def test_ctrl_c_fails_no_calls(device):
    """Those that come meanwhile run in this serve(), or in the next one."""
    is_handled = threading.Event()

    def handle(*unused):
        is_handled.set()
        raise KeyboardInterrupt

    def interrupt():
        interrupt_main_thread()
        is_handled.wait(LIMIT_S)

    with warpway.Service(device=device) as service:
        service.offer("interrupt", "", interrupt)
        service.offer("add", "i32 a, i32 b -> i32 sum", lambda a, b: a + b)
        with warpway.Client(service.token()) as client:
            tickets = [client.submit("interrupt"), client.submit("add", 1, 2)]
            before = signal.signal(signal.SIGINT, handle)
            try:
                with pytest.raises(KeyboardInterrupt):
                    service.serve(threads=2)
            finally:
                signal.signal(signal.SIGINT, before)
            service.drain()
            assert service.serve(LIMIT_S, threads=2) is True
            assert [ticket.result(0) for ticket in tickets] == [None, 3]


def test_ctrl_c_while_threads_are_started(device, monkeypatch):
    start = threading.Thread.start

    def start_and_fail(thread):
        start(thread)
        raise KeyboardInterrupt

    with warpway.Service(device=device) as service:
        monkeypatch.setattr(threading.Thread, "start", start_and_fail)
        with pytest.raises(KeyboardInterrupt):
            service.serve(threads=2)
        assert threads_of_serve() == []


@pytest.mark.parametrize("threads", [0, 1025])
def test_how_many_threads_may_serve(device, threads):
    with warpway.Service(device=device) as service, pytest.raises(ValueError, match=f"1 to 1024, not {threads}"):
        service.serve(0, threads=threads)
