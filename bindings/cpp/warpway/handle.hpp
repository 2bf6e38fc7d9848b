/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/handle.hpp - references of objects of the library, and owned descriptors
 *
 * A handle is one pointer. It is empty, or owns one reference of an object. A copy takes one more
 * reference, a move leaves an empty handle, the destructor releases the reference. Calls on an
 * empty handle are misuse, as with NULL in C, except where a comment says what an empty one means.
 */
#ifndef WARPWAY_HANDLE_HPP
#define WARPWAY_HANDLE_HPP

#include <unistd.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include <warpway/base.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

namespace detail
{

/* The members of all handles. Self: the handle's own class. End: releases a reference. */
template <class Self, class C, C *(*End)(C *)>
class handle
{
public:
	using c_type = C;

	/* Takes over one reference. */
	static Self adopt(C *object) noexcept
	{
		Self made;

		static_cast<handle &>(made).object_ = object;
		return made;
	}

	/* Borrowed; NULL if empty. */
	C *get() const noexcept { return object_; }
	explicit operator bool() const noexcept { return object_ != nullptr; }

	/* Gives up the reference, which is the caller's now; the handle is empty. */
	[[nodiscard]] C *release() noexcept { return std::exchange(object_, nullptr); }

	/* Releases the reference. */
	void reset() noexcept { handle().swap(*this); }

	void swap(handle &other) noexcept { std::swap(object_, other.object_); }
	friend void swap(Self &a, Self &b) noexcept { static_cast<handle &>(a).swap(b); }

	/* The same object. */
	friend bool operator==(const Self &a, const Self &b) noexcept { return a.get() == b.get(); }
	friend bool operator!=(const Self &a, const Self &b) noexcept { return a.get() != b.get(); }

protected:
	constexpr handle() noexcept = default;
	explicit constexpr handle(C *object) noexcept : object_(object) {}
	handle(handle &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
	handle &operator=(handle &&other) noexcept
	{
		handle(std::move(other)).swap(*this);
		return *this;
	}
	~handle()
	{
		if (object_)
			End(object_);
	}

private:
	C *object_ = nullptr;
};

/* A handle of an object that is counted, so that it can be copied. */
template <class Self, class C, C *(*Ref)(C *), C *(*Unref)(C *)>
class counted : public handle<Self, C, Unref>
{
	using base = handle<Self, C, Unref>;

public:
	/* Takes one more reference, and leaves the caller's. */
	static Self share(C *object) noexcept
	{
		return base::adopt(object ? Ref(object) : nullptr);
	}

protected:
	constexpr counted() noexcept = default;
	counted(counted &&) noexcept = default;
	counted(const counted &other) noexcept : base(other.get() ? Ref(other.get()) : nullptr) {}
	counted &operator=(counted &&) noexcept = default;
	counted &operator=(const counted &other) noexcept
	{
		counted(other).swap(*this);
		return *this;
	}
	~counted() = default;
};

/*
 * Calls a function object that C got as a pointer, once, and destroys it. It must not throw.
 */
template <class Function>
void call_once(void *context) noexcept
{
	Function *function = static_cast<Function *>(context);

	std::invoke(std::move(*function));
	delete function;
}

/*
 * A range over elements that are counted from 0 to WW_END: for (const auto &x : listing). The loop
 * throws if a call fails. Source: next(index), which returns result<std::optional<Value>>.
 */
template <class Source, class Value>
class listing
{
public:
	class iterator
	{
	public:
		using iterator_category = std::input_iterator_tag;
		using value_type = Value;
		using difference_type = std::ptrdiff_t;
		using pointer = const Value *;
		using reference = const Value &;

		iterator() noexcept = default;
		explicit iterator(const Source &source) : source_(&source) { look(); }

		reference operator*() const noexcept { return *value_; }
		pointer operator->() const noexcept { return &*value_; }
		iterator &operator++()
		{
			index_++;
			look();
			return *this;
		}
		iterator operator++(int)
		{
			iterator before = *this;

			++*this;
			return before;
		}

		/* What matters is the end. */
		friend bool operator==(const iterator &a, const iterator &b) noexcept
		{
			return a.source_ == b.source_ && (!a.source_ || a.index_ == b.index_);
		}
		friend bool operator!=(const iterator &a, const iterator &b) noexcept
		{
			return !(a == b);
		}

	private:
		void look()
		{
			value_ = source_->next(index_).value();
			if (!value_)
				source_ = nullptr;
		}

		const Source *source_ = nullptr;
		std::size_t index_ = 0;
		std::optional<Value> value_;
	};

	explicit listing(Source source) noexcept : source_(std::move(source)) {}

	iterator begin() const { return iterator(source_); }
	iterator end() const noexcept { return iterator(); }

private:
	Source source_;
};

} //namespace detail

/*
 * A file descriptor, closed by the destructor.
 */
class descriptor
{
public:
	descriptor() noexcept = default;
	descriptor(descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	descriptor &operator=(descriptor &&other) noexcept
	{
		descriptor(std::move(other)).swap(*this);
		return *this;
	}
	~descriptor()
	{
		if (fd_ >= 0)
			::close(fd_);
	}

	static descriptor adopt(int fd) noexcept
	{
		descriptor made;

		made.fd_ = fd;
		return made;
	}

	int get() const noexcept { return fd_; }
	explicit operator bool() const noexcept { return fd_ >= 0; }
	[[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
	void reset() noexcept { descriptor().swap(*this); }
	void swap(descriptor &other) noexcept { std::swap(fd_, other.fd_); }
	friend void swap(descriptor &a, descriptor &b) noexcept { a.swap(b); }

private:
	int fd_ = -1;
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
