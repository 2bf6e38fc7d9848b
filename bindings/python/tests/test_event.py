"""Events: recordings, waits, and their handles."""
import pickle

import pytest

import warpway
from waits import in_thread, interrupted


@pytest.fixture
def event(device):
    if "event" not in warpway.Device(device).capabilities:
        pytest.skip(f"{device} has no events")
    with warpway.Event(device) as made:
        yield made


def test_event_stands_for_the_work_before_it(event, gate, device):
    assert event.query() is True
    event.record(gate.stream)
    assert event.query() is False
    with pytest.raises(warpway.Timeout):
        event.synchronize(0.01)
    interrupted(event.synchronize)
    cancel = warpway.Cancel()
    results = [in_thread(event.synchronize), in_thread(event.synchronize, cancel=cancel)]
    cancel.set()
    with pytest.raises(warpway.Cancelled):
        results[1]()
    with warpway.Stream(device) as waiting:
        event.wait(waiting)
        assert waiting.query() is False
        gate.open()
        waiting.synchronize()
    results[0]()
    event.synchronize(1000)
    assert event.query() is True


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


@pytest.mark.parametrize("by", ["handle", "token"])
def test_other_process_opens_it(spawn, event, gate, device, by):
    if (device, by) == ("host", "handle"):
        pytest.skip("events of the host device have no handle")
    event.record(gate.stream)
    handle, data = (event.handle, None) if by == "handle" else (None, event.token().to_bytes())
    child = spawn(open_and_wait, device, handle, data)
    assert child.receive() is False
    gate.open()
    assert child.result() is True


def test_blocking_sync(event, gate, device):
    with warpway.Event(device=device, blocking_sync=True) as blocking:
        blocking.record(gate.stream)
        gate.open()
        blocking.synchronize()
    event.synchronize()
