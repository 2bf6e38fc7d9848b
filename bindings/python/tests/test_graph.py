"""Nodes of CUDA graphs that signal timelines and wait for them."""
import ctypes

import pytest

import warpway


def call(name, *arguments):
    assert getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments) == 0


class Graph:
    """A graph of the driver, and what is made of it."""

    def __init__(self):
        self.native, self.executable = ctypes.c_void_p(), ctypes.c_void_p()

    def instantiate(self):
        call("cuGraphInstantiateWithFlags", ctypes.byref(self.executable), self.native, ctypes.c_uint64(0))

    def end(self):
        call("cuGraphExecDestroy", self.executable)
        call("cuGraphDestroy", self.native)


@pytest.fixture
def stream(gpu):
    if "graph" not in warpway.Device(gpu).capabilities:
        pytest.skip("the device has no graphs in which nodes signal and wait")
    index, context = int(gpu.removeprefix("cuda:")), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), index)
    call("cuCtxSetCurrent", context)
    with warpway.Stream(gpu) as made:
        yield made
    call("cuCtxSetCurrent", None)
    call("cuDevicePrimaryCtxRelease_v2", index)


def test_a_capture_signals(stream):
    graph = Graph()
    with warpway.Timeline() as timeline:
        call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream.native), 0)
        node = warpway.GraphNode("signal", timeline, stream)
        call("cuStreamEndCapture", ctypes.c_void_p(stream.native), ctypes.byref(graph.native))
        graph.instantiate()
        for value in (3, 8):
            warpway.graph_launch(stream, graph.executable.value, {node: value})
            timeline.wait(value, 60)
        with pytest.raises(warpway.InvalidArgument, match="grow"):
            warpway.graph_launch(stream, graph.executable.value, {node: 8})
        graph.end()
        node.close()
        assert node.closed


def test_a_graph_waits_and_signals(stream):
    graph = Graph()
    with warpway.Timeline() as first, warpway.Timeline() as second:
        call("cuGraphCreate", ctypes.byref(graph.native), 0)
        wait = warpway.GraphNode("wait", first, stream, graph=graph.native.value)
        signal = warpway.GraphNode("signal", second, stream, graph=graph.native.value, after=[wait.native])
        graph.instantiate()
        with pytest.raises(warpway.Timeout):
            warpway.graph_launch(stream, graph.executable.value, {wait: 1, signal: 1}, 0)
        assert second.submitted == 0
        first.signal(1)
        warpway.graph_launch(stream, graph.executable.value, {wait: 1, signal: 1})
        second.wait(1, 60)
        graph.end()


def test_a_launch_in_the_stream_of_this_thread(stream, gpu):
    graph = Graph()
    with warpway.Timeline() as gate, warpway.Timeline() as timeline, warpway.Stream.wrap(2, gpu) as own:
        call("cuGraphCreate", ctypes.byref(graph.native), 0)
        node = warpway.GraphNode("signal", timeline, stream, graph=graph.native.value)
        graph.instantiate()
        gate.wait(1, stream=own, unsubmitted=True)
        warpway.graph_launch(own, graph.executable.value, {node: 1})
        with pytest.raises(warpway.Timeout):
            timeline.wait(1, 0.1)
        gate.signal(1)
        timeline.wait(1, 60)
        graph.end()


def test_what_is_no_node_is_refused(stream):
    with warpway.Timeline() as timeline:
        with pytest.raises(ValueError, match="kind"):
            warpway.GraphNode("read", timeline, stream)
        with pytest.raises(warpway.WrongState, match="not captured"):
            warpway.GraphNode("wait", timeline, stream)
        with pytest.raises(TypeError):
            warpway.GraphNode("wait", stream, stream)
        with pytest.raises(TypeError, match="GraphNode"):
            warpway.graph_launch(stream, 1, {timeline: 1})
        with pytest.raises(ValueError, match="64 nodes"):
            warpway.graph_launch(stream, 1, dict.fromkeys(range(65), 1))


def test_the_host_has_none():
    with warpway.Stream("host") as stream, warpway.Timeline() as timeline:
        with pytest.raises(warpway.Unsupported, match="has no graphs"):
            warpway.GraphNode("wait", timeline, stream)
