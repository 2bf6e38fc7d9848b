# SPDX-License-Identifier: Apache-2.0
"""Functions of a Service that run several calls at once.

The tests serve in their own thread: all calls that were made before are taken at once.
"""

import contextlib

import numpy as np
import pytest
from children import LIMIT_S

import warpway


@contextlib.contextmanager
def offered(device, signature, function, **options):
    """A Service that nobody serves yet, with one function "run", and a Client."""
    with warpway.Service(device=device) as service:
        service.offer("run", signature, function, **{"batch": 8, **options})
        service.start()
        with warpway.Client(service.token()) as client:
            yield service, client


def submit_all(client, arguments):
    return [client.submit("run", *values, lane=lane) for lane, values in enumerate(arguments)]


def test_calls_run_together(device):
    seen = []

    def add(a, b):
        seen.append((a, b))
        return [x + y for x, y in zip(a, b)]

    with offered(device, "i32 a, i32 b = 10 -> i32 sum", add, batch=3, batch_wait=60) as (service, client):
        tickets = submit_all(client, [(1,), (2, 20)])
        assert service.serve(0) is False and not any(ticket.done for ticket in tickets)
        tickets.append(client.submit("run", 3, 30, lane=2))
        service.serve(0)
        assert [ticket.result(LIMIT_S) for ticket in tickets] == [11, 22, 33]
        assert seen == [((1, 2, 3), (10, 20, 30))]
        (info,) = client.functions()
        assert (info.calls, info.batches, info.batch) == (3, 1, 3)


def test_those_that_are_there_run_together(device):
    sizes = []

    def count(call):
        sizes.append((len(call), {one.lane for one in call}))
        assert all(one.function == "run" and not one.is_cancelled() for one in call)

    with offered(device, "", count) as (service, client):
        tickets = submit_all(client, [()] * 5)
        service.serve(0)
        assert [ticket.result(LIMIT_S) for ticket in tickets] == [None] * 5
        assert sizes == [(5, {0, 1, 2, 3, 4})]


def test_arrays(device):
    def normalize(x, bias):
        return [(np.asarray(one).sum() + bias[0], np.asarray(one) * 2) for one in x]

    with offered(device, "f32[n] x read, f64 bias = 0.5 -> f64 total, f32[n] twice", normalize) as (service, client):
        given = []
        for first in range(3):
            given.append(warpway.empty(4, "float32", device=device, kind="host"))
            given[-1].copy_from(np.arange(first, first + 4, dtype="float32"))
        tickets = submit_all(client, [(one,) for one in given])
        service.serve(0)
        for first, ticket in enumerate(tickets):
            total, twice = ticket.result(LIMIT_S)
            found = np.empty(4, "float32")
            twice.copy_to(found)
            assert total == sum(range(first, first + 4)) + 0.5
            assert found.tolist() == [2.0 * (first + i) for i in range(4)]


def test_results_that_fail_alone(device):
    results = [0.5, warpway.InvalidArgument("it is 0"), "many"]
    with offered(device, "i32 i -> f64 y", lambda i: [results[each] for each in i]) as (service, client):
        tickets = submit_all(client, [(0,), (1,), (2,)])
        service.serve(0)
        assert tickets[0].result(LIMIT_S) == 0.5
        for ticket, error, words in ((tickets[1], warpway.InvalidArgument, "^it is 0"), (tickets[2], warpway.CallError, "TypeError")):
            with pytest.raises(error, match=words):
                ticket.result(LIMIT_S)


