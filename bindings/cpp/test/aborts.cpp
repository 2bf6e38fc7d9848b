/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aborts.cpp - the interface without exceptions: a failure that is looked at goes on, one that is
 * not ends the program with its message
 *
 *   cpp_aborts            the tests
 *   cpp_aborts --fail     asks a failure for its value
 */
#include <warpway/warpway.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

using namespace warpway;

static_assert(WARPWAY_EXCEPTIONS == 0);

static int claims, failures;

static void claim(bool holds, const char *what)
{
	std::printf("%sok %d - %s\n", holds ? "" : "not ", ++claims, what);
	failures += !holds;
}

/* What is printed by this program when it is started so that it fails, and how it ended. */
static int fail_elsewhere(char *text, std::size_t room)
{
	char name[] = "cpp_aborts", mode[] = "--fail";
	char *arguments[] = {name, mode, nullptr};
	posix_spawn_file_actions_t actions;
	std::size_t count = 0;
	ssize_t got;
	pid_t pid;
	int ends[2], ended = -1;

	if (::pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	descriptor out = descriptor::adopt(ends[0]), in = descriptor::adopt(ends[1]);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in.get(), STDERR_FILENO);
	const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments,
		environ);

	posix_spawn_file_actions_destroy(&actions);
	in.reset();
	if (error != 0)
		return -1;
	while ((got = ::read(out.get(), text + count, room - 1 - count)) > 0)
		count += static_cast<std::size_t>(got);
	text[count] = '\0';
	return ::waitpid(pid, &ended, 0) == pid ? ended : -1;
}

static int fail()
{
	const rlimit no_core{0, 0};

	setrlimit(RLIMIT_CORE, &no_core);
	device::open("no such device");
	return 0;
}

int main(int argc, char **argv)
{
	char text[4096] = "";

	if (argc > 1 && std::strcmp(argv[1], "--fail") == 0)
		return fail();

	const result<device> none = device::try_open("no such device");

	claim(!none && none.status() == status::invalid, "a failure that is looked at goes on");
	const result<memory> made = device::try_open("host").and_then(
		[](const device &on) noexcept {
			return memory::try_create(on, 4096, memory_kind::host);
		});

	claim(made && !made->try_span<int>()->empty(), "a value is there");
	int calls = 0;
	{
		const stream by = stream::create(device::open("host"));

		by.call([&calls]() noexcept { calls++; });
		by.synchronize();
	}
	claim(calls == 1, "a stream calls a function object");

	const int ended = fail_elsewhere(text, sizeof(text));

	claim(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT, "a failure's value aborts");
	claim(std::strstr(text, "warpway: WW_ERR_INVALID: ") == text, "and says why before");
	std::printf("1..%d\n", claims);
	return failures ? 1 : 0;
}
