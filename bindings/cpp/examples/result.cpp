/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.cpp - the same library without exceptions
 *
 * Every call is there as try_x(), which returns a value or the reason why there is none.
 *
 *   result [DEVICE]      such as "cuda:0" or "host"; default: host
 */
#include <warpway/warpway.hpp>

#include <cstdio>

static warpway::result<std::uint32_t> fill_and_read(const warpway::device &device) noexcept
{
	const warpway::result<warpway::stream> stream = warpway::stream::try_create(device);

	if (!stream)
		return stream.error();
	const warpway::result<warpway::memory> memory = warpway::memory::try_create(device, 4096);

	if (!memory)
		return memory.error();
	std::uint32_t number = 0;

	return stream->try_fill(memory->pointer(), 4711U, 1)
		.and_then([&]() noexcept {
			return stream->try_copy(&number, memory->pointer(), sizeof(number));
		})
		.and_then([&]() noexcept { return stream->try_synchronize(); })
		.and_then([&]() noexcept { return warpway::result<std::uint32_t>(number); });
}

int main(int argc, char **argv)
{
	const warpway::result<warpway::device> device = warpway::device::try_open(
		argc > 1 ? argv[1] : "host");

	if (!device) {
		std::fprintf(stderr, "no device: %s\n", device.error().message());
		return 1;
	}

	const warpway::result<std::uint32_t> number = fill_and_read(*device);

	if (!number) {
		std::fprintf(stderr, "%s: %s\n", name_of(number.status()),
			number.error().message());
		return 1;
	}
	std::printf("the stream wrote %u\n", *number);

	/*
	 * A failure that was expected is a status to look at, and a wait that took too long is no
	 * failure.
	 */
	const warpway::result<warpway::timeline> timeline = warpway::timeline::try_create();

	if (!timeline || timeline->try_signal(0).status() != warpway::status::invalid)
		return 1;
	const auto waited = timeline->try_wait(1, std::chrono::milliseconds(1));

	return waited && *waited == warpway::outcome::timed_out ? 0 : 1;
}
