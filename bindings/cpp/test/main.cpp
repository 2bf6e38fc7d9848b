/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.cpp - runs the tests, or, started by one of them, is the other process
 *
 *   cpp             all tests
 *   cpp WHAT...     those with one of these names
 */
#include "test.hpp"
#include "other.hpp"

#include <cstdio>
#include <exception>

namespace test
{

std::vector<test> &all()
{
	static std::vector<test> tests;

	return tests;
}

} //namespace test

static bool wanted(const test::test &one, int count, char **names)
{
	for (int i = 1; i < count; i++) {
		if (std::string_view(names[i]) == one.what)
			return true;
	}
	return count < 2;
}

/* Whether it did not fail. */
static bool run(const test::test &one, int number)
{
	try {
		one.run();
		std::printf("ok %d - %s\n", number, one.what);
	} catch (const test::skipped &why) {
		std::printf("ok %d - %s # SKIP %s\n", number, one.what, why.what());
	} catch (const std::exception &why) {
		std::printf("not ok %d - %s\n# %s\n", number, one.what, why.what());
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	int number = 0, failures = 0;

	if (argc > 2 && std::string_view(argv[1]) == other::mark)
		return other::run(argv[2], argc - 3, argv + 3);
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	for (const test::test &one : test::all()) {
		if (wanted(one, argc, argv))
			failures += !run(one, ++number);
	}
	std::printf("1..%d\n", number);
	return failures ? 1 : 0;
}
