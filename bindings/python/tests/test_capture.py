"""What a stream refuses while it is captured into a CUDA graph, and what leaves the capture whole."""
import ctypes
import gc
import threading

import pytest

import warpway

GLOBAL = 0  # CU_STREAM_CAPTURE_MODE_GLOBAL
NON_BLOCKING = 1


def call(name, *arguments):
    assert getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments) == 0


class Captured:
    """A stream of the program, which is captured by the driver itself."""

    def __init__(self, device, *, is_known=True):
        self.index = int(device.removeprefix("cuda:"))
        self.native, context = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.index)
        call("cuCtxSetCurrent", context)
        call("cuStreamCreate", ctypes.byref(self.native), NON_BLOCKING)
        self.kept = warpway.Stream.wrap(self.native.value, device) if is_known else None
        call("cuStreamBeginCapture_v2", self.native, GLOBAL)

    def end(self):
        graph = ctypes.c_void_p()
        call("cuStreamEndCapture", self.native, ctypes.byref(graph))
        call("cuGraphDestroy", graph)
        if self.kept:
            self.kept.close()
        call("cuStreamDestroy_v2", self.native)
        call("cuCtxSetCurrent", None)
        call("cuDevicePrimaryCtxRelease_v2", self.index)


@pytest.fixture
def captured(gpu):
    """Each test ends its capture, which must have been left whole."""
    made = Captured(gpu)
    yield made
    made.end()


def test_order_is_refused(captured, gpu):
    with warpway.Timeline() as timeline:
        with pytest.raises(warpway.WrongState, match="before or after the launch"):
            timeline.signal(1, captured.kept)
        with pytest.raises(warpway.WrongState, match="before or after the launch"):
            timeline.wait(1, stream=captured.kept, unsubmitted=True)
    with pytest.raises(warpway.WrongState, match="before or after the launch"):
        captured.kept.call(int)  # a graph would call it again with each launch
    with pytest.raises(warpway.WrongState, match="before or after the launch"):
        warpway.Stream.wrap(captured.native.value, gpu)


def test_dlpack_is_refused_where_the_stream_would_wait(captured, gpu):
    with warpway.Stream(gpu) as stream, warpway.zeros(3, device=gpu) as array:
        assert array.__dlpack__(stream=captured.native.value)
        array.ready(stream)
        with pytest.raises(warpway.WrongState, match="before or after the launch"):
            array.__dlpack__(stream=captured.native.value)
        with pytest.raises(warpway.WrongState, match="before or after the launch"):
            array.ready(captured.native.value)


def drop(gpu):
    array = warpway.zeros(3, device=gpu)
    assert array.pointer and array.__dlpack__(stream=1)
    del array
    gc.collect()


def drop_everywhere(gpu):
    """In another thread, too, as the garbage collector may have it."""
    drop(gpu)
    thread = threading.Thread(target=drop, args=(gpu,))
    thread.start()
    thread.join()


def test_arrays_end(captured, gpu):
    drop_everywhere(gpu)


def test_arrays_end_beside_a_capture_that_nobody_knows(gpu):
    with warpway.capturing():
        captured = Captured(gpu, is_known=False)
        drop_everywhere(gpu)
        captured.end()
