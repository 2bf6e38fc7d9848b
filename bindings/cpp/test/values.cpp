/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.cpp - arrays, tokens, signatures, results, limits on time, spans, and who owns what
 */
#include "test.hpp"

#include <array>
#include <fcntl.h>
#include <memory>
#include <numeric>
#include <unistd.h>

using namespace warpway;
using namespace std::chrono_literals;

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

/* Results, failures, limits on time, texts, spans */

static_assert(timeout(forever).ns() == WW_FOREVER);
static_assert(timeout(2s).ns() == 2'000'000'000);
static_assert(timeout(1500us).ns() == 1'500'000);
static_assert(timeout(-1s).ns() == 0);
static_assert(timeout(std::chrono::hours::max()).ns() == WW_FOREVER);
static_assert(timeout(std::chrono::nanoseconds::max()).ns() == WW_FOREVER);
static_assert(timeout(std::chrono::duration<double>(0.25)).ns() == 250'000'000);

static_assert(std::is_convertible_v<std::vector<int> &, span<int>>);
static_assert(std::is_convertible_v<std::vector<int> &, span<const int>>);
static_assert(std::is_convertible_v<const std::array<int, 3> &, span<const int>>);
static_assert(!std::is_convertible_v<const std::vector<int> &, span<int>>);
static_assert(!std::is_convertible_v<std::vector<long> &, span<int>>);
static_assert(!std::is_convertible_v<std::initializer_list<int>, span<int>>);

static int sum(span<const int> numbers)
{
	return std::accumulate(numbers.begin(), numbers.end(), 0);
}

TEST("a span is made of whatever has data and size")
{
	int plain[] = {1, 2, 3};
	const std::vector<int> vector{4, 5};

	CLAIM(sum({}) == 0);
	CLAIM(sum({7}) == 7);
	CLAIM(sum({1, 2, 3, 4}) == 10);
	CLAIM(sum(plain) == 6);
	CLAIM(sum(vector) == 9);
	CLAIM(sum(span<int>(plain)) == 6);
	CLAIM(span<int>(plain).size_bytes() == sizeof(plain));
	span<int> whole = plain;

	whole[1] = 20;
	CLAIM(plain[1] == 20);
}

TEST("a result holds a value or a failure")
{
	result<int> good = 7;
	const result<int> bad = failure::of(WW_ERR_QUOTA, "too much");

	CLAIM(good && good.has_value() && *good == 7 && good.value() == 7);
	CLAIM(good.status() == status::ok);
	CLAIM(!bad && !bad.has_value());
	CLAIM(bad.status() == status::quota);
	CLAIM(bad.error().message() == std::string("too much"));
	CLAIM(bad.error().domain() == domain::warpway && bad.error().native() == 0);
	REFUSED(status::quota, bad.value());
	CLAIM(result<int>(bad).value_or(3) == 3);
	CLAIM(std::move(good).value_or(3) == 7);
}

TEST("a result gives its value away, once")
{
	result<std::unique_ptr<int>> made = std::make_unique<int>(5);
	std::unique_ptr<int> taken = std::move(made).value();

	CLAIM(*taken == 5);
	CLAIM(made.has_value() && !*made);
}

TEST("results are chained until one fails")
{
	int calls = 0;
	const auto half = [&](int number) -> result<int> {
		calls++;
		if (number % 2)
			return failure::of(WW_ERR_INVALID, "odd");
		return number / 2;
	};

	CLAIM(result<int>(12).and_then(half).and_then(half).value() == 3);
	CLAIM(calls == 2);
	CLAIM(result<int>(6).and_then(half).and_then(half).and_then(half).status() ==
		status::invalid);
	CLAIM(calls == 4);
	CLAIM(result<void>().and_then([] { return result<int>(1); }).value() == 1);
	CLAIM(result<void>(failure::of(WW_ERR_STATE, "no")).status() == status::state);
	REFUSED(status::state, result<void>(failure::of(WW_ERR_STATE, "no")).value());
}

TEST("an error is the library's record")
{
	try {
		device::open("no such device");
		CLAIM(false);
	} catch (const error &why) {
		CLAIM(why.status() == status::invalid);
		CLAIM(why.domain() == domain::warpway);
		CLAIM(std::string(why.what()) == ww_error_last()->message);
	}
	const result<device> tried = device::try_open("cuda:99");

	CLAIM(!tried && tried.status() == status::no_device);
	CLAIM(tried.error().raw().status == WW_ERR_NO_DEVICE);
}

TEST("a record that is not of this status is not taken for it")
{
	static_cast<void>(device::try_open("no such device"));
	const failure other = failure::last(WW_ERR_QUOTA);

	CLAIM(other.status() == status::quota);
	CLAIM(std::string(other.message()) == ww_status_text(WW_ERR_QUOTA));
}

TEST("a failure's message is cut, not overrun")
{
	const failure why = failure::of(WW_ERR_INVALID, std::string(1000, 'x'));

	CLAIM(std::strlen(why.message()) == WW_ERROR_MESSAGE_BYTES - 1);
}

TEST("statuses have names")
{
	CLAIM(name_of(status::access) == std::string("WW_ERR_ACCESS"));
	CLAIM(text_of(status::ok)[0] != '\0');
	CLAIM(version() == std::string(WW_VERSION));
}

TEST("a name with a zero inside is refused, not cut")
{
	using namespace std::string_view_literals;

	CLAIM(device::try_open("host\0x"sv).status() == status::invalid);
	CLAIM(device::try_open(std::string(5000, 'h')).status() == status::invalid);
	CLAIM(dtype::try_parse("float32\0"sv).status() == status::invalid);
}

TEST("the log goes to a function object")
{
	int lines = 0;
	auto count = [&lines](std::string_view line) { lines += !line.empty(); };

	set_log(count);
	static_cast<void>(device::try_open("no such device"));
	clear_log();
	const int before = lines;

	static_cast<void>(device::try_open("no such device"));
	CLAIM(lines == before);
}

/* Signatures of functions, their parameters and values of scalars */

TEST("a signature in its canonical form")
{
	const signature s = signature::parse("float32 a=1,f32[n,4]x read->f64 sum");

	CLAIM(s.text() == "f32 a = 1.0, f32[n, 4] x read -> f64 sum");
	CLAIM(s == signature::parse(s.text()) && s.hash() == signature::parse(s.text()).hash());
	CLAIM(s != signature::parse("") && s.hash() != signature::parse("").hash());
	CLAIM(signature::try_parse("f33 a").status() == status::invalid);
	CLAIM(signature::try_parse("bytes a234567890123456789012345678901234").status() ==
		status::limit);
}

TEST("parameters and results of a signature")
{
	const signature s = signature::parse(
		"f32 a = 0.5, any[n, 4] x write strided = none, i32 n, bytes[9] b, timeline t "
		"-> f32[...] z");
	const std::vector<parameter> p = s.parameters();

	CLAIM(p.size() == 5 && s.results().size() == 1);
	CLAIM(p[0].kind() == argument_kind::scalar && p[0].is_optional());
	CLAIM(p[0].name() == "a" && p[0].type() == "f32" && p[0].dtype() == dtype_of<float>);
	CLAIM(p[0].default_scalar() == 0x3f000000u && !p[0].access());
	CLAIM(p[1].kind() == argument_kind::array && p[1].access() == access::write);
	CLAIM(p[1].is_optional() && p[1].is_strided() && p[1].is_of_any_type());
	CLAIM(p[1].is_write_only() && !p[1].dtype() && !p[1].default_scalar());
	CLAIM(p[1].shape().size() == 2 && p[1].shape()[0] == -1 && p[1].shape()[1] == 4);
	CLAIM(p[2].is_dimension() && p[2].is_optional());
	CLAIM(p[3].kind() == argument_kind::bytes && p[3].bytes_max() == 9);
	CLAIM(p[4].kind() == argument_kind::timeline && !p[4].is_optional());
	CLAIM(s.results()[0].is_of_any_rank() && s.results()[0].name() == "z");
}

TEST("values of scalars as text")
{
	CLAIM(scalar::parse(dtype_of<float>, "0.5") == 0x3f000000u);
	CLAIM(scalar::text(dtype_of<float>, 0x3f000000u) == "0.5");
	CLAIM(scalar::text(dtype_of<bool>, scalar::parse(dtype_of<bool>, "true")) == "true");
	CLAIM(scalar::try_parse(dtype_of<std::int8_t>, "128").status() == status::invalid);
	CLAIM(scalar::try_text(dtype_of<std::complex<float>>, 0).status() == status::invalid);
}

/* Handles: counted by an object of our own, whose references can be seen */

namespace
{

struct object {
	int refs;
};

object *ref(object *one)
{
	one->refs++;
	return one;
}

object *unref(object *one)
{
	one->refs--;
	return nullptr;
}

class sample : public detail::counted<sample, object, ref, unref>
{
public:
	sample() noexcept {}
};

class single : public detail::handle<single, object, unref>
{
public:
	single() noexcept {}
};

template <class Handle, class C>
constexpr bool is_free_of_overhead = sizeof(Handle) == sizeof(C *) &&
	std::is_nothrow_default_constructible_v<Handle> &&std::is_nothrow_move_constructible_v<
		Handle> &&std::is_nothrow_move_assignable_v<Handle>
		&&std::is_nothrow_destructible_v<Handle> &&std::is_nothrow_swappable_v<Handle>;

static_assert(
	is_free_of_overhead<device, ww_device> && std::is_nothrow_copy_constructible_v<device>);
static_assert(
	is_free_of_overhead<stream, ww_stream> && std::is_nothrow_copy_constructible_v<stream>);
static_assert(
	is_free_of_overhead<memory, ww_memory> && std::is_nothrow_copy_constructible_v<memory>);
static_assert(is_free_of_overhead<pool, ww_pool> && std::is_nothrow_copy_constructible_v<pool>);
static_assert(
	is_free_of_overhead<broker, ww_broker> && std::is_nothrow_copy_constructible_v<broker>);
static_assert(is_free_of_overhead<timeline, ww_timeline> && std::is_copy_assignable_v<timeline>);
static_assert(is_free_of_overhead<event, ww_event> && std::is_nothrow_copy_constructible_v<event>);
static_assert(is_free_of_overhead<barrier, ww_barrier> && std::is_copy_assignable_v<barrier>);
static_assert(
	is_free_of_overhead<cancel, ww_cancel> && std::is_nothrow_copy_constructible_v<cancel>);
static_assert(
	is_free_of_overhead<snapshot, ww_snapshot> && !std::is_copy_constructible_v<snapshot>);
static_assert(is_free_of_overhead<watch, ww_watch> && !std::is_copy_assignable_v<watch>);
static_assert(sizeof(descriptor) == sizeof(int) && !std::is_copy_constructible_v<descriptor>);
static_assert(!std::is_convertible_v<memory, bool>);
static_assert(!std::is_constructible_v<memory, ww_memory *>);

} //namespace

TEST("a copy counts, a move does not")
{
	object one{1};
	{
		sample first = sample::adopt(&one);
		const sample second = first;

		CLAIM(one.refs == 2 && first == second);
		sample third = std::move(first);

		CLAIM(one.refs == 2 && !first && third.get() == &one);
		CLAIM(first != third);
	}
	CLAIM(one.refs == 0);
}

TEST("assignment lets go of what was there")
{
	object one{1}, two{1};
	sample first = sample::adopt(&one), second = sample::adopt(&two);

	first = second;
	CLAIM(one.refs == 0 && two.refs == 2);
	first = sample();
	CLAIM(two.refs == 1 && !first);
	first = std::move(second);
	CLAIM(two.refs == 1 && first.get() == &two && !second);
	first.reset();
	CLAIM(two.refs == 0);
}

TEST("a handle assigned to itself stays")
{
	object one{1};
	sample first = sample::adopt(&one);
	sample &same = first;

	first = same;
	CLAIM(one.refs == 1 && first.get() == &one);
	first = std::move(same);
	CLAIM(one.refs == 1 && first.get() == &one);
	swap(first, same);
	CLAIM(one.refs == 1 && first.get() == &one);
}

TEST("adopt takes a reference, share makes one, release gives it up")
{
	object one{1};
	sample first = sample::share(&one);

	CLAIM(one.refs == 2);
	CLAIM(first.release() == &one && !first && one.refs == 2);
	unref(&one);
	first = sample::adopt(&one);
	CLAIM(one.refs == 1);
	CLAIM(!sample::share(nullptr) && !sample::adopt(nullptr));
	first.reset();
	CLAIM(one.refs == 0);
}

TEST("an empty handle can be copied, moved, swapped and ended")
{
	sample empty, copy = empty, moved = std::move(copy);

	copy = empty;
	swap(moved, empty);
	CLAIM(!empty && !copy && !moved && empty == moved);
}

TEST("a handle that is not counted is moved")
{
	object one{1};
	{
		single first = single::adopt(&one), second;

		second = std::move(first);
		CLAIM(!first && second.get() == &one && one.refs == 1);
		single &same = second;

		second = std::move(same);
		CLAIM(second.get() == &one && one.refs == 1);
	}
	CLAIM(one.refs == 0);
}

TEST("an exception lets go of every handle on its way")
{
	object one{1};
	const sample first = sample::adopt(&one);

	try {
		std::vector<sample> many(10, first);
		const result<sample> held(many[3]);

		CLAIM(one.refs == 12);
		throw error(failure::of(WW_ERR_STATE, "on purpose"));
	} catch (const error &why) {
		CLAIM(why.status() == status::state);
	}
	CLAIM(one.refs == 1);
}

TEST("results move and copy what they hold")
{
	object one{1};
	{
		result<sample> first(sample::adopt(&one));
		const result<sample> copy = first;

		CLAIM(one.refs == 2);
		result<sample> moved = std::move(first);

		CLAIM(one.refs == 2 && *moved == *copy);
		moved = failure::of(WW_ERR_STATE, "gone");
		CLAIM(one.refs == 1 && moved.status() == status::state);
	}
	CLAIM(one.refs == 0);
}

TEST("a descriptor is closed once")
{
	int pair[2];

	CLAIM(::pipe2(pair, O_CLOEXEC) == 0);
	{
		descriptor first = descriptor::adopt(pair[0]);
		descriptor second = std::move(first);
		descriptor &same = second;

		second = std::move(same);
		CLAIM(!first && second.get() == pair[0] && ::fcntl(pair[0], F_GETFD) >= 0);
	}
	CLAIM(::fcntl(pair[0], F_GETFD) < 0);
	descriptor kept = descriptor::adopt(pair[1]);

	CLAIM(::close(kept.release()) == 0 && !kept);
}
