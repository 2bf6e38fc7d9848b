"""Events: recordings, waits, and their handles."""
import os
import pickle
import threading

import pytest

import warpway
from waits import Gate, in_thread, interrupt_main_thread


@pytest.fixture
def gate(device):
    """A stream that is busy until gate.open()."""
    with Gate(device) as made:
        yield made


@pytest.fixture
def event(device):
    if "event" not in warpway.Device(device).capabilities:
        pytest.skip(f"{device} has no events")
    with warpway.Event(device) as made:
        yield made


def test_event_that_was_never_recorded_is_over(event, gate):
    assert event.query() is True
    event.synchronize()
    event.wait(gate.stream)


def test_event_stands_for_the_work_before_it(event, gate):
    event.record(gate.stream)
    assert event.query() is False
    with pytest.raises(warpway.Timeout):
        event.synchronize(0.01)
    gate.open()
    event.synchronize(1000)
    assert event.query() is True


def test_stream_waits(event, gate, device):
    order = []
    with warpway.Stream(device) as waiting:
        gate.stream.call(lambda: order.append("recorded"))
        event.record(gate.stream)
        event.wait(waiting)
        waiting.call(lambda: order.append("waited"))
        assert waiting.query() is False
        gate.open()
        waiting.synchronize()
    assert order == ["recorded", "waited"]


def test_ctrl_c_ends_a_wait(event, gate):
    event.record(gate.stream)
    sender = threading.Thread(target=interrupt_main_thread)
    with pytest.raises(KeyboardInterrupt):
        sender.start()
        event.synchronize()
    sender.join()


def test_wait_ends_by_its_cancel(event, gate):
    event.record(gate.stream)
    cancel = warpway.Cancel()
    result = in_thread(event.synchronize, cancel=cancel)
    cancel.set()
    with pytest.raises(warpway.Cancelled):
        result()


def test_closed_event_is_refused(event, gate):
    assert event.closed is False
    event.close()
    event.close()
    assert event.closed is True
    assert "closed" in repr(event)
    calls = (lambda: event.record(gate.stream), lambda: event.wait(gate.stream), event.query, event.synchronize,
             event.token, lambda: event.handle)
    for call in calls:
        with pytest.raises(ValueError, match="closed"):
            call()


def test_what_is_no_stream_is_refused(event):
    for value in (None, "0", object()):
        with pytest.raises(TypeError, match="stream"):
            event.record(value)
        with pytest.raises(TypeError, match="stream"):
            event.wait(value)


def test_event_is_not_pickled(event):
    with pytest.raises(TypeError, match="Timeline"):
        pickle.dumps(event)


@pytest.mark.parametrize("handle", [b"", bytes(63), (1, 2), bytes(65)])
def test_handle_of_another_size_is_refused(handle, device):
    with pytest.raises(ValueError, match="64"):
        warpway.Event.open_handle(handle, device)


@pytest.mark.parametrize("handle", [1, "handle", None, [0.5] * 64])
def test_handle_of_another_type_is_refused(handle, device):
    with pytest.raises(TypeError):
        warpway.Event.open_handle(handle, device)


def test_handle(event, device):
    if device == "host":
        with pytest.raises(warpway.Unsupported):
            event.handle  # pylint: disable=pointless-statement
        with pytest.raises(warpway.Unsupported):
            warpway.Event.open_handle(bytes(64), device)
        return
    assert isinstance(event.handle, bytes)
    assert len(event.handle) == 64
    with pytest.raises(warpway.Unsupported):  # of this very process
        warpway.Event.open_handle(tuple(event.handle), device)


def open_and_wait(talk, device, handle, data):
    event = warpway.Token(data).open(device=device) if data else warpway.Event.open_handle(handle, device)
    with event, warpway.Stream(device) as stream:
        event.wait(stream)
        talk.send(stream.query())
        stream.synchronize()
        event.synchronize()
        return event.query()


def test_other_process_opens_the_handle(spawn, event, gate, device):
    if device == "host":
        pytest.skip("events of the host device have no handle")
    event.record(gate.stream)
    child = spawn(open_and_wait, device, event.handle, None)
    assert child.receive() is False
    gate.open()
    assert child.result() is True


def test_other_process_opens_the_token(spawn, event, gate, device):
    event.record(gate.stream)
    child = spawn(open_and_wait, device, None, event.token().to_bytes())
    assert child.receive() is False
    gate.open()
    assert child.result() is True


def record_and_wait(talk, device):
    with warpway.Event(device) as event, Gate(device) as gate:
        event.record(gate.stream)
        talk.send(event.token().to_bytes())
        talk.recv()


def test_wait_for_a_process_that_is_killed(spawn, device):
    if device != "host":
        pytest.skip("on a GPU such a wait never ends")
    child = spawn(record_and_wait, device)
    event = warpway.Token(child.receive()).open(device=device)
    threading.Thread(target=child.kill).start()
    with pytest.raises(warpway.PeerLost) as caught:
        event.synchronize()
    assert str(child.pid) in str(caught.value)
    assert child.pid != os.getpid()


def test_blocking_sync(event, gate, device):
    with warpway.Event(device=device, blocking_sync=True) as blocking:
        blocking.record(gate.stream)
        gate.open()
        blocking.synchronize()
    event.synchronize()
