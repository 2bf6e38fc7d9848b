/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - warpway.GraphNode: nodes of CUDA graphs that signal timelines and wait for them
 */
#include "core.h"

static void *node_ref(void *object)
{
	return ww_graph_node_ref(object);
}

static void *node_unref(void *object)
{
	return ww_graph_node_unref(object);
}

static const struct handle_class node_class = {"GraphNode", node_ref, node_unref};

/* A handle of the driver: an int, or what int() takes. For "O&", into a void *. */
static int convert_native(PyObject *value, void *out_native)
{
	PyObject *number = PyNumber_Long(value);

	if (!number)
		return 0;
	*(void **)out_native = PyLong_AsVoidPtr(number);
	Py_DECREF(number);
	return !PyErr_Occurred();
}

/* --- a node --- */

struct node_call {
	ww_timeline *timeline; /* both borrowed */
	ww_stream *stream;
	struct ww_graph_node_params params;
	void *dependencies[WW_GRAPH_NODES_MAX];
	ww_graph_node *node;
};

static bool read_dependencies(PyObject *after, struct node_call *call)
{
	PyObject *list = PySequence_List(after);
	Py_ssize_t count = list ? PyList_Size(list) : 0;

	if (count > WW_GRAPH_NODES_MAX)
		PyErr_Format(PyExc_ValueError, "a GraphNode comes after %d nodes at most, not %zd",
			WW_GRAPH_NODES_MAX, count);
	for (Py_ssize_t i = 0; !PyErr_Occurred() && i < count; i++)
		convert_native(PyList_GetItem(list, i), &call->dependencies[i]);
	Py_XDECREF(list);
	call->params.dependencies = call->dependencies;
	call->params.dependency_count = (uint64_t)count;
	return !PyErr_Occurred();
}

static PyObject *node_create(struct core *core, struct node_call *call)
{
	ww_status status = STATUS_RAISED;

	if (call->timeline && call->stream) {
		Py_BEGIN_ALLOW_THREADS
		status = ww_graph_node_create(call->timeline, call->stream, &call->params,
			&call->node);
		Py_END_ALLOW_THREADS
	}
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(&stream_class, call->stream);
	handle_return(&timeline_class, call->timeline);
	if (status != WW_OK)
		return NULL;
	return handle_new(core->types[CORE_GRAPH_NODE], &node_class, call->node);
}

static PyObject *node_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"kind", "timeline", "stream", "graph", "after", NULL};
	static const char *const kinds[] = {"signal", "wait", NULL};
	PyObject *kind, *timeline, *stream, *graph = Py_None, *after = NULL;
	struct node_call call = {.params = WW_INIT(struct ww_graph_node_params)};
	struct core *core = core_of_type(type);
	int word;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|$OO:GraphNode", names, &kind,
		    &timeline, &stream, &graph, &after))
		return NULL;
	word = convert_word(kind, "kind", kinds, WW_GRAPH_SIGNAL);
	if (word < 0 || (graph != Py_None && !convert_native(graph, &call.params.graph)) ||
		(after && !read_dependencies(after, &call)))
		return NULL;
	call.params.kind = (uint32_t)word;
	call.stream = convert_stream(core, NULL, stream);
	if (call.stream)
		call.timeline = convert_handle(core, CORE_TIMELINE, &timeline_class, timeline);
	return node_create(core, &call);
}

static void node_dealloc(PyObject *self)
{
	handle_dealloc(self, &node_class);
}

static PyObject *node_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	handle_close(self, &node_class);
	Py_RETURN_NONE;
}

static PyObject *get_native(PyObject *self, void *unused)
{
	ww_graph_node *node = handle_borrow(self, &node_class);
	PyObject *native;

	(void)unused;
	if (!node)
		return NULL;
	native = PyLong_FromVoidPtr(ww_graph_node_native(node));
	handle_give_back(self, &node_class, node);
	return native;
}

static PyObject *get_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(handle_is_closed(self));
}

/* --- launches --- */

struct launch_call {
	ww_stream *stream; /* borrowed, as are the nodes */
	void *executable;
	ww_graph_node *nodes[WW_GRAPH_NODES_MAX];
	uint64_t values[WW_GRAPH_NODES_MAX];
	uint32_t count;
};

