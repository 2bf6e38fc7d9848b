/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.cpp - a service and its client in one process
 */
#include "test.hpp"

#include <cstring>
#include <poll.h>
#include <thread>

using namespace warpway;
using namespace std::chrono_literals;

TEST("functions are offered, found, called, fail and drain")
{
	const device on = test::device();
	const service made = service::create(on, "cpp/service");
	auto scale = [](const call &what) -> result<void> {
		const double factor = *what.argument(0).as<double>();
		const value by = what.argument(1);

		return what.try_result(0, factor * *by.as<double>());
	};
	auto echo = [](const call &what) -> result<void> {
		if (what.argument(0).bytes().empty())
			return what.fail(status::invalid, "nothing can be echoed");
		return what.try_result(0, what.argument(0));
	};
	function_options options;

	options.is_idempotent = true;
	made.offer("scale", "f64 x, f64 by = 2 -> f64 y", scale, options);
	made.offer("echo", "bytes data -> bytes same", echo);
	made.start();
	std::thread serving([&made] { CLAIM(made.serve(forever) == outcome::end); });
	const client caller = *client::open("cpp/service", forever);

	CLAIM(caller.wait_ready(forever) == outcome::done);
	CLAIM(caller.service().functions() == 2 && caller.function(0)->is_idempotent());
	CLAIM(!std::strcmp(caller.function(1)->name(), "echo") && !caller.function(2));
	CLAIM(made.function(0)->hash() == caller.function(0)->hash());
	const std::uint32_t by_two = caller.find("scale");
	submit_options repeats;

	repeats.repeats = true;
	const std::optional<ticket> first = caller.call(by_two, {21.0}, forever, repeats);

	CLAIM(*first->result(0).as<double>() == 42.0);
	const std::optional<ticket> second = caller.submit(caller.find("echo"),
		{std::string_view("abc")}, forever);

	CLAIM(second->wait(forever) == outcome::done);
	CLAIM(second->result(0).bytes() == "abc" && second->info().has_started());
	second->cancel_call();
	REFUSED(status::invalid, caller.call(caller.find("echo"), {std::string_view()}, forever));
	REFUSED(status::mismatch, caller.find("scale", "f32 x -> f32 y"));
	REFUSED(status::mismatch, caller.submit(by_two, {1.0f}, 0s));
	REFUSED(status::invalid, caller.submit(by_two, {1.0}, 0s, repeats));
	made.drain();
	serving.join();
	REFUSED(status::unavailable, caller.submit(by_two, {1.0}, 0s));
	CLAIM(made.info().state() == service_state::draining);
}

TEST("calls of several lanes run at once")
{
	const device on = test::device();
	const service made = service::create(on, "cpp/batch");
	auto count = [](const call_batch &calls) -> result<void> {
		for (std::uint32_t i = 0; i < calls.size(); i++) {
			if (*calls[i].argument(0).as<bool>())
				calls[i].result(0, calls.size());
			else
				static_cast<void>(calls[i].fail(status::invalid, "not this one"));
		}
		return {};
	};
	function_options options;

	options.batch_calls_max = 3;
	options.batch_wait = 60s;
	made.offer_batch("count", "bool counts -> u32 calls", count, options);
	made.start();
	const client caller = *client::open("cpp/batch", forever);
	const std::uint32_t counted = caller.find("count");
	std::optional<ticket> tickets[3];
	submit_options lane;

	for (std::optional<ticket> &one : tickets) {
		one = caller.submit(counted, {lane.lane != 1}, forever, lane);
		lane.lane++;
	}
	CLAIM(made.serve(0s) == outcome::timed_out);
	CLAIM(tickets[0]->wait(forever) == outcome::done);
	CLAIM(*tickets[0]->result(0).as<std::uint32_t>() == 3);
	REFUSED(status::invalid, tickets[1]->wait(forever));
	CLAIM(tickets[2]->wait(forever) == outcome::done);
	CLAIM(caller.function(0)->batches() == 1 && caller.function(0)->batch_calls_max() == 3);
	options.batch_calls_max = 1000;
	REFUSED(status::invalid, made.offer_batch("more", "", count, options));
}

TEST("a chain ends at its first failure, and a call depends on several others")
{
	const device on = test::device();
	const service made = service::create(on, "cpp/chain");
	auto check = [](const call &what) -> result<void> {
		if (*what.argument(0).as<std::uint32_t>() > 1)
			return what.fail(status::invalid, "above 1");
		return {};
	};

	made.offer("check", "u32 number", check);
	made.start();
	const client caller = *client::open("cpp/chain", forever);
	const std::uint32_t checks = caller.find("check");
	std::optional<ticket> tickets[4];
	submit_options options;

	options.chains = true;
	for (std::uint32_t i = 0; i < 3; i++)
		tickets[i] = caller.submit(checks, {2 - i}, forever, options);
	options.chains = false;
	options.lane = 1;
	options.depends_more = {tickets[0]->info().number(), tickets[2]->info().number()};
	tickets[3] = caller.submit(checks, {std::uint32_t{0}}, forever, options);
	CLAIM(made.serve(0s) == outcome::timed_out);
	REFUSED(status::invalid, tickets[0]->wait(forever));
	for (std::uint32_t i = 1; i < 4; i++) {
		REFUSED(status::dependency_failed, tickets[i]->wait(forever));
		CLAIM(tickets[i]->info().failed_call() == 1);
	}
}

