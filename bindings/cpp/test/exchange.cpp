/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.cpp - channels, work queues and services, with all members in one process
 */
#include "test.hpp"

#include <cstring>
#include <poll.h>
#include <thread>

using namespace warpway;
using namespace std::chrono_literals;

static constexpr std::uint64_t slot_bytes = 4096;

/* Frame, To: of a channel, or of a work queue. */
template <class Frame, class To>
static void send(const To &to, const char *text)
{
	Frame made;

	CLAIM(to.acquire(made, forever) == outcome::done);
	std::strcpy(static_cast<char *>(made.raw().metadata), text);
	made.raw().metadata_bytes = static_cast<std::uint32_t>(std::strlen(text) + 1);
	made.raw().bytes = 0;
	to.publish(made);
}

TEST("frames go from a producer to a consumer, in order, and end")
{
	const device on = test::device();
	channel_options options;

	options.metadata_bytes = 16;
	options.metadata_type = "text";
	channel producer = channel::create(on, "cpp/channel", slot_bytes, options);
	consumer_options wants;

	wants.metadata_type = "text";
	const channel consumer = *channel::get(on, "cpp/channel", forever, wants);
	frame got;

	CLAIM(consumer.receive(got, 0s) == outcome::timed_out);
	for (const char *text : {"one", "two", "three"})
		send<frame>(producer, text);
	CLAIM(producer.info().published() == 3 && producer.info().is_producer());
	for (const char *text : {"one", "two", "three"}) {
		CLAIM(consumer.receive(got, forever) == outcome::done);
		CLAIM(!std::strcmp(static_cast<const char *>(got.raw().metadata), text));
		consumer.release(got);
	}
	producer = channel();
	CLAIM(consumer.receive(got, forever) == outcome::end);
	CLAIM(consumer.info().received() == 3 && consumer.info().dropped() == 0);
}

TEST("a consumer by token gets the newest frame; wrong types and sides are refused")
{
	const device on = test::device();
	channel_options options;

	options.policy = channel_policy::latest;
	options.metadata_bytes = 16;
	options.metadata_type = "text";
	const channel producer = channel::create(on, "", slot_bytes, options);

	for (const char *text : {"old", "new"})
		send<frame>(producer, text);
	consumer_options wants;

	wants.metadata_type = "numbers";
	REFUSED(status::mismatch, channel::import_token(on, producer.export_token(), wants));
	const channel consumer = channel::import_token(on, producer.export_token());
	frame got;

	CLAIM(consumer.receive(got, forever) == outcome::done);
	CLAIM(!std::strcmp(static_cast<const char *>(got.raw().metadata), "new"));
	consumer.release(got);
	REFUSED(status::access, producer.receive(got, 0s));
	frame held;

	CLAIM(producer.acquire(held, forever) == outcome::done);
	producer.discard(held);
	REFUSED(status::invalid, producer.discard(held));
}

TEST("the producer learns of its consumers, and evicts one; an observer sees it")
{
	const device on = test::device();
	channel_options options;

	options.slots = 1;
	options.metadata_bytes = 16;
	options.deadline = 1h;
	options.evict_after = 2h;
	options.consumers_per_uid_max = 2;
	const channel producer = channel::create(on, "cpp/members", slot_bytes, options);
	consumer_options watches;

	watches.observe = true;
	const channel observer = *channel::get(on, "cpp/members", forever, watches);

	CLAIM(observer.info().is_observer() && !observer.info().number());
	CLAIM(observer.info().deadline() == 1h && observer.info().evict_after() == 2h);
	CLAIM(observer.info().consumers_per_uid_max() == 2 && !observer.consumer(0));
	CLAIM(producer.wait_consumers(1, 0s) == outcome::timed_out);
	consumer_options wants;

	wants.deadline = 1min;
	REFUSED(status::mismatch, channel::get(on, "cpp/members", forever, wants));
	const channel consumer = *channel::get(on, "cpp/members", forever);

	CLAIM(producer.wait_consumers(1, forever) == outcome::done);
	send<frame>(producer, "one");
	frame got;

	CLAIM(consumer.receive(got, forever) == outcome::done);
	CLAIM(consumer.info().number() == 0u);
	frame none;

	CLAIM(producer.acquire(none, 0s) == outcome::timed_out);
	CLAIM(observer.info().waits_for() == 0u);
	CLAIM(observer.consumer(0)->is_waited_for() && observer.consumer(0)->held() == 1);
	producer.evict(*consumer.info().number());
	REFUSED(status::evicted, producer.acquire(none, forever));
	CLAIM(observer.consumer(0)->is_evicted());
	consumer.release(got);
	REFUSED(status::evicted, consumer.receive(got, forever));
	channel_event event;

	CLAIM(producer.next_event(event, 0s) == outcome::done);
	CLAIM(event.kind() == channel_event_kind::consumer_joined && event.consumer() == 0u);
	CLAIM(producer.next_event(event, 0s) == outcome::done);
	CLAIM(event.kind() == channel_event_kind::consumer_evicted && event.program()[0] != 0);
	CLAIM(producer.next_event(event, 0s) == outcome::timed_out);
}

