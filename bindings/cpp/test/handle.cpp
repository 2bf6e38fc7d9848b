/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.cpp - who owns what: counted by an object of our own, whose references can be seen
 */
#include "test.hpp"

#include <fcntl.h>
#include <unistd.h>

using namespace warpway;

namespace
{

struct object {
	int refs;
};

object *ref(object *one)
{
	one->refs++;
	return one;
}

object *unref(object *one)
{
	one->refs--;
	return nullptr;
}

class sample : public detail::counted<sample, object, ref, unref>
{
public:
	sample() noexcept {}
};

class single : public detail::handle<single, object, unref>
{
public:
	single() noexcept {}
};

template <class Handle, class C>
constexpr bool is_free_of_overhead = sizeof(Handle) == sizeof(C *) &&
	std::is_nothrow_default_constructible_v<Handle> &&std::is_nothrow_move_constructible_v<
		Handle> &&std::is_nothrow_move_assignable_v<Handle>
		&&std::is_nothrow_destructible_v<Handle> &&std::is_nothrow_swappable_v<Handle>;

static_assert(
	is_free_of_overhead<device, ww_device> && std::is_nothrow_copy_constructible_v<device>);
static_assert(
	is_free_of_overhead<stream, ww_stream> && std::is_nothrow_copy_constructible_v<stream>);
static_assert(
	is_free_of_overhead<memory, ww_memory> && std::is_nothrow_copy_constructible_v<memory>);
static_assert(is_free_of_overhead<pool, ww_pool> && std::is_nothrow_copy_constructible_v<pool>);
static_assert(
	is_free_of_overhead<broker, ww_broker> && std::is_nothrow_copy_constructible_v<broker>);
static_assert(is_free_of_overhead<timeline, ww_timeline> && std::is_copy_assignable_v<timeline>);
static_assert(is_free_of_overhead<event, ww_event> && std::is_nothrow_copy_constructible_v<event>);
static_assert(is_free_of_overhead<barrier, ww_barrier> && std::is_copy_assignable_v<barrier>);
static_assert(
	is_free_of_overhead<cancel, ww_cancel> && std::is_nothrow_copy_constructible_v<cancel>);
static_assert(
	is_free_of_overhead<snapshot, ww_snapshot> && !std::is_copy_constructible_v<snapshot>);
static_assert(is_free_of_overhead<watch, ww_watch> && !std::is_copy_assignable_v<watch>);
static_assert(sizeof(descriptor) == sizeof(int) && !std::is_copy_constructible_v<descriptor>);
static_assert(!std::is_convertible_v<memory, bool>);
static_assert(!std::is_constructible_v<memory, ww_memory *>);

} //namespace

TEST("a copy counts, a move does not")
{
	object one{1};
	{
		sample first = sample::adopt(&one);
		const sample second = first;

		CLAIM(one.refs == 2 && first == second);
		sample third = std::move(first);

		CLAIM(one.refs == 2 && !first && third.get() == &one);
		CLAIM(first != third);
	}
	CLAIM(one.refs == 0);
}

TEST("assignment lets go of what was there")
{
	object one{1}, two{1};
	sample first = sample::adopt(&one), second = sample::adopt(&two);

	first = second;
	CLAIM(one.refs == 0 && two.refs == 2);
	first = sample();
	CLAIM(two.refs == 1 && !first);
	first = std::move(second);
	CLAIM(two.refs == 1 && first.get() == &two && !second);
	first.reset();
	CLAIM(two.refs == 0);
}

TEST("a handle assigned to itself stays")
{
	object one{1};
	sample first = sample::adopt(&one);
	sample &same = first;

	first = same;
	CLAIM(one.refs == 1 && first.get() == &one);
	first = std::move(same);
	CLAIM(one.refs == 1 && first.get() == &one);
	swap(first, same);
	CLAIM(one.refs == 1 && first.get() == &one);
}

TEST("adopt takes a reference, share makes one, release gives it up")
{
	object one{1};
	sample first = sample::share(&one);

	CLAIM(one.refs == 2);
	CLAIM(first.release() == &one && !first && one.refs == 2);
	unref(&one);
	first = sample::adopt(&one);
	CLAIM(one.refs == 1);
	CLAIM(!sample::share(nullptr) && !sample::adopt(nullptr));
	first.reset();
	CLAIM(one.refs == 0);
}

TEST("an empty handle can be copied, moved, swapped and ended")
{
	sample empty, copy = empty, moved = std::move(copy);

	copy = empty;
	swap(moved, empty);
	CLAIM(!empty && !copy && !moved && empty == moved);
}

TEST("a handle that is not counted is moved")
{
	object one{1};
	{
		single first = single::adopt(&one), second;

		second = std::move(first);
		CLAIM(!first && second.get() == &one && one.refs == 1);
		single &same = second;

		second = std::move(same);
		CLAIM(second.get() == &one && one.refs == 1);
	}
	CLAIM(one.refs == 0);
}

TEST("an exception lets go of every handle on its way")
{
	object one{1};
	const sample first = sample::adopt(&one);

	try {
		std::vector<sample> many(10, first);
		const result<sample> held(many[3]);

		CLAIM(one.refs == 12);
		throw error(failure::of(WW_ERR_STATE, "on purpose"));
	} catch (const error &why) {
		CLAIM(why.status() == status::state);
	}
	CLAIM(one.refs == 1);
}

TEST("results move and copy what they hold")
{
	object one{1};
	{
		result<sample> first(sample::adopt(&one));
		const result<sample> copy = first;

		CLAIM(one.refs == 2);
		result<sample> moved = std::move(first);

		CLAIM(one.refs == 2 && *moved == *copy);
		moved = failure::of(WW_ERR_STATE, "gone");
		CLAIM(one.refs == 1 && moved.status() == status::state);
	}
	CLAIM(one.refs == 0);
}

TEST("a descriptor is closed once")
{
	int pair[2];

	CLAIM(::pipe2(pair, O_CLOEXEC) == 0);
	{
		descriptor first = descriptor::adopt(pair[0]);
		descriptor second = std::move(first);
		descriptor &same = second;

		second = std::move(same);
		CLAIM(!first && second.get() == pair[0] && ::fcntl(pair[0], F_GETFD) >= 0);
	}
	CLAIM(::fcntl(pair[0], F_GETFD) < 0);
	descriptor kept = descriptor::adopt(pair[1]);

	CLAIM(::close(kept.release()) == 0 && !kept);
}
