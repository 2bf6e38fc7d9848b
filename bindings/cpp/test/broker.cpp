/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.cpp - names, tokens, snapshots, watches and barriers, with a broker, which the environment
 * says how to start, and with a second process
 */
#include "other.hpp"
#include "test.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <poll.h>
#include <thread>

using namespace warpway;
using namespace std::chrono_literals;

static constexpr std::uint64_t bytes = UINT64_C(2) << 20;

TEST("a broker is started, and one object for all who open it")
{
	const broker first = broker::open(), second = broker::open();

	CLAIM(first == second && first.address() == std::getenv("WARPWAY_BROKER"));
	const broker_info info = first.info();

	CLAIM(info.pid() > 0 && info.version() == version() && info.up() > 0s);
	CLAIM(info.broker_id() == second.info().broker_id());
	broker_options nowhere;

	nowhere.address = "/nowhere/broker.sock";
	nowhere.no_start = true;
	nowhere.timeout = 100ms;
	REFUSED(status::no_broker, broker::open(nowhere));
}

TEST("memory is put, found and removed by its name")
{
	const device on = test::device();
	const broker in = broker::open();
	const memory mine = memory::create(on, bytes);
	put_options options;

	options.mode = 0640;
	options.life = life::kept;
	options.ttl = 24h;
	options.array = array::of<float>({16, 16});
	mine.put(in, "cpp/named", options);
	CLAIM(mine.try_put(in, "cpp/other").status() == status::exists);

	const object_info info = in.stat("cpp/named");

	CLAIM(info.kind() == object_kind::memory && info.state() == object_state::sealed);
	CLAIM(info.life() == life::kept && info.mode() == 0640 && info.is_own());
	CLAIM(info.name() == "cpp/named" && info.bytes() >= bytes);
	CLAIM(info.left() > 1h && info.left() <= 24h);
	CLAIM(info.array() == array::of<float>({16, 16}));
	CLAIM(info.object_id() == mine.info().object_id());

	const mapping got = memory::get(on, in, "cpp/named");

	CLAIM(got.info.name() == "cpp/named" && got.bytes() == bytes &&
		got.info.array()->is<float>());
	get_options fast;

	fast.no_slow_route = true;
	CLAIM(memory::get(on, in, "cpp/named", fast).memory == got.memory);
	in.remove("cpp/named");
	CLAIM(in.try_end("cpp/named").status() == status::not_found);
	CLAIM(in.try_end(id{}).status() == status::invalid);
	REFUSED(status::not_found, in.stat("cpp/named"));
	REFUSED(status::not_found, memory::get(on, in, "cpp/named"));
	REFUSED(status::invalid, memory::create(on, bytes).put(in, "cpp//named"));
}

TEST("an object is waited for, and for how long")
{
	const device on = test::device();
	const broker in = broker::open();
	const memory mine = memory::create(on, bytes);
	put_options writing;

	writing.state = object_state::writing;
	CLAIM(!memory::get(on, in, "cpp/later", 1ms));
	CLAIM(mine.put(in, "cpp/later", 1h, writing) == outcome::done);
	CLAIM(memory::try_get(on, in, "cpp/later").status() == status::state);
	CLAIM(!in.stat("cpp/later").left());
	CLAIM(!memory::try_get(on, in, "cpp/later", 1ms).value());
	std::thread reader([&] {
		const std::optional<mapping> got = memory::get(on, in, "cpp/later", forever);

		if (got)
			in.remove("cpp/later");
	});

	mine.publish(in, object_state::shared);
	reader.join();
	CLAIM(in.try_stat("cpp/later").status() == status::not_found);
}

TEST("an empty broker is the default one")
{
	const memory mine = memory::create(test::device(), bytes);
	put_options options;

	CLAIM(!mine.memory_broker());
	options.state = object_state::writing;
	mine.put({}, "cpp/default", options);
	CLAIM(mine.memory_broker().address() == broker::open().address());
	mine.publish({}, object_state::sealed_read_only);
	CLAIM(mine.info().access() == access::read);
	CLAIM(memory::get(test::device(), {}, "cpp/default").info.is_own());
	CLAIM(snapshot::create().object(0).has_value());

	const token old = mine.export_token();

	mine.revoke();
	CLAIM(memory::try_import_token(test::device(), old).status() == status::access);
	broker().remove("cpp/default");
}

