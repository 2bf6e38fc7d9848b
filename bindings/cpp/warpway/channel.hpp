/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/channel.hpp - frames from one process to many, see warpway/channel.h
 *
 * The stream of a call may be empty: then the call is for code that uses the CPU.
 */
#ifndef WARPWAY_CHANNEL_HPP
#define WARPWAY_CHANNEL_HPP

#include <warpway/channel.h>

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
};

/* struct ww_consumer_params */
struct consumer_options {
	std::uint64_t history = 0;
	const char *metadata_type = nullptr;
	std::optional<warpway::array> array = {};
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
	const char *metadata_type() const noexcept { return raw().metadata_type; }
	const char *program() const noexcept { return raw().program; }
	std::optional<warpway::array> array() const noexcept
	{
		if (!raw().has_array)
			return {};
		return warpway::array(raw().array);
	}
};

/* struct ww_frame; its fields are read and set by raw() */
class frame : public detail::description<ww_frame>
{
public:
	using detail::description<ww_frame>::raw;
	ww_frame &raw() noexcept { return *this->out(); }
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
		const channel_options &options = {}, const broker &in = {},
		const cancel &stop = {})
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
		return detail::ended(ww_channel_acquire(get(), by.get(), limit.ns(), stop.get(),
			into.out()));
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
		return detail::ended(ww_channel_receive(get(), by.get(), limit.ns(), stop.get(),
			into.out()));
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

	/* ww_channel_info_get() */
	result<channel_info> try_info() const noexcept
	{
		channel_info filled;
		const ww_status code = ww_channel_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	channel_info info() const { return try_info().value(); }

private:
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
		options.metadata_type.substr(0, room).copy(filled.metadata_type, room);
		filled.array = options.array ? &options.array->raw() : nullptr;
		return filled;
	}
	static ww_consumer_params to_params(const consumer_options &options) noexcept
	{
		ww_consumer_params filled = detail::params<ww_consumer_params>();

		filled.history = options.history;
		filled.metadata_type = options.metadata_type;
		filled.array = options.array ? &options.array->raw() : nullptr;
		return filled;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
