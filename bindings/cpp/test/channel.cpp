/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.cpp - channels, with the producer and the consumers in one process
 */
#include "test.hpp"

#include <cstring>
#include <poll.h>

using namespace warpway;
using namespace std::chrono_literals;

static constexpr std::uint64_t slot_bytes = 4096;

static void send(const channel &to, const char *text)
{
	frame made;

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
		send(producer, text);
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
		send(producer, text);
	consumer_options wants;

	wants.metadata_type = "numbers";
	REFUSED(status::mismatch,
		channel::import_token(on, producer.export_token(), wants));
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
	send(producer, "one");
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
