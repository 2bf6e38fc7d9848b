/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/device.hpp - devices and streams, see warpway/device.h
 */
#ifndef WARPWAY_DEVICE_HPP
#define WARPWAY_DEVICE_HPP

#include <warpway/device.h>

#include <new>

#include <warpway/cancel.hpp>
#include <warpway/handle.hpp>
#include <warpway/result.hpp>

namespace warpway
{
inline namespace WARPWAY_ABI
{

enum class backend : std::uint32_t {
	host = WW_BACKEND_HOST,
	cuda = WW_BACKEND_CUDA
};

enum class mps : std::uint32_t {
	unknown = WW_MPS_UNKNOWN,
	off = WW_MPS_OFF,
	on = WW_MPS_ON
};

/* WW_CAP_... */
enum class capability : std::uint64_t {
	export_memory = WW_CAP_EXPORT,
	host_memory = WW_CAP_HOST_MEMORY,
	host_read_only = WW_CAP_HOST_READ_ONLY,
	cpu_access = WW_CAP_CPU_ACCESS,
	stream_wrap = WW_CAP_STREAM_WRAP,
	many_processes = WW_CAP_MANY_PROCESSES,
	stream_value = WW_CAP_STREAM_VALUE,
	event = WW_CAP_EVENT,
	event_imported = WW_CAP_EVENT_IMPORTED,
	foreign = WW_CAP_FOREIGN,
	module = WW_CAP_MODULE,
	graph = WW_CAP_GRAPH
};

enum class memory_kind : std::uint32_t {
	unknown = 0,
	vmm = WW_MEMORY_VMM,
	host = WW_MEMORY_HOST,
	legacy = WW_MEMORY_LEGACY,
	cuda_pool = WW_MEMORY_CUDA_POOL
};

enum class access : std::uint32_t {
	none = 0,
	read = WW_ACCESS_READ,
	write = WW_ACCESS_WRITE
};

enum class route : std::uint32_t {
	local = WW_ROUTE_LOCAL,
	peer = WW_ROUTE_PEER,
	peer_hidden = WW_ROUTE_PEER_HIDDEN,
	host = WW_ROUTE_HOST,
	host_registered = WW_ROUTE_HOST_REGISTERED
};

/* struct ww_device_info */
class device_info : public detail::description<ww_device_info>
{
public:
	warpway::backend backend() const noexcept { return warpway::backend{raw().backend}; }
	std::uint32_t index() const noexcept { return raw().index; }
	warpway::mps mps() const noexcept { return warpway::mps{raw().mps}; }
	std::uint64_t capabilities() const noexcept { return raw().capabilities; }
	bool has(capability which) const noexcept
	{
		return (raw().capabilities & static_cast<std::uint64_t>(which)) != 0;
	}
	std::uint64_t granularity() const noexcept { return raw().granularity; }
	std::uint64_t bytes_total() const noexcept { return raw().bytes_total; }
	id uuid() const noexcept { return detail::to_id(raw().uuid); }
	std::string_view selector() const noexcept { return detail::to_text(raw().selector); }
	std::string_view name() const noexcept { return detail::to_text(raw().name); }
	std::string_view driver() const noexcept { return detail::to_text(raw().driver); }
};

/*
 * A GPU, or the CPU as a device: it has memory and runs streams.
 */
class device : public detail::counted<device, ww_device, ww_device_ref, ww_device_unref>
{
public:
	/* Empty. */
	device() noexcept {}

	/* ww_device_open(): "host", "cuda:N", "cuda:UUID". */
	static result<device> try_open(std::string_view name) noexcept
	{
		return open_name(detail::c_name(name).get());
	}
	static device open(std::string_view name) { return try_open(name).value(); }

	/* The first usable GPU, else the host device. */
	static result<device> try_open() noexcept { return open_name(nullptr); }
	static device open() { return try_open().value(); }

	/* ww_device_count() */
	static result<std::uint32_t> try_count(backend of) noexcept
	{
		std::uint32_t count = 0;
		const ww_status code = ww_device_count(static_cast<std::uint32_t>(of), &count);

		return detail::filled(code, count);
	}
	static std::uint32_t count(backend of) { return try_count(of).value(); }

	/* ww_device_info_get() */
	result<device_info> try_info() const noexcept
	{
		device_info filled;
		const ww_status code = ww_device_info_get(get(), filled.out());

		return detail::filled(code, filled);
	}
	device_info info() const { return try_info().value(); }

	/* ww_device_free_bytes(): on a GPU this makes a context if there is none. */
	result<std::uint64_t> try_free_bytes() const noexcept
	{
		std::uint64_t bytes = 0;
		const ww_status code = ww_device_free_bytes(get(), &bytes);

		return detail::filled(code, bytes);
	}
	std::uint64_t free_bytes() const { return try_free_bytes().value(); }

private:
	static result<device> open_name(const char *name) noexcept
	{
		ww_device *opened = nullptr;
		const ww_status code = ww_device_open(name, &opened);

		return detail::adopted<device>(code, opened);
	}
};

/*
 * A queue of work on a device.
 */
class stream : public detail::counted<stream, ww_stream, ww_stream_ref, ww_stream_unref>
{
public:
	/* Empty. */
	stream() noexcept {}

	/* ww_stream_create() */
	static result<stream> try_create(const device &on) noexcept
	{
		ww_stream *made = nullptr;
		const ww_status code = ww_stream_create(on.get(), &made);

		return detail::adopted<stream>(code, made);
	}
	static stream create(const device &on) { return try_create(on).value(); }

	/* ww_stream_wrap(): a CUstream or cudaStream_t, which must outlive this one. */
	static result<stream> try_wrap(const device &on, void *native) noexcept
	{
		ww_stream *made = nullptr;
		const ww_status code = ww_stream_wrap(on.get(), native, &made);

		return detail::adopted<stream>(code, made);
	}
	static stream wrap(const device &on, void *native) { return try_wrap(on, native).value(); }

	/* ww_stream_native() */
	void *native() const noexcept { return ww_stream_native(get()); }

	/* ww_stream_synchronize(): done, timed_out or cancelled; without a limit waits for ever. */
	result<outcome> try_synchronize(timeout limit, const cancel &stop = {}) const noexcept
	{
		return detail::ended(ww_stream_synchronize(get(), limit.ns(), stop.get()));
	}
	[[nodiscard]] outcome synchronize(timeout limit, const cancel &stop = {}) const
	{
		return try_synchronize(limit, stop).value();
	}
	result<void> try_synchronize() const noexcept
	{
		return detail::done(ww_stream_synchronize(get(), WW_FOREVER, nullptr));
	}
	void synchronize() const { try_synchronize().value(); }

	/* ww_stream_query(): done or not_ready. */
	result<outcome> try_query() const noexcept { return detail::ended(ww_stream_query(get())); }
	[[nodiscard]] outcome query() const { return try_query().value(); }

	/* ww_stream_recover() */
	result<void> try_recover() const noexcept
	{
		return detail::done(ww_stream_recover(get()));
	}
	void recover() const { try_recover().value(); }

	/*
	 * ww_stream_call(): of any function object, called once without arguments. It is moved or
	 * copied, kept until it ran, and destroyed right after that, on the same thread. On cuda
	 * neither it nor its destructor may call CUDA or this library. It must not throw. (A GPU
	 * that failed makes no more calls: then it is never destroyed.)
	 */
	template <class Function>
	result<void> try_call(Function &&function) const
	{
		using owned = std::decay_t<Function>;
		static_assert(std::is_invocable_v<owned>,
			"a stream calls a function without arguments");
		owned *kept = new (std::nothrow) owned(std::forward<Function>(function));

		if (!kept)
			return failure::of(WW_ERR_NO_MEMORY,
				"no memory to keep a function for a stream");
		const ww_status code = ww_stream_call(get(), &detail::call_once<owned>, kept);

		if (code != WW_OK)
			delete kept;
		return detail::done(code);
	}
	template <class Function>
	void call(Function &&function) const
	{
		try_call(std::forward<Function>(function)).value();
	}

	/* ww_stream_copy() */
	result<void> try_copy(void *destination, const void *source,
		std::uint64_t bytes) const noexcept
	{
		return detail::done(ww_stream_copy(get(), destination, source, bytes));
	}
	void copy(void *destination, const void *source, std::uint64_t bytes) const
	{
		try_copy(destination, source, bytes).value();
	}

	/* ww_stream_fill(): with any value of 1, 2 or 4 bytes; count values, not bytes. */
	template <class T>
	result<void> try_fill(void *destination, T value, std::uint64_t count) const noexcept
	{
		static_assert(std::is_trivially_copyable_v<T> &&
				(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4),
			"a stream fills with values of 1, 2 or 4 bytes");
		return detail::done(
			ww_stream_fill(get(), destination, bits(value), sizeof(T), count));
	}
	template <class T>
	void fill(void *destination, T value, std::uint64_t count) const
	{
		try_fill(destination, value, count).value();
	}

private:
	template <class T>
	static std::uint32_t bits(T value) noexcept
	{
		using number = std::conditional_t<sizeof(T) == 1, std::uint8_t,
			std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>;
		number low = 0;

		std::memcpy(&low, &value, sizeof(low));
		return low;
	}
};

} //namespace WARPWAY_ABI
} //namespace warpway

#endif
