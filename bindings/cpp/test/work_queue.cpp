/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_queue.cpp - work queues, with all members in one process
 */
#include "test.hpp"

#include <cstring>
#include <poll.h>

using namespace warpway;
using namespace std::chrono_literals;

static constexpr std::uint64_t slot_bytes = 4096;

static void send(const work_queue &to, const char *text)
{
	work_frame made;

	CLAIM(to.acquire(made, forever) == outcome::done);
	std::strcpy(static_cast<char *>(made.raw().metadata), text);
	made.raw().metadata_bytes = static_cast<std::uint32_t>(std::strlen(text) + 1);
	made.raw().bytes = 0;
	to.publish(made);
}

static void must_be(const work_frame &got, const char *text, bool is_repeat)
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
	const work_queue consumer =
		*work_queue::get(on, "cpp/queue", work_role::consumer, forever, {"text"});
	work_frame got;

	const descriptor shows = consumer.eventfd();
	pollfd look = {shows.get(), POLLIN, 0};

	CLAIM(consumer.receive(got, 0s) == outcome::timed_out && poll(&look, 1, 0) == 0);
	for (const char *text : {"one", "two"})
		send(producer, text);
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
	work_frame got;

	send(producer, "hard");
	CLAIM(consumer.receive(got, forever) == outcome::done);
	consumer.reject(got);
	CLAIM(consumer.receive(got, 0s) == outcome::timed_out);
	CLAIM(failed.receive(got, forever) == outcome::done);
	must_be(got, "hard", true);
	failed.acknowledge(got);
	REFUSED(status::access, producer.reject(got));
	REFUSED(status::access, consumer.close());
	work_frame held;

	CLAIM(producer.acquire(held, forever) == outcome::done);
	producer.discard(held);
	REFUSED(status::invalid, producer.discard(held));
}
