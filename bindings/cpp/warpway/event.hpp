/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/event.hpp - CUDA's events between processes, see warpway/event.h
 */
#ifndef WARPWAY_EVENT_HPP
#define WARPWAY_EVENT_HPP

#include <warpway/event.h>

#include <warpway/timeline.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

/* struct ww_event_params */
struct event_options {
	bool blocking_sync = false; /* a CPU that waits sleeps instead of spinning */
};

/*
 * Stands for the work that was enqueued on a stream when the event was last recorded.
 */
class event : public detail::counted<event, ww_event, ww_event_ref, ww_event_unref>
{
public:
	/* Empty. */
	event() noexcept {}

	/* ww_event_create() */
	static result<event> try_create(const device &on,
		const event_options &options = {}) noexcept
	{
		ww_event_params params = detail::params<ww_event_params>();
		ww_event *made = nullptr;

		params.flags = options.blocking_sync ? WW_EVENT_BLOCKING_SYNC : 0;
		const ww_status code = ww_event_create(on.get(), &params, &made);

		return detail::adopted<event>(code, made);
	}
	static event create(const device &on, const event_options &options = {})
	{
		return try_create(on, options).value();
	}

	/* ww_event_record() */
	result<void> try_record(const stream &by) const noexcept
	{
		return detail::done(ww_event_record(get(), by.get()));
	}
	void record(const stream &by) const { try_record(by).value(); }

	/* ww_event_stream_wait() */
	result<void> try_stream_wait(const stream &by) const noexcept
	{
		return detail::done(ww_event_stream_wait(get(), by.get()));
	}
	void stream_wait(const stream &by) const { try_stream_wait(by).value(); }

	/* ww_event_synchronize(): done, timed_out or cancelled; without a limit waits for ever. */
	result<outcome> try_synchronize(timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_event_synchronize(get(), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome synchronize(timeout limit, const cancel &stop = {}) const
	{
		return try_synchronize(limit, stop).value();
	}
	result<void> try_synchronize() const noexcept
	{
		return detail::done(ww_event_synchronize(get(), WW_FOREVER, nullptr));
	}
	void synchronize() const { try_synchronize().value(); }

	/* ww_event_query(): done or not_ready. */
	result<outcome> try_query() const noexcept { return detail::ended(ww_event_query(get())); }
	[[nodiscard]] outcome query() const { return try_query().value(); }

	/*
	 * ww_event_handle_get(): the bytes of a CUipcEventHandle, the same as a
	 * cudaIpcEventHandle_t.
	 */
	result<ww_event_handle> try_handle() const noexcept
	{
		ww_event_handle filled{};
		const ww_status code = ww_event_handle_get(get(), &filled);

		return detail::filled(code, filled);
	}
	ww_event_handle handle() const { return try_handle().value(); }

	/*
	 * ww_event_handle_open(): of a CUipcEventHandle, a cudaIpcEventHandle_t, or a
	 * ww_event_handle.
	 */
	template <class Handle>
	static result<event> try_open_handle(const device &on, const Handle &handle) noexcept
	{
		static_assert(sizeof(Handle) == WW_EVENT_HANDLE_BYTES &&
				std::is_trivially_copyable_v<Handle>,
			"the handle of an event has 64 bytes");
		ww_event_handle copy{};
		ww_event *opened = nullptr;

		std::memcpy(copy.bytes, &handle, sizeof(copy.bytes));
		const ww_status code = ww_event_handle_open(on.get(), &copy, &opened);

		return detail::adopted<event>(code, opened);
	}
	template <class Handle>
	static event open_handle(const device &on, const Handle &handle)
	{
		return try_open_handle(on, handle).value();
	}

	/* ww_event_export(): an empty broker is the default one. */
	result<token> try_export_token(const token_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const noexcept
	{
		const ww_token_params params = detail::to_params(options);
		token made;
		const ww_status code = ww_event_export(get(), by.get(), &params, stop.get(),
			made.out());

		return detail::filled(code, made);
	}
	token export_token(const token_options &options = {}, const broker &by = {},
		const cancel &stop = {}) const
	{
		return try_export_token(options, by, stop).value();
	}

	/* ww_event_import(): an empty broker is that of WARPWAY_BROKER, else the token's. */
	static result<event> try_import_token(const device &on, const token &from,
		const broker &by = {}, const cancel &stop = {}) noexcept
	{
		ww_event *made = nullptr;
		const ww_status code = ww_event_import(on.get(), by.get(), &from.raw(), stop.get(),
			&made);

		return detail::adopted<event>(code, made);
	}
	static event import_token(const device &on, const token &from, const broker &by = {},
		const cancel &stop = {})
	{
		return try_import_token(on, from, by, stop).value();
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