TEST("a descriptor shows that there are calls")
{
	const device on = test::device();
	const service made = service::create(on, "cpp/shown");
	auto nothing = [](const call &) -> result<void> { return {}; };

	made.offer("nop", "", nothing);
	made.start();
	const descriptor shows = made.eventfd();
	pollfd look = {shows.get(), POLLIN, 0};

	CLAIM(made.serve(0s) == outcome::timed_out && poll(&look, 1, 0) == 0);
	const client caller = *client::open("cpp/shown", forever);
	const std::optional<ticket> first = caller.submit(caller.find("nop"), {}, forever);

	CLAIM(poll(&look, 1, 60000) == 1 && made.serve(0s) == outcome::timed_out);
	CLAIM(first->wait(forever) == outcome::done);
}

TEST("a call starts after a value of a timeline, which goes by itself or as a token")
{
	const device on = test::device();
	const service made = service::create(on, "");

	auto nop = [](const call &) -> result<void> { return {}; };

	made.offer("nop", "", nop);
	made.start();
	token_options no_escrow;

	no_escrow.escrow = 0ns;
	const client caller = client::import_token(made.export_token(access::write, no_escrow));
	const timeline awaited = timeline::create();
	submit_options options;

	options.after = &awaited;
	options.after_value = 1;
	const std::optional<ticket> first = caller.submit(caller.find("nop"), {}, forever, options);
	const token named = awaited.export_token(no_escrow);

	options.after = nullptr;
	options.after_token = &named;
	options.after_value = 2;
	options.lane = 1;
	const std::optional<ticket> second = caller.submit(caller.find("nop"), {}, forever,
		options);

	CLAIM(made.serve(10ms) == outcome::timed_out);
	CLAIM(first->wait(0s) == outcome::not_ready && second->wait(0s) == outcome::not_ready);
	awaited.signal(1);
	while (first->wait(0s) == outcome::not_ready)
		CLAIM(made.serve(1ms) == outcome::timed_out);
	CLAIM(second->wait(0s) == outcome::not_ready);
	awaited.signal(2);
	while (second->wait(0s) == outcome::not_ready)
		CLAIM(made.serve(1ms) == outcome::timed_out);
	options.after_token = nullptr;
	options.after_value = 3;
	REFUSED(status::invalid, caller.submit(caller.find("nop"), {}, forever, options));
}

TEST("a function fills a memory by its stream; observers cannot call; tokens open a service")
{
	const device on = test::device();
	const service made = service::create(on, "");
	auto fill = [](const call &what) -> result<void> {
		const stream by = what.work_stream();

		by.fill(what.argument(0).pointer(), std::uint8_t{7}, 4096);
		CLAIM(what.info().number() == 1 && !what.is_cancelled());
		return {};
	};

	made.offer("fill", "u8[*] x write", fill);
	made.start();
	token_options options;

	options.escrow = 0ns;
	client_options observes;

	observes.observes = true;
	const client observer = client::import_token(made.export_token(access::read, options),
		observes);

	REFUSED(status::access, observer.submit(observer.find("fill"), {}, 0s));
	const client caller = client::import_token(made.export_token(access::write, options));
	const memory bytes = memory::create(on, 4096);
	const std::optional<ticket> pending = caller.submit(caller.find("fill"), {bytes}, forever);

	while (pending->wait(0s) == outcome::not_ready)
		CLAIM(made.serve(0s) == outcome::timed_out);
	std::uint8_t read = 0;

	bytes.read(4095, &read, 1);
	CLAIM(read == 7);
}

TEST("built-in functions make, write, read and free memory; both kinds are off")
{
	const device on = test::device();
	auto nothing = [](const call &) -> result<void> { return {}; };
	service_options options;

	REFUSED(status::invalid, service::create(on, "").offer("warpway.copy", "", nothing));
	options.builtin_alloc = true;
	CLAIM(!std::strcmp(service::create(on, "", options).function(0)->name(), "warpway.alloc"));
	options.builtin_data = true;
	options.alloc_bytes_max = 1 << 22;
	options.keep = forever;
	options.after_streams = WW_SERVICE_AFTER_STREAMS_MAX + 1;
	REFUSED(status::invalid, service::create(on, "", options));
	options.after_streams = WW_SERVICE_AFTER_STREAMS_MAX;
	const service made = service::create(on, "", options);

	CLAIM(made.info().functions() == 6);
	made.start();
	std::thread serving([&made] { CLAIM(made.serve(forever) == outcome::end); });
	token_options no_escrow;

	no_escrow.escrow = 0ns;
	const client caller = client::import_token(made.export_token(access::write, no_escrow));
	const auto call = [&caller](const char *name, std::initializer_list<value> arguments) {
		return *caller.call(caller.find(name), arguments, forever);
	};
	const token memory = call("warpway.alloc", {std::uint64_t{8}}).result(0).array_token();

	call("warpway.fill", {memory, std::uint32_t{'x'}, std::uint64_t{8}});
	call("warpway.write", {memory, std::string_view("abc"), std::uint64_t{2}});
	const ticket read = call("warpway.read", {memory, std::uint64_t{6}});

	CLAIM(read.result(0).bytes() == "xxabcx");
	REFUSED(status::quota, call("warpway.alloc", {std::uint64_t{1} << 40}));
	call("warpway.free", {memory});
	REFUSED(status::not_found, call("warpway.read", {memory, std::uint64_t{1}}));
	made.drain();
	serving.join();
}
