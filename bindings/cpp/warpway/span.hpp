/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/span.hpp - borrowed elements that are contiguous in memory
 *
 * A part of C++20's std::span, to which it converts in C++20.
 */
#ifndef WARPWAY_SPAN_HPP
#define WARPWAY_SPAN_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>

#include <warpway/base.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

template <class T>
class span
{
	template <class Container>
	using if_fits =
		std::enable_if_t<std::is_convertible_v<std::remove_pointer_t<decltype(std::data(
							       std::declval<Container &>()))> (*)[],
					 T (*)[]> &&
			std::is_convertible_v<decltype(std::size(std::declval<Container &>())),
				std::size_t>>;

public:
	using element_type = T;
	using value_type = std::remove_cv_t<T>;
	using size_type = std::size_t;
	using iterator = T *;

	constexpr span() noexcept = default;
	constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

	/* Arrays, std::array, std::vector, std::span, other spans: all with data and size. */
	template <class Container, class = if_fits<Container>>
	constexpr span(Container &&container) noexcept
		: data_(std::data(container)), size_(std::size(container))
	{
	}

	/* {1, 2, 3}, for the length of a call. */
	template <class Element = T, class = std::enable_if_t<std::is_const_v<Element>>>
	constexpr span(std::initializer_list<value_type> list) noexcept
		: data_(first(list)), size_(list.size())
	{
	}

	constexpr T *data() const noexcept { return data_; }
	constexpr std::size_t size() const noexcept { return size_; }
	constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
	constexpr bool empty() const noexcept { return size_ == 0; }
	constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }
	constexpr T *begin() const noexcept { return data_; }
	constexpr T *end() const noexcept { return data_ + size_; }

private:
	static constexpr T *first(std::initializer_list<value_type> list) noexcept
	{
		return list.begin();
	}

	T *data_ = nullptr;
	std::size_t size_ = 0;
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
