/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/channel.hpp - frames from one process to many, see warpway/channel.h
 *
 * The stream of a call may be empty: then the call is for code that uses the CPU.
 */
#ifndef WARPWAY_CHANNEL_HPP
#define WARPWAY_CHANNEL_HPP

#include <warpway/channel.h>

#include <chrono>

#include <warpway/array.hpp>
#include <warpway/timeline.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* ww_channel_params.policy */
enum class channel_policy : std::uint32_t {
	block = WW_CHANNEL_BLOCK,
	drop_oldest = WW_CHANNEL_DROP_OLDEST,
	latest = WW_CHANNEL_LATEST
};

/* struct ww_channel_params, but for slot_bytes; 0: as there */
struct channel_options {
	channel_policy policy = channel_policy::block;
	std::uint32_t slots = 0;
	std::uint32_t consumers_max = 0;
	std::uint32_t held_max = 0;
	std::uint32_t ahead_max = 0;
	std::uint32_t metadata_bytes = 0;
	std::string_view metadata_type = {}; /* cut at 15 bytes */
	memory_kind kind = memory_kind::vmm;
	std::optional<warpway::array> array = {};
	name_options name = {};
	std::chrono::nanoseconds evict_after{0};
	std::chrono::nanoseconds deadline{0}; /* that the producer promises */
	std::uint32_t consumers_per_uid_max = 0;
	bool trust_users = false; /* WW_CHANNEL_TRUST_USERS */
};

/* struct ww_consumer_params */
struct consumer_options {
	std::uint64_t history = 0;
	const char *metadata_type = nullptr;
	std::optional<warpway::array> array = {};
	bool observe = false;                 /* WW_CONSUMER_OBSERVE */
	std::chrono::nanoseconds deadline{0}; /* that is wanted */
	bool trust_users = false;             /* WW_CONSUMER_TRUST_USERS */
	bool reattach = false;                /* WW_CONSUMER_REATTACH */
};

/* struct ww_channel_info */
class channel_info : public detail::description<ww_channel_info>
{
public:
	bool is_producer() const noexcept { return raw().is_producer; }
	channel_policy policy() const noexcept { return channel_policy{raw().policy}; }
	std::uint32_t slots() const noexcept { return raw().slots; }
	std::uint32_t consumers() const noexcept { return raw().consumers; }
	std::uint32_t consumers_max() const noexcept { return raw().consumers_max; }
	std::uint32_t held_max() const noexcept { return raw().held_max; }
	std::uint32_t held() const noexcept { return raw().held; }
	std::uint64_t slot_bytes() const noexcept { return raw().slot_bytes; }
	std::uint32_t metadata_bytes() const noexcept { return raw().metadata_bytes; }
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint64_t published() const noexcept { return raw().published; }
	std::uint64_t received() const noexcept { return raw().received; }
	std::uint64_t dropped() const noexcept { return raw().dropped; }
	bool is_observer() const noexcept { return raw().is_observer; }
	std::chrono::nanoseconds deadline() const noexcept
	{
		return detail::to_duration(raw().deadline_ns);
	}
	std::uint64_t deadlines_missed() const noexcept { return raw().deadlines_missed; }
	std::chrono::nanoseconds evict_after() const noexcept
	{
		return detail::to_duration(raw().evict_after_ns);
	}
	std::uint32_t consumers_per_uid_max() const noexcept { return raw().consumers_per_uid_max; }
	/* Of CLOCK_MONOTONIC, as std::chrono::steady_clock. */
	std::chrono::nanoseconds published_at() const noexcept
	{
		return detail::to_duration(raw().published_ns);
	}
	std::optional<std::uint32_t> number() const noexcept { return somebody(raw().number); }
	std::optional<std::uint32_t> waits_for() const noexcept
	{
		return somebody(raw().waits_for);
	}
	std::chrono::nanoseconds waited() const noexcept
	{
		return detail::to_duration(raw().waited_ns);
	}
	bool is_closed() const noexcept { return raw().has_ended == 1; }
	bool is_lost() const noexcept { return raw().has_ended == 2; }
	std::uint32_t generation() const noexcept { return raw().generation; }
	const char *metadata_type() const noexcept { return raw().metadata_type; }
	const char *program() const noexcept { return raw().program; }
	std::optional<warpway::array> array() const noexcept
	{
		if (!raw().has_array)
			return {};
		return warpway::array(raw().array);
	}

private:
	static std::optional<std::uint32_t> somebody(std::uint32_t number) noexcept
	{
		return number == WW_CHANNEL_NOBODY ? std::optional<std::uint32_t>() : number;
	}
};

