/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.cpp - work handed to another process in slices of a pool, and the streams of both in step
 *
 * The producer cuts a slice for each round, has its stream fill it, and sends the consumer a token
 * by a pipe. The consumer's stream waits until the slice is full, by the producer's timeline, and
 * copies it. Nobody waits for the device but at the end.
 *
 *   pool [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <warpway/warpway.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

static constexpr char name[] = "lab/full";
static constexpr std::uint32_t rounds = 5;
static constexpr std::size_t count = 1000;

static int fail(const char *what)
{
	std::fprintf(stderr, "%s\n", what);
	return 1;
}

/* Tokens come on standard input, one after the other. */
static int consume(const warpway::device &device)
{
	const warpway::stream stream = warpway::stream::create(device);
	const warpway::timeline full = warpway::timeline::get(warpway::broker::open(), name);
	std::vector<std::uint32_t> copy(rounds * count);
	warpway::token token;

	for (std::uint32_t round = 1; round <= rounds; round++) {
		if (::read(STDIN_FILENO, token.out(), sizeof(ww_token)) != sizeof(ww_token))
			return fail("the producer is gone");
		warpway::mapping slice = warpway::memory::import_token(device, token);

		full.stream_wait(stream, round);
		stream.copy(&copy[(round - 1) * count], slice.pointer(), count * sizeof(copy[0]));
		warpway::pool::release(std::move(slice.memory), stream);
	}
	stream.synchronize();
	for (std::uint32_t round = 1; round <= rounds; round++)
		std::printf("round %u: %u\n", round, copy[round * count - 1]);
	return copy.back() == rounds * rounds ? 0 : fail("these are not the producer's numbers");
}

static void produce(const warpway::pool &pool, const warpway::stream &stream,
	const warpway::timeline &full, int consumer)
{
	for (std::uint32_t round = 1; round <= rounds; round++) {
		warpway::memory slice = pool.alloc(count * sizeof(round));

		stream.fill(slice.pointer(), round * round, count);
		full.stream_signal(stream, round);
		const warpway::token token = slice.export_token();

		if (::write(consumer, token.bytes().data(), token.bytes().size()) < 0)
			throw std::runtime_error("the consumer is gone");
		warpway::pool::release(std::move(slice), stream);
	}
}

/*
 * The second process: this program, started anew, which reads what is written to what this returns.
 */
static warpway::descriptor start(std::string device, pid_t &pid)
{
	std::string program = "pool", role = "--consume";
	char *arguments[] = {program.data(), role.data(), device.data(), nullptr};
	posix_spawn_file_actions_t actions;
	int ends[2];

	if (::pipe2(ends, O_CLOEXEC) != 0)
		throw std::runtime_error("no pipe");
	const warpway::descriptor out = warpway::descriptor::adopt(ends[0]);
	warpway::descriptor in = warpway::descriptor::adopt(ends[1]);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out.get(), STDIN_FILENO);
	const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments,
		environ);

	posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		throw std::runtime_error("the consumer does not start");
	return in;
}

/* Pool and timeline are this process's, and go with it: so it stays until the other has ended. */
static int run(const warpway::device &device)
{
	const warpway::pool pool = warpway::pool::create(device);
	const warpway::stream stream = warpway::stream::create(device);
	const warpway::timeline full = warpway::timeline::create();
	pid_t pid;
	int ended;

	std::signal(SIGPIPE, SIG_IGN);
	full.put(warpway::broker::open(), name);
	warpway::descriptor consumer = start(std::string(device.info().selector()), pid);

	produce(pool, stream, full, consumer.get());
	consumer.reset();
	return ::waitpid(pid, &ended, 0) == pid && ended == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	try {
		if (argc == 3)
			return consume(warpway::device::open(argv[2]));
		return run(argc > 1 ? warpway::device::open(argv[1]) : warpway::device::open());
	} catch (const std::exception &error) {
		return fail(error.what());
	}
}
