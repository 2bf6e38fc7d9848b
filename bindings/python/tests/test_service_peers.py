# SPDX-License-Identifier: Apache-2.0
"""Services between processes, which end, are killed and are started anew."""
import asyncio
import functools
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import warpway
import warpway.aio
from children import LIMIT_S

COUNT = 1000


def copy_of(array):
    """The elements, also of memory that the CPU cannot reach."""
    found = np.empty(array.shape, array.dtype)
    array.copy_to(found)
    return found


# --- in other processes ---


def serve(talk, device, name):
    """Serves until it is drained by SIGTERM, or killed; returns the counts of its functions."""
    with warpway.Service(name, device=device, version="1") as service:

        @service.function("f32 a, f32[n] x read, f32[n] y readwrite")
        def saxpy(a, x, y):
            y.copy_from(copy_of(y) + np.float32(a) * copy_of(x))

        @service.function("f32[n] x read -> f32[n] y")
        def double(x):
            return copy_of(x) * 2

        @service.function("-> u32 pid, u32 uid, bytes program")
        def who(call):
            return call.pid, call.uid, call.program.encode()

        @service.function("")
        def keep_running(call):
            talk.send("running")
            while not call.is_cancelled():
                talk.poll(0.001)
            talk.send("cancelled")

        @service.function("i32 a -> i32 b")
        def echo(a):
            return a

        signal.signal(signal.SIGTERM, lambda *_: service.drain())
        service.start()
        talk.send("ready")
        assert service.serve() is True
        return {info.name: info.calls for info in service.functions()}


def serve_jobs(talk, device, name, is_held=False, is_idempotent=True):
    """Serves until it is killed; with is_held it answers none of its jobs."""
    with warpway.Service(name, device=device) as service:

        def work(a, x):
            talk.send("running")
            if is_held:
                talk.recv()
            x.copy_from(np.full(x.shape, a, "float32"))
            return os.getpid()

        def lose():
            raise warpway.PeerLost("another process has ended")

        service.offer("job", "f32 a, f32[n] x write -> u32 pid", work, idempotent=is_idempotent)
        service.offer("once", "f32 a, f32[n] x write -> u32 pid", work)
        service.offer("lose", "", lose, idempotent=True)
        service.start()
        talk.send(service.token())
        service.serve()


# --- cases ---


@pytest.fixture
def server(device, spawn, request):
    """A server, and its name."""
    child = spawn(serve, device, request.node.name)
    assert child.receive() == "ready"
    return child, request.node.name


def drain(child):
    os.kill(child.pid, signal.SIGTERM)
    return child.result()


@pytest.fixture
def x(device):
    made = warpway.zeros(COUNT, "float32", device=device)
    made.copy_from(np.arange(COUNT, dtype="float32"))
    return made


def test_client_and_server(server, x):
    child, name = server
    with warpway.Client(name) as client:
        client.wait_ready(LIMIT_S)
        y = client.double(x)
        client.saxpy(-2.0, x, y)
        assert not copy_of(y).any()
        pid, uid, program = client.who()
        assert (pid, uid) == (os.getpid(), os.getuid()) and program
        info = client.info()
        assert (info.pid, info.state, info.version, info.functions) == (child.pid, "ready", "1", 5)
    assert drain(child) == {"saxpy": 1, "double": 1, "who": 1, "keep_running": 0, "echo": 0}


