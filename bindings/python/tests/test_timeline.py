"""Timelines: signals and waits of one process, of its streams, and of processes that end."""
import gc
import os
import pickle
import signal
import threading
import weakref

import pytest

import warpway
from children import LIMIT_S, hold_timeline, run_python
from waits import in_thread, interrupted, is_readable


@pytest.fixture
def timeline():
    with warpway.Timeline() as made:
        yield made


class OtherStream:
    """A stream of another library, as far as this package can tell."""

    def __init__(self, stream, when_asked=lambda: None):
        self._stream = stream
        self._when_asked = when_asked

    def __cuda_stream__(self):
        self._when_asked()
        return (0, self._stream.native)


# --- one process ---


def test_instance_that_was_not_constructed_is_closed():
    made = warpway.Timeline.__new__(warpway.Timeline)
    assert made.closed
    for use in (made.query, made.signal, made.wait):
        with pytest.raises(ValueError, match="closed"):
            use(1)
    made.__init__(3)
    made.__init__(5)
    assert made.completed == 5


def test_value_grows_by_signals():
    with warpway.Timeline(3) as timeline:
        assert (timeline.completed, timeline.submitted) == (3, 3)
        timeline.signal(5)
        assert (timeline.completed, timeline.submitted) == (5, 5)
        assert timeline.query(5) is True
        assert timeline.query(6) is False
        timeline.wait(5)
        timeline.wait(4, 0)


def test_properties_name_the_signaller(timeline):
    assert timeline.is_own is True
    assert timeline.state == "live"
    assert timeline.pid == os.getpid()
    assert timeline.uid == os.getuid()
    assert timeline.program
    assert timeline.closed is False
    assert "live" in repr(timeline)


@pytest.mark.parametrize("value", [0, 4, 5, -1, 2**62 + 1, 2**64])
def test_value_that_cannot_be_signalled_is_refused(value):
    with warpway.Timeline(5) as timeline:
        with pytest.raises(ValueError):
            timeline.signal(value)


@pytest.mark.parametrize("value", [1.0, "1", None])
def test_value_is_an_int(timeline, value):
    for call in (timeline.signal, timeline.wait, timeline.query, timeline.eventfd):
        with pytest.raises(TypeError):
            call(value)


def test_wait_ends_with_its_time(timeline):
    with pytest.raises(warpway.Timeout):
        timeline.wait(1, 0)
    with pytest.raises(TimeoutError):
        timeline.wait(1, timeout=0.01)
    with pytest.raises(ValueError):
        timeline.wait(1, timeout=-1)


def test_wait_of_a_thread(timeline, device):
    """It ends by a signal, or by its Cancel; with a stream, when what it waits for is submitted."""
    cancel = warpway.Cancel()
    with warpway.Stream(device) as stream:
        results = [in_thread(timeline.wait, 1), in_thread(timeline.wait, 1, cancel=cancel),
                   in_thread(timeline.wait, 1, stream=stream), in_thread(timeline.wait, 2, cancel=cancel)]
        timeline.signal(1)
        assert [result() for result in results[:3]] == [None] * 3
        stream.synchronize()
    cancel.set()
    with pytest.raises(warpway.Cancelled):
        results[3]()
    with pytest.raises(TypeError):
        timeline.wait(2, cancel=threading.Event())


def test_closed_timeline_is_refused():
    timeline = warpway.Timeline()
    timeline.close()
    timeline.close()
    assert timeline.closed is True
    assert "closed" in repr(timeline)
    calls = (lambda: timeline.signal(1), lambda: timeline.wait(0), lambda: timeline.query(0), timeline.token,
             lambda: timeline.eventfd(1), lambda: timeline.prepare("host"), lambda: timeline.completed,
             lambda: timeline.state, lambda: pickle.dumps(timeline))
    for call in calls:
        with pytest.raises(ValueError, match="closed"):
            call()


def test_closing_does_not_disturb_a_wait_of_another_thread():
    """The wait has a reference of its own."""
    for _ in range(20):
        timeline = warpway.Timeline()
        cancel = warpway.Cancel()
        began = threading.Event()

        def wait(timeline=timeline, cancel=cancel, began=began):
            began.set()
            timeline.wait(1, cancel=cancel)

        result = in_thread(wait)
        began.wait()
        timeline.close()
        cancel.set()
        with pytest.raises((warpway.Cancelled, ValueError)):
            result()


def test_closing_from_many_threads():
    timeline = warpway.Timeline()
    results = [in_thread(call) for _ in range(8) for call in (timeline.close, lambda: timeline.query(0))]
    for result in results:
        try:
            result()
        except ValueError:
            pass
    assert timeline.closed


