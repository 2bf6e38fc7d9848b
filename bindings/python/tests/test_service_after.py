# SPDX-License-Identifier: Apache-2.0
"""Calls that start after a value of a timeline."""
import os
import socket

import pytest

import warpway
from children import LIMIT_S
from test_service import served
from waits import until


def offer(service):
    service.offer("add", "i32 a, i32 b = 1 -> i32 sum", lambda a, b: a + b)


def test_call_starts_after_value(device):
    timeline = warpway.Timeline()
    with served(device, offer) as (_, client):
        ticket = client.submit("add", 1, after=(timeline, 5))
        by_token = client.submit("add", 2, lane=1, after=(timeline.token(), 6))
        assert client.add(3, lane=2) == 4
        timeline.signal(4)
        assert client.add(3, lane=2) == 4 and not ticket.started
        timeline.signal(5)
        assert ticket.result() == 2 and not by_token.done
        timeline.signal(6)
        assert by_token.result() == 3
        assert client.add(4, after=(timeline, 6)) == 5
        assert client.add(4, after=None) == 5


def test_value_that_never_comes(device):
    timeline, alone = warpway.Timeline(), warpway.Timeline(alone=True)
    token = alone.token(escrow=None)
    alone.close()
    with served(device, offer) as (_, client):
        with pytest.raises(warpway.Timeout, match="was cancelled"):
            client.add(1, after=(timeline, 1), timeout=0.01)
        with pytest.raises(warpway.Timeout, match="was not started: it was queued for .* deadline passed"):
            client.add(1, after=(timeline, 1), deadline=0.01)
        ticket = client.submit("add", 1, after=(timeline, 1))
        ticket.cancel()
        with pytest.raises(warpway.Cancelled) as caught:
            ticket.result()
        assert caught.value.has_started is False
        with pytest.raises(warpway.NotFound, match="the timeline to start after"):
            client.add(1, after=(token, 1))


def test_what_is_no_timeline(device):
    timeline, closed = warpway.Timeline(), warpway.Timeline()
    closed.close()
    with served(device, offer) as (_, client):
        for after, error, words in (
            (5, TypeError, "tuple"),
            ([timeline, 1], TypeError, "tuple"),
            ((timeline,), TypeError, "tuple"),
            ((5, 1), TypeError, "Timeline or Token"),
            ((timeline, -1), ValueError, ""),
            ((timeline, "x"), TypeError, ""),
            ((timeline, 2**63), warpway.InvalidArgument, "2\\^62"),
            ((closed, 1), ValueError, "closed"),
            ((warpway.Memory(4096).token(), 1), warpway.InvalidArgument, "object that is not one"),
        ):
            with pytest.raises(error, match=words):
                client.add(1, after=after)
        assert client.add(1) == 2


def test_calls_start_after_values_of_streams(device):
    with served(device, offer, after_streams=4) as (_, client):
        timeline, stream = warpway.Timeline(), warpway.Stream(device)
        for value in range(1, 21):
            timeline.signal(value, stream)
            assert client.add(value, after=(timeline, value)) == value + 1
    with pytest.raises(warpway.InvalidArgument, match="after_streams is 5"):
        warpway.Service(device=device, after_streams=5)
    warpway.Service(device=device, after_streams=0).close()
    with pytest.raises(ValueError, match="0 to 2"):
        warpway.Service(device=device, after_streams=-1)


def submit_and_wait(talk, name, is_shared_first):
    """Calls, of which the first starts after a value of a timeline of this process."""
    timeline = warpway.Timeline()
    if is_shared_first:  # then the broker says first of the timeline, and then of the client, that it is lost
        timeline.token()
    with warpway.Client(name, timeout=LIMIT_S) as client:
        timeline.signal(1)
        client.add(1, after=(timeline, 1), timeout=LIMIT_S)  # the server has the timeline from then on
        tickets = [client.submit("add", 100, after=(timeline, 2))]
        tickets += [client.submit("add", 200 + i) for i in range(5)]
        talk.send("submitted")
        talk.recv()


def test_calls_of_a_client_that_was_killed(device, spawn, request):
    """Its timeline is lost, by which the first call could only fail: the others are not run either."""
    seen = []

    def offer_seen(service):
        service.offer("add", "i32 a -> i32 sum", lambda a: seen.append(a) or a + 1)

    with served(device, offer_seen, name=request.node.name) as (service, client):
        for is_shared_first in (True, False):
            child = spawn(submit_and_wait, request.node.name, is_shared_first)
            child.receive()
            assert client.add(1) == 2
            child.kill()
            until(lambda: client.add(1) and service.info().clients == 1)
    assert set(seen) == {1}


def break_connections():
    """Those to the broker end, as when the broker refuses what a process sends."""
    for name in os.listdir("/proc/self/fd"):
        try:
            connection = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # it is no socket, or was the descriptor of the list
            continue
        with connection:
            if connection.family == socket.AF_UNIX and connection.getpeername() == os.environ["WARPWAY_BROKER"]:
                connection.shutdown(socket.SHUT_RDWR)


def call_without_connection(talk, name):
    timeline = warpway.Timeline()
    with warpway.Client(name, timeout=LIMIT_S) as client:
        timeline.signal(1)
        client.add(1, after=(timeline, 1), timeout=LIMIT_S)  # the server has the timeline from then on
        waiting = client.submit("add", 100, after=(timeline, 2))
        behind = client.submit("add", 200)
        talk.send("submitted")
        talk.recv()
        break_connections()
        with pytest.raises(warpway.DependencyFailed):
            waiting.result(timeout=LIMIT_S)
        return behind.result(timeout=LIMIT_S), client.add(300, timeout=LIMIT_S)


def test_client_that_lives_without_its_connection(device, spawn, request):
    """Its timelines are lost, but its calls are run."""
    with served(device, offer, name=request.node.name) as (_, client):
        child = spawn(call_without_connection, request.node.name)
        child.receive()
        assert client.add(1) == 2
        child.send("break")
        assert child.result() == (201, 301)
