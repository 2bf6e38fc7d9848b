# SPDX-License-Identifier: Apache-2.0
# warpway.GraphNode: nodes of CUDA graphs that signal timelines and wait for them

cdef void *native_of(value) except? NULL:
    """A handle of the driver: an int, or what int() takes."""
    return PyLong_AsVoidPtr(int(value))


@cython.final
cdef class GraphNode:
    """GraphNode(kind, timeline, stream, *, graph=None, after=())\n--\n
    A node of a CUDA graph that signals a timeline, or waits for one.

    Parameters
    ----------
    kind : {'signal', 'wait'}
    timeline : Timeline
        Of this process, if the node signals.
    stream : Stream or what it takes
        Without `graph` it is captured: the node comes after its work so far, and before its
        further work. A captured stream must have its `Stream` from before the capture.
    graph : int, optional
        A CUgraph, to which the node is added.
    after : sequence of int
        CUgraphNodes of `graph` that it comes after.

    `graph_launch` says what the node signals or waits for. In other launches it does nothing.
    The graph must stay as long as what was made of it is launched (in PyTorch:
    ``CUDAGraph(keep_graph=True)``).
    """
    cdef object __weakref__
    cdef void *object

    def __init__(self, kind, timeline, stream, *, graph=None, after=()):
        cdef void *dependencies[WW_GRAPH_NODES_MAX]
        cdef ww_timeline *signals = NULL
        cdef ww_graph_node_params params
        cdef ww_graph_node *node
        cdef ww_status status
        CLEAR(params)
        params.kind = WW_GRAPH_SIGNAL + index_of(kind, "kind", ("signal", "wait"))
        if graph is not None:
            params.graph = native_of(graph)
        after = list(after)
        if len(after) > WW_GRAPH_NODES_MAX:
            raise ValueError(f"a GraphNode comes after {WW_GRAPH_NODES_MAX} nodes at most, not {len(after)}")
        for i, dependency in enumerate(after):
            dependencies[i] = native_of(dependency)
        params.dependencies = dependencies
        params.dependency_count = len(after)
        orders = convert_stream(python_core, NULL, stream)
        try:
            signals = <ww_timeline *>convert_handle(python_core, CORE_TIMELINE, &timeline_class, timeline)
            with nogil:
                status = ww_graph_node_create(signals, orders, &params, &node)
            check(status)
        finally:
            handle_return(&stream_class, orders)
            handle_return(&timeline_class, signals)
        handle_close(self, &graph_node_class)
        self.object = node

    def __dealloc__(self):
        handle_close(self, &graph_node_class)

    def close(self):
        """Release the node, when its graph and what was made of that have ended."""
        handle_close(self, &graph_node_class)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        handle_close(self, &graph_node_class)

    @property
    def native(self):
        """int: the CUgraphNode, for nodes that depend on it."""
        node = <ww_graph_node *>handle_borrow(self, &graph_node_class)
        native = <uintptr_t>ww_graph_node_native(node)
        handle_return(&graph_node_class, node)
        return native

    @property
    def closed(self):
        """bool: `close` was called."""
        return self.object == NULL


cdef struct GraphLaunch:
    ww_stream *stream # borrowed, as are the nodes
    void *executable
    ww_graph_node *nodes[WW_GRAPH_NODES_MAX]
    uint64_t values[WW_GRAPH_NODES_MAX]
    uint32_t count


cdef ww_status run_graph_launch(void *call, uint64_t timeout_ns, ww_cancel *cancel) noexcept nogil:
    args = <GraphLaunch *>call
    return ww_graph_launch(args.stream, args.executable, args.nodes, args.values, args.count, timeout_ns, cancel)


def graph_launch(stream, executable, dict values not None, timeout=None, *, cancel=None):
    """Launch a CUDA graph, with the values that its nodes signal and wait for.

    Parameters
    ----------
    stream : Stream or what it takes
        On which the graph is launched.
    executable : int
        A CUgraphExec (in PyTorch: ``graph.raw_cuda_graph_exec()``), made of the graph that has
        the nodes.
    values : dict
        From `GraphNode` to int. A signalled value is above every value signalled before.
    timeout : float or None
        Seconds that the CPU waits until the values that nodes wait for are submitted.
    cancel : Cancel, optional
        Ends the wait of the CPU.

    If the call raises, the graph was not launched, and none of its values is submitted.

    Raises
    ------
    Timeout
        `timeout` seconds passed first.
    PeerLost
        A process ended that was to signal a value; or `stream` is lost.
    """
    cdef uint64_t timeout_ns
    cdef GraphLaunch call
    call.executable = native_of(executable)
    convert_timeout(timeout, &timeout_ns)
    if len(values) > WW_GRAPH_NODES_MAX:
        raise ValueError(f"a launch has values for {WW_GRAPH_NODES_MAX} nodes at most, not {len(values)}")
    call.stream = NULL
    call.count = 0
    try:
        for node, value in list(values.items()):
            call.nodes[call.count] = <ww_graph_node *>convert_handle(python_core, CORE_GRAPH_NODE, &graph_node_class,
                                                                     node)
            call.count += 1
            timeline_convert_value(value, &call.values[call.count - 1])
        call.stream = convert_stream(python_core, NULL, stream)
        check(wait_timed(python_core, run_graph_launch, &call, timeout_ns, <PyObject *>cancel))
    finally:
        for i in range(call.count):
            handle_return(&graph_node_class, call.nodes[i])
        handle_return(&stream_class, call.stream)