def test_timeline_is_freed():
    timeline = warpway.Timeline()
    gone = weakref.ref(timeline)
    del timeline
    gc.collect()
    assert gone() is None


def test_type_has_no_subclasses():
    with pytest.raises(TypeError):
        type("Mine", (warpway.Timeline,), {})


def test_program_ends_while_a_descriptor_waits():
    code = "import warpway; timeline = warpway.Timeline(); timeline.eventfd(1); print('end')"
    assert run_python(code) == "end\n"


# --- streams ---


def test_stream_signals_after_its_work(timeline, gate):
    timeline.signal(1, gate.stream)
    timeline.signal(2, stream=gate.stream)
    assert (timeline.completed, timeline.submitted) == (0, 2)
    with pytest.raises(warpway.WrongState):
        timeline.signal(3)
    gate.open()
    timeline.wait(2)
    timeline.signal(3)


def test_wait_for_what_is_not_submitted_is_enqueued_at_once(timeline, device):
    with warpway.Stream(device) as waiting:
        timeline.wait(1, stream=waiting, unsubmitted=True)
        assert waiting.query() is False
        timeline.signal(1)
        waiting.synchronize()
    with pytest.raises(ValueError, match="stream"):
        timeline.wait(2, unsubmitted=True)


def test_the_stream_of_this_thread_is_used_in_this_thread(timeline, gpu):
    """CUDA's default stream of each thread, for calls that another thread would make for the main thread."""
    with warpway.Stream.wrap(2, gpu) as stream:
        timeline.wait(1, stream=stream, unsubmitted=True)
        with pytest.raises(warpway.Timeout):
            stream.synchronize(timeout=0.02)
        timeline.signal(1)
        stream.synchronize(LIMIT_S)


def test_streams_of_other_libraries(timeline, gate, device):
    if device == "host":
        pytest.skip("streams of the host device are this library's own")
    timeline.signal(1, OtherStream(gate.stream))
    timeline.signal(2, gate.stream.native)
    assert timeline.submitted == 2
    with warpway.Stream(device) as waiting:
        timeline.wait(2, stream=OtherStream(waiting))
        assert waiting.query() is False
        gate.open()
        waiting.synchronize()


def test_what_is_no_stream_is_refused(timeline):
    for value in ("0", object(), 1.5):
        with pytest.raises(TypeError, match="stream"):
            timeline.signal(1, value)
        with pytest.raises(TypeError, match="stream"):
            timeline.eventfd(1, value)
    with warpway.Stream("host") as stream:
        pass
    with pytest.raises(ValueError, match="closed"):
        timeline.wait(1, stream=stream)


def test_stream_that_closes_the_timeline_when_asked(device):
    timeline = warpway.Timeline()
    with warpway.Stream(device) as stream:
        with pytest.raises((ValueError, warpway.Unsupported, warpway.NoDevice)):
            timeline.signal(1, OtherStream(stream, timeline.close))


def test_prepare(timeline, device):
    timeline.prepare(device)
    timeline.prepare(warpway.Device(device))
    with pytest.raises(TypeError):
        timeline.prepare(1.5)


# --- descriptors ---


def test_descriptor_becomes_readable(timeline):
    descriptor = timeline.eventfd(1)
    assert not is_readable(descriptor, 0)
    timeline.signal(1)
    assert is_readable(descriptor, LIMIT_S)
    assert timeline.query(1)
    os.close(descriptor)


def test_descriptor_by_a_stream_of_the_caller(timeline):
    with warpway.Stream("host") as stream:
        descriptor = timeline.eventfd(1, stream)
        assert stream.query() is False
        timeline.signal(1)
        assert is_readable(descriptor, LIMIT_S)
        os.close(descriptor)


def test_descriptor_outlives_the_timeline():
    """Nobody can signal it any more, so the wait is over."""
    timeline = warpway.Timeline()
    first, second = timeline.eventfd(1), timeline.eventfd(2)
    os.close(second)
    timeline.close()
    assert is_readable(first, LIMIT_S)
    os.close(first)


# --- signals of the system ---


def test_ctrl_c_ends_each_wait(timeline, gate, device):
    interrupted(timeline.wait, 1)
    interrupted(timeline.wait, 1, 1000)
    interrupted(gate.stream.synchronize)
    with warpway.Stream(device) as waiting:
        interrupted(timeline.wait, 1, stream=waiting)
    assert timeline.submitted == 0


