/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.cpp - arrays from one process to another, by streams, without a copy
 *
 * The producer's stream fills frames, and the consumer's stream reads them in place. Neither CPU
 * waits for its stream. Each frame is an array, and has a stamp that the CPU has written. The
 * consumer expects both by type: a channel of anything else would be refused.
 *
 *   channel [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <warpway/warpway.hpp>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

static constexpr char name[] = "lab/camera";
static constexpr char stamp_type[] = "stamp/1";
static constexpr std::uint32_t frames = 100;
static constexpr std::int64_t rows = 48, columns = 64;
static constexpr std::size_t count = rows * columns;
static constexpr std::size_t bytes = count * sizeof(std::uint32_t);

struct stamp {
	std::uint32_t camera;
	std::uint32_t exposure_us;
};

static int fail(const char *what)
{
	std::fprintf(stderr, "%s\n", what);
	return 1;
}

static warpway::array image()
{
	return warpway::array::of<std::uint32_t>({rows, columns});
}

static void produce(const warpway::channel &channel, const warpway::stream &stream)
{
	for (std::uint32_t i = 1; i <= frames; i++) {
		const stamp said = {7, 100 * i};
		warpway::frame frame;

		/* Work of the stream that follows may write the slot. */
		if (channel.acquire(frame, warpway::forever, stream) != warpway::outcome::done)
			throw std::runtime_error("no slot");
		stream.fill(frame.raw().pointer, i, count);
		std::memcpy(frame.raw().metadata, &said, sizeof(said));
		frame.raw().bytes = bytes;
		channel.publish(frame, stream);
	}
}

/* Copies the last element of each frame; a kernel would do more. */
static void consume(const warpway::channel &channel, const warpway::stream &stream,
	std::vector<std::uint32_t> &copies)
{
	warpway::frame frame;

	while (channel.receive(frame, warpway::forever, stream) == warpway::outcome::done) {
		const auto *elements = static_cast<const std::uint32_t *>(frame.raw().pointer);
		stamp said;

		std::memcpy(&said, frame.raw().metadata, sizeof(said));
		if (said.camera != 7 || said.exposure_us != 100 * frame.raw().number)
			throw std::runtime_error("this is another camera's stamp");
		stream.copy(&copies.at(frame.raw().number), &elements[count - 1], sizeof(*elements));
		/* The producer gets the slot back when the copy is done. */
		channel.release(frame, stream);
	}
}

/* A byte on standard output says that this consumer is there. */
static int run_consumer(const warpway::device &device)
{
	const warpway::stream stream = warpway::stream::create(device);
	std::vector<std::uint32_t> copies(frames + 1);
	warpway::consumer_options options;

	options.metadata_type = stamp_type;
	options.array = image();
	{
		const warpway::channel channel =
			warpway::channel::get(device, name, warpway::forever, options).value();

		if (::write(STDOUT_FILENO, "!", 1) != 1)
			return fail("the producer is gone");
		consume(channel, stream, copies);
		stream.synchronize();
	}
	for (std::uint32_t i = 1; i <= frames; i++) {
		if (copies[i] != i)
			return fail("these are not the producer's numbers");
	}
	return 0;
}

/* This program, started anew; what it writes is read from what this returns. */
static warpway::descriptor start(std::string device, pid_t &pid)
{
	std::string program = "channel", role = "--consume";
	char *arguments[] = {program.data(), role.data(), device.data(), nullptr};
	posix_spawn_file_actions_t actions;
	int ends[2];

	if (::pipe2(ends, O_CLOEXEC) != 0)
		throw std::runtime_error("no pipe");
	warpway::descriptor out = warpway::descriptor::adopt(ends[0]);
	const warpway::descriptor in = warpway::descriptor::adopt(ends[1]);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in.get(), STDOUT_FILENO);
	const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments,
		environ);

	posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		throw std::runtime_error("the consumer does not start");
	return out;
}

/* A consumer that comes late misses what was published before: so the producer waits for it. */
static int run(const warpway::device &device)
{
	const warpway::stream stream = warpway::stream::create(device);
	warpway::channel_options options;
	char byte;
	pid_t pid;
	int ended;

	options.metadata_bytes = sizeof(stamp);
	options.metadata_type = stamp_type;
	options.array = image();
	warpway::channel channel = warpway::channel::create(device, name, bytes, options);
	const warpway::descriptor consumer = start(std::string(device.info().selector()), pid);

	if (::read(consumer.get(), &byte, 1) != 1)
		return fail("the consumer is gone");
	produce(channel, stream);
	/* As with any memory, the stream's work on the slots ends before they are unmapped. */
	stream.synchronize();
	/* Closes the channel: the consumer gets what was published, and then the end. */
	channel.reset();
	if (::waitpid(pid, &ended, 0) != pid || ended != 0)
		return 1;
	std::printf("%u frames came whole\n", frames);
	return 0;
}

int main(int argc, char **argv)
{
	try {
		if (argc == 3)
			return run_consumer(warpway::device::open(argv[2]));
		return run(argc > 1 ? warpway::device::open(argv[1]) : warpway::device::open());
	} catch (const std::exception &error) {
		return fail(error.what());
	}
}
