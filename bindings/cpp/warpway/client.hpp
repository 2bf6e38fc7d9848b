/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/client.hpp - calling the functions of a service, see warpway/client.h
 */
#ifndef WARPWAY_CLIENT_HPP
#define WARPWAY_CLIENT_HPP

#include <warpway/client.h>

#include <initializer_list>
#include <vector>

#include <warpway/service.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_client_params */
struct client_options {
	bool observes = false;
	std::uint32_t gid = 0;
};

/* struct ww_submit_params */
struct submit_options {
	std::uint32_t lane = 0;
	std::uint64_t deadline_ns = 0;
	std::uint64_t depends_on = 0;
	const timeline *after = nullptr;     /* borrowed until the call is made, as the next */
	const token *after_token = nullptr; /* instead of after */
	std::uint64_t after_value = 0;
	bool repeats = false; /* of call() only: WW_SUBMIT_REPEAT */
	bool chains = false;  /* WW_SUBMIT_CHAIN */
	std::vector<std::uint64_t> depends_more;
};

/* struct ww_ticket_info */
class ticket_info : public detail::description<ww_ticket_info>
{
public:
	bool has_ended() const noexcept { return raw().has_ended; }
	bool has_started() const noexcept { return raw().has_started; }
	ww_status status() const noexcept { return raw().status; }
	std::uint64_t number() const noexcept { return raw().number; }
	std::uint64_t failed_call() const noexcept { return raw().failed_call; }
	std::uint32_t function() const noexcept { return raw().function; }
	std::uint32_t lane() const noexcept { return raw().lane; }
	std::uint64_t value() const noexcept { return raw().value; }
};

/*
 * A call that was submitted.
 */
class ticket : public detail::handle<ticket, ww_ticket, ww_ticket_unref>
{
public:
	/* Empty. */
	ticket() noexcept {}

