/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/array.hpp - how an array lies in a memory, see warpway/array.h
 *
 *   array a = array::of<float>({2, 3});
 *   array column = a.index(1, -1), mirrored = a.slice(0, {}, {}, -1), flat = a.reshape({-1});
 */
#ifndef WARPWAY_ARRAY_HPP
#define WARPWAY_ARRAY_HPP

#include <warpway/array.h>

#include <algorithm>
#include <complex>
#include <string>

#include <warpway/device.hpp>
#include <warpway/span.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_DTYPE_... */
enum class dtype_code : std::uint8_t {
	signed_integer = WW_DTYPE_INT,
	unsigned_integer = WW_DTYPE_UINT,
	floating = WW_DTYPE_FLOAT,
	opaque = WW_DTYPE_OPAQUE,
	bfloat = WW_DTYPE_BFLOAT,
	complex = WW_DTYPE_COMPLEX,
	boolean = WW_DTYPE_BOOL,
	float8_e3m4 = WW_DTYPE_FLOAT8_E3M4,
	float8_e4m3 = WW_DTYPE_FLOAT8_E4M3,
	float8_e4m3b11fnuz = WW_DTYPE_FLOAT8_E4M3B11FNUZ,
	float8_e4m3fn = WW_DTYPE_FLOAT8_E4M3FN,
	float8_e4m3fnuz = WW_DTYPE_FLOAT8_E4M3FNUZ,
	float8_e5m2 = WW_DTYPE_FLOAT8_E5M2,
	float8_e5m2fnuz = WW_DTYPE_FLOAT8_E5M2FNUZ,
	float8_e8m0fnu = WW_DTYPE_FLOAT8_E8M0FNU,
	float6_e2m3fn = WW_DTYPE_FLOAT6_E2M3FN,
	float6_e3m2fn = WW_DTYPE_FLOAT6_E3M2FN,
	float4_e2m1fn = WW_DTYPE_FLOAT4_E2M1FN
};

/*
 * The type of an element: struct ww_dtype.
 */
class dtype
{
public:
	constexpr dtype(dtype_code code, std::uint8_t bits, std::uint16_t lanes = 1) noexcept
		: raw_{static_cast<std::uint8_t>(code), bits, lanes}
	{
	}
	explicit constexpr dtype(const ww_dtype &raw) noexcept : raw_(raw) {}

	/* ww_dtype_parse(): "float32", "bfloat16", "float8_e4m3fn", ... */
	static result<dtype> try_parse(std::string_view name) noexcept
	{
		ww_dtype raw{};
		const ww_status code = ww_dtype_parse(detail::c_name(name).get(), &raw);

		return detail::filled(code, dtype(raw));
	}
	static dtype parse(std::string_view name) { return try_parse(name).value(); }

	/* ww_dtype_name() */
	result<std::string> try_name() const
	{
		char text[WW_DTYPE_NAME_BYTES];
		const ww_status code = ww_dtype_name(&raw_, text);

		return detail::filled(code, std::string(text));
	}
	std::string name() const { return try_name().value(); }

	constexpr dtype_code code() const noexcept { return dtype_code{raw_.code}; }
	constexpr std::uint8_t bits() const noexcept { return raw_.bits; }
	constexpr std::uint16_t lanes() const noexcept { return raw_.lanes; }
	constexpr const ww_dtype &raw() const noexcept { return raw_; }

	friend constexpr bool operator==(const dtype &a, const dtype &b) noexcept
	{
		return a.raw_.code == b.raw_.code && a.raw_.bits == b.raw_.bits &&
			a.raw_.lanes == b.raw_.lanes;
	}
	friend constexpr bool operator!=(const dtype &a, const dtype &b) noexcept
	{
		return !(a == b);
	}

private:
	ww_dtype raw_;
};

/*
 * dtype_traits<T>::value - the type of an element that is a T in C++. It exists for integers,
 * float, double, bool, std::byte and std::complex of float and double. A program may add its own,
 * such as for a half.
 */
template <class T, class = void>
struct dtype_traits;

namespace detail
{
template <class T>
constexpr dtype sized(dtype_code code) noexcept
{
	return dtype(code, static_cast<std::uint8_t>(8 * sizeof(T)));
}
} //namespace detail

template <class T>
struct dtype_traits<T, std::enable_if_t<std::is_integral_v<T> && std::is_signed_v<T>>> {
	static constexpr dtype value = detail::sized<T>(dtype_code::signed_integer);
};

template <class T>
struct dtype_traits<T,
	std::enable_if_t<std::is_integral_v<T> && std::is_unsigned_v<T> &&
		!std::is_same_v<T, bool>>> {
	static constexpr dtype value = detail::sized<T>(dtype_code::unsigned_integer);
};

