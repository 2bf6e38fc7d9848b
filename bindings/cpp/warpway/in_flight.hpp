/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/in_flight.hpp - what this process has sent and nobody has received yet, see
 * warpway/in_flight.h
 */
#ifndef WARPWAY_IN_FLIGHT_HPP
#define WARPWAY_IN_FLIGHT_HPP

#include <warpway/in_flight.h>

#include <warpway/broker.hpp>
#include <warpway/memory.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_in_flight_info */
class in_flight_info : public detail::description<ww_in_flight_info>
{
public:
	bool is_slice() const noexcept { return raw().is_slice != 0; }
	std::uint64_t number() const noexcept { return raw().number; }
	std::uint64_t uses() const noexcept { return raw().uses; }
	std::uint64_t bytes() const noexcept { return raw().bytes; }
	std::chrono::nanoseconds age() const noexcept { return detail::to_duration(raw().age_ns); }
	id object_id() const noexcept { return detail::to_id(raw().object_id); }
};

/* Imports that nobody has made, and the bytes of their objects. */
struct revoked {
	std::uint64_t count = 0;
	std::uint64_t bytes = 0;
};

/*
 * A list of deliveries. Moved, not copied. Its range must not outlive it.
 */
class in_flight : public detail::handle<in_flight, ww_in_flight, ww_in_flight_free>
{
	struct source {
		ww_in_flight *in;

		result<std::optional<in_flight_info>> next(std::size_t index) const noexcept
		{
			in_flight_info filled;
			const ww_status code = ww_in_flight_get(in, index, filled.out());

			if (code == WW_END)
				return std::optional<in_flight_info>();
			if (code != WW_OK)
				return detail::unexpected(code);
			return std::optional<in_flight_info>(filled);
		}
	};

	static result<revoked> try_revoke_which(const broker &in, const ww_in_flight_which &which,
		const cancel &stop) noexcept
	{
		revoked done;
		const ww_status code = ww_in_flight_revoke(in.get(), &which, stop.get(),
			&done.count, &done.bytes);

		if (code != WW_OK)
			return detail::unexpected(code);
		return done;
	}

public:
	/* Empty. */
	in_flight() noexcept {}

	/* ww_in_flight_create(): an empty broker means all by which this process has sent. */
	static result<in_flight> try_create(const broker &of = {}, const cancel &stop = {}) noexcept
	{
		ww_in_flight *made = nullptr;
		const ww_status code = ww_in_flight_create(of.get(), stop.get(), &made);

		return detail::adopted<in_flight>(code, made);
	}
	static in_flight create(const broker &of = {}, const cancel &stop = {})
	{
		return try_create(of, stop).value();
	}

	/* ww_in_flight_get(): as a range. Not of a temporary list. */
	detail::listing<source, in_flight_info> deliveries() const &noexcept
	{
		return detail::listing<source, in_flight_info>(source{get()});
	}
	void deliveries() const && = delete;

	/* ww_in_flight_revoke(): those that are at least so old; the delivery of a token; one. */
	static result<revoked> try_revoke(std::chrono::nanoseconds older_than,
		const broker &in = {}, const cancel &stop = {}) noexcept
	{
		ww_in_flight_which which = detail::params<ww_in_flight_which>();

		which.older_ns = detail::to_ns(older_than);
		return try_revoke_which(in, which, stop);
	}
	static result<revoked> try_revoke(const token &one, const broker &in = {},
		const cancel &stop = {}) noexcept
	{
		ww_in_flight_which which = detail::params<ww_in_flight_which>();

		which.token = &one.raw();
		return try_revoke_which(in, which, stop);
	}
	static result<revoked> try_revoke(const in_flight_info &one, const broker &in = {},
		const cancel &stop = {}) noexcept
	{
		ww_in_flight_which which = detail::params<ww_in_flight_which>();

		which.info = &one.raw();
		return try_revoke_which(in, which, stop);
	}
	template <class Which>
	static revoked revoke(const Which &which, const broker &in = {}, const cancel &stop = {})
	{
		return try_revoke(which, in, stop).value();
	}

	/* ww_in_flight_limit(): 0 is the default. */
	static result<void> try_limit(std::uint32_t count, std::uint64_t bytes) noexcept
	{
		return detail::done(ww_in_flight_limit(count, bytes));
	}
	static void limit(std::uint32_t count, std::uint64_t bytes)
	{
		try_limit(count, bytes).value();
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
