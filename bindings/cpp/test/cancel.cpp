/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.cpp - calls that wait, ended by another thread
 */
#include "test.hpp"

#include <csignal>
#include <thread>

using namespace warpway;
using namespace std::chrono_literals;

TEST("a flag is set and cleared, and a copy is the same flag")
{
	const cancel stop = cancel::create();
	const cancel same = stop;

	CLAIM(!stop.is_set() && same == stop);
	same.set();
	CLAIM(stop.is_set() && same.is_set());
	stop.clear();
	CLAIM(!stop.is_set() && !same.is_set());
	CLAIM(cancel::create() != stop);
}

TEST("an empty cancel is no flag")
{
	const cancel none;
	const timeline mine = timeline::create();

	none.set();
	CLAIM(!none && !none.is_set());
	none.clear();
	CLAIM(mine.wait(1, 1ms, none) == outcome::timed_out);
	CLAIM(mine.wait(1, 1ms, {}) == outcome::timed_out);
}

TEST("another thread ends a wait")
{
	const timeline mine = timeline::create();
	const cancel stop = cancel::create();
	outcome ended = outcome::done;
	std::thread waiter([&] { ended = mine.wait(1, forever, stop); });

	std::this_thread::sleep_for(20ms);
	stop.set();
	waiter.join();
	CLAIM(ended == outcome::cancelled);
	CLAIM(mine.info().completed() == 0);
}

TEST("one flag ends the waits of several threads")
{
	const timeline mine = timeline::create();
	const cancel stop = cancel::create();
	outcome ended[4]{};
	std::vector<std::thread> waiters;

	for (outcome &one : ended)
		waiters.emplace_back([&] { one = mine.wait(1, forever, stop); });
	stop.set();
	for (std::thread &waiter : waiters)
		waiter.join();
	for (const outcome one : ended)
		CLAIM(one == outcome::cancelled);
}

TEST("a flag that was set before ends a wait at once")
{
	const timeline mine = timeline::create();
	const cancel stop = cancel::create();

	stop.set();
	CLAIM(mine.wait(1, forever, stop) == outcome::cancelled);
	const result<outcome> tried = mine.try_wait(1, 1h, stop);

	CLAIM(tried && *tried == outcome::cancelled && tried.status() == status::ok);
	stop.clear();
	CLAIM(mine.wait(1, 1ms, stop) == outcome::timed_out);
}

TEST("a call that need not wait succeeds, also when the flag is set")
{
	const timeline mine = timeline::create();
	const cancel stop = cancel::create();

	mine.signal(1);
	stop.set();
	CLAIM(mine.wait(1, forever, stop) == outcome::done);
	CLAIM(mine.wait(1, 0s, stop) == outcome::done);
	CLAIM(stop.is_set());
}

TEST("a signal handler sets a flag")
{
	static cancel stop;
	const timeline mine = timeline::create();

	stop = cancel::create();
	std::signal(SIGUSR1, [](int) { stop.set(); });
	std::raise(SIGUSR1);
	std::signal(SIGUSR1, SIG_DFL);
	CLAIM(mine.wait(1, forever, stop) == outcome::cancelled);
	stop.reset();
}

TEST("the flag lives as long as a copy of it")
{
	const timeline mine = timeline::create();
	cancel stop = cancel::create();
	outcome ended = outcome::done;
	std::thread waiter([&mine, &ended, own = stop] { ended = mine.wait(1, forever, own); });

	stop.set();
	stop.reset();
	waiter.join();
	CLAIM(!stop && ended == outcome::cancelled);
}

TEST("what waits for a stream ends, and the stream goes on")
{
	const device on = test::device_with(capability::stream_value, "values of streams");
	const stream by = stream::create(on);
	const timeline mine = timeline::create();
	const cancel stop = cancel::create();

	mine.prepare(on);
	CLAIM(mine.stream_wait(by, 1, 0s, wait_mode::unsubmitted) == outcome::done);
	CLAIM(by.synchronize(1ms) == outcome::timed_out);
	stop.set();
	CLAIM(by.synchronize(forever, stop) == outcome::cancelled);
	CLAIM(mine.stream_wait(by, 2, forever, wait_mode::usual, stop) == outcome::cancelled);
	mine.signal(1);
	by.synchronize();
	CLAIM(by.synchronize(forever, stop) == outcome::done);
}

TEST("a status and an outcome have the same name")
{
	CLAIM(name_of(status::cancelled) == std::string("WW_CANCELLED"));
	CLAIM(name_of(status::given_up) == std::string("WW_ERR_GIVEN_UP"));
	CLAIM(static_cast<std::int32_t>(outcome::cancelled) == WW_CANCELLED);
}
