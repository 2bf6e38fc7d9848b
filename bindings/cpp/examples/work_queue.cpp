/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.cpp - work for several processes, each piece for one of them
 *
 * This process publishes arrays, and two workers share them. Each array is worked on once; a worker
 * that cannot do it gives it back, and the other one gets it as a repeat.
 *
 *   work_queue [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <warpway/warpway.hpp>

#include <cstdio>
#include <exception>
#include <numeric>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

static constexpr char name[] = "lab/jobs";
static constexpr std::uint32_t jobs = 50;
static constexpr std::int64_t count = 4096;
static constexpr std::size_t bytes = count * sizeof(std::uint32_t);

static warpway::array numbers()
{
	return warpway::array::of<std::uint32_t>({count});
}

static void publish(const warpway::work_queue &queue, const warpway::stream &stream)
{
	for (std::uint32_t i = 1; i <= jobs; i++) {
		warpway::frame job;

		/* Waits as long as all slots have jobs that are not done. */
		if (queue.acquire(job, warpway::forever, stream) != warpway::outcome::done)
			throw std::runtime_error("no slot");
		stream.fill(job.raw().pointer, i, count);
		job.raw().bytes = bytes;
		queue.publish(job, stream);
	}
	stream.synchronize();
}

static void work(const warpway::stream &stream, const warpway::frame &job)
{
	std::vector<std::uint32_t> elements(count);
	const std::uint64_t expected = job.raw().number * count;

	stream.copy(elements.data(), job.raw().pointer, bytes);
	stream.synchronize();
	if (std::accumulate(elements.begin(), elements.end(), std::uint64_t(0)) != expected)
		throw std::runtime_error("these are not the producer's numbers");
}

/* The queue ends for a worker when all jobs are done, by whichever worker. */
static int run_worker(const warpway::device &device)
{
	const warpway::stream stream = warpway::stream::create(device);
	warpway::work_member_options expected;
	warpway::frame job;
	unsigned done = 0;

	expected.array = numbers();
	const warpway::work_queue queue = warpway::work_queue::get(device, name,
		warpway::work_role::consumer, warpway::forever, expected)
						  .value();

	while (queue.receive(job, warpway::forever, stream) == warpway::outcome::done) {
		if (job.raw().number % 10 == 0 && !job.is_repeat()) {
			stream.synchronize();
			queue.reject(job);
			continue;
		}
		work(stream, job);
		queue.acknowledge(job);
		done++;
	}
	std::printf("a worker has done %u jobs\n", done);
	return 0;
}

/* This program, started anew. */
static pid_t start(std::string device)
{
	std::string program = "work_queue", role = "--work";
	char *arguments[] = {program.data(), role.data(), device.data(), nullptr};
	pid_t pid;

	if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0)
		throw std::runtime_error("the worker does not start");
	return pid;
}

static int run(const warpway::device &device)
{
	const warpway::stream stream = warpway::stream::create(device);
	warpway::work_queue_options options;
	int failures = 0;

	options.array = numbers();
	const warpway::work_queue queue = warpway::work_queue::create(device, name, bytes,
		options); /* which it keeps */
	const std::string selector(device.info().selector());
	const pid_t workers[] = {start(selector), start(selector)};

	/* The producer leaves when it has published; its jobs stay until they are done. */
	publish(warpway::work_queue::get(device, name, warpway::work_role::producer,
			warpway::forever)
			.value(),
		stream);
	queue.close(); /* that was all */
	for (const pid_t worker : workers) {
		int ended;

		failures += ::waitpid(worker, &ended, 0) != worker || ended != 0;
	}
	return failures;
}

int main(int argc, char **argv)
{
	try {
		if (argc == 3)
			return run_worker(warpway::device::open(argv[2]));
		return run(argc > 1 ? warpway::device::open(argv[1]) : warpway::device::open());
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
}
