/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/result.hpp - a value, or the failure because of which there is none
 *
 * Every try_x() returns one. It is used like C++23's std::expected. It is a class of its own, since
 * the interface is C++17 and the same under every later standard.
 *
 *   if (auto m = memory::try_create(on, bytes))
 *           use(*m);
 *   else
 *           complain(m.error().message());
 *
 * A result of an outcome is true when the call did not fail, whatever the outcome.
 */
#ifndef WARPWAY_RESULT_HPP
#define WARPWAY_RESULT_HPP

#include <warpway/base.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

namespace warpway
{
inline namespace WARPWAY_ABI
{

namespace detail
{

[[noreturn]] inline void raise(const failure &why)
{
#if WARPWAY_EXCEPTIONS
	throw error(why);
#else
	std::fprintf(stderr, "warpway: %s: %s\n", name_of(why.status()), why.message());
	std::abort();
#endif
}

} //namespace detail

/*
 * value() throws the failure as an error, if there is one. operator* and operator-> do not check:
 * call has_value() before, as for a pointer. Call error() only if has_value() is false.
 */
template <class T>
class [[nodiscard]] result
{
	static_assert(std::is_nothrow_move_constructible_v<T>,
		"a result holds what moves without failing");

public:
	using value_type = T;

	result(T value) noexcept : value_(std::in_place, std::move(value)) {}
	result(const failure &why) noexcept : why_(why) {}

	bool has_value() const noexcept { return value_.has_value(); }
	explicit operator bool() const noexcept { return has_value(); }

	T &operator*() &noexcept { return *value_; }
	const T &operator*() const &noexcept { return *value_; }
	T operator*() &&noexcept { return std::move(*value_); }
	T *operator->() noexcept { return &*value_; }
	const T *operator->() const noexcept { return &*value_; }

	const failure &error() const noexcept { return *why_; }
	warpway::status status() const noexcept
	{
		return has_value() ? warpway::status::ok : error().status();
	}

	T &value() &
	{
		require();
		return **this;
	}

	const T &value() const &
	{
		require();
		return **this;
	}

	T value() &&
	{
		require();
		return *std::move(*this);
	}

	template <class Other>
	T value_or(Other &&other) &&
	{
		return has_value() ? *std::move(*this) : static_cast<T>(std::forward<Other>(other));
	}

	/* What next(value) returns, itself a result; or this failure. */
	template <class Next>
	auto and_then(Next &&next) && -> std::invoke_result_t<Next, T>
	{
		if (!has_value())
			return error();
		return std::forward<Next>(next)(*std::move(*this));
	}

private:
	void require() const
	{
		if (!has_value())
			detail::raise(error());
	}

	/* One of them is empty. A std::variant costs every program a third more time to compile. */
	std::optional<T> value_;
	std::optional<failure> why_;
};

template <>
class [[nodiscard]] result<void>
{
public:
	using value_type = void;

	result() noexcept = default;
	result(const failure &why) noexcept : why_(why) {}

	bool has_value() const noexcept { return !why_; }
	explicit operator bool() const noexcept { return has_value(); }

	const failure &error() const noexcept { return *why_; }
	warpway::status status() const noexcept
	{
		return has_value() ? warpway::status::ok : error().status();
	}

	void value() const
	{
		if (why_)
			detail::raise(*why_);
	}

	template <class Next>
	auto and_then(Next &&next) const -> std::invoke_result_t<Next>
	{
		if (why_)
			return *why_;
		return std::forward<Next>(next)();
	}

private:
	std::optional<failure> why_;
};

namespace detail
{

/*
 * An outcome of a call that should have none is a failure, too: there would be no object.
 */
inline failure unexpected(ww_status code) noexcept
{
	return code < 0 ? failure::last(code) : failure::of(code, ww_status_text(code));
}

inline result<void> done(ww_status code) noexcept
{
	if (code != WW_OK)
		return unexpected(code);
	return {};
}

inline result<outcome> ended(ww_status code) noexcept
{
	if (code < 0)
		return failure::last(code);
	return outcome{code};
}

template <class T>
result<T> filled(ww_status code, const T &value) noexcept
{
	if (code != WW_OK)
		return unexpected(code);
	return value;
}

template <class Handle>
result<Handle> adopted(ww_status code, typename Handle::c_type *object) noexcept
{
	if (code != WW_OK)
		return unexpected(code);
	return Handle::adopt(object);
}

/* The time was over, or the call was cancelled, before there was anything to return. */
inline bool ended_early(ww_status code) noexcept
{
	return code == WW_TIMED_OUT || code == WW_CANCELLED;
}

/* Empty: it ended early. */
template <class Handle>
result<std::optional<Handle>> adopted_in_time(ww_status code,
	typename Handle::c_type *object) noexcept
{
	if (ended_early(code))
		return std::optional<Handle>();
	if (code != WW_OK)
		return unexpected(code);
	return std::optional<Handle>(Handle::adopt(object));
}

} //namespace detail

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
