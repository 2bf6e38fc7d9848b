/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/directory.hpp - lists what is in a broker, and watches it for changes, see
 * warpway/broker.h
 *
 *   for (const object_info &object : snapshot.objects())
 *           ...
 */
#ifndef WARPWAY_DIRECTORY_HPP
#define WARPWAY_DIRECTORY_HPP

#include <warpway/broker.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_holder_info */
class holder_info : public detail::description<ww_holder_info>
{
public:
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t gid() const noexcept { return raw().gid; }
	bool is_attached() const noexcept { return raw().is_attached != 0; }
	std::uint32_t held() const noexcept { return raw().held; }
	std::uint32_t put() const noexcept { return raw().put; }
	std::uint64_t number() const noexcept { return raw().number; }
	std::uint64_t held_bytes() const noexcept { return raw().held_bytes; }
	std::uint64_t put_bytes() const noexcept { return raw().put_bytes; }
	std::chrono::nanoseconds age() const noexcept { return detail::to_duration(raw().age_ns); }
	std::string_view program() const noexcept { return detail::to_text(raw().program); }
};

/* struct ww_hold_info */
class hold_info : public detail::description<ww_hold_info>
{
public:
	warpway::access access() const noexcept { return warpway::access{raw().access}; }
	bool is_creator() const noexcept { return raw().is_creator != 0; }
	bool is_escrow() const noexcept { return raw().is_escrow != 0; }
	std::uint64_t holder() const noexcept { return raw().holder; }
	std::chrono::nanoseconds age() const noexcept { return detail::to_duration(raw().age_ns); }
	id object_id() const noexcept { return detail::to_id(raw().object_id); }
	std::uint64_t delivery() const noexcept { return raw().delivery; }
	std::uint64_t exporter() const noexcept { return raw().exporter; }
	std::uint32_t uses() const noexcept { return raw().uses; }
	bool is_own() const noexcept { return raw().is_own != 0; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }

	/* Of an escrow, until it ends; nothing of a delivery while its exporter lives. */
	std::optional<std::chrono::nanoseconds> left() const noexcept
	{
		if (raw().left_ns == WW_FOREVER)
			return {};
		return detail::to_duration(raw().left_ns);
	}
};

/* WW_SNAPSHOT_... */
struct snapshot_options {
	bool objects = true;
	bool unnamed = false;
	bool holders = false;
	bool holds = false;
};

/*
 * A list of what was in a broker. Moved, not copied. Its ranges must not outlive it.
 */
class snapshot : public detail::handle<snapshot, ww_snapshot, ww_snapshot_free>
{
	template <class Info, ww_status (*Get)(ww_snapshot *, std::size_t, typename Info::c_type *)>
	static result<std::optional<Info>> look(ww_snapshot *in, std::size_t index) noexcept
	{
		Info filled;
		const ww_status code = Get(in, index, filled.out());

		if (code == WW_END)
			return std::optional<Info>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<Info>(filled);
	}

	template <class Info, ww_status (*Get)(ww_snapshot *, std::size_t, typename Info::c_type *)>
	struct source {
		ww_snapshot *in;

		result<std::optional<Info>> next(std::size_t index) const noexcept
		{
			return look<Info, Get>(in, index);
		}
	};

	using object_source = source<object_info, ww_snapshot_object>;
	using holder_source = source<holder_info, ww_snapshot_holder>;
	using hold_source = source<hold_info, ww_snapshot_hold>;

public:
	/* Empty. */
	snapshot() noexcept {}

	/* ww_snapshot_create(): an empty broker is the default one. */
	static result<snapshot> try_create(const broker &of = {}, std::string_view prefix = {},
		const snapshot_options &options = {}) noexcept
	{
		ww_snapshot *made = nullptr;
		const std::uint64_t contents = (options.objects ? WW_SNAPSHOT_OBJECTS : 0) |
			(options.unnamed ? WW_SNAPSHOT_UNNAMED : 0) |
			(options.holders ? WW_SNAPSHOT_HOLDERS : 0) |
			(options.holds ? WW_SNAPSHOT_HOLDS : 0);
		const ww_status code = ww_snapshot_create(of.get(), detail::c_name(prefix).get(),
			contents, &made);

		return detail::adopted<snapshot>(code, made);
	}
	static snapshot create(const broker &of = {}, std::string_view prefix = {},
		const snapshot_options &options = {})
	{
		return try_create(of, prefix, options).value();
	}

