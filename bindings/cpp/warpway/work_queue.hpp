/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/work_queue.hpp - frames from several producers, each for exactly one of several
 * consumers, see warpway/work_queue.h
 *
 * The stream of a call may be empty: then the call is for code that uses the CPU.
 */
#ifndef WARPWAY_WORK_QUEUE_HPP
#define WARPWAY_WORK_QUEUE_HPP

#include <warpway/work_queue.h>

#include <warpway/channel.hpp> /* class frame */

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* WW_WORK_QUEUE_...: what a process does with a queue */
enum class work_role : std::uint32_t {
	keeper = WW_WORK_QUEUE_KEEPER,
	producer = WW_WORK_QUEUE_PRODUCER,
	consumer = WW_WORK_QUEUE_CONSUMER,
	failed = WW_WORK_QUEUE_FAILED
};

/* struct ww_work_queue_params, but for slot_bytes; 0: as there */
struct work_queue_options {
	work_role role = work_role::keeper;
	std::uint32_t slots = 0;
	std::uint32_t producers_max = 0;
	std::uint32_t consumers_max = 0;
	std::uint32_t attempts_max = 0;
	std::uint32_t failed_max = 0;
	std::uint32_t held_max = 0;
	std::uint32_t end_after_producers = 0; /* of a consumer */
	std::uint32_t metadata_bytes = 0;
	std::string_view metadata_type = {}; /* cut at 15 bytes */
	memory_kind kind = memory_kind::vmm;
	std::optional<warpway::array> array = {};
	name_options name = {};
};

/* struct ww_work_member_params, but for its role */
struct work_member_options {
	const char *metadata_type = nullptr;
	std::optional<warpway::array> array = {};
	std::uint32_t end_after_producers = 0; /* of a consumer */
};

/* struct ww_work_queue_info */
class work_queue_info : public detail::description<ww_work_queue_info>
{
public:
	work_role role() const noexcept { return work_role{raw().role}; }
	bool is_closed() const noexcept { return raw().is_closed; }
	std::uint32_t slots() const noexcept { return raw().slots; }
	std::uint32_t producers() const noexcept { return raw().producers; }
	std::uint32_t consumers() const noexcept { return raw().consumers; }
	std::uint32_t producers_max() const noexcept { return raw().producers_max; }
	std::uint32_t consumers_max() const noexcept { return raw().consumers_max; }
	std::uint32_t attempts_max() const noexcept { return raw().attempts_max; }
	std::uint32_t failed_max() const noexcept { return raw().failed_max; }
	std::uint32_t held_max() const noexcept { return raw().held_max; }
	std::uint32_t held() const noexcept { return raw().held; }
	std::uint64_t slot_bytes() const noexcept { return raw().slot_bytes; }
	std::uint32_t metadata_bytes() const noexcept { return raw().metadata_bytes; }
	std::uint32_t available() const noexcept { return raw().available; }
	std::uint32_t claimed() const noexcept { return raw().claimed; }
	std::uint32_t failed() const noexcept { return raw().failed; }
	std::uint64_t published() const noexcept { return raw().published; }
	std::uint64_t dropped() const noexcept { return raw().dropped; }
	std::uint64_t received() const noexcept { return raw().received; }
	std::uint64_t lost() const noexcept { return raw().lost; }
	const char *metadata_type() const noexcept { return raw().metadata_type; }
	std::optional<warpway::array> array() const noexcept
	{
		if (!raw().has_array)
			return {};
		return warpway::array(raw().array);
	}
	std::uint64_t published_total() const noexcept { return raw().published_total; }
	std::uint64_t acknowledged_total() const noexcept { return raw().acknowledged_total; }
	std::uint64_t repeated_total() const noexcept { return raw().repeated_total; }
	std::uint64_t failed_total() const noexcept { return raw().failed_total; }
	std::uint64_t dropped_total() const noexcept { return raw().dropped_total; }
	std::uint64_t lost_total() const noexcept { return raw().lost_total; }
	std::uint32_t uncounted() const noexcept { return raw().uncounted; }
};