TEST("a broker tells its sums, and its largest objects page by page")
{
	const memory small = memory::create(test::device(), bytes);
	const memory large = memory::create(test::device(), 2 * bytes);

	small.put({}, "cpp/monitor/small");
	large.put({}, "cpp/monitor/large");

	const totals sums = totals::create();
	const auto users = sums.users();
	const auto user = std::find_if(users.begin(), users.end(),
		[](const user_total &each) { return each.uid() == ::getuid(); });

	CLAIM(user != users.end() && user->objects() >= 2 && user->bytes() >= 3 * bytes);
	CLAIM(sums.all().objects() >= 2 && sums.all().up() > 0s);
	std::uint64_t on_devices = 0, puts = 0;

	for (const device_total &each : sums.devices())
		on_devices += each.bytes();
	for (const request_total &each : sums.requests())
		puts += each.request() == "put" && each.refused() == WW_OK ? each.count() : 0;
	CLAIM(on_devices >= 3 * bytes && puts >= 2);

	largest_query query;

	query.prefix = "cpp/monitor/";
	query.count = 1;
	const snapshot first = largest(query);

	CLAIM(first.object(0)->name() == "cpp/monitor/large" && !first.object(1));
	CLAIM(continue_after(first, query));
	const snapshot second = largest(query);

	CLAIM(second.object(0)->name() == "cpp/monitor/small");
	query.after_bytes = query.after_number = 0;
	query.uid = ::getuid() + 1;
	CLAIM(!largest(query).object(0));

	const snapshot holders = holders_of(*first.object(0));

	CLAIM(holders.hold(0).has_value() && holders.holder(0)->pid() == std::uint32_t(::getpid()));
	CLAIM(!try_holders_of(object_info()));
	broker().remove("cpp/monitor/small");
	broker().remove("cpp/monitor/large");
}

TEST("an object is held by its name and by a token, and mapped later")
{
	const broker in = broker::open();
	memory mine = memory::create(test::device(), bytes);
	get_options options;

	mine.put(in, "cpp/held");
	const held_object held = held_object::get(in, "cpp/held");
	held_object second = held_object::import_token(held.export_token());
	import_options to_write;

	to_write.access = access::write;
	mine = memory();
	CLAIM(second.try_map(test::device(), to_write).status() == status::access);
	const memory mapped = second.map(test::device());

	CLAIM(second.map(test::device()) == mapped);
	second = held_object();
	CLAIM(mapped.info().bytes() >= bytes && !held_object::try_import_token(token()));
	CLAIM(held_object::get(in, "cpp/held", 1h)->get() != nullptr);
	CLAIM(held_object::try_get(in, "cpp/none").status() == status::not_found);
	CLAIM(!held_object::get(in, "cpp/none", 1ms));
	options.own_mapping = true;
	REFUSED(status::invalid, held_object::get(in, "cpp/held", options));
	in.remove("cpp/held");
}

TEST("a token names a span to another process")
{
	const device on = test::device();
	const broker in = broker::open();
	const memory mine = memory::create(on, bytes);
	export_options options;
	int number = 41;

	options.access = access::write;
	options.offset = 4096;
	options.bytes = 64;
	options.array = array::of<int>({16});
	options.escrow = 1h;
	const token name = mine.export_token(options, in);
	const token_info info = name.info();

	CLAIM(info.kind() == object_kind::memory && info.access() == access::write);
	CLAIM(info.offset() == 4096 && info.bytes() == 64 && info.total_bytes() == bytes);
	CLAIM(info.array() == array::of<int>({16}) && info.address() == in.address());
	CLAIM(!info.is_slice() && !info.is_foreign() && !info.is_counted());
	CLAIM(token::from_text("  " + name.to_text() + "\n") == name);
	CLAIM(token::from_bytes(name.bytes()) == name);

	mine.write(4096, &number, sizeof(number));
	CLAIM(other::start("increment", {name.to_text()}) == 0);
	mine.read(4096, &number, sizeof(number));
	CLAIM(number == 42);
}

TEST("a token imported at home is the memory itself, or its span")
{
	const device on = test::device();
	const memory mine = memory::create(on, bytes, memory_kind::host);
	export_options options;

	options.access = access::write;
	options.offset = 8;
	options.bytes = 16;
	const mapping again = memory::import_token(on, mine.export_token(options), {access::write});

	CLAIM(again.memory != mine && again.bytes() == 16 && again.memory.info().bytes() == 16);
	CLAIM(memory::import_token(on, mine.export_token(options), {access::write}).memory ==
		again.memory);
	CLAIM(again.span<int>().size() == 4 && again.pointer() == mine.span<char>().data() + 8);
	again.span<int>()[0] = 5;
	CLAIM(mine.span<int>()[2] == 5);
	import_options apart;

	apart.access = access::write;
	apart.own_mapping = true;
	const mapping other = memory::import_token(on, mine.export_token(options), apart);

	CLAIM(other.pointer() != again.pointer() && other.span<int>()[0] == 5);
	options = {};
	options.access = access::write;
	CLAIM(memory::import_token(on, mine.export_token(options), {access::write}).memory == mine);
	CLAIM(memory::try_import_token(on, token()).status() == status::protocol);
	options.offset = bytes;
	REFUSED(status::mismatch, mine.export_token(options));
	mine.export_token({}, {});
}

