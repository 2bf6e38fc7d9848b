/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.cpp - an array under a name, and another process that uses it in place
 *
 * The first process puts twelve floats into the broker, as an array of 3 rows. The second gets it
 * by its name and prints the last column, without a copy.
 *
 *   array [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <warpway/warpway.hpp>

#include <cstdio>
#include <exception>
#include <numeric>
#include <spawn.h>
#include <string>
#include <sys/wait.h>

extern char **environ;

static constexpr char name[] = "lab/weights";

static void put(const warpway::broker &broker, const warpway::device &device)
{
	const warpway::memory memory = warpway::memory::create(device, 4096,
		warpway::memory_kind::host);
	const warpway::span<float> numbers = memory.span<float>();
	warpway::put_options options;

	std::iota(numbers.begin(), numbers.begin() + 12, 0.0F);
	options.array = warpway::array::of<float>({3, 4});
	options.life = warpway::life::kept;
	memory.put(broker, name, options);
}

static void get(const warpway::broker &broker, const warpway::device &device)
{
	const warpway::mapping weights = warpway::memory::get(device, broker, name);
	const warpway::array column = weights.info.array().value().index(1, -1);
	const warpway::span<const std::byte> bytes = weights.span<const std::byte>();

	for (std::int64_t row = 0; row < column.shape()[0]; row++) {
		const std::byte *element = bytes.data() + column.offset() +
			static_cast<std::size_t>(row * column.strides()[0]);

		std::printf("%g\n", static_cast<double>(*reinterpret_cast<const float *>(element)));
	}
}

/* The second process: this program, started anew. CUDA forbids fork() alone. */
static int start(std::string device)
{
	std::string program = "array", role = "--get";
	char *arguments[] = {program.data(), role.data(), device.data(), nullptr};
	pid_t pid;
	int ended;

	if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0 ||
		waitpid(pid, &ended, 0) != pid)
		return 1;
	return ended ? 1 : 0;
}

int main(int argc, char **argv)
{
	try {
		const warpway::broker broker = warpway::broker::open();

		if (argc == 3) {
			get(broker, warpway::device::open(argv[2]));
			return 0;
		}
		const warpway::device device = argc > 1 ? warpway::device::open(argv[1])
							: warpway::device::open();

		put(broker, device);
		const int status = start(std::string(device.info().selector()));

		broker.remove(name);
		return status;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
}