template <>
struct dtype_traits<bool> {
	static constexpr dtype value = detail::sized<bool>(dtype_code::boolean);
};

template <>
struct dtype_traits<std::byte> {
	static constexpr dtype value = detail::sized<std::byte>(dtype_code::unsigned_integer);
};

template <>
struct dtype_traits<float> {
	static constexpr dtype value = detail::sized<float>(dtype_code::floating);
};

template <>
struct dtype_traits<double> {
	static constexpr dtype value = detail::sized<double>(dtype_code::floating);
};

template <class T>
struct dtype_traits<std::complex<T>,
	std::enable_if_t<std::is_same_v<T, float> || std::is_same_v<T, double>>> {
	static constexpr dtype value = detail::sized<std::complex<T>>(dtype_code::complex);
};

template <class T>
inline constexpr dtype dtype_of = dtype_traits<std::remove_cv_t<T>>::value;

/* WW_OVERLAP_... */
enum class overlap : std::uint32_t {
	none = WW_OVERLAP_NONE,
	some = WW_OVERLAP_SOME,
	maybe = WW_OVERLAP_MAY
};

/* Bytes of a memory, from the first to before the end. */
struct byte_range {
	std::uint64_t first;
	std::uint64_t end;
};

/*
 * An array inside a memory: a value, struct ww_array. Owns no memory. Every call refuses an array
 * that was made without a type.
 */
class array : public detail::description<ww_array>
{
public:
	array() noexcept = default;
	explicit array(const ww_array &raw) noexcept : description(raw) {}

	/* ww_array_set(): offset and strides in bytes; no strides: C order without gaps. */
	static result<array> try_make(const dtype &type, span<const std::int64_t> shape,
		std::uint64_t offset = 0, span<const std::int64_t> strides = {}) noexcept
	{
		array made;

		if (!strides.empty() && strides.size() != shape.size())
			return failure::of(WW_ERR_INVALID,
				"an array has as many strides as it has dimensions, or none are given");
		const ww_status code = ww_array_set(made.out(), &type.raw(), count(shape),
			shape.data(), strides.empty() ? nullptr : strides.data(), offset);

		return detail::filled(code, made);
	}
	static array make(const dtype &type, span<const std::int64_t> shape,
		std::uint64_t offset = 0, span<const std::int64_t> strides = {})
	{
		return try_make(type, shape, offset, strides).value();
	}

	/* The same, of elements that are a T here. */
	template <class T>
	static result<array> try_of(span<const std::int64_t> shape, std::uint64_t offset = 0,
		span<const std::int64_t> strides = {}) noexcept
	{
		return try_make(dtype_of<T>, shape, offset, strides);
	}
	template <class T>
	static array of(span<const std::int64_t> shape, std::uint64_t offset = 0,
		span<const std::int64_t> strides = {})
	{
		return try_of<T>(shape, offset, strides).value();
	}

	dtype type() const noexcept { return dtype(raw().dtype); }
	template <class T>
	bool is() const noexcept
	{
		return type() == dtype_of<T>;
	}
	std::uint32_t dims() const noexcept { return raw().ndim; }
	std::uint64_t offset() const noexcept { return raw().offset; }
	span<const std::int64_t> shape() const noexcept { return {raw().shape, usable_dims()}; }
	span<const std::int64_t> strides() const noexcept { return {raw().strides, usable_dims()}; }

	/* ww_array_check(): whether it is inside a memory of so many bytes. */
	result<void> try_check(std::uint64_t memory_bytes) const noexcept
	{
		return detail::done(ww_array_check(&raw(), memory_bytes));
	}
	void check(std::uint64_t memory_bytes) const { try_check(memory_bytes).value(); }

	/* ww_array_bytes() */
	result<std::uint64_t> try_bytes() const noexcept
	{
		std::uint64_t bytes = 0;
		const ww_status code = ww_array_bytes(&raw(), &bytes);

		return detail::filled(code, bytes);
	}
	std::uint64_t bytes() const { return try_bytes().value(); }

	/* ww_array_span(): which bytes of its memory it reaches. */
	result<byte_range> try_reach() const noexcept
	{
		byte_range range{};
		const ww_status code = ww_array_span(&raw(), &range.first, &range.end);

		return detail::filled(code, range);
	}
	byte_range reach() const { return try_reach().value(); }

	/* ww_array_is_contiguous(), ww_array_is_fortran() */
	bool is_contiguous() const noexcept { return ww_array_is_contiguous(&raw()) != 0; }
	bool is_fortran() const noexcept { return ww_array_is_fortran(&raw()) != 0; }