TEST("a delivery is listed, opens its memory once, and is revoked")
{
	const device on = test::device();
	const memory mine = memory::create(on, bytes);
	export_options options;

	options.delivery = true;
	options.uses = 1;
	const token first = mine.export_token(options), second = mine.export_token(options);
	const in_flight list = in_flight::create();
	const auto all = list.deliveries();

	CLAIM(std::count_if(all.begin(), all.end(), [&](const in_flight_info &info) {
		return !info.is_slice() && info.uses() == 1 && info.bytes() >= bytes &&
			info.object_id() == mine.info().object_id();
	}) == 2);
	CLAIM(memory::try_import_token(on, first));
	CLAIM(memory::try_import_token(on, first).status() == status::access);
	CLAIM(in_flight::revoke(1h).count == 0);
	CLAIM(in_flight::revoke(second).count == 1);
	CLAIM(memory::try_import_token(on, second).status() == status::access);
	in_flight::limit(1, 0);
	CLAIM(mine.try_export_token(options));
	CLAIM(mine.try_export_token(options).status() == status::limit);
	in_flight::limit(0, 0);
	CLAIM(in_flight::revoke(0ns).count == 1);
	const in_flight none = in_flight::create();

	CLAIM(none.deliveries().begin() == none.deliveries().end());
}

TEST("memory without a name is in the broker")
{
	const broker in = broker::open();
	const memory mine = memory::create(test::device(), bytes);
	snapshot_options all;

	all.unnamed = true;
	mine.put_unnamed(in);
	const snapshot now = snapshot::create(in, {}, all);
	const auto objects = now.objects();

	CLAIM(std::any_of(objects.begin(), objects.end(), [&](const object_info &info) {
		return info.name().empty() && info.object_id() == mine.info().object_id();
	}));
}

TEST("a snapshot is walked over")
{
	const device on = test::device();
	const broker in = broker::open();
	const memory first = memory::create(on, bytes), second = memory::create(on, bytes);
	snapshot_options all;
	std::vector<std::string> names;

	first.put(in, "cpp/list/a");
	second.put(in, "cpp/list/b");
	all.holders = all.holds = true;
	snapshot now = snapshot::create(in, "cpp/list/", all);
	const snapshot moved = std::move(now);

	for (const object_info &info : moved.objects())
		names.emplace_back(info.name());
	CLAIM(names == std::vector<std::string>{"cpp/list/a", "cpp/list/b"});
	CLAIM(moved.object(1)->name() == "cpp/list/b" && !moved.object(2));

	const auto holders = moved.holders();
	const auto self = std::find_if(holders.begin(), holders.end(), [](const holder_info &info) {
		return info.pid() == static_cast<std::uint32_t>(::getpid());
	});

	CLAIM(self != holders.end() && self->held() >= 2 && self->put() >= 2 &&
		self->is_attached());
	const auto holds = moved.holds();

	CLAIM(std::count_if(holds.begin(), holds.end(), [&](const hold_info &info) {
		return info.holder() == self->number() && info.is_creator() && !info.is_escrow();
	}) >= 2);
	CLAIM(moved.holder(0) && moved.hold(0) && !moved.holder(100000) && !moved.hold(100000));
}

TEST("a watch tells of changes")
{
	const broker in = broker::open();
	const memory mine = memory::create(test::device(), bytes);
	watch_options existing;

	existing.existing = true;
	watch made = watch::create(in, "cpp/watched");
	const watch moved = std::move(made);

	CLAIM(!moved.next(0s));
	mine.put(in, "cpp/watched");
	pollfd looked{moved.fd(), POLLIN, 0};

	CLAIM(::poll(&looked, 1, -1) == 1);
	const watch_event put = moved.next();

	CLAIM(put.what() == change::put && put.object().name() == "cpp/watched");
	CLAIM(watch::create(in, "cpp/watched", existing).next().what() == change::put);
	in.remove("cpp/watched");
	std::optional<watch_event> last;

	do
		last = moved.next(forever);
	while (last && last->what() != change::removed);
	CLAIM(last && last->object().object_id() == mine.info().object_id());
}

