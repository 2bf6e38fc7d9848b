/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.cpp - devices, streams, memory, pools, tensors, kernels and cancels of one process,
 * without a broker
 */
#include "test.hpp"

#include <atomic>
#include <dlfcn.h>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

using namespace warpway;
using namespace std::chrono_literals;

static constexpr std::uint64_t bytes = UINT64_C(2) << 20;

TEST("a device says what it is")
{
	const device on = test::device();
	const device_info info = on.info();

	CLAIM(on == device::open(info.selector()));
	CLAIM(info.granularity() > 0 && info.bytes_total() > 0 && !info.name().empty());
	CLAIM(info.uuid() != id{});
	CLAIM(info.mps() == mps::off || info.mps() == mps::on || info.mps() == mps::unknown);
	CLAIM(on.free_bytes() > 0 && on.free_bytes() <= info.bytes_total());
	CLAIM(device::count(info.backend()) > info.index());
	CLAIM(device::count(backend::host) == 1);
	CLAIM(device::try_open() && device::open());
}

TEST("a stream fills and copies")
{
	const device on = test::device();
	const stream by = stream::create(on);
	const memory there = memory::create(on, bytes);
	float back[16]{};

	by.fill(there.pointer(), 1.5F, 16);
	by.copy(back, there.pointer(), sizeof(back));
	by.synchronize();
	CLAIM(by.query() == outcome::done && by.synchronize(1h) == outcome::done);
	CLAIM(back[0] == 1.5F && back[15] == 1.5F);
	by.fill(there.pointer(), std::uint8_t{7}, 1);
	by.fill(there.pointer(), std::int16_t{-1}, 1);
	CLAIM(by.try_fill(there.pointer(), 1, bytes).status() == status::invalid);
	CLAIM(by.try_copy(there.pointer(), there.pointer(), UINT64_MAX).status() != status::ok);
	by.synchronize();
}

TEST("a stream calls any function object, once, and ends it")
{
	const stream by = stream::create(test::device());
	std::atomic<int> calls{0};
	const auto counted = std::make_shared<int>(0);

	by.call([&calls, counted] { calls += 1 + *counted; });
	by.call([&calls, owned = std::make_unique<int>(10)] { calls += *owned; });
	by.synchronize();
	CLAIM(calls == 11);
	CLAIM(counted.use_count() == 1);
}

TEST("what a function object throws when it is copied goes through")
{
	struct fragile {
		fragile() = default;
		fragile(const fragile &) { throw test::failed("on purpose"); }
		void operator()() const {}
	};
	const stream by = stream::create(test::device());
	const fragile function;
	bool thrown = false;

	try {
		by.call(function);
	} catch (const test::failed &) {
		thrown = true;
	}
	CLAIM(thrown);
	by.synchronize();
}

TEST("the caller's own stream")
{
	const device on = test::device_with(capability::stream_wrap, "streams of others");
	const stream made = stream::create(on);
	const stream wrapped = stream::wrap(on, made.native());

	CLAIM(made.native() && wrapped.native() == made.native() && wrapped != made);
	wrapped.synchronize();
}

TEST("a stream of others is refused where there is none")
{
	const device on = device::open("host");

	CLAIM(stream::try_wrap(on, nullptr).status() == status::unsupported);
	CLAIM(stream::create(on).native() == nullptr);
}

TEST("memory as elements, for the CPU")
{
	const device on = test::device();
	const memory there = memory::create(on, 100, memory_kind::host);
	const span<double> numbers = there.span<double>();

	CLAIM(numbers.size() * sizeof(double) == there.info().bytes());
	numbers[1] = 2.5;
	CLAIM(there.span<const double>()[1] == 2.5);
	CLAIM(there.host_pointer() == numbers.data());

	struct big {
		char bytes[5000];
	};
	CLAIM(there.span<big>().empty());
	if (!on.info().has(capability::cpu_access))
		CLAIM(memory::create(on, bytes).try_span<char>().status() == status::unsupported);
}