/* struct ww_channel_consumer_info */
class channel_consumer_info : public detail::description<ww_channel_consumer_info>
{
public:
	std::uint32_t number() const noexcept { return raw().number; }
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	bool is_asleep() const noexcept { return raw().is_asleep; }
	bool is_evicted() const noexcept { return raw().is_evicted; }
	bool is_waited_for() const noexcept { return raw().is_waited_for; }
	std::uint32_t held() const noexcept { return raw().held; }
	std::uint64_t next() const noexcept { return raw().next; }
	std::uint64_t dropped() const noexcept { return raw().dropped; }
	std::chrono::nanoseconds waited() const noexcept
	{
		return detail::to_duration(raw().waited_ns);
	}
	const char *program() const noexcept { return raw().program; }
};

/* ww_channel_event.kind */
enum class channel_event_kind : std::uint32_t {
	consumer_joined = WW_CHANNEL_CONSUMER_JOINED,
	consumer_left = WW_CHANNEL_CONSUMER_LEFT,
	consumer_ended = WW_CHANNEL_CONSUMER_ENDED,
	consumer_evicted = WW_CHANNEL_CONSUMER_EVICTED,
	producer_waited = WW_CHANNEL_PRODUCER_WAITED,
	deadline_missed = WW_CHANNEL_DEADLINE_MISSED,
	producer_closed = WW_CHANNEL_PRODUCER_CLOSED,
	producer_ended = WW_CHANNEL_PRODUCER_ENDED,
	reattached = WW_CHANNEL_REATTACHED
};

/* struct ww_channel_event */
class channel_event : public detail::description<ww_channel_event>
{
public:
	channel_event_kind kind() const noexcept { return channel_event_kind{raw().kind}; }
	/* Nothing: the event is of the producer. */
	std::optional<std::uint32_t> consumer() const noexcept
	{
		if (raw().consumer == WW_CHANNEL_NOBODY)
			return {};
		return raw().consumer;
	}
	std::uint32_t pid() const noexcept { return raw().pid; }
	std::uint32_t uid() const noexcept { return raw().uid; }
	std::uint32_t generation() const noexcept { return raw().generation; }
	std::uint64_t frame() const noexcept { return raw().frame; }
	/* Of CLOCK_MONOTONIC, as std::chrono::steady_clock. */
	std::chrono::nanoseconds at() const noexcept { return detail::to_duration(raw().time_ns); }
	std::chrono::nanoseconds waited() const noexcept
	{
		return detail::to_duration(raw().waited_ns);
	}
	std::uint64_t dropped() const noexcept { return raw().dropped; }
	const char *program() const noexcept { return raw().program; }
};

/* struct ww_frame, of a channel or of a work queue; its fields are read and set by raw() */
class frame : public detail::description<ww_frame>
{
public:
	using detail::description<ww_frame>::raw;
	ww_frame &raw() noexcept { return *this->out(); }
	/* Of a work queue: whether it was given out before: part of its work may be done. */
	bool is_repeat() const noexcept { return raw().attempts > 1; }
};

/*
 * One side of a channel.
 */
class channel : public detail::counted<channel, ww_channel, ww_channel_ref, ww_channel_unref>
{
public:
	/* Empty. */
	channel() noexcept {}

	/* ww_channel_create(): an empty name is none; an empty broker is the default one. */
	static result<channel> try_create(const device &on, std::string_view name,
		std::uint64_t slot_bytes, const channel_options &options = {},
		const broker &in = {}, const cancel &stop = {}) noexcept
	{
		const ww_channel_params params = to_params(slot_bytes, options);
		ww_channel *made = nullptr;
		const ww_status code = ww_channel_create(on.get(), in.get(),
			name.empty() ? nullptr : detail::c_name(name).get(), &params, stop.get(),
			&made);

		return detail::adopted<channel>(code, made);
	}
	static channel create(const device &on, std::string_view name, std::uint64_t slot_bytes,
		const channel_options &options = {}, const broker &in = {}, const cancel &stop = {})
	{
		return try_create(on, name, slot_bytes, options, in, stop).value();
	}