def test_streams_wait_for_calls(device, server, x):
    child, name = server
    with warpway.Client(name) as client, warpway.Stream(device) as stream:
        timeline = client.lane_timeline(3)
        first, last = client.submit("keep_running", lane=3), client.submit("saxpy", 2.0, x, x, lane=3)
        assert child.receive() == "running"
        assert first.value < last.value and not timeline.query(first.value)
        first.cancel()
        assert child.receive() == "cancelled"
        timeline.wait(last.value, stream=stream, timeout=LIMIT_S, other_user=True)
        last.stream_wait(stream, LIMIT_S)
        stream.synchronize(LIMIT_S)
        assert (copy_of(x) == 3 * np.arange(COUNT)).all() and timeline.query(last.value)
        with pytest.raises(warpway.InvalidArgument, match="lane"):
            client.lane_timeline(64)
        with pytest.raises(ValueError, match="other_user"):
            timeline.wait(1, other_user=True)
        running = client.submit("keep_running", lane=3)
        assert child.receive() == "running"
        with pytest.raises(warpway.Timeout, match="stream does not wait"):
            running.stream_wait(stream, 0.001)
        running.stream_wait(stream, unsubmitted=True)
        elsewhere = client.submit("echo", 1, lane=4)
        with pytest.raises(warpway.WrongState, match="lane_timeline"):
            elsewhere.stream_wait(stream, LIMIT_S)
        running.cancel()
        assert child.receive() == "cancelled"
        stream.synchronize(LIMIT_S)


def test_killed_server(server):
    child, name = server

    async def result_of(ticket):
        return await ticket

    async def main(tickets):
        waits = [asyncio.ensure_future(result_of(ticket)) for ticket in tickets]
        assert await asyncio.to_thread(child.receive) == "running"
        child.kill()
        results = await asyncio.gather(*waits, return_exceptions=True)
        assert all(isinstance(result, warpway.PeerLost) for result in results)

    with warpway.Client(name) as client:
        tickets = [client.submit("keep_running"), *(client.submit("echo", number) for number in range(5))]
        asyncio.run(main(tickets))
        for ticket, has_started in zip(tickets, (True, False)):
            with pytest.raises(warpway.PeerLost) as caught:
                ticket.result(LIMIT_S)
            assert caught.value.has_started is has_started
        for call in (lambda: client.echo(1), lambda: client.wait_ready(LIMIT_S)):
            with pytest.raises(warpway.PeerLost):
                call()
        assert client.info().state == "lost"


@pytest.fixture
def start_jobs(device, spawn, request):
    """start_jobs(...) is a process that serves jobs, and a Client that was opened by a token."""

    def start(**options):
        child = spawn(functools.partial(serve_jobs, **options), device, request.node.name)
        return child, child.receive()

    return start


@pytest.fixture
def thread():
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_repeated_call(start_jobs, thread, x, request):
    first, _ = start_jobs(is_held=True)
    with warpway.Client(request.node.name) as client:
        future = thread.submit(client.job, 5.0, x, repeat=True, timeout=LIMIT_S)
        assert first.receive() == "running"
        first.kill()
        second, _ = start_jobs(is_held=True)
        assert second.receive() == "running"
        second.kill()
        third, _ = start_jobs()
        assert future.result() == third.pid and (copy_of(x) == 5).all()
        assert client.call("job", 6.0, x, repeat=True, deadline=LIMIT_S) == third.pid and (copy_of(x) == 6).all()
        with pytest.raises(warpway.PeerLost):
            client.job(7.0, x)
        assert client.info().pid == first.pid
        third.kill()
        fourth, _ = start_jobs()
        assert client.job(8.0, x, repeat=True, timeout=LIMIT_S) == fourth.pid and (copy_of(x) == 8).all()


def test_awaited_call_is_repeated(start_jobs, x, request):
    first, _ = start_jobs(is_held=True)

    async def main(client):
        task = asyncio.ensure_future(warpway.aio.run(client.job, 5.0, x, repeat=True))
        assert await asyncio.to_thread(first.receive) == "running"
        first.kill()
        second, _ = await asyncio.to_thread(start_jobs)
        assert await task == second.pid

    with warpway.Client(request.node.name) as client:
        asyncio.run(main(client))