TEST("memory says what it is")
{
	const device on = test::device();
	const memory there = memory::create(on, 1);
	const memory_info info = there.info();

	CLAIM(info.kind() == memory_kind::vmm && info.access() == access::write);
	CLAIM(info.bytes() == on.info().granularity() && info.total_bytes() == info.bytes());
	CLAIM(info.pointer() == there.pointer() && info.device() == on);
	CLAIM(!info.is_slice() && !info.is_wrapped() && info.object_id() != id{});
	REFUSED(status::invalid, memory::create(on, 0));
	CLAIM(memory::try_create(on, UINT64_MAX).status() == status::overflow);
}

TEST("memory is written and read without a stream")
{
	const device on = test::device();
	const memory there = memory::create(on, bytes);
	int number = 7;

	there.write(64, &number, sizeof(number));
	CLAIM(there.write(68, &number, sizeof(number), 0s) == outcome::done);
	number = 0;
	CLAIM(there.read(68, &number, sizeof(number), 1h) == outcome::done && number == 7);
	number = 0;
	there.read(64, &number, sizeof(number));
	CLAIM(number == 7);
	REFUSED(status::invalid, there.write(there.info().bytes(), &number, 1));
	CLAIM(there.try_read(UINT64_MAX, &number, 1).status() == status::overflow);
}

TEST("an address leads to its memory")
{
	const device on = test::device();
	const memory there = memory::create(on, bytes);
	const std::optional<found_memory> found = memory::find(
		static_cast<char *>(there.pointer()) + 5);

	CLAIM(found && found->memory == there && found->offset == 5);
	CLAIM(!memory::find(&on));
	CLAIM(!memory::try_find(&on).value());
}

TEST("memory by a descriptor and a description")
{
	const device on = test::device();
	const memory there = memory::create(on, bytes);
	const exported_fd exported = there.export_fd(access::write);
	const memory again = memory::import_fd(on, exported.fd.get(), exported.description,
		{access::write});

	CLAIM(again.info().object_id() == there.info().object_id());
	import_options fast;

	fast.access = access::write;
	fast.no_slow_route = true;
	CLAIM(memory::import_fd(on, exported.fd.get(), exported.description, fast) == again ||
		on.info().backend() == backend::cuda);
	REFUSED(status::protocol, memory::import_fd(on, exported.fd.get(), {}));
	REFUSED(status::descriptor, memory::import_fd(on, -1, exported.description));
}

TEST("memory mapped for reading has const elements")
{
	const device on = device::open("host");
	const memory there = memory::create(on, bytes);
	const exported_fd exported = there.export_fd();
	const memory reader = memory::import_fd(on, exported.fd.get(), exported.description);

	CLAIM(reader != there && reader.info().access() == access::read);
	there.span<int>()[7] = 49;
	CLAIM(reader.span<const int>()[7] == 49);
	REFUSED(status::access, reader.span<int>());
	REFUSED(status::access, stream::create(on).fill(reader.pointer(), 1, 1));
}

