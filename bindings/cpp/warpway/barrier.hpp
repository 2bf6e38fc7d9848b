/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/barrier.hpp - a point that N processes pass only together, see warpway/barrier.h
 */
#ifndef WARPWAY_BARRIER_HPP
#define WARPWAY_BARRIER_HPP

#include <warpway/barrier.h>

#include <warpway/timeline.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* The first rank that is free. */
inline constexpr std::uint32_t any_rank = WW_BARRIER_ANY_RANK;

/* struct ww_barrier_params, but for the count: a barrier with a name has a token as well */
struct barrier_options {
	name_options name = {};
	token_options token = {}; /* its escrow is the time for members to come */
};

/* struct ww_barrier_info */
class barrier_info : public detail::description<ww_barrier_info>
{
public:
	std::uint32_t count() const noexcept { return raw().count; }
	std::uint32_t rank() const noexcept { return raw().rank; }
	std::uint32_t arrived() const noexcept { return raw().arrived; }
	std::uint64_t round() const noexcept { return raw().round; }

	/* The member that broke it; nothing: it is whole. */
	std::optional<std::uint32_t> broken() const noexcept
	{
		if (!raw().is_broken)
			return {};
		return raw().broken_rank;
	}
};

/*
 * A membership in a barrier.
 */
class barrier : public detail::counted<barrier, ww_barrier, ww_barrier_ref, ww_barrier_unref>
{
public:
	/* Empty. */
	barrier() noexcept {}

	/*
	 * ww_barrier_create(): any process, this one too, gets it by its name or imports it by its
	 * token. An empty broker is the default one.
	 */
	static result<token> try_create(std::string_view name, std::uint32_t count,
		const barrier_options &options = {}, const broker &in = {},
		const cancel &stop = {}) noexcept
	{
		return create_as(detail::c_name(name).get(), to_params(count, options), in, stop);
	}
	static token create(std::string_view name, std::uint32_t count,
		const barrier_options &options = {}, const broker &in = {}, const cancel &stop = {})
	{
		return try_create(name, count, options, in, stop).value();
	}

	/* Without a name. */
	static result<token> try_create(std::uint32_t count, const token_options &options = {},
		const broker &in = {}, const cancel &stop = {}) noexcept
	{
		return create_as(nullptr, to_params(count, {{}, options}), in, stop);
	}
	static token create(std::uint32_t count, const token_options &options = {},
		const broker &in = {}, const cancel &stop = {})
	{
		return try_create(count, options, in, stop).value();
	}

	/*
	 * ww_barrier_get(): empty if the time was over, or it was cancelled, before all members
	 * were there; without a limit it waits for ever. An empty broker is the default one.
	 */
	static result<std::optional<barrier>> try_get(std::string_view name, std::uint32_t rank,
		timeout limit, const broker &in = {}, const cancel &stop = {}) noexcept
	{
		ww_barrier *made = nullptr;
		const ww_status code = ww_barrier_get(in.get(), detail::c_name(name).get(), rank,
			limit.ns(), stop.get(), &made);

		return detail::adopted_in_time<barrier>(code, made);
	}
	static std::optional<barrier> get(std::string_view name, std::uint32_t rank, timeout limit,
		const broker &in = {}, const cancel &stop = {})
	{
		return try_get(name, rank, limit, in, stop).value();
	}
	static result<barrier> try_get(std::string_view name, std::uint32_t rank = any_rank,
		const broker &in = {}) noexcept
	{
		return without_limit(try_get(name, rank, forever, in));
	}
	static barrier get(std::string_view name, std::uint32_t rank = any_rank,
		const broker &in = {})
	{
		return try_get(name, rank, in).value();
	}
	using counted::get;

	/*
	 * ww_barrier_import(): the same by a token; an empty broker is that of WARPWAY_BROKER, else
	 * the token's.
	 */
	static result<std::optional<barrier>> try_import_token(const token &from,
		std::uint32_t rank, timeout limit, const broker &by = {},
		const cancel &stop = {}) noexcept
	{
		ww_barrier *made = nullptr;
		const ww_status code = ww_barrier_import(by.get(), &from.raw(), rank, limit.ns(),
			stop.get(), &made);

		return detail::adopted_in_time<barrier>(code, made);
	}
	static std::optional<barrier> import_token(const token &from, std::uint32_t rank,
		timeout limit, const broker &by = {}, const cancel &stop = {})
	{
		return try_import_token(from, rank, limit, by, stop).value();
	}
	static result<barrier> try_import_token(const token &from, std::uint32_t rank = any_rank,
		const broker &by = {}) noexcept
	{
		return without_limit(try_import_token(from, rank, forever, by));
	}
	static barrier import_token(const token &from, std::uint32_t rank = any_rank,
		const broker &by = {})
	{
		return try_import_token(from, rank, by).value();
	}

	/*
	 * ww_barrier_wait(): done, timed_out or cancelled; without a limit it waits for ever. This
	 * member has arrived also if the time was over or it was cancelled.
	 */
	result<outcome> try_wait(timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_barrier_wait(get(), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome wait(timeout limit, const cancel &stop = {}) const
	{
		return try_wait(limit, stop).value();
	}
	result<void> try_wait() const noexcept
	{
		return detail::done(ww_barrier_wait(get(), WW_FOREVER, nullptr));
	}
	void wait() const { try_wait().value(); }

	/* ww_barrier_eventfd() */
	result<descriptor> try_eventfd() const noexcept
	{
		int fd = -1;
		const ww_status code = ww_barrier_eventfd(get(), &fd);

		if (code != WW_OK)
			return detail::unexpected(code);
		return descriptor::adopt(fd);
	}
	descriptor eventfd() const { return try_eventfd().value(); }

	/* ww_barrier_info_get() */
	result<barrier_info> try_info() const noexcept
	{
		barrier_info filled;
		const ww_status code = ww_barrier_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	barrier_info info() const { return try_info().value(); }

private:
	static ww_barrier_params to_params(std::uint32_t count,
		const barrier_options &options) noexcept
	{
		ww_barrier_params filled = detail::params<ww_barrier_params>();

		filled.count = count;
		filled.mode = options.name.mode;
		filled.gid = options.name.gid;
		filled.flags = options.name.replace ? WW_PUT_REPLACE : 0;
		filled.escrow_ns = detail::to_escrow(options.token.escrow);
		filled.uses = options.token.uses;
		return filled;
	}

	static result<token> create_as(const char *name, const ww_barrier_params &params,
		const broker &in, const cancel &stop) noexcept
	{
		token made;
		const ww_status code = ww_barrier_create(in.get(), name, &params, stop.get(),
			made.out());

		return detail::filled(code, made);
	}

	static result<barrier> without_limit(result<std::optional<barrier>> made) noexcept
	{
		if (!made)
			return made.error();
		if (!*made)
			return detail::unexpected(WW_TIMED_OUT);
		return std::move(**made);
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
