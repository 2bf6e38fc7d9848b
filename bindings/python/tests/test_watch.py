"""Watches: the changes in a broker, in order."""
import os
import pickle
import signal
import uuid

import pytest

import warpway
from arrays import memory_of
from children import LIMIT_S
from waits import in_thread, interrupt_main_thread, is_readable


@pytest.fixture
def prefix():
    return f"watched/{uuid.uuid4().hex}/"


@pytest.fixture
def watch(broker, prefix):
    with broker.watch(prefix) as opened:
        yield opened


def until_used(watch):
    """Until another thread waits for the watch."""
    while True:
        try:
            watch.fileno()
        except warpway.WrongState:
            return


def test_replaced_names_the_former_object(broker, prefix, watch):
    first, second = (memory_of("host", b"bytes") for _ in range(2))
    broker.put(prefix + "a", first)
    former = watch.next(LIMIT_S).object
    assert watch.next(LIMIT_S).former_id is None
    broker.put(prefix + "a", second, replace=True)
    event = watch.next(LIMIT_S)
    assert (event.what, event.former_id) == ("replaced", former.object_id)
    what, shown = event
    assert (what, shown.name) == ("replaced", prefix + "a")
    assert watch.next(LIMIT_S).what == "ready"


def test_events_come_in_order(broker, prefix, watch):
    memories = [memory_of("host", b"bytes") for _ in range(3)]
    broker.put(prefix + "a", memories[0])
    broker.put(prefix + "b", memories[1], state="writing")
    broker.put("other/" + prefix + "c", memories[2])
    memories[1].publish("shared")
    broker.remove(prefix + "a")
    memories[1].close()
    events = [watch.next(LIMIT_S) for _ in range(6)]
    assert [(event.what, event.object.name[len(prefix):]) for event in events] == [
        ("put", "a"), ("ready", "a"), ("put", "b"), ("ready", "b"), ("removed", "a"), ("gone", "b")]
    assert events[2].object.state == "writing"
    assert events[3].object.state == "shared"
    with pytest.raises(warpway.Timeout):
        watch.next(0)


def test_what_exists_comes_first(broker, prefix):
    memories = [memory_of("host", b"bytes") for _ in range(3)]
    for i, memory in enumerate(memories[:2]):
        broker.put(f"{prefix}{i}", memory)
    with broker.watch(prefix, existing=True) as watch:
        broker.put(prefix + "2", memories[2])
        events = [watch.next(LIMIT_S) for _ in range(4)]
    assert [event.what for event in events] == ["put", "put", "put", "ready"]
    assert {event.object.name for event in events[:2]} == {prefix + "0", prefix + "1"}
    assert events[3].object.name == prefix + "2"


def test_it_is_iterated(broker, prefix, watch):
    memory = memory_of("host", b"bytes")
    broker.put(prefix + "a", memory)
    assert iter(watch) is watch
    seen = []
    for event in watch:
        seen.append(event.what)
        if event.what == "ready":
            break
    assert seen == ["put", "ready"]


# --- waiting ---


def test_a_wait_is_cancelled(watch):
    stop = warpway.Cancel()
    waiting = in_thread(lambda: watch.next(cancel=stop))
    until_used(watch)
    stop.set()
    with pytest.raises(warpway.Cancelled):
        waiting()


def test_an_event_comes_although_the_flag_is_set(broker, prefix, watch):
    stop = warpway.Cancel()
    stop.set()
    with pytest.raises(warpway.Cancelled):
        watch.next(cancel=stop)
    memory = memory_of("host", b"bytes")
    broker.put(prefix + "a", memory)
    assert is_readable(watch, LIMIT_S)
    assert watch.next(cancel=stop).what == "put"


def test_a_wait_in_the_main_thread_sees_events(broker, prefix, watch):
    memory = memory_of("host", b"bytes")
    assert not is_readable(watch)
    for timeout in (0, 0.001, 0.06):
        with pytest.raises(TimeoutError):
            watch.next(timeout)
    putting = in_thread(lambda: (until_used(watch), broker.put(prefix + "a", memory)))
    assert watch.next().what == "put"
    putting()


def test_two_threads_are_not_served_at_once(watch):
    waiting = in_thread(watch.next)
    until_used(watch)
    for call in (lambda: watch.next(0), lambda: next(watch), watch.fileno):
        with pytest.raises(warpway.WrongState, match="thread"):
            call()
    watch.close()
    with pytest.raises(ValueError, match="closed"):
        waiting()