TEST("memory over a socket, and the time that it may take")
{
	const device on = test::device();
	int pair[2];

	CLAIM(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	descriptor left = descriptor::adopt(pair[0]), right = descriptor::adopt(pair[1]);

	CLAIM(!memory::receive(on, right.get(), {}, 0s));
	CLAIM(!memory::try_receive(on, right.get(), {}, 1ms).value());
	const memory there = memory::create(on, bytes);

	there.send(left.get(), access::write);
	CLAIM(there.send(left.get(), access::write, 1h) == outcome::done);
	CLAIM(memory::receive(on, right.get(), {access::write}));
	CLAIM(memory::receive(on, right.get(), {access::write}, forever));
	left.reset();
	CLAIM(memory::try_receive(on, right.get()).status() == status::peer_lost);
	REFUSED(status::peer_lost, there.send(right.get()));
}

TEST("wrapped memory gives its owner notice, once")
{
	const device on = test::device();
	const memory whole = memory::create(on, bytes);
	const auto kept = std::make_shared<int>(0);
	char *inside = static_cast<char *>(whole.pointer()) + 4096;
	int calls = 0;

	{
		const memory part = memory::wrap(on, inside, 8192, [&calls, kept] { calls++; });
		const memory copy = part;

		CLAIM(part.pointer() == inside && part.info().bytes() == 8192);
		CLAIM(part.info().is_wrapped() && kept.use_count() == 2);
	}
	CLAIM(calls == 1 && kept.use_count() == 1);
	CLAIM(!memory::try_wrap(on, &calls, sizeof(calls), [&calls, kept] { calls++; }));
	CLAIM(calls == 1 && kept.use_count() == 1);
	CLAIM(memory::wrap(on, inside, 0).info().bytes() == bytes - 4096);
}

TEST("retired memory ends when the device has done its work")
{
	const device on = test::device();
	const memory whole = memory::create(on, bytes);
	int calls = 0;
	memory part = memory::wrap(on, whole.pointer(), 8192, [&calls] { calls++; });

	part.retire();
	CLAIM(!part);
	while (calls == 0)
		memory::create(on, 4096); /* ends what was retired */
	CLAIM(calls == 1 && memory::retired() == 0);
	part.retire();
	CLAIM(calls == 1);
}

TEST("elements that are not aligned are refused")
{
	const device on = test::device();
	const memory whole = memory::create(on, 4096, memory_kind::host);
	const result<memory> odd = memory::try_wrap(on, static_cast<char *>(whole.pointer()) + 1,
		16);

	if (!odd)
		throw test::skipped(odd.error().message());
	CLAIM(odd->try_span<char>()->size() == 16);
	REFUSED(status::invalid, odd->span<int>());
}

TEST("a copy into new memory")
{
	const device on = test::device();
	const stream by = stream::create(on);
	const std::vector<int> source(1000, 11);
	const memory there = memory::copy_in(by, source.data(), source.size() * sizeof(int));
	int back = 0;

	by.copy(&back, static_cast<int *>(there.pointer()) + 999, sizeof(back));
	by.synchronize();
	CLAIM(back == 11);
	CLAIM(memory::try_copy_in(by, source.data(), 0).status() == status::invalid);
}

TEST("legacy handles are refused where there are none")
{
	const device on = device::open("host");
	const array floats = array::of<float>({4});
	const ww_memory_handle noise{};

	CLAIM(memory::create(on, bytes).try_handle().status() == status::unsupported);
	CLAIM(!memory::try_open_handle(on, noise));
	CLAIM(!tensor::try_open_handle(on, noise, floats));
	CLAIM(event::try_open_handle(on, ww_event_handle{}).status() == status::unsupported);
}

TEST("a tensor goes out and comes back by DLPack")
{
	const device on = test::device();
	const tensor mine{memory::create(on, bytes, memory_kind::host), array::of<float>({8, 16})};
	DLManagedTensorVersioned *out = mine.to_dlpack();
	const result<tensor> back = tensor::try_from_dlpack(on, out);

	CLAIM(back && back->pointer() == mine.pointer());
	CLAIM(back->array.is<float>() && back->array.bytes() == 8 * 16 * 4);
	DLManagedTensor *old = mine.to_dlpack_unversioned();

	CLAIM(tensor::from_dlpack(on, old).pointer() == mine.pointer());
	const tensor outside{mine.memory, array::of<float>({1 << 20})};

	CLAIM(outside.try_to_dlpack().status() == status::mismatch);
	REFUSED(status::mismatch, outside.to_dlpack_unversioned());
}

TEST("a pool cuts slices and takes them back")
{
	const device on = test::device();
	pool_options options;

	options.bytes_max = bytes;
	const pool stock = pool::create(on, options);
	{
		const memory slice = stock.alloc(1000);

		CLAIM(slice.info().is_slice() && slice.info().bytes() >= 1000);
		CLAIM(stock.info().slice_count() == 1 && stock.info().allocations() == 1);
		const memory aligned = stock.alloc(1, 4096);

		CLAIM(reinterpret_cast<std::uintptr_t>(aligned.pointer()) % 4096 == 0);
		CLAIM(stock.try_alloc(bytes).status() == status::limit);
		CLAIM(!stock.alloc(bytes, 0, std::chrono::milliseconds(1)));
		CLAIM(stock.alloc(1, 0, forever));
		REFUSED(status::invalid, stock.alloc(0));
	}
	CLAIM(stock.info().slice_count() == 0 && stock.info().bytes_used() == 0);
	CLAIM(stock.info().bytes_max() == bytes && stock.info().chunk_count() == 1);
	CLAIM(stock.trim() == bytes && stock.trim() == 0);
	CLAIM(!stock.holder(0));
	for (const pool_holder_info &holder : stock.holders())
		CLAIM(holder.pid() == 0);
	options.slices_max = WW_POOL_SLICES_MAX + 1;
	REFUSED(status::invalid, pool::create(on, options));
}

TEST("a slice is released after a stream, or kept")
{
	const device on = test::device_with(capability::stream_value, "values of streams");
	const pool stock = pool::create(on);
	const stream by = stream::create(on);
	memory slice = stock.alloc(4096), whole = memory::create(on, bytes);

	by.fill(slice.pointer(), 1, 1024);
	pool::release(std::move(slice), by);
	CLAIM(!slice);
	by.synchronize();
	CLAIM(stock.info().slice_count() == 0);
	CLAIM(pool::try_release(std::move(whole), by).status() == status::invalid);
	CLAIM(whole);
}

TEST("timelines between streams and threads of one process")
{
	const device on = test::device_with(capability::stream_value, "values of streams");
	const stream by = stream::create(on);
	timeline_options options;

	options.value = 3;
	options.alone = true;
	const timeline mine = timeline::create(options);

	mine.prepare(on);
	mine.wait(3);
	CLAIM(mine.query(4) == outcome::not_ready);
	CLAIM(mine.wait(4, 1ms) == outcome::timed_out);
	CLAIM(mine.stream_wait(by, 4, 1ms) == outcome::timed_out);
	mine.signal(4);
	mine.stream_wait(by, 4);
	mine.stream_signal(by, 5);
	CLAIM(mine.wait(5, forever) == outcome::done);
	CLAIM(mine.info().completed() == 5 && mine.info().is_own() && !mine.info().lost());
	CLAIM(mine.info().state() == timeline_state::live);
	REFUSED(status::invalid, mine.signal(5));
	mine.fail("disk full");
	CLAIM(mine.info().state() == timeline_state::lost && !mine.info().lost());
	REFUSED(status::peer_lost, mine.wait(6));
}

TEST("a descriptor that is readable when a value is reached")
{
	const device on = test::device_with(capability::stream_value, "values of streams");
	const stream by = stream::create(on);
	const timeline mine = timeline::create();

	mine.signal(1);
	const descriptor ready = mine.eventfd(by, 1);
	pollfd looked{ready.get(), POLLIN, 0};

	CLAIM(::poll(&looked, 1, -1) == 1 && (looked.revents & POLLIN));
}

TEST("events")
{
	const device on = test::device_with(capability::event, "events between processes");
	const stream by = stream::create(on), other = stream::create(on);
	event_options options;

	options.blocking_sync = true;
	const event one = event::create(on, options);

	one.record(by);
	one.stream_wait(other);
	one.synchronize();
	CLAIM(one.synchronize(1h) == outcome::done && one.query() == outcome::done);
	if (on.info().backend() == backend::cuda)
		CLAIM(event::try_open_handle(on, one.handle()).status() == status::unsupported);
	else
		REFUSED(status::unsupported, one.handle());
}

/* Kernels from a file and from memory */

static std::string kernels_path()
{
	const char *path = std::getenv("WW_TEST_KERNELS");

	if (!path)
		throw test::skipped("WW_TEST_KERNELS does not name the kernels of the tests");
	return path;
}

/* A kernel that stores 7 where its argument points; the fake driver has it in C. */
static std::string ptx()
{
	return ".version 6.0\n.target sm_50\n.address_size 64\n"
	       "// fakecuda: " +
		kernels_path() +
		"\n"
		".visible .entry store_seven(.param .u64 out)\n"
		"{\n"
		"	.reg .u32 %r;\n"
		"	.reg .u64 %d;\n"
		"	ld.param.u64 %d, [out];\n"
		"	mov.u32 %r, 7;\n"
		"	st.u32 [%d], %r;\n"
		"	ret;\n"
		"}\n";
}

/* A call of the driver, whose parameters are those of the arguments. */
template <class... Parameters>
static void call_driver(const char *name, Parameters... arguments)
{
	void *found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);

	CLAIM(found && reinterpret_cast<int (*)(Parameters...)>(found)(arguments...) == 0);
}

