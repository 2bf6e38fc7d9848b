/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/timeline.hpp - a number by which processes and their GPUs wait for each other, see
 * warpway/timeline.h
 */
#ifndef WARPWAY_TIMELINE_HPP
#define WARPWAY_TIMELINE_HPP

#include <warpway/timeline.h>

#include <warpway/memory.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_WAIT_..., of stream_wait() */
enum class wait_mode : std::uint64_t {
	usual = 0,
	unsubmitted = WW_WAIT_UNSUBMITTED,
	other_user = WW_WAIT_OTHER_USER,
	other_user_unsubmitted = WW_WAIT_OTHER_USER | WW_WAIT_UNSUBMITTED
};

/* WW_TIMELINE_... */
enum class timeline_state : std::uint32_t {
	live = WW_TIMELINE_LIVE,
	closed = WW_TIMELINE_CLOSED,
	lost = WW_TIMELINE_LOST
};

/* struct ww_timeline_params */
struct timeline_options {
	std::uint64_t value = 0;
	bool alone = false; /* shares its page with no other timeline */
};

/* struct ww_name_params */
struct name_options {
	std::uint32_t mode = 0600;
	std::uint32_t gid = 0; /* 0: the caller's own */
	bool replace = false;
};

/* struct ww_token_params */
struct token_options {
	std::uint32_t uses = 0;
	std::optional<std::chrono::nanoseconds> escrow = {}; /* nothing: 60 seconds; zero: none */
	bool delivery = false; /* WW_EXPORT_DELIVERY; uses is not 0 then */
};

namespace detail
{

inline ww_name_params to_params(const name_options &options) noexcept
{
	ww_name_params filled = params<ww_name_params>();

	filled.mode = options.mode;
	filled.gid = options.gid;
	filled.flags = options.replace ? WW_PUT_REPLACE : 0;
	return filled;
}

inline ww_token_params to_params(const token_options &options) noexcept
{
	ww_token_params filled = params<ww_token_params>();

	filled.uses = options.uses;
	filled.escrow_ns = to_escrow(options.escrow);
	filled.flags = options.delivery ? WW_EXPORT_DELIVERY : 0;
	return filled;
}

} //namespace detail

/* struct ww_timeline_info */
class timeline_info : public detail::description<ww_timeline_info>
{
public:
	timeline_state state() const noexcept { return timeline_state{raw().state}; }
	bool is_own() const noexcept { return raw().is_own != 0; }
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint64_t submitted() const noexcept { return raw().submitted; }
	std::uint64_t completed() const noexcept { return raw().completed; }
	std::string_view program() const noexcept { return detail::to_text(raw().program); }

	/* When the broker learnt that it is lost; nothing: it is not. */
	std::optional<std::chrono::system_clock::time_point> lost() const noexcept
	{
		using std::chrono::system_clock;

		if (!raw().lost_ns)
			return {};
		return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(
			detail::to_duration(raw().lost_ns)));
	}
};

/*
 * A number that only grows: its signaller raises it, all others wait.
 */
class timeline : public detail::counted<timeline, ww_timeline, ww_timeline_ref, ww_timeline_unref>
{
public:
	/* Empty. */
	timeline() noexcept {}

	/* ww_timeline_create() */
	static result<timeline> try_create(const timeline_options &options = {}) noexcept
	{
		ww_timeline_params params = detail::params<ww_timeline_params>();
		ww_timeline *made = nullptr;

		params.value = options.value;
		params.flags = options.alone ? WW_TIMELINE_ALONE : 0;
		const ww_status code = ww_timeline_create(&params, &made);

		return detail::adopted<timeline>(code, made);
	}
	static timeline create(const timeline_options &options = {})
	{
		return try_create(options).value();
	}

	/* ww_timeline_prepare() */
	result<void> try_prepare(const device &on) const noexcept
	{
		return detail::done(ww_timeline_prepare(get(), on.get()));
	}
	void prepare(const device &on) const { try_prepare(on).value(); }

	/* ww_timeline_signal() */
	result<void> try_signal(std::uint64_t value) const noexcept
	{
		return detail::done(ww_timeline_signal(get(), value));
	}
	void signal(std::uint64_t value) const { try_signal(value).value(); }

	/* ww_timeline_stream_signal() */
	result<void> try_stream_signal(const stream &by, std::uint64_t value) const noexcept
	{
		return detail::done(ww_timeline_stream_signal(get(), by.get(), value));
	}
	void stream_signal(const stream &by, std::uint64_t value) const
	{
		try_stream_signal(by, value).value();
	}

	/* ww_timeline_fail() */
	result<void> try_fail(const std::string &why) const noexcept
	{
		return detail::done(ww_timeline_fail(get(), why.c_str()));
	}
	void fail(const std::string &why) const { try_fail(why).value(); }

