# SPDX-License-Identifier: Apache-2.0
"""The point at which bytes are ready, if a function that the stream calls fails before it."""
import pickle
import threading

import pytest
from arrays import values_of

import warpway

ROUNDS = 20  # a driver lets about 500 commands wait behind a function, and then has the caller wait


# pytest has a hook of its own, which makes warnings of the exceptions.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Wordless(Exception):
    def __str__(self):
        raise KeyError(4)


def boom():
    raise ValueError("no data")


def read_all(parent, count):
    """What each array has that was sent, or why it has nothing."""
    found = []
    for array in [parent.recv() for _ in range(count)]:
        try:
            found.append(values_of(array).tolist())
        except warpway.PeerLost as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("when", ["before ready()", "after it was sent"])
def test_nobody_reads_what_a_function_did_not_write(spawn, device, when):
    child = spawn(read_all, ROUNDS)
    stream, gate = warpway.Stream(device), threading.Event()
    if when != "before ready()":
        stream.call(gate.wait)
    for _ in range(ROUNDS):
        stream.call(boom)
        if when == "before ready()":
            stream.synchronize()
        child.send(warpway.zeros(2, "int32", device=device).ready(stream))
    gate.set()
    for outcome in child.result():
        assert isinstance(outcome, str) and "failed its timeline" in outcome and outcome.endswith(": ValueError: no data")
    stream.close()


def test_stream_is_used_again(spawn, device):
    """The next function begins anew, if a point was marked after the one that failed; or recover()."""
    child = spawn(read_all, 6)
    array = [warpway.zeros(1, "int32", device=device) for _ in range(6)]
    with warpway.Stream(device) as stream:
        child.send(array[0].ready(stream))
        stream.call(boom)
        stream.synchronize()
        stream.call(int)  # its work may need what the failed function did not write
        child.send(array[1].ready(stream))
        child.send(array[2].ready(stream))
        stream.call(int)
        child.send(array[3].ready(stream))
        stream.call(boom)
        stream.synchronize()
        child.send(array[4].ready(stream))
        stream.recover()
        child.send(array[5].ready(stream))
        assert [isinstance(outcome, list) for outcome in child.result()] == [True, False, False, True, False, True]


def test_failure_is_told_where_the_bytes_are_used(device):
    gate = threading.Event()
    with warpway.Stream(device) as stream, warpway.Stream(device) as other:
        stream.call(gate.wait)
        stream.call(boom)
        array = warpway.zeros(2, "int32", device=device).ready(stream)
        token = array.token()
        gate.set()
        stream.synchronize()
        for use in (array.wait, lambda: array.wait(other), lambda: array.is_ready, lambda: values_of(array), token.to_bytes,
                    array.token, lambda: float(array[0]), lambda: array.__dlpack__(stream=None)):
            with pytest.raises(warpway.PeerLost, match="ValueError: no data"):
                use()
        array.ready(other)
        assert values_of(array).tolist() == [0, 0]


def late(gate):
    def fail():
        gate.wait()
        boom()

    return fail


def until_lost(array):
    with pytest.raises(warpway.PeerLost):
        array.wait()


def test_function_that_fails_later_than_the_stream_began_anew(device):
    """Neither recover() nor another function hides it."""
    with warpway.Stream(device) as stream:
        gates = [threading.Event() for _ in range(3)]
        stream.call(late(gates[0]))
        stream.recover()
        array = warpway.zeros(1, device=device).ready(stream)
        gates[0].set()
        until_lost(array)
        stream.synchronize()
        stream.recover()
        stream.call(late(gates[1]))
        stream.call(late(gates[2]))
        array.ready(stream)
        gates[1].set()
        until_lost(array)
        stream.call(int)
        array.ready(stream)
        gates[2].set()
        until_lost(array)


def test_handle_waits_for_a_later_point(device):
    with warpway.Stream(device) as stream:
        array = warpway.zeros(1, device=device)
        handle = array.get_ipc_handle()
        stream.call(boom)
        array.ready(stream)
        with pytest.raises(warpway.PeerLost):
            pickle.dumps(handle)


def test_default_streams_of_two_devices(gpu):
    """They have the same CUstream."""
    if warpway.Device.count() < 2:
        pytest.skip("there is one GPU")
    stream, other = (warpway.Stream.wrap(0, device) for device in ("cuda:0", "cuda:1"))
    stream.call(boom)
    warpway.zeros(1, device="cuda:1").ready(other).wait()
    other.call(int)
    until_lost(warpway.zeros(1, device="cuda:0").ready(stream))
    stream.recover()


@pytest.mark.parametrize("error", ["ValueError()", "ValueError('zwölf\\n')", "SystemExit(3)", "Wordless()", "type('', (Exception,), {})()"])
def test_what_failed_is_said(device, error):
    def fail():
        raise eval(error)

    texts = {"ValueError()": "ValueError", "ValueError('zwölf\\n')": "ValueError: zw?lf?", "SystemExit(3)": "SystemExit: 3",
             "Wordless()": "Wordless", "type('', (Exception,), {})()": "an exception"}
    with warpway.Stream(device) as stream:
        stream.call(fail)
        with pytest.raises(warpway.PeerLost) as raised:
            warpway.zeros(1, device=device).ready(stream).wait()
        assert str(raised.value).endswith(": " + texts[error])


def test_streams_of_others_are_told_by_their_handle(gpu):
    """The Stream that calls the function need not be the object that ready() is given."""
    with warpway.Stream(gpu) as made:
        for stream, others in ((0, [0, 1, warpway.Stream.wrap(1, gpu)]), (made, [made.native, warpway.Stream.wrap(made)])):
            for other in others:
                caller = warpway.Stream.wrap(stream, gpu)
                caller.call(boom)
                with pytest.raises(warpway.PeerLost):
                    warpway.zeros(1, device=gpu).ready(other).wait()
                caller.recover()
                warpway.zeros(1, device=gpu).ready(other).wait()
        with warpway.Stream(gpu) as independent:
            made.call(boom)
            warpway.zeros(1, device=gpu).ready(independent).wait()
