/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.cpp - runs the tests, or, started by one of them, is the other process (other.hpp)
 *
 *   cpp             all tests
 *   cpp WHAT...     those with one of these names
 */
#include "test.hpp"
#include "other.hpp"

#include <cstdio>
#include <exception>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

namespace test
{

std::vector<test> &all()
{
	static std::vector<test> tests;

	return tests;
}

} //namespace test

namespace other
{

/* Imports what a token names, looks for the number in it, and leaves the next one. */
static void increment(const char *text)
{
	const warpway::device on = test::device();
	const warpway::mapping there = warpway::memory::import_token(on,
		warpway::token::from_text(text), {warpway::access::write});
	int number = 0;

	there.memory.read(0, &number, sizeof(number));
	number++;
	there.memory.write(0, &number, sizeof(number));
}

/* Makes a timeline, names it, signals 1, and ends with it when it is told to. */
static void signal_once(const char *name, const char *until)
{
	const warpway::broker broker = warpway::broker::open();
	const warpway::timeline mine = warpway::timeline::create();

	mine.put(broker, name);
	mine.signal(1);
	warpway::timeline::get(broker, until).wait(1);
}

int run(const char *role, int count, char **arguments)
{
	const std::string_view what = role;

	try {
		if (what == "increment" && count == 1)
			increment(arguments[0]);
		else if (what == "signal" && count == 2)
			signal_once(arguments[0], arguments[1]);
		else
			return 2;
	} catch (const std::exception &why) {
		std::fprintf(stderr, "# %s: %s\n", role, why.what());
		return 1;
	}
	return 0;
}

int start(const char *role, std::initializer_list<std::string> arguments)
{
	std::vector<std::string> words{"cpp", mark, role};
	std::vector<char *> list;
	pid_t pid;
	int ended;

	words.insert(words.end(), arguments);
	for (std::string &word : words)
		list.push_back(word.data());
	list.push_back(nullptr);
	if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, list.data(), environ) != 0 ||
		waitpid(pid, &ended, 0) != pid)
		return -1;
	return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

} //namespace other

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
