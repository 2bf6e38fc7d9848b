# SPDX-License-Identifier: Apache-2.0
"""Services that are served by an event loop, and clients that wait for calls there, by descriptors."""
import asyncio
import gc
import os
import resource
import select
import signal
import threading

import pytest

import warpway
from children import LIMIT_S
from test_service import Stopper, served
from waits import in_thread, is_readable, until


@pytest.fixture
def service(device):
    """It offers double, which says in which thread it runs."""
    with warpway.Service(device=device) as made:
        made.offer("double", "i32 a -> i32 b, u64 thread", lambda a: (2 * a, threading.get_ident()))
        made.start()
        yield made


def call(token, count):
    """Of a client in another thread."""
    with warpway.Client(token) as client:
        return [client.double(number)[0] for number in range(count)]


def test_descriptor_without_calls(service):
    assert service.fileno() == service.fileno()
    assert service.serve(0) is False
    assert not is_readable(service)
    service.drain()
    assert is_readable(service, LIMIT_S)
    assert service.serve(0) is True


def test_serve_in_poll(service):
    poll = select.poll()
    poll.register(service, select.POLLIN)
    numbers = in_thread(call, service.token(), 20)
    while service.info().calls < 20:
        assert poll.poll(1000 * LIMIT_S) == [(service.fileno(), select.POLLIN)]
        assert service.serve(0) is False
    assert numbers() == [2 * number for number in range(20)]


def test_serve_in_asyncio(service):
    async def main():
        loop = asyncio.get_running_loop()
        loop.add_reader(service.fileno(), service.serve, 0)
        try:
            with warpway.Client(service.token()) as client:
                results = await asyncio.gather(*(client.submit("double", number) for number in range(10)))
        finally:
            loop.remove_reader(service.fileno())
        assert results == [(2 * number, threading.get_ident()) for number in range(10)]

    asyncio.run(main())


def test_drain_in_asyncio(service):
    """As a server does that is to end on SIGTERM."""

    async def main():
        loop = asyncio.get_running_loop()
        is_over = asyncio.Event()

        def serve():
            if service.serve(0):
                loop.remove_reader(service.fileno())
                is_over.set()

        loop.add_reader(service.fileno(), serve)
        loop.add_signal_handler(signal.SIGTERM, service.drain)
        try:
            with warpway.Client(service.token()) as client:
                assert (await client.submit("double", 4))[0] == 8
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.wait_for(is_over.wait(), LIMIT_S)
                with pytest.raises(warpway.Unavailable):
                    await client.submit("double", 4)
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    asyncio.run(main())


def test_descriptor_of_a_closed_service(device):
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    with warpway.Service(device=device) as first:
        first.fileno()  # what stays open for all
        before = count()
        for _ in range(3):
            with warpway.Service(device=device) as service:
                own = os.dup(service.fileno())
                assert not is_readable(own)
            assert is_readable(own, LIMIT_S)
            os.close(own)
            with pytest.raises(ValueError, match="closed"):
                service.fileno()
            del service
        until(lambda: count() <= before)  # what earlier tests have left may end, too


def test_coroutines_are_refused(device):
    with warpway.Service(device=device) as service:
        with pytest.raises(TypeError, match="coroutine"):
            service.offer("f", "", asyncio.sleep)
        with pytest.raises(TypeError, match="coroutine"):

            @service.function("")
            async def numbers():
                yield 1

        assert service.functions() == []


def test_a_service_that_was_not_started_says_so(device):
    with warpway.Service(device=device) as service:
        service.offer("f", "", lambda: None)
        with warpway.Client(service.token()) as client, pytest.raises(warpway.Timeout, match="has not called start"):
            client.submit("f").result(timeout=0.01)


# --- clients ---


def test_awaiting_needs_no_thread(device):
    """Also not to learn that the Client was closed."""
    stopper = Stopper()

    async def result_of(ticket):
        return await ticket

    async def main(client):
        waits = [asyncio.ensure_future(result_of(client.submit("stop", number))) for number in range(3)]
        await asyncio.to_thread(stopper.begun.wait, LIMIT_S)
        await asyncio.sleep(0.01)
        assert "warpway wait" not in [thread.name for thread in threading.enumerate()]
        stopper.may_end.set()
        assert await asyncio.gather(*waits) == [0, 1, 2]
        stopper.may_end.clear()
        wait = asyncio.ensure_future(result_of(client.submit("stop", 3)))
        await asyncio.sleep(0.01)
        client.close()
        with pytest.raises(ValueError, match="closed"):
            await asyncio.wait_for(wait, LIMIT_S)
        stopper.may_end.set()

    with served(device, stopper.offer) as (_, client):
        asyncio.run(main(client))


def test_awaiting_without_descriptors(device):
    stopper = Stopper()

    async def main(client):
        ticket = client.submit("stop", 1)
        await asyncio.to_thread(stopper.begun.wait, LIMIT_S)
        asyncio.get_running_loop().call_later(0.01, stopper.may_end.set)
        lowest, (soft, hard) = os.dup(0), resource.getrlimit(resource.RLIMIT_NOFILE)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            assert await ticket == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    with served(device, stopper.offer) as (_, client):
        asyncio.run(main(client))


def test_descriptors_of_tickets(device):
    stopper = Stopper()
    with served(device, stopper.offer) as (_, client):
        client.add(1)
        before = len(os.listdir("/proc/self/fd"))
        ticket = client.submit("stop", 1)
        other = client.submit("stop", 2)
        assert ticket.fileno() == ticket.fileno() != other.fileno()
        assert not is_readable(ticket)
        del other
        stopper.may_end.set()
        assert is_readable(ticket, LIMIT_S)
        assert ticket.result(0) == 1
        assert is_readable(ticket)
        del ticket
        client.add(1)
        assert len(os.listdir("/proc/self/fd")) == before