	/* ww_ticket_wait(): not_ready: the call goes on. */
	warpway::result<outcome> try_wait(timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_ticket_wait(get(), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome wait(timeout limit, const cancel &stop = {}) const
	{
		return try_wait(limit, stop).value();
	}

	/* ww_ticket_eventfd() */
	warpway::result<descriptor> try_eventfd() const noexcept
	{
		int fd = -1;
		const ww_status code = ww_ticket_eventfd(get(), &fd);

		if (code != WW_OK)
			return detail::unexpected(code);
		return descriptor::adopt(fd);
	}
	descriptor eventfd() const { return try_eventfd().value(); }

	/*
	 * ww_ticket_stream_wait(): not_ready: the call goes on; timed_out: the call's deadline has
	 * passed, on a server of another user.
	 */
	warpway::result<outcome> try_stream_wait(const stream &by, timeout limit,
		wait_mode mode = wait_mode::usual, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_ticket_stream_wait(get(), by.get(),
			static_cast<std::uint64_t>(mode), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome stream_wait(const stream &by, timeout limit,
		wait_mode mode = wait_mode::usual, const cancel &stop = {}) const
	{
		return try_stream_wait(by, limit, mode, stop).value();
	}

	/* ww_ticket_result(): what it refers to is valid as long as the ticket. */
	warpway::result<value> try_result(std::uint32_t index) const noexcept
	{
		ww_value filled = {};
		const ww_status code = ww_ticket_result(get(), index, &filled);

		return detail::filled(code, value(filled));
	}
	value result(std::uint32_t index) const { return try_result(index).value(); }

	/* ww_ticket_cancel() */
	void cancel_call() const noexcept { ww_ticket_cancel(get()); }

	/* ww_ticket_info_get() */
	warpway::result<ticket_info> try_info() const noexcept
	{
		ticket_info filled;
		const ww_status code = ww_ticket_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	ticket_info info() const { return try_info().value(); }
};

/*
 * A client of a service.
 */
class client : public detail::counted<client, ww_client, ww_client_ref, ww_client_unref>
{
public:
	/* Empty. */
	client() noexcept {}

	/* ww_client_open(): empty when the time is over or it is cancelled. */
	static result<std::optional<client>> try_open(std::string_view name, timeout limit,
		const client_options &options = {}, const broker &in = {},
		const cancel &stop = {}) noexcept
	{
		const ww_client_params params = to_params(options);
		ww_client *made = nullptr;
		const ww_status code = ww_client_open(in.get(), detail::c_name(name).get(), &params,
			limit.ns(), stop.get(), &made);

		return detail::adopted_in_time<client>(code, made);
	}
	static std::optional<client> open(std::string_view name, timeout limit,
		const client_options &options = {}, const broker &in = {}, const cancel &stop = {})
	{
		return try_open(name, limit, options, in, stop).value();
	}

	/* ww_client_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<client> try_import_token(const token &from,
		const client_options &options = {}, const broker &by = {},
		const cancel &stop = {}) noexcept
	{
		const ww_client_params params = to_params(options);
		ww_client *made = nullptr;
		const ww_status code = ww_client_import(by.get(), &from.raw(), &params, stop.get(),
			&made);

		return detail::adopted<client>(code, made);
	}
	static client import_token(const token &from, const client_options &options = {},
		const broker &by = {}, const cancel &stop = {})
	{
		return try_import_token(from, options, by, stop).value();
	}

	/* ww_client_service_info_get() */
	result<service_info> try_service() const noexcept
	{
		service_info filled;
		const ww_status code = ww_client_service_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	service_info service() const { return try_service().value(); }

	/* ww_client_function_info_get(): nothing if there is no such index. */
	result<std::optional<function_info>> try_function(std::uint32_t index) const noexcept
	{
		function_info filled;
		const ww_status code = ww_client_function_info_get(get(), index, filled.out());

		if (code == WW_END)
			return std::optional<function_info>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<function_info>(filled);
	}
	std::optional<function_info> function(std::uint32_t index) const
	{
		return try_function(index).value();
	}

	/* ww_client_wait_ready() */
	result<outcome> try_wait_ready(timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_client_wait_ready(get(), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome wait_ready(timeout limit, const cancel &stop = {}) const
	{
		return try_wait_ready(limit, stop).value();
	}

	/*
	 * ww_client_find(): nothing when the time is over or it is cancelled.
	 * @signature: what it is taken for; nullptr: anything
	 */
	result<std::optional<std::uint32_t>> try_find(const char *name,
		const char *signature = nullptr, timeout limit = timeout(std::chrono::seconds(0)),
		const cancel &stop = {}) const noexcept
	{
		std::uint32_t found = 0;
		const ww_status code = ww_client_find(get(), name, signature, limit.ns(),
			stop.get(), &found);

		if (code == WW_TIMED_OUT || code == WW_CANCELLED)
			return std::optional<std::uint32_t>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<std::uint32_t>(found);
	}
	std::uint32_t find(const char *name, const char *signature = nullptr) const
	{
		return try_find(name, signature).value().value();
	}

	/* ww_client_submit(): nothing when the time is over or it is cancelled. */
	result<std::optional<ticket>> try_submit(std::uint32_t function,
		std::initializer_list<value> arguments, timeout limit,
		const submit_options &options = {}, const cancel &stop = {}) const noexcept
	{
		const ww_submit_params params = to_params(options);
		ww_ticket *made = nullptr;
		const ww_status code = ww_client_submit(get(), function, raw_of(arguments),
			static_cast<std::uint32_t>(arguments.size()), &params, limit.ns(),
			stop.get(), &made);

		return detail::adopted_in_time<ticket>(code, made);
	}
	std::optional<ticket> submit(std::uint32_t function, std::initializer_list<value> arguments,
		timeout limit, const submit_options &options = {}, const cancel &stop = {}) const
	{
		return try_submit(function, arguments, limit, options, stop).value();
	}

	/* ww_client_call(): nothing when the time is over or it is cancelled. */
	result<std::optional<ticket>> try_call(std::uint32_t function,
		std::initializer_list<value> arguments, timeout limit,
		const submit_options &options = {}, const cancel &stop = {}) const noexcept
	{
		const ww_submit_params params = to_params(options);
		ww_ticket *made = nullptr;
		const ww_status code = ww_client_call(get(), function, raw_of(arguments),
			static_cast<std::uint32_t>(arguments.size()), &params, limit.ns(),
			stop.get(), &made);

		return detail::adopted_in_time<ticket>(code, made);
	}
	std::optional<ticket> call(std::uint32_t function, std::initializer_list<value> arguments,
		timeout limit, const submit_options &options = {}, const cancel &stop = {}) const
	{
		return try_call(function, arguments, limit, options, stop).value();
	}

	/* ww_client_lane_timeline(): empty when the time is over or it is cancelled. */
	result<std::optional<timeline>> try_lane_timeline(std::uint32_t lane, timeout limit,
		const cancel &stop = {}) const noexcept
	{
		ww_timeline *made = nullptr;
		const ww_status code = ww_client_lane_timeline(get(), lane, limit.ns(), stop.get(),
			&made);

		return detail::adopted_in_time<timeline>(code, made);
	}
	std::optional<timeline> lane_timeline(std::uint32_t lane, timeout limit,
		const cancel &stop = {}) const
	{
		return try_lane_timeline(lane, limit, stop).value();
	}

private:
	static_assert(sizeof(value) == sizeof(ww_value), "a value is a ww_value");

	static const ww_value *raw_of(std::initializer_list<value> values) noexcept
	{
		return values.size() == 0 ? nullptr : &values.begin()->raw();
	}

	static ww_client_params to_params(const client_options &options) noexcept
	{
		ww_client_params filled = detail::params<ww_client_params>();

		filled.flags = options.observes ? WW_CLIENT_OBSERVE : 0;
		filled.gid = options.gid;
		return filled;
	}

	static ww_submit_params to_params(const submit_options &options) noexcept
	{
		ww_submit_params filled = detail::params<ww_submit_params>();

		filled.lane = options.lane;
		filled.deadline_ns = options.deadline_ns;
		filled.depends_on = options.depends_on;
		filled.after = options.after ? options.after->get() : nullptr;
		filled.after_token = options.after_token ? &options.after_token->raw() : nullptr;
		filled.after_value = options.after_value;
		filled.flags = (options.repeats ? WW_SUBMIT_REPEAT : 0) |
			(options.chains ? WW_SUBMIT_CHAIN : 0);
		filled.depends_more = options.depends_more.data();
		filled.depends_more_count =
			static_cast<std::uint32_t>(options.depends_more.size());
		return filled;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