@pytest.mark.parametrize("why", ["not allowed", "not idempotent", "dependent", "opened by token"])
def test_call_that_is_not_repeated(start_jobs, thread, x, request, why):
    first, by_token = start_jobs(is_held=True)
    client = by_token if why == "opened by token" else warpway.Client(request.node.name)
    options = {"repeat": why != "not allowed"}
    if why == "dependent":
        options.update(depends_on=client.submit("job", 4.0, x), lane=1)
    future = thread.submit(client.once if why == "not idempotent" else client.job, 5.0, x, **options)
    assert first.receive() == "running"
    first.kill()
    second, other = start_jobs()
    with pytest.raises(warpway.PeerLost):
        future.result()
    assert other.job(6.0, x) == second.pid
    assert [info.calls for info in other.functions()] == [1, 0, 0]


def test_function_that_raises_peer_lost_is_not_repeated(start_jobs, request):
    start_jobs()
    with warpway.Client(request.node.name) as client:
        with pytest.raises(warpway.PeerLost, match="another process has ended"):
            client.lose(repeat=True, timeout=LIMIT_S)
        assert client.functions()[2].calls == 1


def test_next_server_without_the_function(device, start_jobs, spawn, x, request):
    first, _ = start_jobs()
    with warpway.Client(request.node.name) as client:
        assert client.job(1.0, x) == first.pid
        first.kill()
        second, _ = start_jobs(is_idempotent=False)
        with pytest.raises(warpway.InvalidArgument, match="does not offer 'job' as idempotent"):
            client.job(1.0, x, repeat=True, timeout=LIMIT_S)
        second.kill()
        assert spawn(serve, device, request.node.name).receive() == "ready"
        with pytest.raises(warpway.NotFound, match="job"):
            client.job(1.0, x, repeat=True, timeout=LIMIT_S)


def test_no_next_server(start_jobs, thread, x, request):
    first, _ = start_jobs(is_held=True)
    with warpway.Client(request.node.name) as client:
        job = client.job
        future = thread.submit(job, 5.0, x, repeat=True)
        assert first.receive() == "running"
        first.kill()
        with pytest.raises(warpway.Timeout):
            job(5.0, x, repeat=True, timeout=0.2)
        cancel = warpway.Cancel()
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            job(5.0, x, repeat=True, cancel=cancel)
        assert client.info().state == "lost" and not future.done()
    with pytest.raises(ValueError, match="closed"):
        future.result()


def test_call_with_a_ticket_is_not_repeated(server):
    with warpway.Client(server[1]) as client:
        with pytest.raises(TypeError, match="Ticket"):
            client.submit("echo", 1, repeat=True)
        assert client.submit("echo", 1, repeat=False).result(LIMIT_S) == 1
        assert client.echo(1, repeat=True) == 1


def test_token_of_a_service_as_a_pickle(device, spawn, request):
    with warpway.Service(device=device) as service:
        service.offer("echo", "i32 a -> i32 b", lambda a: a)
        service.start()
        child = spawn(call_by_token, service.token())
        child.receive()
        assert service.serve(timeout=0) is False
        assert child.result() == 5


def call_by_token(talk, client):
    """The token arrives as what it names."""
    assert isinstance(client, warpway.Client)
    ticket = client.submit("echo", 5)
    talk.send("submitted")
    return ticket.result()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork()")
def test_child_made_by_fork_cannot_use_them(device, server):
    _, name = server
    with warpway.Service(device=device) as service, warpway.Client(name) as client:
        function, ticket = client.echo, client.submit("echo", 1)
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (lambda: function(1), client.info, lambda: client.double, service.start, service.fileno,
                         lambda: service.serve(timeout=1), lambda: service.offer("f", "", len), ticket.result):
                try:
                    call()
                except warpway.Forked:
                    refused += 1
                except BaseException as error:  # pylint: disable=broad-exception-caught
                    print(repr(error), file=sys.stderr)
            ticket.cancel()
            client.close()
            service.close()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8
        assert ticket.result() == 1 and function(2) == 2