def test_wait_goes_on_after_a_handler_that_raises_nothing(timeline):
    handled = threading.Semaphore(0)

    def send():
        for _ in range(5):
            os.kill(os.getpid(), signal.SIGALRM)
            handled.acquire()
        timeline.signal(1)

    former = signal.signal(signal.SIGALRM, lambda *unused: handled.release())
    try:
        sender = threading.Thread(target=send)
        sender.start()
        timeline.wait(1, 1000)
        sender.join()
    finally:
        signal.signal(signal.SIGALRM, former)


def test_exception_of_an_alarm_ends_a_wait(timeline):
    def fail(*unused):
        raise LookupError("alarm")

    former = signal.signal(signal.SIGALRM, fail)
    try:
        with pytest.raises(LookupError, match="alarm"):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            timeline.wait(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


# --- other processes ---


def test_wait_for_a_process_that_is_killed(spawn):
    child = spawn(hold_timeline)
    timeline = child.receive()
    assert timeline.pid == child.pid and timeline.is_own is False
    with pytest.raises(warpway.AccessDenied):
        timeline.signal(1)
    result = in_thread(timeline.wait, 1)
    descriptor = timeline.eventfd(1)
    child.kill()
    for wait in (result, lambda: timeline.wait(1), lambda: timeline.query(1)):
        with pytest.raises(warpway.PeerLost, match=f"{timeline.program}.*{child.pid}|{child.pid}.*{timeline.program}"):
            wait()
    assert is_readable(descriptor, LIMIT_S)
    os.close(descriptor)
    assert timeline.state == "lost"


def test_stream_waits_for_a_process_that_is_killed(spawn, device):
    child = spawn(hold_timeline)
    timeline = child.receive()
    with warpway.Stream(device) as stream:
        timeline.wait(4, stream=stream, unsubmitted=True)
        child.kill()
        with pytest.raises(warpway.PeerLost):
            stream.synchronize()
        with warpway.Timeline() as own:
            with pytest.raises(warpway.PeerLost):
                own.signal(1, stream)
            if device != "host":  # where other libraries name it by an int, or by an object of theirs
                for name in (stream.native, OtherStream(stream)):
                    with pytest.raises(warpway.PeerLost):
                        own.signal(1, name)
        stream.recover()
        stream.synchronize()


def pass_on(talk):
    timeline = talk.recv()
    timeline.wait(1)
    talk.send(timeline)
    assert talk.recv() == "close"
    timeline.close()
    mine = warpway.Timeline()
    mine.signal(3)
    talk.send(mine)
    assert talk.recv() == "close"
    mine.close()
    talk.send("closed")
    talk.recv()


def test_process_in_between_passes_a_timeline_on(spawn, timeline):
    child = spawn(pass_on)
    child.send(timeline)
    timeline.signal(1)
    back = child.receive()
    assert back.is_own
    timeline.signal(2)
    assert back.completed == 2
    child.send("close")
    theirs = child.receive()
    assert theirs.query(3) is True
    child.send("close")
    assert child.receive() == "closed" and theirs.state == "closed" and theirs.query(3) is True
    child.send("end")
    child.result()


def open_token(_, data):
    with warpway.Token(data).open() as timeline:
        timeline.wait(1)
        return timeline.completed


def test_token_opens_the_timeline(spawn, timeline):
    token = timeline.token(uses=2, escrow=1000)
    assert token.kind == "timeline"
    children = [spawn(open_token, data) for data in (token.to_bytes(), token.text)]
    timeline.signal(1)
    assert [child.result() for child in children] == [1, 1]


@pytest.mark.parametrize("arguments", [{"uses": -1}, {"escrow": -1}, {"uses": 2**32}])
def test_token_refuses_what_is_out_of_range(timeline, arguments):
    with pytest.raises(ValueError):
        timeline.token(**arguments)
    with pytest.raises(TypeError):
        timeline.token(broker="here")


def test_pickle_of_a_timeline_that_was_closed():
    timeline = warpway.Timeline()
    data = pickle.dumps(timeline)
    timeline.close()
    with pytest.raises((warpway.NotFound, warpway.PeerLost)):
        # While other timelines use its page, a closed one can still be opened.
        pickle.loads(data).wait(1)


def take_from_queue(_, queue):
    timeline = queue.get()
    timeline.wait(1)
    return timeline.pid


def test_queue_of_multiprocessing(spawn, timeline):
    from children import context
    queue = context.Queue()
    child = spawn(take_from_queue, queue)
    queue.put(timeline)
    timeline.signal(1)
    assert child.result() == os.getpid()
    queue.close()
    queue.join_thread()
