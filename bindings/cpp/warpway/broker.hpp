/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/broker.hpp - brokers, and what is in them, see warpway/broker.h
 *
 * Memories, timelines and barriers are put and got by functions of their own classes.
 */
#ifndef WARPWAY_BROKER_HPP
#define WARPWAY_BROKER_HPP

#include <warpway/broker.h>

#include <warpway/token.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_LIFE_... */
enum class life : std::uint32_t {
	held = WW_LIFE_HELD,
	owner = WW_LIFE_OWNER,
	kept = WW_LIFE_KEPT
};

/* WW_STATE_... */
enum class object_state : std::uint32_t {
	writing = WW_STATE_WRITING,
	sealed = WW_STATE_SEALED,
	/* for put_options and publish(): the mapping of this process becomes read-only, too */
	sealed_read_only = WW_STATE_SEALED | WW_STATE_READ_ONLY,
	shared = WW_STATE_SHARED,
	removed = WW_STATE_REMOVED
};

/* struct ww_broker_info */
class broker_info : public detail::description<ww_broker_info>
{
public:
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t supervisor_pid() const noexcept { return raw().supervisor_pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t restarts() const noexcept { return raw().restarts; }
	std::uint32_t protocol() const noexcept { return raw().protocol; }
	std::uint64_t objects() const noexcept { return raw().objects; }
	std::uint64_t holders() const noexcept { return raw().holders; }
	std::uint64_t holds() const noexcept { return raw().holds; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::uint64_t fds() const noexcept { return raw().fds; }
	std::uint64_t open_fds() const noexcept { return raw().open_fds; }
	std::uint64_t memory_bytes() const noexcept { return raw().memory_bytes; }
	std::chrono::nanoseconds up() const noexcept { return detail::to_duration(raw().up_ns); }
	std::uint64_t waits() const noexcept { return raw().waits; }
	id broker_id() const noexcept { return detail::to_id(raw().broker_id); }
	std::string_view version() const noexcept { return detail::to_text(raw().version); }
};

/* struct ww_object_info */
class object_info : public detail::description<ww_object_info>
{
public:
	object_info() noexcept = default;
	explicit object_info(const ww_object_info &raw) noexcept : description(raw) {}

	object_kind kind() const noexcept { return object_kind{raw().kind}; }
	object_state state() const noexcept { return object_state{raw().state}; }
	warpway::life life() const noexcept { return warpway::life{raw().life}; }
	std::uint32_t mode() const noexcept { return raw().mode; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t gid() const noexcept { return raw().gid; }
	warpway::access access() const noexcept { return warpway::access{raw().access}; }
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t holders() const noexcept { return raw().holders; }
	std::uint32_t escrows() const noexcept { return raw().escrows; }
	std::uint32_t fd_count() const noexcept { return raw().fd_count; }
	bool is_own() const noexcept { return raw().is_own != 0; }
	bool is_slice() const noexcept { return raw().is_slice != 0; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::chrono::nanoseconds age() const noexcept { return detail::to_duration(raw().age_ns); }
	std::uint64_t generation() const noexcept { return raw().generation; }
	std::uint64_t offset() const noexcept { return raw().offset; }
	std::uint64_t span_bytes() const noexcept { return raw().span_bytes; }
	id object_id() const noexcept { return detail::to_id(raw().object_id); }
	id home_uuid() const noexcept { return detail::to_id(raw().home_uuid); }
	std::string_view name() const noexcept { return detail::to_text(raw().name); }
	warpway::memory_kind memory_kind() const noexcept
	{
		return warpway::memory_kind{raw().memory_kind};
	}

	/* Until it expires; nothing: it never does. */
	std::optional<std::chrono::nanoseconds> left() const noexcept
	{
		if (raw().left_ns == WW_FOREVER)
			return {};
		return detail::to_duration(raw().left_ns);
	}

	std::optional<warpway::array> array() const noexcept
	{
		if (!raw().has_array)
			return {};
		return warpway::array(raw().array);
	}
};

/* struct ww_broker_params */
struct broker_options {
	std::string_view address = {};                /* empty: the default broker */
	bool no_start = false;                        /* fail if none runs */
	std::optional<warpway::timeout> timeout = {}; /* nothing: 5 seconds */
};

/*
 * A connection to a broker. Where a call takes one that may be empty, an empty one means the
 * default broker, or, for imports, that of the token: the NULL of the C interface.
 */
class broker : public detail::counted<broker, ww_broker, ww_broker_ref, ww_broker_unref>
{
public:
	/* Empty. */
	broker() noexcept {}

	/* ww_broker_open() */
	static result<broker> try_open(const broker_options &options = {}) noexcept
	{
		const detail::c_name address(options.address);
		ww_broker_params params = detail::params<ww_broker_params>();
		ww_broker *opened = nullptr;

		params.address = options.address.empty() ? nullptr : address.get();
		params.flags = options.no_start ? WW_BROKER_NO_START : 0;
		if (options.timeout)
			params.timeout_ns = std::max<std::uint64_t>(options.timeout->ns(), 1);
		const ww_status code = ww_broker_open(&params, &opened);

		return detail::adopted<broker>(code, opened);
	}
	static broker open(const broker_options &options = {}) { return try_open(options).value(); }

	/* ww_broker_address(): empty in a child made by fork(), of its parent's. */
	std::string_view address() const noexcept
	{
		const char *path = ww_broker_address(get());

		return path ? std::string_view(path) : std::string_view();
	}

	/* ww_broker_info_get() */
	result<broker_info> try_info() const noexcept
	{
		broker_info filled;
		const ww_status code = ww_broker_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	broker_info info() const { return try_info().value(); }

	/* ww_broker_remove() */
	result<void> try_remove(std::string_view name) const noexcept
	{
		return detail::done(ww_broker_remove(get(), detail::c_name(name).get()));
	}
	void remove(std::string_view name) const { try_remove(name).value(); }

	/* ww_broker_end() */
	result<void> try_end(std::string_view name) const noexcept
	{
		return detail::done(ww_broker_end(get(), detail::c_name(name).get(), nullptr));
	}
	void end(std::string_view name) const { try_end(name).value(); }
	result<void> try_end(const id &object_id) const noexcept
	{
		return detail::done(ww_broker_end(get(), nullptr, object_id.data()));
	}
	void end(const id &object_id) const { try_end(object_id).value(); }

	/* ww_broker_stat() */
	result<object_info> try_stat(std::string_view name) const noexcept
	{
		object_info filled;
		const ww_status code = ww_broker_stat(get(), detail::c_name(name).get(),
			filled.out());

		return detail::filled(code, filled);
	}
	object_info stat(std::string_view name) const { return try_stat(name).value(); }
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
