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

/* struct ww_share_params, of a barrier that has a name as well as a token */
struct barrier_options {
	share_options name = {};
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
		if (!raw().broken)
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

	/* ww_barrier_create(): for others and oneself to join, by its name or its token; an empty broker is the default one. */
	static result<token> try_create(std::string_view name, std::uint32_t count,
		const barrier_options &options = {}, const broker &in = {}) noexcept
	{
		return create_as(detail::c_name(name).get(), count, to_params(options), in);
	}
	static token create(std::string_view name, std::uint32_t count,
		const barrier_options &options = {}, const broker &in = {})
	{
		return try_create(name, count, options, in).value();
	}

	/* Without a name. */
	static result<token> try_create(std::uint32_t count, const token_options &options = {},
		const broker &in = {}) noexcept
	{
		return create_as(nullptr, count, detail::to_params(options), in);
	}
	static token create(std::uint32_t count, const token_options &options = {},
		const broker &in = {})
	{
		return try_create(count, options, in).value();
	}

	/*
	 * ww_barrier_join(), ww_barrier_join_token(): nothing when the time was over before all were there. An
	 * empty broker is the default one, or, with a token, the token's. There is no limit with forever.
	 */
	static result<std::optional<barrier>> try_join(std::string_view name, std::uint32_t rank,
		timeout limit, const broker &in = {}) noexcept
	{
		ww_barrier *made = nullptr;
		const ww_status code = ww_barrier_join(in.get(), detail::c_name(name).get(), rank,
			limit.ns(), &made);

		return detail::adopted_in_time<barrier>(code, made);
	}
	static std::optional<barrier> join(std::string_view name, std::uint32_t rank, timeout limit,
		const broker &in = {})
	{
		return try_join(name, rank, limit, in).value();
	}
	static result<std::optional<barrier>> try_join(const token &from, std::uint32_t rank,
		timeout limit, const broker &in = {}) noexcept
	{
		ww_barrier *made = nullptr;
		const ww_status code = ww_barrier_join_token(in.get(), &from.raw(), rank,
			limit.ns(), &made);

		return detail::adopted_in_time<barrier>(code, made);
	}
	static std::optional<barrier> join(const token &from, std::uint32_t rank, timeout limit,
		const broker &in = {})
	{
		return try_join(from, rank, limit, in).value();
	}

	/* The same without a limit: waits for ever. */
	static result<barrier> try_join(std::string_view name, std::uint32_t rank = any_rank,
		const broker &in = {}) noexcept
	{
		return without_limit(try_join(name, rank, forever, in));
	}
	static barrier join(std::string_view name, std::uint32_t rank = any_rank,
		const broker &in = {})
	{
		return try_join(name, rank, in).value();
	}
	static result<barrier> try_join(const token &from, std::uint32_t rank = any_rank,
		const broker &in = {}) noexcept
	{
		return without_limit(try_join(from, rank, forever, in));
	}
	static barrier join(const token &from, std::uint32_t rank = any_rank, const broker &in = {})
	{
		return try_join(from, rank, in).value();
	}

	/* ww_barrier_wait(): done or timed_out; without a limit waits for ever. */
	result<outcome> try_wait(timeout limit) const noexcept
	{
		return detail::ended(ww_barrier_wait(get(), limit.ns()));
	}
	[[nodiscard]] outcome wait(timeout limit) const { return try_wait(limit).value(); }
	result<void> try_wait() const noexcept
	{
		return detail::done(ww_barrier_wait(get(), WW_FOREVER));
	}
	void wait() const { try_wait().value(); }

	/* ww_barrier_info_get() */
	result<barrier_info> try_info() const noexcept
	{
		barrier_info filled;
		const ww_status code = ww_barrier_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	barrier_info info() const { return try_info().value(); }

private:
	static ww_share_params to_params(const barrier_options &options) noexcept
	{
		const ww_share_params token = detail::to_params(options.token);
		ww_share_params both = detail::to_params(options.name);

		both.uses = token.uses;
		both.escrow_ns = token.escrow_ns;
		return both;
	}

	static result<token> create_as(const char *name, std::uint32_t count,
		const ww_share_params &params, const broker &in) noexcept
	{
		token made;
		const ww_status code = ww_barrier_create(in.get(), name, count, &params,
			made.out());

		return detail::filled(code, made);
	}

	static result<barrier> without_limit(result<std::optional<barrier>> joined) noexcept
	{
		if (!joined)
			return joined.error();
		if (!*joined)
			return detail::unexpected(WW_TIMED_OUT);
		return std::move(**joined);
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