# --- closing ---


@pytest.mark.parametrize("has_cancel", [False, True])
def test_close_ends_a_wait_in_another_thread(watch, has_cancel):
    stop = warpway.Cancel() if has_cancel else None
    waiting = in_thread(lambda: watch.next(cancel=stop))
    until_used(watch)
    watch.close()
    with pytest.raises(ValueError, match="closed"):
        waiting()
    assert stop is None or not stop.is_set()


def test_close_ends_an_iteration_in_another_thread(watch):
    waiting = in_thread(list, watch)
    until_used(watch)
    watch.close()
    assert waiting() == []


def test_close_ends_a_wait_in_the_main_thread(watch):
    closing = in_thread(lambda: (until_used(watch), watch.close()))
    with pytest.raises(ValueError, match="closed"):
        watch.next()
    closing()


def test_a_closed_watch_serves_no_call(watch):
    assert repr(watch) == "<warpway.Watch>" and not watch.closed
    watch.close()
    watch.close()
    assert repr(watch) == "<warpway.Watch closed>" and watch.closed
    for call in (watch.next, watch.fileno, lambda: iter(watch)):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(StopIteration):
        next(watch)


def test_it_outlives_its_broker(prefix):
    broker = warpway.Broker()
    watch = broker.watch(prefix)
    broker.close()
    memory = memory_of("host", b"bytes")
    with warpway.Broker() as other:
        other.put(prefix + "a", memory)
    assert watch.next(LIMIT_S).what == "put"


def test_many_threads_wait_and_close(broker, prefix):
    def wait(watches):
        while watches[0]:
            try:
                watches[0].next(0.001)
            except (warpway.Timeout, warpway.WrongState, ValueError, AttributeError):
                pass

    watches = [broker.watch(prefix)]
    callers = [in_thread(wait, watches) for _ in range(4)]
    for _ in range(50):
        old, watches[0] = watches[0], broker.watch(prefix)
        old.close()
    last, watches[0] = watches[0], None
    last.close()
    for caller in callers:
        caller()


# --- signals ---


@pytest.mark.parametrize("wait", [next, list])
def test_ctrl_c_ends_a_wait(watch, wait):
    with pytest.raises(KeyboardInterrupt):
        sending = in_thread(lambda: (until_used(watch), interrupt_main_thread()))
        wait(watch)
    sending()


def test_a_signal_handler_may_close_or_use_it(watch):
    def handle(number, frame):
        with pytest.raises(warpway.WrongState):
            watch.next(0)
        watch.close()

    former = signal.signal(signal.SIGUSR1, handle)
    sending = in_thread(lambda: (until_used(watch), os.kill(os.getpid(), signal.SIGUSR1)))
    try:
        with pytest.raises(ValueError, match="closed"):
            watch.next()
    finally:
        signal.signal(signal.SIGUSR1, former)
    sending()


# --- the broker, and other processes ---


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_broker_that_is_killed_is_an_overflow(broker, prefix, watch, is_waiting):
    memory = memory_of("host", b"bytes")
    broker.put(prefix + "a", memory)
    assert [watch.next(LIMIT_S).what for _ in range(2)] == ["put", "ready"]
    waiting = in_thread(lambda: watch.next(LIMIT_S)) if is_waiting else None
    if is_waiting:
        until_used(watch)
    os.kill(broker.info().pid, signal.SIGKILL)
    event = waiting() if is_waiting else watch.next(LIMIT_S)
    assert event.what == "overflow" and event.object is None
    assert [info.name for info in broker.list(prefix)] == [prefix + "a"]
    broker.remove(prefix + "a")
    assert watch.next(LIMIT_S).what == "removed"


def test_it_cannot_be_made_or_pickled_otherwise(watch):
    with pytest.raises(TypeError):
        type(watch)()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(watch, protocol)


@pytest.mark.parametrize("arguments, error", [
    ({"prefix": 5}, TypeError),
    ({"prefix": "a\0b"}, ValueError),
    ({"prefix": "n" * 192}, ValueError),
    ({"other": 1}, TypeError),
])
def test_arguments_are_checked(broker, arguments, error):
    with pytest.raises(error):
        broker.watch(**arguments)


def test_arguments_of_next_are_checked(watch):
    for arguments, error in [({"timeout": -1}, ValueError), ({"timeout": "1"}, TypeError),
                             ({"cancel": 5}, TypeError), ({"other": 1}, TypeError)]:
        with pytest.raises(error):
            watch.next(**arguments)
