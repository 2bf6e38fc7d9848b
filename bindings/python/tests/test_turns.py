# SPDX-License-Identifier: Apache-2.0
"""Threads that use one Channel in turns, while many of them wait.

If WAITERS threads wait at a Channel and have no order, each of the CALLS further calls mostly waits for more than a
second. If they have one, it waits for about 0.05 s, since a turn lasts 2 ms. If WW_TEST_TIMES is set, the calls together
must end within LATE_S: a busy machine may stop a process for longer, so other runs do not judge it.
"""
import contextlib
import math
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import warpway
from children import LIMIT_S
from waits import in_thread, interrupted, until, when_main_thread_sleeps

WAITERS = 24
CALLS = 10
LOOPS = 4
LATE_S = 8 if "WW_TEST_TIMES" in os.environ else math.inf


def make(device, **options):
    return warpway.Channel(None, 3, "int32", device=device, kind="host", **options)


def send(channel):
    with channel.acquire(timeout=LIMIT_S) as frame:
        np.asarray(frame)[...] = 1


@contextlib.contextmanager
def in_time():
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < LATE_S


@contextlib.contextmanager
def waiters(wait):
    """Threads that wait until they are cancelled."""
    stop = warpway.Cancel()
    results = [in_thread(wait, cancel=stop) for _ in range(WAITERS)]
    try:
        yield results
    finally:
        stop.set()
        for result in results:
            with contextlib.suppress(warpway.Cancelled, ValueError):
                result()


@pytest.fixture
def pairs(device):
    """(idle, its producer, crowded): of the last one many threads can wait for frames."""
    with make(device) as one, make(device) as other:
        channels = [warpway.Channel.get(each.token()) for each in (one, other)]
        yield channels[0], one, channels[1]
        for channel in channels:
            channel.close()


def test_timeouts_while_others_wait(pairs):
    idle, _, crowded = pairs
    with waiters(crowded.receive), in_time():
        for _ in range(CALLS):
            for timeout in (0, 0.001):
                with pytest.raises(warpway.Timeout):
                    warpway.wait_channels([idle, crowded], timeout)
                with pytest.raises(warpway.Timeout):
                    crowded.receive(timeout=timeout)


def test_turns_come_while_others_wait(pairs):
    idle, producer, crowded = pairs
    with waiters(crowded.receive), in_time():
        for _ in range(CALLS):
            waits = in_thread(warpway.wait_channels, [idle, crowded])
            send(producer)
            assert waits() == [idle]
            idle.receive(timeout=0).release()


def test_wait_channels_keeps_no_channel_from_others(pairs):
    """While it waits for its turn at one channel, the other one can be used."""
    idle, _, crowded = pairs
    stop = warpway.Cancel()
    with waiters(crowded.receive), in_time():
        waits = [in_thread(warpway.wait_channels, [idle, crowded], cancel=stop) for _ in range(WAITERS)]
        for _ in range(CALLS):
            assert idle.held == 0
        stop.set()
        for wait in waits:
            with pytest.raises(warpway.Cancelled):
                wait()


def test_each_frame_goes_to_one_of_the_threads(device):
    with make(device, slots=WAITERS + 2, held_max=WAITERS + 1) as producer:
        consumer = warpway.Channel.get(producer.token())
        numbers = []

        def receive(cancel):
            while True:
                with consumer.receive(cancel=cancel) as frame:
                    numbers.append(frame.number)

        with waiters(receive):
            for _ in range(20 * CALLS):
                send(producer)
            until(lambda: len(numbers) >= 20 * CALLS)
        assert sorted(numbers) == list(range(1, 20 * CALLS + 1))
        consumer.close()


@pytest.mark.parametrize("kind", [warpway.Channel, warpway.WorkQueue])
def test_threads_send_and_loop(device, kind):
    """A slot comes again before the thread that published it has the GIL: that Frame is no view."""
    sent, received = range(LOOPS * 25 * CALLS), []

    def send_some(first):
        for number in sent[first::LOOPS]:
            with producer.acquire(timeout=LIMIT_S) as frame:
                np.asarray(frame)[...] = number

    def loop():
        for frame in consumer:
            received.append(int(np.asarray(frame)[0]))

    options = {"shape": 3, "dtype": "int32", "device": device, "kind": "host", "slots": LOOPS, "held_max": LOOPS}
    with kind(**options) as producer, kind.get(producer.token()) as consumer:
        loops = [in_thread(loop) for _ in range(LOOPS)]
        for sends in [in_thread(send_some, first) for first in range(LOOPS)]:
            sends()
        until(lambda: len(received) == len(sent))
        consumer.close()
        for ends in loops:
            ends()
    assert sorted(received) == list(sent)


@pytest.mark.parametrize("end", ["publish", "discard"])
def test_frames_end_before_another_can_have_the_slot(device, end):
    """What runs when the Frame's array ends may acquire: that neither waits for the Frame nor finds a view."""
    with make(device, slots=1) as producer:
        frame, tried = producer.acquire(), []

        def acquire_again():
            with pytest.raises(warpway.WrongState, match="holds"):
                producer.acquire(timeout=LIMIT_S)
            tried.append(frame.closed)

        weakref.finalize(frame.array, acquire_again)
        getattr(frame, end)()
        assert tried == [True]
        send(producer)


def test_frames_of_all_threads_count(device):
    with make(device, slots=3) as producer, warpway.Channel.get(producer.token()) as consumer:
        for _ in range(3):
            send(producer)
        frames = [in_thread(consumer.receive)() for _ in range(consumer.held_max)]
        with pytest.raises(warpway.WrongState, match="held_max"):
            consumer.receive(timeout=LIMIT_S)
        frames.pop().release()
        assert consumer.receive(timeout=LIMIT_S).number == 3


def test_signal_ends_a_wait_for_a_turn(pairs):
    with waiters(pairs[2].receive), in_time():
        interrupted(pairs[2].receive)
        interrupted(warpway.wait_channels, pairs[::2])


def test_signals_take_no_turn_away(pairs):
    """They come more often than turns."""
    idle, producer, crowded = pairs
    former = signal.signal(signal.SIGALRM, lambda *unused: None)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        with waiters(crowded.receive), in_time():
            for _ in range(CALLS):
                sent = when_main_thread_sleeps(send, producer)
                assert warpway.wait_channels([idle, crowded], LIMIT_S) == [idle]
                sent()
                idle.receive(timeout=0).release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_closing_ends_waits_for_turns(pairs):
    idle, _, crowded = pairs
    with waiters(crowded.receive) as waits, in_time():
        waits += [in_thread(warpway.wait_channels, [idle, crowded]) for _ in range(CALLS)]
        crowded.close()
        for wait in waits:
            with pytest.raises(ValueError, match="closed"):
                wait()
        assert idle.held == 0


def test_calls_that_do_not_wait_let_others_have_turns(pairs):
    """Also if they follow each other without a gap."""
    idle, producer, _ = pairs
    stop = threading.Event()

    def look():
        while not stop.is_set():
            idle.held  # pylint: disable=pointless-statement

    looks = [in_thread(look) for _ in range(4)]
    try:
        for _ in range(CALLS):
            waits = in_thread(idle.receive)
            send(producer)
            waits().release()
    finally:
        stop.set()
    for look_ends in looks:
        look_ends()