TEST("a graph signals a timeline and waits for one")
{
	const device on = test::device_with(capability::graph, "graphs");
	const stream by = stream::create(on);
	const timeline input = timeline::create();
	const timeline output = timeline::create();
	void *graph = nullptr;
	void *executable = nullptr;
	void *context = nullptr;
	const int index = static_cast<int>(on.info().index());

	call_driver("cuDevicePrimaryCtxRetain", &context, index);
	call_driver("cuCtxSetCurrent", context);
	call_driver("cuGraphCreate", &graph, 0U);
	const graph_node wait = graph_node::add(graph_node_kind::wait, input, by, graph);
	const graph_node signal =
		graph_node::add(graph_node_kind::signal, output, by, graph, {wait.native()});
	call_driver("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
	CLAIM(graph_launch(by, executable, {{wait, 1}, {signal, 5}}, std::chrono::seconds(0)) ==
		outcome::timed_out);
	input.signal(1);
	graph_launch(by, executable, {{wait, 1}, {signal, 5}});
	output.wait(5);
	REFUSED(status::invalid, graph_launch(by, executable, {{signal, 5}}));
	REFUSED(status::state, graph_node::capture(graph_node_kind::signal, output, by));
	call_driver("cuGraphExecDestroy", executable);
	call_driver("cuGraphDestroy", graph);
	call_driver("cuCtxSetCurrent", static_cast<void *>(nullptr));
	call_driver("cuDevicePrimaryCtxRelease_v2", index);
}

static kernel_module load(const device &on)
{
	if (on.info().backend() == backend::host)
		return kernel_module::load(on, kernels_path());
	return kernel_module::load_image(on, ptx().data(), ptx().size());
}

TEST("a kernel is loaded, described and launched")
{
	const device on = test::device_with(capability::module, "modules");
	const stream by = stream::create(on);
	const memory there = memory::create(on, 1);
	const kernel seven = load(on).find("store_seven");
	std::uint32_t number = 0;

	CLAIM(seven.info().threads_max() <= 1024 && seven.info().shared_bytes() == 0);
	CLAIM(seven.info().shared_bytes_max() > 0 && seven.info().local_bytes() == 0);
	CLAIM(seven.info().argument_count() == 1 ||
		seven.info().argument_count() == WW_KERNEL_ARGUMENTS_UNKNOWN);
	CLAIM(seven.argument_bytes(0) == 8 || !seven.argument_bytes(0));
	CLAIM(seven.argument_bytes(0).has_value() == (seven.info().argument_count() == 1));
	CLAIM(!seven.argument_bytes(1));
	CLAIM((seven.info().registers() > 0) == (on.info().backend() == backend::cuda));
	seven.launch(by, {{2, 2, 2}, {32, 2, 1}, 64}, there.pointer());
	by.synchronize();
	there.read(0, &number, sizeof(number));
	CLAIM(number == 7);
	CLAIM(seven.try_launch(by, {{1, 1, 1}, {2048, 1, 1}}, there.pointer()).status() ==
		status::invalid);
}

TEST("what is no module or kernel is refused")
{
	const device on = test::device_with(capability::module, "modules");
	const kernel_module loaded = load(on);

	REFUSED(status::not_found, kernel_module::load(on, "/no/such/file"));
	REFUSED(status::invalid, kernel_module::load_image(on, "text", 4));
	CLAIM(loaded.try_find("no_such_kernel").status() == status::not_found);
	CLAIM(loaded.try_find(std::string(5000, 'x')).status() == status::not_found);
}

/* Calls that wait, ended by another thread */

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