TEST("a slice has a name")
{
	const device on = test::device();
	const broker in = broker::open();
	const pool stock = pool::create(on);
	const memory slice = stock.alloc(4096);

	slice.put(in, "cpp/slice");
	const auto got = memory::get(on, in, "cpp/slice");
	CLAIM(got.memory.pointer() == slice.pointer() && got.info.is_slice());
	in.remove("cpp/slice");
}

TEST("a pool goes by a token, and home again")
{
	const device on = test::device();
	const pool stock = pool::create(on);
	const token name = stock.export_token();
	const pool back = pool::import_token(name, on);

	CLAIM(back.get() == stock.get() && !back.info().is_imported());
	REFUSED(status::unsupported, memory::import_token(on, name));
	REFUSED(status::unsupported, pool::import_token(stock.alloc(4096).export_token()));
}

TEST("a timeline whose signaller ends")
{
	const broker in = broker::open();
	const timeline mine = timeline::create();
	std::optional<timeline> theirs;
	std::thread waiter([&] {
		theirs = timeline::get(in, "cpp/signal", forever);
		mine.signal(1);
	});

	mine.put(in, "cpp/until");
	const int ended = other::start("signal", {"cpp/signal", "cpp/until"});

	waiter.join();
	CLAIM(ended == 0);
	CLAIM(theirs && theirs->wait(1, forever) == outcome::done);
	CLAIM(theirs->query(1) == outcome::done);
	REFUSED(status::peer_lost, theirs->wait(2));
	CLAIM(!theirs->info().is_own() && theirs->info().state() != timeline_state::live);
	CLAIM(timeline::try_get(in, "cpp/signal").status() == status::not_found);
	CLAIM(!timeline::get(in, "cpp/signal", 1ms));
}

TEST("a function that a lost stream refuses is ended")
{
	const device on = test::device_with(capability::stream_value, "values of streams");
	const broker in = broker::open();
	const stream by = stream::create(on);
	const timeline mine = timeline::create();
	const auto counted = std::make_shared<int>(0);
	std::thread waiter([&] {
		const std::optional<timeline> theirs = timeline::get(in, "cpp/ends", forever);

		static_cast<void>(theirs->try_stream_wait(by, 2, 0s, wait_mode::unsubmitted));
		mine.signal(1);
	});

	mine.put(in, "cpp/end");
	const int ended = other::start("signal", {"cpp/ends", "cpp/end"});

	waiter.join();
	CLAIM(ended == 0);
	REFUSED(status::peer_lost, by.synchronize());
	CLAIM(by.try_call([counted] { *counted = 1; }).status() == status::peer_lost);
	CLAIM(counted.use_count() == 1 && *counted == 0);
}

TEST("a timeline by its name and by a token")
{
	const broker in = broker::open();
	const timeline mine = timeline::create();
	name_options named;
	token_options options;

	named.replace = true;
	options.escrow = 1h;
	mine.put(in, "cpp/timeline", named);
	CLAIM(timeline::get(in, "cpp/timeline") == mine);
	CLAIM(timeline::import_token(mine.export_token(options, in), in) == mine);
	CLAIM(timeline::import_token(mine.export_token()) == mine);
	REFUSED(status::protocol, timeline::import_token(token()));
}

TEST("an event by a token")
{
	const device on = test::device_with(capability::event, "events between processes");
	const event mine = event::create(on);

	CLAIM(event::import_token(on, mine.export_token()) == mine);
	CLAIM(!event::try_import_token(on, memory::create(on, bytes).export_token()));
}

TEST("a barrier that two threads pass")
{
	const broker in = broker::open();
	const token name = barrier::create("cpp/barrier", 2, {}, in);
	std::uint64_t rounds = 0;

	CLAIM(!barrier::get("cpp/barrier", any_rank, 1ms, in));
	std::thread second([&] {
		const barrier member = barrier::import_token(name, 1, in);

		member.wait();
		member.wait();
		rounds = member.info().round();
	});
	const cancel stop = cancel::create();
	const std::optional<barrier> member = barrier::get("cpp/barrier", 0, forever, in, stop);

	CLAIM(member && member->info().count() == 2 && !member->info().broken());
	member->wait();
	CLAIM(member->wait(forever, stop) == outcome::done);
	second.join();
	const descriptor shows = member->eventfd();
	pollfd look = {shows.get(), POLLIN, 0};

	CLAIM(poll(&look, 1, -1) == 1); /* the other one has left */
	CLAIM(rounds == 2 && member->info().round() == 2);
	REFUSED(status::peer_lost, member->wait());
	CLAIM(member->info().broken() == 1U - member->info().rank());
	REFUSED(status::invalid, barrier::create(0));
	REFUSED(status::protocol, barrier::import_token(token()));
	CLAIM(barrier::import_token(barrier::create(1)).info().rank() == 0);
}

