/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.cpp - types of elements, arrays, views, tokens as values
 */
#include "test.hpp"

using namespace warpway;

static_assert(dtype_of<float> == dtype(dtype_code::floating, 32));
static_assert(dtype_of<const double> == dtype(dtype_code::floating, 64));
static_assert(dtype_of<std::int8_t> == dtype(dtype_code::signed_integer, 8));
static_assert(dtype_of<unsigned long> == dtype(dtype_code::unsigned_integer, 64));
static_assert(dtype_of<bool> == dtype(dtype_code::boolean, 8));
static_assert(dtype_of<std::byte> == dtype(dtype_code::unsigned_integer, 8));
static_assert(dtype_of<std::complex<float>> == dtype(dtype_code::complex, 64));
static_assert(dtype_of<std::complex<double>> == dtype(dtype_code::complex, 128));

namespace
{
struct half {
	std::uint16_t bits;
};
} //namespace

template <>
struct warpway::dtype_traits<half> {
	static constexpr dtype value{dtype_code::floating, 16};
};

static bool is(span<const std::int64_t> numbers, std::initializer_list<std::int64_t> wanted)
{
	return numbers.size() == wanted.size() &&
		std::equal(numbers.begin(), numbers.end(), wanted.begin());
}

TEST("an array of a type and a shape")
{
	const array a = array::of<float>({2, 3});

	CLAIM(a.is<float>() && !a.is<double>() && a.dims() == 2 && a.offset() == 0);
	CLAIM(is(a.shape(), {2, 3}) && is(a.strides(), {12, 4}));
	CLAIM(a.bytes() == 24 && a.is_contiguous() && !a.is_fortran());
	CLAIM(a == array::make(dtype::parse("float32"), {2, 3}) && a != array::of<float>({3, 2}));
	a.check(24);
	REFUSED(status::mismatch, a.check(23));
	CLAIM(array::of<half>({}).dims() == 0);
	CLAIM(array::of<half>({}).type().name() == "float16");
}

TEST("an array with an offset and strides")
{
	const std::vector<std::int64_t> shape{4}, strides{-8};
	const array a = array::of<std::int32_t>(shape, 24, strides);

	CLAIM(a.offset() == 24 && is(a.strides(), {-8}));
	CLAIM(a.reach().first == 0 && a.reach().end == 28);
	CLAIM(array::try_of<float>({2, 2}, 0, {4}).status() == status::invalid);
	CLAIM(array::try_of<float>({2, -2}).status() == status::invalid);
	CLAIM(array::try_of<float>({INT64_MAX, 2}).status() == status::overflow);
	CLAIM(array::try_of<float>(std::vector<std::int64_t>(40, 1)).status() == status::invalid);
	CLAIM(array::make(dtype(dtype_code::float4_e2m1fn, 4, 2), {50}).bytes() == 50);
	CLAIM(array().try_bytes().status() == status::invalid);
}

TEST("types of elements have names")
{
	CLAIM(dtype_of<std::complex<float>>.name() == "complex64");
	CLAIM(dtype::parse("bfloat16") == dtype(dtype_code::bfloat, 16));
	CLAIM(dtype::parse("float8_e4m3fn").code() == dtype_code::float8_e4m3fn);
	REFUSED(status::invalid, dtype::parse("float33"));
	CLAIM(dtype(dtype_code::floating, 7).try_name().status() == status::invalid);
}

TEST("views of an array")
{
	const array a = array::of<float>({4, 6});

	CLAIM(is(a.slice(0, 1, 3).shape(), {2, 6}) && a.slice(0, 1, 3).offset() == 24);
	CLAIM(is(a.slice(1, {}, {}, -1).strides(), {24, -4}));
	CLAIM(is(a.slice(1, -2).shape(), {4, 2}));
	CLAIM(is(a.index(0, -1).shape(), {6}) && a.index(0, -1).offset() == 72);
	CLAIM(is(a.transpose().shape(), {6, 4}) && a.transpose().is_fortran());
	CLAIM(a.permute({1, 0}) == a.transpose());
	CLAIM(is(a.reshape({-1, 8}).shape(), {3, 8}));
	CLAIM(is(a.index(0, 0).broadcast({5, 6}).strides(), {0, 4}));
	CLAIM(is(a.reinterpret(dtype_of<double>).shape(), {4, 3}));
	CLAIM(a.try_slice(2, 0).status() == status::invalid);
	CLAIM(a.try_index(0, 4).status() == status::invalid);
	CLAIM(a.try_permute({0}).status() == status::invalid);
	CLAIM(a.try_permute({0, 0}).status() == status::invalid);
	CLAIM(a.try_reshape({5, -1}).status() == status::invalid);
	CLAIM(a.transpose().try_reshape({24}).status() == status::unsupported);
	CLAIM(a.try_broadcast({4, 5}).status() == status::invalid);
	CLAIM(a.transpose().try_reinterpret(dtype_of<double>).status() == status::unsupported);
}

TEST("arrays that share bytes")
{
	const array a = array::of<float>({4, 6});
	const array even = a.slice(1, 0, {}, 2), odd = a.slice(1, 1, {}, 2);

	CLAIM(even.overlap(odd) == overlap::none);
	CLAIM(even.overlap(a) == overlap::some);
	CLAIM(a.self_overlap() == overlap::none);
	CLAIM(a.index(0, 0).broadcast({2, 6}).self_overlap() == overlap::some);
	CLAIM(array().try_overlap(a).status() == status::invalid);
	CLAIM(array().try_self_overlap().status() == status::invalid);
}

TEST("what is no token is refused")
{
	const token none;
	const std::vector<std::uint8_t> noise(WW_TOKEN_BYTES, 7);

	CLAIM(none.try_info().status() == status::protocol);
	CLAIM(none.try_to_text().status() == status::protocol);
	CLAIM(token::try_from_text("ww1_").status() == status::protocol);
	CLAIM(token::try_from_text("").status() == status::protocol);
	CLAIM(token::try_from_text(std::string(100000, ' ')).status() == status::protocol);
	CLAIM(token::try_from_text(std::string(100000, 'A')).status() == status::protocol);
	CLAIM(token::from_bytes(noise) != none && none < token::from_bytes(noise));
	REFUSED(status::protocol, token::from_bytes(noise).info());
	REFUSED(status::protocol, token::from_bytes({1, 2, 3}));
}
