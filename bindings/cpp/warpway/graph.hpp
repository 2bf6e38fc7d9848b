/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/graph.hpp - nodes of CUDA graphs that signal timelines and wait for them, see
 * warpway/graph.h
 */
#ifndef WARPWAY_GRAPH_HPP
#define WARPWAY_GRAPH_HPP

#include <array>
#include <cstddef>
#include <initializer_list>

#include <warpway/graph.h>

#include <warpway/timeline.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_GRAPH_... */
enum class graph_node_kind : std::uint32_t {
	signal = WW_GRAPH_SIGNAL,
	wait = WW_GRAPH_WAIT
};

/* A node of a CUDA graph. */
class graph_node
	: public detail::counted<graph_node, ww_graph_node, ww_graph_node_ref, ww_graph_node_unref>
{
public:
	/* Empty. */
	graph_node() noexcept {}

	/* ww_graph_node_create(): into the capture of the stream */
	static result<graph_node> try_capture(graph_node_kind kind, const timeline &of,
		const stream &captured) noexcept
	{
		return try_add(kind, of, captured, nullptr, {});
	}
	static graph_node capture(graph_node_kind kind, const timeline &of, const stream &captured)
	{
		return try_capture(kind, of, captured).value();
	}

	/* ww_graph_node_create(): into a CUgraph, behind CUgraphNodes of it */
	static result<graph_node> try_add(graph_node_kind kind, const timeline &of,
		const stream &like, void *graph, std::initializer_list<void *> after) noexcept
	{
		ww_graph_node_params params = detail::params<ww_graph_node_params>();
		ww_graph_node *made = nullptr;

		params.kind = static_cast<std::uint32_t>(kind);
		params.graph = graph;
		params.dependencies = after.begin();
		params.dependency_count = after.size();
		const ww_status code = ww_graph_node_create(of.get(), like.get(), &params, &made);

		return detail::adopted<graph_node>(code, made);
	}
	static graph_node add(graph_node_kind kind, const timeline &of, const stream &like,
		void *graph, std::initializer_list<void *> after = {})
	{
		return try_add(kind, of, like, graph, after).value();
	}

	/* ww_graph_node_native(): a CUgraphNode */
	void *native() const noexcept { return ww_graph_node_native(get()); }
};

/* What a node signals or waits for in a launch. */
struct graph_value {
	const graph_node &node;
	std::uint64_t value;
};

namespace detail
{

inline ww_status graph_launch(const stream &on, void *executable,
	std::initializer_list<graph_value> values, std::uint64_t timeout_ns,
	ww_cancel *stop) noexcept
{
	std::array<ww_graph_node *, WW_GRAPH_NODES_MAX> nodes;
	std::array<std::uint64_t, WW_GRAPH_NODES_MAX> numbers;
	std::size_t count = 0; /* too many are refused by the library */

	for (const graph_value &one : values) {
		if (count < nodes.size()) {
			nodes[count] = one.node.get();
			numbers[count] = one.value;
		}
		count++;
	}
	return ww_graph_launch(on.get(), executable, nodes.data(), numbers.data(),
		static_cast<std::uint32_t>(count), timeout_ns, stop);
}

} //namespace detail

/*
 * ww_graph_launch(): done, timed_out (a value was not submitted in time) or cancelled; without a
 * limit waits for ever.
 */
inline result<outcome> try_graph_launch(const stream &on, void *executable,
	std::initializer_list<graph_value> values, timeout limit, const cancel &stop = {}) noexcept
{
	return detail::ended(
		detail::graph_launch(on, executable, values, limit.ns(), stop.get()));
}
[[nodiscard]] inline outcome graph_launch(const stream &on, void *executable,
	std::initializer_list<graph_value> values, timeout limit, const cancel &stop = {})
{
	return try_graph_launch(on, executable, values, limit, stop).value();
}
inline result<void> try_graph_launch(const stream &on, void *executable,
	std::initializer_list<graph_value> values) noexcept
{
	return detail::done(detail::graph_launch(on, executable, values, WW_FOREVER, nullptr));
}
inline void graph_launch(const stream &on, void *executable,
	std::initializer_list<graph_value> values)
{
	try_graph_launch(on, executable, values).value();
}

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