	/* ww_snapshot_object(): nothing behind the last. */
	result<std::optional<object_info>> try_object(std::size_t index) const noexcept
	{
		return look<object_info, ww_snapshot_object>(get(), index);
	}
	std::optional<object_info> object(std::size_t index) const
	{
		return try_object(index).value();
	}

	/* ww_snapshot_holder() */
	result<std::optional<holder_info>> try_holder(std::size_t index) const noexcept
	{
		return look<holder_info, ww_snapshot_holder>(get(), index);
	}
	std::optional<holder_info> holder(std::size_t index) const
	{
		return try_holder(index).value();
	}

	/* ww_snapshot_hold() */
	result<std::optional<hold_info>> try_hold(std::size_t index) const noexcept
	{
		return look<hold_info, ww_snapshot_hold>(get(), index);
	}
	std::optional<hold_info> hold(std::size_t index) const { return try_hold(index).value(); }

	/*
	 * All of them, as ranges. Not of a temporary snapshot, which would end before the loop
	 * does.
	 */
	detail::listing<object_source, object_info> objects() const &noexcept
	{
		return detail::listing<object_source, object_info>(object_source{get()});
	}
	detail::listing<holder_source, holder_info> holders() const &noexcept
	{
		return detail::listing<holder_source, holder_info>(holder_source{get()});
	}
	detail::listing<hold_source, hold_info> holds() const &noexcept
	{
		return detail::listing<hold_source, hold_info>(hold_source{get()});
	}
	void objects() const && = delete;
	void holders() const && = delete;
	void holds() const && = delete;
};

/* WW_WATCH_... */
enum class change : std::uint32_t {
	put = WW_WATCH_PUT,
	ready = WW_WATCH_READY,
	removed = WW_WATCH_REMOVED,
	expired = WW_WATCH_EXPIRED,
	gone = WW_WATCH_GONE,
	lost = WW_WATCH_LOST,
	overflow = WW_WATCH_OVERFLOW,
	replaced = WW_WATCH_REPLACED
};

/* struct ww_watch_event */
class watch_event : public detail::description<ww_watch_event>
{
public:
	change what() const noexcept { return change{raw().what}; }
	object_info object() const noexcept { return object_info(raw().object); }
	id former_id() const noexcept { return detail::to_id(raw().former_id); }
	std::uint64_t former_generation() const noexcept { return raw().former_generation; }
};

struct watch_options {
	bool existing = false; /* begin with change::put for each object that is there */
};

/*
 * Reports changes in a broker. Moved, not copied.
 */
class watch : public detail::handle<watch, ww_watch, ww_watch_free>
{
public:
	/* Empty. */
	watch() noexcept {}

	/* ww_watch_create(): an empty broker is the default one. */
	static result<watch> try_create(const broker &of = {}, std::string_view prefix = {},
		const watch_options &options = {}) noexcept
	{
		ww_watch *made = nullptr;
		const ww_status code = ww_watch_create(of.get(), detail::c_name(prefix).get(),
			options.existing ? WW_WATCH_EXISTING : 0, &made);

		return detail::adopted<watch>(code, made);
	}
	static watch create(const broker &of = {}, std::string_view prefix = {},
		const watch_options &options = {})
	{
		return try_create(of, prefix, options).value();
	}

	/* ww_watch_fd(): borrowed, to be polled. */
	int fd() const noexcept { return ww_watch_fd(get()); }

	/*
	 * ww_watch_next(): nothing when the time is over or it is cancelled; without a limit waits
	 * for ever.
	 */
	result<std::optional<watch_event>> try_next(timeout limit,
		const cancel &stop = {}) const noexcept
	{
		watch_event filled;
		const ww_status code = ww_watch_next(get(), limit.ns(), stop.get(), filled.out());

		if (detail::ended_early(code))
			return std::optional<watch_event>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<watch_event>(filled);
	}
	std::optional<watch_event> next(timeout limit, const cancel &stop = {}) const
	{
		return try_next(limit, stop).value();
	}
	result<watch_event> try_next() const noexcept
	{
		watch_event filled;
		const ww_status code = ww_watch_next(get(), WW_FOREVER, nullptr, filled.out());

		return detail::filled(code, filled);
	}
	watch_event next() const { return try_next().value(); }
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