/*
 * One member of a work queue.
 */
class work_queue
	: public detail::counted<work_queue, ww_work_queue, ww_work_queue_ref, ww_work_queue_unref>
{
public:
	/* Empty. */
	work_queue() noexcept {}

	/* ww_work_queue_create(): an empty name is none; an empty broker is the default one. */
	static result<work_queue> try_create(const device &on, std::string_view name,
		std::uint64_t slot_bytes, const work_queue_options &options = {},
		const broker &in = {}, const cancel &stop = {}) noexcept
	{
		const ww_work_queue_params params = to_params(slot_bytes, options);
		ww_work_queue *made = nullptr;
		const ww_status code = ww_work_queue_create(on.get(), in.get(),
			name.empty() ? nullptr : detail::c_name(name).get(), &params, stop.get(),
			&made);

		return detail::adopted<work_queue>(code, made);
	}
	static work_queue create(const device &on, std::string_view name, std::uint64_t slot_bytes,
		const work_queue_options &options = {}, const broker &in = {},
		const cancel &stop = {})
	{
		return try_create(on, name, slot_bytes, options, in, stop).value();
	}

	/* ww_work_queue_get(): empty when the time is over or it is cancelled. */
	static result<std::optional<work_queue>> try_get(const device &on, std::string_view name,
		work_role role, timeout limit, const work_member_options &expected = {},
		const broker &in = {}, const cancel &stop = {}) noexcept
	{
		const ww_work_member_params params = to_params(role, expected);
		ww_work_queue *made = nullptr;
		const ww_status code = ww_work_queue_get(on.get(), in.get(),
			detail::c_name(name).get(), &params, limit.ns(), stop.get(), &made);

		return detail::adopted_in_time<work_queue>(code, made);
	}
	static std::optional<work_queue> get(const device &on, std::string_view name,
		work_role role, timeout limit, const work_member_options &expected = {},
		const broker &in = {}, const cancel &stop = {})
	{
		return try_get(on, name, role, limit, expected, in, stop).value();
	}
	using counted::get;

	/* ww_work_queue_export() */
	result<token> try_export_token(warpway::access most, const token_options &options = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_token_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_work_queue_export(get(), static_cast<std::uint32_t>(most),
			&params, stop.get(), made.out());

		return detail::filled(code, made);
	}
	token export_token(warpway::access most, const token_options &options = {},
		const cancel &stop = {}) const
	{
		return try_export_token(most, options, stop).value();
	}

	/* ww_work_queue_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<work_queue> try_import_token(const device &on, const token &from,
		work_role role, const work_member_options &expected = {}, const broker &by = {},
		const cancel &stop = {}) noexcept
	{
		const ww_work_member_params params = to_params(role, expected);
		ww_work_queue *made = nullptr;
		const ww_status code = ww_work_queue_import(on.get(), by.get(), &from.raw(),
			&params, stop.get(), &made);

		return detail::adopted<work_queue>(code, made);
	}
	static work_queue import_token(const device &on, const token &from, work_role role,
		const work_member_options &expected = {}, const broker &by = {},
		const cancel &stop = {})
	{
		return try_import_token(on, from, role, expected, by, stop).value();
	}

	/* ww_work_queue_close() */
	result<void> try_close() const noexcept { return detail::done(ww_work_queue_close(get())); }
	void close() const { try_close().value(); }

	/* ww_work_queue_acquire(): fills @into when the outcome is done; end: it was closed. */
	result<outcome> try_acquire(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_work_queue_acquire(get(), by.get(), limit.ns(), stop.get(), into.out()));
	}
	[[nodiscard]] outcome acquire(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const
	{
		return try_acquire(into, limit, by, stop).value();
	}

	/* ww_work_queue_publish() */
	result<void> try_publish(frame &what, const stream &by = {}) const noexcept
	{
		return detail::done(ww_work_queue_publish(get(), what.out(), by.get()));
	}
	void publish(frame &what, const stream &by = {}) const { try_publish(what, by).value(); }

	/* ww_work_queue_discard() */
	result<void> try_discard(const frame &what, const stream &by = {}) const noexcept
	{
		return detail::done(ww_work_queue_discard(get(), &what.raw(), by.get()));
	}
	void discard(const frame &what, const stream &by = {}) const
	{
		try_discard(what, by).value();
	}

	/* ww_work_queue_receive(): fills @into when the outcome is done; end: none will come. */
	result<outcome> try_receive(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const noexcept
	{
		return detail::ended(
			ww_work_queue_receive(get(), by.get(), limit.ns(), stop.get(), into.out()));
	}
	[[nodiscard]] outcome receive(frame &into, timeout limit, const stream &by = {},
		const cancel &stop = {}) const
	{
		return try_receive(into, limit, by, stop).value();
	}

	/* ww_work_queue_acknowledge() */
	result<void> try_acknowledge(const frame &what, const stream &by = {}) const noexcept
	{
		return detail::done(ww_work_queue_acknowledge(get(), &what.raw(), by.get()));
	}
	void acknowledge(const frame &what, const stream &by = {}) const
	{
		try_acknowledge(what, by).value();
	}

	/* ww_work_queue_finish(): done or not_ready. The frame stays held. */
	result<outcome> try_finish(const frame &what, const stream &by = {}) const noexcept
	{
		return detail::ended(ww_work_queue_finish(get(), &what.raw(), by.get()));
	}
	[[nodiscard]] outcome finish(const frame &what, const stream &by = {}) const
	{
		return try_finish(what, by).value();
	}

	/* ww_work_queue_reject() */
	result<void> try_reject(const frame &what) const noexcept
	{
		return detail::done(ww_work_queue_reject(get(), &what.raw()));
	}
	void reject(const frame &what) const { try_reject(what).value(); }

	/* ww_work_queue_eventfd() */
	result<descriptor> try_eventfd() const noexcept
	{
		int fd = -1;
		const ww_status code = ww_work_queue_eventfd(get(), &fd);

		if (code != WW_OK)
			return detail::unexpected(code);
		return descriptor::adopt(fd);
	}
	descriptor eventfd() const { return try_eventfd().value(); }

	/* ww_work_queue_info_get() */
	result<work_queue_info> try_info() const noexcept
	{
		work_queue_info filled;
		const ww_status code = ww_work_queue_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	work_queue_info info() const { return try_info().value(); }

private:
	static ww_work_queue_params to_params(std::uint64_t slot_bytes,
		const work_queue_options &options) noexcept
	{
		ww_work_queue_params filled = detail::params<ww_work_queue_params>();
		const std::size_t room = sizeof(filled.metadata_type) - 1;

		filled.role = static_cast<std::uint32_t>(options.role);
		filled.slot_bytes = slot_bytes;
		filled.slots = options.slots;
		filled.producers_max = options.producers_max;
		filled.consumers_max = options.consumers_max;
		filled.attempts_max = options.attempts_max;
		filled.failed_max = options.failed_max;
		filled.held_max = options.held_max;
		filled.metadata_bytes = options.metadata_bytes;
		filled.kind = static_cast<std::uint32_t>(options.kind);
		filled.mode = options.name.mode;
		filled.gid = options.name.gid;
		filled.end_after_producers = options.end_after_producers;
		filled.flags = options.name.replace ? WW_PUT_REPLACE : 0;
		options.metadata_type.substr(0, room).copy(filled.metadata_type, room);
		filled.array = options.array ? &options.array->raw() : nullptr;
		return filled;
	}

	static ww_work_member_params to_params(work_role role,
		const work_member_options &expected) noexcept
	{
		ww_work_member_params filled = detail::params<ww_work_member_params>();

		filled.role = static_cast<std::uint32_t>(role);
		filled.metadata_type = expected.metadata_type;
		filled.array = expected.array ? &expected.array->raw() : nullptr;
		filled.end_after_producers = expected.end_after_producers;
		return filled;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