static bool read_values(struct core *core, PyObject *pairs, struct launch_call *call)
{
	Py_ssize_t count = PyList_Size(pairs);

	if (count > WW_GRAPH_NODES_MAX) {
		PyErr_Format(PyExc_ValueError, "a launch has values for %d nodes at most, not %zd",
			WW_GRAPH_NODES_MAX, count);
		return false;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *pair = PyList_GetItem(pairs, i);
		ww_graph_node *node = convert_handle(core, CORE_GRAPH_NODE, &node_class,
			PyTuple_GetItem(pair, 0));

		if (!node)
			return false;
		call->nodes[call->count++] = node;
		if (!timeline_convert_value(PyTuple_GetItem(pair, 1), &call->values[i]))
			return false;
	}
	return true;
}

static ww_status run_launch(void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	const struct launch_call *args = call;

	return ww_graph_launch(args->stream, args->executable, args->nodes, args->values,
		args->count, timeout_ns, cancel);
}

PyObject *graph_launch(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"stream", "executable", "values", "timeout", "cancel", NULL};
	PyObject *stream, *values, *pairs, *cancel = NULL;
	struct core *core = core_of_module(module);
	uint64_t timeout_ns = WW_FOREVER;
	struct launch_call call = {NULL};
	ww_status status = STATUS_RAISED;

	if (!core ||
		!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO&O!|O&$O:graph_launch", names,
			&stream, convert_native, &call.executable, &PyDict_Type, &values,
			convert_timeout, &timeout_ns, &cancel))
		return NULL;
	pairs = PyDict_Items(values);
	if (pairs && read_values(core, pairs, &call))
		call.stream = convert_stream(core, NULL, stream);
	if (call.stream)
		status = wait_run(core, run_launch, &call, timeout_ns, cancel);
	if (status != WW_OK)
		error_raise(core, status);
	for (uint32_t i = 0; i < call.count; i++)
		handle_return(&node_class, call.nodes[i]);
	handle_return(&stream_class, call.stream);
	Py_XDECREF(pairs);
	return status == WW_OK ? Py_NewRef(Py_None) : NULL;
}

/* --- the type --- */

static PyMethodDef methods[] = {
	{"close", node_close, METH_NOARGS,
		"close($self, /)\n--\n\n"
		"Release the node, when its graph and what was made of that have ended."},
	{"__enter__", handle_enter, METH_NOARGS, NULL},
	{"__exit__", node_close, METH_VARARGS, NULL},
	{NULL},
};

static PyGetSetDef properties[] = {
	{"native", get_native, NULL, "int: the CUgraphNode, for nodes that depend on it.", NULL},
	{"closed", get_closed, NULL, "bool: `close` was called.", NULL},
	{NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc,
		DOC("GraphNode(kind, timeline, stream, *, graph=None, after=())\n--\n\n"
		    "A node of a CUDA graph that signals a timeline, or waits for one.\n\n"
		    "Parameters\n----------\n"
		    "kind : {'signal', 'wait'}\n"
		    "timeline : Timeline\n    Of this process, if the node signals.\n"
		    "stream : Stream or what it takes\n"
		    "    Without `graph` it is captured: the node comes after its work so far, and before its\n"
		    "    further work. A captured stream must have its `Stream` from before the capture.\n"
		    "graph : int, optional\n    A CUgraph, to which the node is added.\n"
		    "after : sequence of int\n    CUgraphNodes of `graph` that it comes after.\n\n"
		    "`graph_launch` says what the node signals or waits for. In other launches it does nothing.\n"
		    "The graph must stay as long as what was made of it is launched (in PyTorch:\n"
		    "``CUDAGraph(keep_graph=True)``).")},
	{Py_tp_new, node_new},
	{Py_tp_dealloc, node_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_getset, properties},
	{Py_tp_members, handle_members},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "warpway.GraphNode",
	.basicsize = sizeof(struct handle),
	.flags = TYPE_FLAGS,
	.slots = slots,
};

PyTypeObject *graph_node_type_make(PyObject *module)
{
	return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