	/* ww_channel_get(): empty when the time is over or it is cancelled. */
	static result<std::optional<channel>> try_get(const device &on, std::string_view name,
		timeout limit, const consumer_options &options = {}, const broker &in = {},
		const cancel &stop = {}) noexcept
	{
		const ww_consumer_params params = to_params(options);
		ww_channel *made = nullptr;
		const ww_status code = ww_channel_get(on.get(), in.get(),
			detail::c_name(name).get(), &params, limit.ns(), stop.get(), &made);

		return detail::adopted_in_time<channel>(code, made);
	}
	static std::optional<channel> get(const device &on, std::string_view name, timeout limit,
		const consumer_options &options = {}, const broker &in = {},
		const cancel &stop = {})
	{
		return try_get(on, name, limit, options, in, stop).value();
	}
	using counted::get;

	/* ww_channel_export() */
	result<token> try_export_token(const token_options &options = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_token_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_channel_export(get(), &params, stop.get(), made.out());

		return detail::filled(code, made);
	}
	token export_token(const token_options &options = {}, const cancel &stop = {}) const
	{
		return try_export_token(options, stop).value();
	}

	/* ww_channel_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<channel> try_import_token(const device &on, const token &from,
		const consumer_options &options = {}, const broker &by = {},
		const cancel &stop = {}) noexcept
	{
		const ww_consumer_params params = to_params(options);
		ww_channel *made = nullptr;
		const ww_status code = ww_channel_import(on.get(), by.get(), &from.raw(), &params,
			stop.get(), &made);

		return detail::adopted<channel>(code, made);
	}
	static channel import_token(const device &on, const token &from,
		const consumer_options &options = {}, const broker &by = {},
		const cancel &stop = {})
	{
		return try_import_token(on, from, options, by, stop).value();
	}

	/* ww_channel_acquire(): fills @into when the outcome is done. */
	result<outcome> try_acquire(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_channel_acquire(get(), by.get(), limit.ns(), stop.get(), into.out()));
	}
	[[nodiscard]] outcome acquire(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const
	{
		return try_acquire(into, limit, by, stop).value();
	}

	/* ww_channel_publish() */
	result<void> try_publish(frame &what, const stream &by = {}) const noexcept
	{
		return detail::done(ww_channel_publish(get(), what.out(), by.get()));
	}
	void publish(frame &what, const stream &by = {}) const { try_publish(what, by).value(); }

	/* ww_channel_discard() */
	result<void> try_discard(const frame &what, const stream &by = {}) const noexcept
	{
		return detail::done(ww_channel_discard(get(), &what.raw(), by.get()));
	}
	void discard(const frame &what, const stream &by = {}) const
	{
		try_discard(what, by).value();
	}

	/* ww_channel_receive(): fills @into when the outcome is done; end: none will come. */
	result<outcome> try_receive(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_channel_receive(get(), by.get(), limit.ns(), stop.get(), into.out()));
	}
	[[nodiscard]] outcome receive(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const
	{
		return try_receive(into, limit, by, stop).value();
	}

	/* ww_channel_release() */
	result<void> try_release(const frame &what, const stream &by = {}) const noexcept
	{
		return detail::done(ww_channel_release(get(), &what.raw(), by.get()));
	}
	void release(const frame &what, const stream &by = {}) const
	{
		try_release(what, by).value();
	}

	/* ww_channel_eventfd() */
	result<descriptor> try_eventfd() const noexcept
	{
		int fd = -1;
		const ww_status code = ww_channel_eventfd(get(), &fd);

		if (code != WW_OK)
			return detail::unexpected(code);
		return descriptor::adopt(fd);
	}
	descriptor eventfd() const { return try_eventfd().value(); }

	/*
	 * ww_channel_wait_any(): which of an array of channels can go on; empty when the time is
	 * over or it is cancelled.
	 */
	static result<std::optional<std::size_t>> try_wait_any(const channel *channels,
		std::size_t count, timeout limit, const cancel &stop = {}) noexcept
	{
		ww_channel *raw[WW_CHANNEL_WAIT_MAX];
		std::uint32_t index = 0;

		if (count > WW_CHANNEL_WAIT_MAX)
			count = WW_CHANNEL_WAIT_MAX + 1; /* refused */
		for (std::size_t i = 0; i < count && i < WW_CHANNEL_WAIT_MAX; i++)
			raw[i] = channels[i].get();
		const ww_status code = ww_channel_wait_any(raw, static_cast<std::uint32_t>(count),
			limit.ns(), stop.get(), &index);

		if (detail::ended_early(code))
			return std::optional<std::size_t>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<std::size_t>(index);
	}
	static std::optional<std::size_t> wait_any(const channel *channels, std::size_t count,
		timeout limit, const cancel &stop = {})
	{
		return try_wait_any(channels, count, limit, stop).value();
	}

	/* ww_channel_info_get() */
	result<channel_info> try_info() const noexcept
	{
		channel_info filled;
		const ww_status code = ww_channel_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	channel_info info() const { return try_info().value(); }

	/* ww_channel_consumer_info_get(): nothing behind the last; index 0 looks who has come. */
	result<std::optional<channel_consumer_info>> try_consumer(
		std::uint32_t index) const noexcept
	{
		channel_consumer_info filled;
		const ww_status code = ww_channel_consumer_info_get(get(), index, filled.out());

		if (code == WW_END)
			return std::optional<channel_consumer_info>();
		if (code != WW_OK)
			return detail::unexpected(code);
		return std::optional<channel_consumer_info>(filled);
	}
	std::optional<channel_consumer_info> consumer(std::uint32_t index) const
	{
		return try_consumer(index).value();
	}

	/* ww_channel_wait_consumers() */
	result<outcome> try_wait_consumers(std::uint32_t count, timeout limit,
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_channel_wait_consumers(get(), count, limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome wait_consumers(std::uint32_t count, timeout limit,
		const cancel &stop = {}) const
	{
		return try_wait_consumers(count, limit, stop).value();
	}

	/* ww_channel_evict() */
	result<void> try_evict(std::uint32_t number) const noexcept
	{
		return detail::done(ww_channel_evict(get(), number));
	}
	void evict(std::uint32_t number) const { try_evict(number).value(); }

	/* ww_channel_next_event(): fills @into when the outcome is done. */
	result<outcome> try_next_event(channel_event &into, timeout limit,
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_channel_next_event(get(), limit.ns(), stop.get(), into.out()));
	}
	[[nodiscard]] outcome next_event(channel_event &into, timeout limit,
		const cancel &stop = {}) const
	{
		return try_next_event(into, limit, stop).value();
	}

private:
	static std::uint64_t to_ns(std::chrono::nanoseconds time) noexcept
	{
		return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
	}
	static ww_channel_params to_params(std::uint64_t slot_bytes,
		const channel_options &options) noexcept
	{
		ww_channel_params filled = detail::params<ww_channel_params>();
		const std::size_t room = sizeof(filled.metadata_type) - 1;

		filled.policy = static_cast<std::uint32_t>(options.policy);
		filled.slot_bytes = slot_bytes;
		filled.slots = options.slots;
		filled.consumers_max = options.consumers_max;
		filled.held_max = options.held_max;
		filled.ahead_max = options.ahead_max;
		filled.metadata_bytes = options.metadata_bytes;
		filled.kind = static_cast<std::uint32_t>(options.kind);
		filled.mode = options.name.mode;
		filled.gid = options.name.gid;
		filled.flags = options.name.replace ? WW_PUT_REPLACE : 0;
		filled.flags |= options.trust_users ? WW_CHANNEL_TRUST_USERS : 0;
		options.metadata_type.substr(0, room).copy(filled.metadata_type, room);
		filled.array = options.array ? &options.array->raw() : nullptr;
		filled.evict_after_ns = to_ns(options.evict_after);
		filled.deadline_ns = to_ns(options.deadline);
		filled.consumers_per_uid_max = options.consumers_per_uid_max;
		return filled;
	}
	static ww_consumer_params to_params(const consumer_options &options) noexcept
	{
		ww_consumer_params filled = detail::params<ww_consumer_params>();

		filled.flags = options.observe ? WW_CONSUMER_OBSERVE : 0;
		filled.flags |= options.trust_users ? WW_CONSUMER_TRUST_USERS : 0;
		filled.flags |= options.reattach ? WW_CONSUMER_REATTACH : 0;
		filled.deadline_ns = to_ns(options.deadline);
		filled.history = options.history;
		filled.metadata_type = options.metadata_type;
		filled.array = options.array ? &options.array->raw() : nullptr;
		return filled;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