def refuse(x):
    raise warpway.QuotaExceeded("too much together")


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda x: [1], warpway.CallError, "returned 1 results for 2 calls"),
        (lambda x: [1, 2, 3], warpway.CallError, "returned 3 results for 2 calls"),
        (lambda x: 7, warpway.CallError, "returns a list"),
        (lambda x: "ab", warpway.CallError, "returns a list"),
        (lambda x: None, warpway.CallError, "returns a list"),
        (lambda x: {0: 1, 1: 2}, warpway.CallError, "returns a list"),
        (refuse, warpway.QuotaExceeded, "^too much together"),
    ],
)
def test_what_fails_all(device, function, error, words):
    with offered(device, "i32 x -> i32 y", function) as (service, client):
        tickets = submit_all(client, [(1,), (2,)])
        service.serve(0)
        for ticket in tickets:
            with pytest.raises(error, match=words):
                ticket.result(LIMIT_S)


def test_arguments_that_have_ended_fail_alone(device):
    with offered(device, "u8[n] x read -> u64 bytes", lambda x: [one.nbytes for one in x]) as (service, client):
        here = warpway.zeros(8, "uint8", device=device, kind="host")
        gone = warpway.zeros(8, "uint8", device=device, kind="host")
        token = gone.token(uses=0, escrow=0)
        tickets = [client.submit("run", here), client.submit("run", token, lane=1)]
        gone.close()
        service.serve(0)
        assert tickets[0].result(LIMIT_S) == 8
        with pytest.raises(warpway.NotFound):
            tickets[1].result(LIMIT_S)


def test_exception_that_is_no_failure_ends_serving(device):
    def stop(x):
        raise KeyboardInterrupt

    with offered(device, "i32 x", stop) as (service, client):
        ticket = client.submit("run", 1)
        with pytest.raises(KeyboardInterrupt):
            service.serve(LIMIT_S)
        with pytest.raises(warpway.CallError):
            ticket.result(LIMIT_S)


def test_returned_exception_does_not_end_serving(device):
    with offered(device, "i32 x", lambda x: [KeyboardInterrupt("one") for _ in x]) as (service, client):
        for _ in range(2):
            ticket = client.submit("run", 1)
            service.serve(0)
            with pytest.raises(warpway.CallError, match="KeyboardInterrupt"):
                ticket.result(LIMIT_S)


def test_cancelled_server_says_what_it_did_not_run(device):
    ran = []

    def add_one(x):
        ran.append(len(x))

    with offered(device, "u8[n] x readwrite", add_one) as (service, client):
        cancel = warpway.Cancel()
        array = warpway.zeros(8, "uint8", device=device, kind="host")
        ticket = client.submit("run", array)
        cancel.set()
        with contextlib.suppress(warpway.Cancelled):
            service.serve(0, cancel=cancel)
        service.serve(0)
        try:
            ticket.result(LIMIT_S)
        except warpway.Unavailable as error:
            assert "interrupted" in str(error) and not ran
        else:
            assert ran == [1]


def test_calls_are_good_until_the_function_returns(device):
    kept = []
    with offered(device, "i32 x", lambda x, call: kept.append(call)) as (service, client):
        ticket = client.submit("run", 1)
        service.serve(0)
        ticket.result(LIMIT_S)
        with pytest.raises(ValueError):
            kept[0][0].is_cancelled()
        assert kept[0][0].number == 1


def test_decorator(device):
    with warpway.Service(device=device) as service:

        @service.function("i32 x -> i32 y", batch=4, batch_wait=0.001)
        def negate(x):
            return [-one for one in x]

        assert negate([1]) == [-1]
        assert service.functions()[0].batch == 4


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"batch": 0}, ValueError, "at least 1"),
        ({"batch": 257}, warpway.InvalidArgument, "batch is 257"),
        ({"batch": 2, "batch_wait": 61}, warpway.InvalidArgument, "batch_wait"),
        ({"batch_wait": 1}, ValueError, "batch=N"),
        ({"batch": 2, "signature": ""}, ValueError, "give it 'call'"),
    ],
)
def test_refused(device, options, error, words):
    with warpway.Service(device=device) as service:
        with pytest.raises(error, match=words):
            service.offer("f", options.pop("signature", "i32 x"), lambda *x: None, **options)
        assert service.functions() == []