	/* ww_array_overlap(): of two arrays in one memory. */
	result<warpway::overlap> try_overlap(const array &other) const noexcept
	{
		std::uint32_t answer = 0;
		const ww_status code = ww_array_overlap(&raw(), &other.raw(), &answer);

		return detail::filled(code, warpway::overlap{answer});
	}
	warpway::overlap overlap(const array &other) const { return try_overlap(other).value(); }

	/* ww_array_self_overlap() */
	result<warpway::overlap> try_self_overlap() const noexcept
	{
		std::uint32_t answer = 0;
		const ww_status code = ww_array_self_overlap(&raw(), &answer);

		return detail::filled(code, warpway::overlap{answer});
	}
	warpway::overlap self_overlap() const { return try_self_overlap().value(); }

	/* ww_array_slice(): array[start:stop:step] in one dimension; {} is left out. */
	result<array> try_slice(std::uint32_t dim, std::optional<std::int64_t> start,
		std::optional<std::int64_t> stop = {},
		std::optional<std::int64_t> step = {}) const noexcept
	{
		array view;
		const ww_status code = ww_array_slice(&raw(), dim, start.value_or(WW_SLICE_NONE),
			stop.value_or(WW_SLICE_NONE), step.value_or(WW_SLICE_NONE), view.out());

		return detail::filled(code, view);
	}
	array slice(std::uint32_t dim, std::optional<std::int64_t> start,
		std::optional<std::int64_t> stop = {}, std::optional<std::int64_t> step = {}) const
	{
		return try_slice(dim, start, stop, step).value();
	}

	/* ww_array_index() */
	result<array> try_index(std::uint32_t dim, std::int64_t index) const noexcept
	{
		array view;
		const ww_status code = ww_array_index(&raw(), dim, index, view.out());

		return detail::filled(code, view);
	}
	array index(std::uint32_t dim, std::int64_t index) const
	{
		return try_index(dim, index).value();
	}

	/* ww_array_permute() */
	result<array> try_permute(span<const std::uint32_t> order) const noexcept
	{
		array view;

		if (order.size() != raw().ndim)
			return failure::of(WW_ERR_INVALID,
				"an order of dimensions names each of them once");
		return detail::filled(ww_array_permute(&raw(), order.data(), view.out()), view);
	}
	array permute(span<const std::uint32_t> order) const { return try_permute(order).value(); }

	/* The other way round. */
	result<array> try_transpose() const noexcept
	{
		array view;
		const ww_status code = ww_array_permute(&raw(), nullptr, view.out());

		return detail::filled(code, view);
	}
	array transpose() const { return try_transpose().value(); }

	/* ww_array_broadcast() */
	result<array> try_broadcast(span<const std::int64_t> shape) const noexcept
	{
		array view;
		const ww_status code = ww_array_broadcast(&raw(), count(shape), shape.data(),
			view.out());

		return detail::filled(code, view);
	}
	array broadcast(span<const std::int64_t> shape) const
	{
		return try_broadcast(shape).value();
	}

	/* ww_array_reshape(): one number may be -1. */
	result<array> try_reshape(span<const std::int64_t> shape) const noexcept
	{
		array view;
		const ww_status code = ww_array_reshape(&raw(), count(shape), shape.data(),
			view.out());

		return detail::filled(code, view);
	}
	array reshape(span<const std::int64_t> shape) const { return try_reshape(shape).value(); }

	/* ww_array_reinterpret() */
	result<array> try_reinterpret(const dtype &type) const noexcept
	{
		array view;
		const ww_status code = ww_array_reinterpret(&raw(), &type.raw(), view.out());

		return detail::filled(code, view);
	}
	array reinterpret(const dtype &type) const { return try_reinterpret(type).value(); }

	friend bool operator==(const array &a, const array &b) noexcept
	{
		return a.type() == b.type() && a.raw().ndim == b.raw().ndim &&
			a.raw().offset == b.raw().offset &&
			std::equal(a.shape().begin(), a.shape().end(), b.shape().begin()) &&
			std::equal(a.strides().begin(), a.strides().end(), b.strides().begin());
	}
	friend bool operator!=(const array &a, const array &b) noexcept { return !(a == b); }

private:
	/* More than C takes stays more. */
	static std::uint32_t count(span<const std::int64_t> numbers) noexcept
	{
		return static_cast<std::uint32_t>(
			std::min<std::size_t>(numbers.size(), UINT32_MAX));
	}

	std::uint32_t usable_dims() const noexcept
	{
		return std::min<std::uint32_t>(raw().ndim, WW_ARRAY_DIMS);
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
