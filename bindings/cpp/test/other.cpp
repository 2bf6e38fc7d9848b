/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other.cpp - what a second process does, see other.hpp
 */
#include "other.hpp"
#include "test.hpp"

#include <cstdio>
#include <exception>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

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
