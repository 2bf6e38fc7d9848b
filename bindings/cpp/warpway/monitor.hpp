/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/monitor.hpp - what a program asks a broker that watches over it, see warpway/monitor.h
 *
 *   totals sums = totals::create();
 *   for (const user_total &user : sums.users())
 *           ...
 *   largest_query query;
 *   snapshot objects = largest(query);
 */
#ifndef WARPWAY_MONITOR_HPP
#define WARPWAY_MONITOR_HPP

#include <warpway/directory.hpp>
#include <warpway/monitor.h>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_broker_totals: its fields by raw(). */
class broker_totals : public detail::description<ww_broker_totals>
{
public:
	bool is_all() const noexcept { return raw().is_all != 0; }
	std::uint64_t objects() const noexcept { return raw().objects; }
	std::uint64_t holders() const noexcept { return raw().holders; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::chrono::nanoseconds up() const noexcept { return detail::to_duration(raw().up_ns); }
};

/* struct ww_user_total: what is used, its limits and counts by raw(). */
class user_total : public detail::description<ww_user_total>
{
public:
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::uint64_t objects() const noexcept { return raw().objects; }
};

/* struct ww_device_total */
class device_total : public detail::description<ww_device_total>
{
public:
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t kind() const noexcept { return raw().kind; }
	bool is_others() const noexcept { return raw().is_others != 0; }
	std::uint64_t objects() const noexcept { return raw().objects; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::uint64_t removed() const noexcept { return raw().removed; }
	std::uint64_t removed_bytes() const noexcept { return raw().removed_bytes; }
};

/* struct ww_request_total */
class request_total : public detail::description<ww_request_total>
{
public:
	ww_status refused() const noexcept { return raw().status; } /* WW_OK: not refused */
	std::uint64_t count() const noexcept { return raw().count; }
	std::string_view request() const noexcept { return detail::to_text(raw().request); }
};

/*
 * The sums of a broker. Moved, not copied. Its ranges must not outlive it.
 */
class totals : public detail::handle<totals, ww_totals, ww_totals_free>
{
	template <class Info, ww_status (*Get)(ww_totals *, std::size_t, typename Info::c_type *)>
	struct source {
		ww_totals *in;

		result<std::optional<Info>> next(std::size_t index) const noexcept
		{
			Info filled;
			const ww_status code = Get(in, index, filled.out());

			if (code == WW_END)
				return std::optional<Info>();
			if (code != WW_OK)
				return detail::unexpected(code);
			return std::optional<Info>(filled);
		}
	};

	using user_source = source<user_total, ww_totals_user>;
	using device_source = source<device_total, ww_totals_device>;
	using request_source = source<request_total, ww_totals_request>;

public:
	/* Empty. */
	totals() noexcept {}

	/* ww_totals_create(): an empty broker is the default one. */
	static result<totals> try_create(const broker &of = {}) noexcept
	{
		ww_totals *made = nullptr;
		const ww_status code = ww_totals_create(of.get(), &made);

		return detail::adopted<totals>(code, made);
	}
	static totals create(const broker &of = {}) { return try_create(of).value(); }

	/* ww_totals_broker() */
	result<broker_totals> try_all() const noexcept
	{
		broker_totals filled;
		const ww_status code = ww_totals_broker(get(), filled.out());

		return detail::filled(code, filled);
	}
	broker_totals all() const { return try_all().value(); }

	/* ww_totals_user() and so on, as ranges. Not of temporary totals. */
	detail::listing<user_source, user_total> users() const &noexcept
	{
		return detail::listing<user_source, user_total>(user_source{get()});
	}
	detail::listing<device_source, device_total> devices() const &noexcept
	{
		return detail::listing<device_source, device_total>(device_source{get()});
	}
	detail::listing<request_source, request_total> requests() const &noexcept
	{
		return detail::listing<request_source, request_total>(request_source{get()});
	}
	void users() const && = delete;
	void devices() const && = delete;
	void requests() const && = delete;
};

/* struct ww_largest_params: which of the largest objects, or processes, to list. */
struct largest_query {
	bool holders = false; /* processes, in place of objects */
	std::uint32_t count = 64;
	std::uint32_t kind = 0;
	std::optional<std::uint32_t> uid;
	std::string_view prefix = {};
	std::uint64_t after_bytes = 0; /* as continue_after() sets both */
	std::uint64_t after_number = 0;
};

/* ww_snapshot_largest(): an empty broker is the default one. */
inline result<snapshot> try_largest(const largest_query &query, const broker &of = {}) noexcept
{
	const detail::c_name prefix(query.prefix);
	ww_largest_params params = {};
	ww_snapshot *made = nullptr;

	params.struct_size = sizeof(params);
	params.contents = query.holders ? WW_SNAPSHOT_HOLDERS : WW_SNAPSHOT_OBJECTS;
	params.count = query.count;
	params.kind = query.kind;
	params.uid = query.uid.value_or(0);
	params.flags = query.uid ? WW_LARGEST_OF_USER : 0;
	params.after_bytes = query.after_bytes;
	params.after_number = query.after_number;
	params.prefix = prefix.get();
	const ww_status code = ww_snapshot_largest(of.get(), &params, &made);

	return detail::adopted<snapshot>(code, made);
}
inline snapshot largest(const largest_query &query, const broker &of = {})
{
	return try_largest(query, of).value();
}

/* ww_snapshot_place(). Return: false: there is nothing behind this list. */
inline result<bool> try_continue_after(const snapshot &list, largest_query &query) noexcept
{
	ww_largest_params params = {};

	params.struct_size = sizeof(params);
	const ww_status code = ww_snapshot_place(list.get(), &params);

	if (code == WW_END)
		return false;
	if (code != WW_OK)
		return detail::unexpected(code);
	query.after_bytes = params.after_bytes;
	query.after_number = params.after_number;
	return true;
}
inline bool continue_after(const snapshot &list, largest_query &query)
{
	return try_continue_after(list, query).value();
}

/* ww_snapshot_of_object(): an empty broker is the default one. */
inline result<snapshot> try_holders_of(const object_info &object, const broker &of = {}) noexcept
{
	ww_snapshot *made = nullptr;
	const ww_status code = ww_snapshot_of_object(of.get(), &object.raw(), &made);

	return detail::adopted<snapshot>(code, made);
}
inline snapshot holders_of(const object_info &object, const broker &of = {})
{
	return try_holders_of(object, of).value();
}

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