	/* ww_timeline_wait(): done, timed_out or cancelled; without a limit waits for ever. */
	result<outcome> try_wait(std::uint64_t value, timeout limit,
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_timeline_wait(get(), value, limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome wait(std::uint64_t value, timeout limit,
		const cancel &stop = {}) const
	{
		return try_wait(value, limit, stop).value();
	}
	result<void> try_wait(std::uint64_t value) const noexcept
	{
		return detail::done(ww_timeline_wait(get(), value, WW_FOREVER, nullptr));
	}
	void wait(std::uint64_t value) const { try_wait(value).value(); }

	/*
	 * ww_timeline_stream_wait(): done, timed_out (not submitted in time) or cancelled (before
	 * it was submitted); without a limit waits for ever.
	 */
	result<outcome> try_stream_wait(const stream &by, std::uint64_t value, timeout limit,
		wait_mode mode = wait_mode::usual, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_timeline_stream_wait(get(), by.get(), value,
			static_cast<std::uint64_t>(mode), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome stream_wait(const stream &by, std::uint64_t value, timeout limit,
		wait_mode mode = wait_mode::usual, const cancel &stop = {}) const
	{
		return try_stream_wait(by, value, limit, mode, stop).value();
	}
	result<void> try_stream_wait(const stream &by, std::uint64_t value) const noexcept
	{
		return detail::done(
			ww_timeline_stream_wait(get(), by.get(), value, 0, WW_FOREVER, nullptr));
	}
	void stream_wait(const stream &by, std::uint64_t value) const
	{
		try_stream_wait(by, value).value();
	}

	/* ww_timeline_query(): done or not_ready. */
	result<outcome> try_query(std::uint64_t value) const noexcept
	{
		return detail::ended(ww_timeline_query(get(), value));
	}
	[[nodiscard]] outcome query(std::uint64_t value) const { return try_query(value).value(); }

	/* ww_timeline_eventfd() */
	result<descriptor> try_eventfd(const stream &by, std::uint64_t value) const noexcept
	{
		int fd = -1;
		const ww_status code = ww_timeline_eventfd(get(), by.get(), value, &fd);

		if (code != WW_OK)
			return detail::unexpected(code);
		return descriptor::adopt(fd);
	}
	descriptor eventfd(const stream &by, std::uint64_t value) const
	{
		return try_eventfd(by, value).value();
	}

	/* ww_timeline_info_get() */
	result<timeline_info> try_info() const noexcept
	{
		timeline_info filled;
		const ww_status code = ww_timeline_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	timeline_info info() const { return try_info().value(); }

	/* ww_timeline_export(): an empty broker is the default one. */
	result<token> try_export_token(const token_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_token_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_timeline_export(get(), by.get(), &params, stop.get(),
			made.out());

		return detail::filled(code, made);
	}
	token export_token(const token_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const
	{
		return try_export_token(options, by, stop).value();
	}

	/* ww_timeline_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<timeline> try_import_token(const token &from, const broker &by = {},
		const cancel &stop = {}) noexcept
	{
		ww_timeline *made = nullptr;
		const ww_status code = ww_timeline_import(by.get(), &from.raw(), stop.get(), &made);

		return detail::adopted<timeline>(code, made);
	}
	static timeline import_token(const token &from, const broker &by = {},
		const cancel &stop = {})
	{
		return try_import_token(from, by, stop).value();
	}

	/* ww_timeline_put(): an empty broker is the default one. */
	result<void> try_put(const broker &into, std::string_view name,
		const name_options &options = {}, const cancel &stop = {}) const noexcept
	{
		const ww_name_params params = detail::to_params(options);

		return detail::done(ww_timeline_put(get(), into.get(), detail::c_name(name).get(),
			&params, stop.get()));
	}
	void put(const broker &into, std::string_view name, const name_options &options = {},
		const cancel &stop = {}) const
	{
		try_put(into, name, options, stop).value();
	}

	/*
	 * ww_timeline_get(): nothing when the time is over or it is cancelled; without a limit does
	 * not wait for the name. An empty broker is the default one.
	 */
	static result<std::optional<timeline>> try_get(const broker &from, std::string_view name,
		timeout limit, const cancel &stop = {}) noexcept
	{
		ww_timeline *made = nullptr;
		const ww_status code = ww_timeline_get(from.get(), detail::c_name(name).get(),
			limit.ns(), stop.get(), &made);

		return detail::adopted_in_time<timeline>(code, made);
	}
	static std::optional<timeline> get(const broker &from, std::string_view name, timeout limit,
		const cancel &stop = {})
	{
		return try_get(from, name, limit, stop).value();
	}
	static result<timeline> try_get(const broker &from, std::string_view name) noexcept
	{
		ww_timeline *made = nullptr;
		const ww_status code = ww_timeline_get(from.get(), detail::c_name(name).get(), 0,
			nullptr, &made);

		return detail::adopted<timeline>(code, made);
	}
	static timeline get(const broker &from, std::string_view name)
	{
		return try_get(from, name).value();
	}
	using counted::get;
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
