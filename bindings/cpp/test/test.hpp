/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test.hpp - tests of the C++ interface, as lines of the Test Anything Protocol
 *
 * TEST(what) { ... } is a test; it passes unless a claim fails or an exception leaves it. The
 * environment says on which device: WW_TEST_DEVICE.
 */
#ifndef TEST_HPP
#define TEST_HPP

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <warpway/warpway.hpp>

namespace test
{

struct failed : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct skipped : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct test {
	const char *what;
	void (*run)();
};

std::vector<test> &all();

struct entry {
	entry(const char *what, void (*run)()) { all().push_back({what, run}); }
};

/* Said at once: a thread that is still running ends the program. */
[[noreturn]] inline void fail(const char *file, int line, const std::string &what)
{
	std::printf("# %s:%d: %s\n", file, line, what.c_str());
	throw failed(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

inline void claim(bool holds, const char *file, int line, const char *what)
{
	if (!holds)
		fail(file, line, std::string("does not hold: ") + what);
}

/* The call throws an error with this status, and a message. */
template <class Call>
void refused(Call &&call, warpway::status why, const char *file, int line)
{
	try {
		call();
	} catch (const warpway::error &error) {
		if (error.status() != why)
			fail(file, line,
				std::string(name_of(error.status())) + ": " + error.what());
		claim(error.what()[0] != '\0', file, line, "an error has a message");
		return;
	}
	fail(file, line, "nothing was thrown");
}

/* The device under test. */
inline warpway::device device()
{
	const char *name = std::getenv("WW_TEST_DEVICE");

	return warpway::device::open(name ? name : "host");
}

/* Skips unless the device under test can do it. */
inline warpway::device device_with(warpway::capability what, const char *called)
{
	warpway::device on = device();

	if (!on.info().has(what))
		throw skipped(std::string(on.info().selector()) + " has not " + called);
	return on;
}

} //namespace test

#define JOINED_AGAIN(a, b) a##b
#define JOINED(a, b)       JOINED_AGAIN(a, b)

#define TEST(what)                                                                       \
	static void JOINED(run_, __LINE__)();                                            \
	static const test::entry JOINED(entry_, __LINE__)(what, JOINED(run_, __LINE__)); \
	static void JOINED(run_, __LINE__)()

#define CLAIM(...) test::claim(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define REFUSED(why, ...) \
	test::refused([&] { static_cast<void>(__VA_ARGS__); }, why, __FILE__, __LINE__)

#endif
