/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.cpp - a server computes on arrays for a client that has no device
 *
 * The server offers two functions: the first makes an array on the server's device, and the second
 * adds up the elements of an array. The client calls the first one, gets a token of the array, and
 * passes the token to the second one. The array stays on the server's device.
 *
 *   service [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <warpway/warpway.hpp>

#include <chrono>
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

static constexpr char name[] = "lab/compute";
static constexpr std::uint64_t count = 1000;
static constexpr std::uint32_t element = 7;

/* --- the server: a function must not throw, so it uses the try_ calls --- */

/* The stream of the call fills the array. The function does not wait for the stream. */
static warpway::result<void> make(const warpway::device &device, const warpway::call &call)
{
	const std::uint64_t wanted = *call.argument(0).as<std::uint64_t>();
	const std::int64_t shape[] = {static_cast<std::int64_t>(wanted)};
	const auto array = warpway::array::try_of<std::uint32_t>(shape);
	const auto memory = warpway::memory::try_create(device, wanted * sizeof(element));

	if (!array)
		return array.error();
	if (!memory)
		return memory.error();
	return call.try_work_stream()
		.and_then([&](const warpway::stream &stream) noexcept {
			return stream.try_fill(memory->pointer(),
				*call.argument(1).as<std::uint32_t>(), wanted);
		})
		.and_then([&]() noexcept {
			return call.try_result(0, {*memory, *array});
		});
}

static warpway::result<void> sum(const warpway::call &call)
{
	const warpway::value x = call.argument(0);
	std::vector<std::uint32_t> elements(static_cast<std::size_t>(x.raw().array->shape[0]));

	return call.try_work_stream()
		.and_then([&](const warpway::stream &stream) noexcept {
			return stream
				.try_copy(elements.data(), x.pointer(),
					elements.size() * sizeof(element))
				.and_then([&]() noexcept { return stream.try_synchronize(); });
		})
		.and_then([&]() noexcept {
			return call.try_result(0,
				std::accumulate(elements.begin(), elements.end(),
					std::uint64_t(0)));
		});
}

/* Serves until the client has ended. The service borrows the function objects. */
static int serve(const warpway::device &device, pid_t client)
{
	auto makes = [&device](const warpway::call &call) { return make(device, call); };
	auto sums = [](const warpway::call &call) { return sum(call); };
	const warpway::service service = warpway::service::create(device, name);
	int ended = 0;

	service.offer("make", "u64 count, u32 value -> u32[n] x", makes);
	service.offer("sum", "u32[n] x read -> u64 sum", sums);
	service.start();
	while (::waitpid(client, &ended, WNOHANG) == 0)
		service.serve(std::chrono::milliseconds(10));
	return ended == 0 ? 0 : 1;
}

/* --- the client --- */

static warpway::ticket call(const warpway::client &client, const char *function,
	std::initializer_list<warpway::value> arguments)
{
	const auto found = client.try_find(function, nullptr, warpway::forever).value();

	return client.call(*found, arguments, std::chrono::seconds(60)).value();
}

static int run_client()
{
	const warpway::client client = warpway::client::open(name, warpway::forever).value();
	const warpway::ticket made = call(client, "make", {count, element});
	const warpway::ticket added = call(client, "sum", {made.result(0)});
	const std::uint64_t total = *added.result(0).as<std::uint64_t>();

	std::printf("%u added %u times: %u\n", element, static_cast<unsigned>(count),
		static_cast<unsigned>(total));
	return total == count * element ? 0 : 1;
}

/* This program, started anew. */
static pid_t start_client()
{
	std::string program = "service", role = "--client";
	char *arguments[] = {program.data(), role.data(), nullptr};
	pid_t pid;

	if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0)
		throw std::runtime_error("the client does not start");
	return pid;
}

int main(int argc, char **argv)
{
	try {
		if (argc == 2 && std::string(argv[1]) == "--client")
			return run_client();
		const warpway::device device = argc > 1 ? warpway::device::open(argv[1])
							: warpway::device::open();

		return serve(device, start_client());
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
}