TEST("one wait is over several channels, and a descriptor shows which can go on")
{
	const device on = test::device();
	channel producers[2] = {channel::create(on, "cpp/a", slot_bytes),
		channel::create(on, "cpp/b", slot_bytes)};
	const channel consumers[2] = {*channel::get(on, "cpp/a", forever),
		*channel::get(on, "cpp/b", forever)};
	const descriptor shows = consumers[1].eventfd();
	pollfd look = {shows.get(), POLLIN, 0};

	CLAIM(!channel::wait_any(consumers, 2, 0s) && poll(&look, 1, 0) == 0);
	frame made;

	CLAIM(producers[1].acquire(made, forever) == outcome::done);
	made.raw().metadata_bytes = 0;
	producers[1].publish(made);
	CLAIM(*channel::wait_any(consumers, 2, forever) == 1 && poll(&look, 1, -1) == 1);
	REFUSED(status::invalid, channel::wait_any(consumers, 0, 0s));
}

/* Work queues */

static void must_be(const frame &got, const char *text, bool is_repeat)
{
	CLAIM(!std::strcmp(static_cast<const char *>(got.raw().metadata), text));
	CLAIM(got.is_repeat() == is_repeat);
}

TEST("work goes to one consumer each, comes again when it is rejected, and ends")
{
	const device on = test::device();
	work_queue_options options;

	options.metadata_bytes = 16;
	options.metadata_type = "text";
	const work_queue keeper = work_queue::create(on, "cpp/queue", slot_bytes, options);
	work_queue producer = *work_queue::get(on, "cpp/queue", work_role::producer, forever);
	const work_queue consumer = *work_queue::get(on, "cpp/queue", work_role::consumer, forever,
		{"text"});
	frame got;

	const descriptor shows = consumer.eventfd();
	pollfd look = {shows.get(), POLLIN, 0};

	CLAIM(consumer.receive(got, 0s) == outcome::timed_out && poll(&look, 1, 0) == 0);
	for (const char *text : {"one", "two"})
		send<frame>(producer, text);
	CLAIM(poll(&look, 1, -1) == 1);
	CLAIM(producer.info().published() == 2 && producer.info().available() == 2);
	CLAIM(consumer.receive(got, forever) == outcome::done);
	must_be(got, "one", false);
	consumer.reject(got);
	CLAIM(consumer.receive(got, forever) == outcome::done);
	must_be(got, "one", true);
	CLAIM(consumer.finish(got) == outcome::not_ready); /* its producer may write there again */
	consumer.acknowledge(got);
	keeper.close();
	CLAIM(producer.acquire(got, 0s) == outcome::end);
	producer = work_queue();
	CLAIM(consumer.receive(got, forever) == outcome::done);
	CLAIM(consumer.finish(got) == outcome::done);
	must_be(got, "two", false);
	consumer.acknowledge(got);
	CLAIM(consumer.receive(got, forever) == outcome::end);
	CLAIM(consumer.info().received() == 3 && consumer.info().is_closed());
	CLAIM(consumer.info().published_total() == 2 && consumer.info().uncounted() == 0);
}

TEST("work that failed is read; tokens open a queue; wrong types and roles are refused")
{
	const device on = test::device();
	work_queue_options options;

	options.role = work_role::producer;
	options.attempts_max = 1;
	options.metadata_bytes = 16;
	options.metadata_type = "text";
	const work_queue producer = work_queue::create(on, "", slot_bytes, options);
	const token pass = producer.export_token(access::read);

	REFUSED(status::mismatch,
		work_queue::import_token(on, pass, work_role::consumer, {"numbers"}));
	REFUSED(status::access, work_queue::import_token(on, pass, work_role::producer));
	const work_queue consumer = work_queue::import_token(on, pass, work_role::consumer);
	const work_queue failed = work_queue::import_token(on, pass, work_role::failed);
	frame got;

	send<frame>(producer, "hard");
	CLAIM(consumer.receive(got, forever) == outcome::done);
	consumer.reject(got);
	CLAIM(consumer.receive(got, 0s) == outcome::timed_out);
	CLAIM(failed.receive(got, forever) == outcome::done);
	must_be(got, "hard", true);
	failed.acknowledge(got);
	REFUSED(status::access, producer.reject(got));
	REFUSED(status::access, consumer.close());
	frame held;

	CLAIM(producer.acquire(held, forever) == outcome::done);
	producer.discard(held);
	REFUSED(status::invalid, producer.discard(held));
}

/* Services */

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

TEST("a call of a chain and one that depends on others fail with the first")
{
	const device on = test::device();
	const service made = service::create(on, "cpp/chain");
	auto refuse = [](const call &what) { return what.fail(status::invalid, "on purpose"); };

	made.offer("refuse", "", refuse);
	made.start();
	const client caller = *client::open("cpp/chain", forever);
	const std::uint32_t refuses = caller.find("refuse");
	submit_options chained, depends;

	chained.chains = true;
	const std::optional<ticket> first = caller.submit(refuses, {}, forever);
	const std::optional<ticket> second = caller.submit(refuses, {}, forever, chained);

	depends.lane = 1;
	depends.depends_more = {first->info().number(), second->info().number()};
	const std::optional<ticket> third = caller.submit(refuses, {}, forever, depends);

	CLAIM(made.serve(0s) == outcome::timed_out);
	REFUSED(status::invalid, first->wait(forever));
	REFUSED(status::dependency_failed, second->wait(forever));
	REFUSED(status::dependency_failed, third->wait(forever));
	CLAIM(third->info().failed_call() == first->info().number());
}

TEST("descriptors show that there are calls, and that one has ended")
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

	const descriptor ended = first->eventfd();
	pollfd end = {ended.get(), POLLIN, 0};

	CLAIM(poll(&end, 1, 0) == 0 && poll(&look, 1, -1) == 1);
	CLAIM(made.serve(0s) == outcome::timed_out && poll(&end, 1, -1) == 1);
	CLAIM(first->wait(0s) == outcome::done);
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
