/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.cpp - results, failures, limits on time, texts, spans
 */
#include "test.hpp"

#include <array>
#include <memory>
#include <numeric>

using namespace warpway;
using namespace std::chrono_literals;

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
